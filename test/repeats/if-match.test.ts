import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useDashboard } from '../support/dashboard.ts';
import { type Has, operationsBy, populate, requestOf, send } from '../support/operations.ts';
import { customer, opportunity, product } from '../support/records.ts';
import { type Agency, type Reply, type Service, startService } from '../support/service.ts';

/** If-Match: a change that happens only while the record is the one that its sender has seen. And a PUT that only creates. */

const { service, dashboard } = useDashboard();

let other: Service;
beforeAll(async () => {
  other = await startService({ beside: service });
});
afterAll(() => other?.close());

const productId = async (agency: Agency): Promise<string> => (await product(agency)).id;

const matching = (tag: string) => ({ headers: { 'if-match': tag } });
const FOREIGN = `"${'A'.repeat(43)}"`;

function expectFailed({ status, body, headers }: Reply): void {
  expect([status, body.error.code]).toEqual([412, 'PRECONDITION_FAILED']);
  expect(headers).not.toHaveProperty('etag');
}

const RESOURCES: [string, (agency: Agency) => Promise<string>, object, string][] = [
  [
    'a product',
    async (agency) => `/v1/catalog/products/${await productId(agency)}`,
    { title: 'Mérida' },
    'title',
  ],
  [
    'a customer',
    async (agency) => `/v1/customers/${(await customer(agency)).id}`,
    { city: 'Mérida' },
    'city',
  ],
  [
    'a customer with its contacts',
    async (agency) => `/v1/customers/${(await customer(agency)).id}`,
    { city: 'Mérida', contacts: [{ identifierType: 'email', identifierValue: 'ana@example.com' }] },
    'city',
  ],
];

describe.each(RESOURCES)('a PATCH of %s', (_name, make, change, field) => {
  test('is applied once when ten are sent at the same moment with one tag, over two instances', async () => {
    const agency = await service.agency();
    const clients = [agency, other.client(agency.key)];
    const url = await make(agency);
    const tag = String((await agency.get(url)).headers.etag);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (clients[index % 2] as Agency).patch(url, { ...change, [field]: `by ${index}` }, matching(tag)),
      ),
    );
    const [applied, ...more] = answers.filter(({ status }) => status === 200);
    expect(more).toEqual([]);
    for (const answer of answers) if (answer !== applied) expectFailed(answer);
    const { text, headers } = await agency.get(url);
    expect([text, headers.etag]).toEqual([applied?.text, applied?.headers.etag]);
  });
});

describe('If-Match', () => {
  test.each<[string, (tag: string) => string, number]>([
    ['the tag', (tag) => tag, 200],
    ['any', () => '*', 200],
    ['any, among white space', () => ' * ', 200],
    ['the tag in a list', (tag) => `${FOREIGN}, ${tag}`, 200],
    ['the tag in a list without spaces', (tag) => `${tag},${FOREIGN}`, 200],
    ['a list of others', () => `${FOREIGN}, "x"`, 412],
    ['a list with a star, which is no tag', () => `${FOREIGN}, *`, 412],
    ['the tag, weak', (tag) => `W/${tag}`, 412],
    ['the tag, weak, in a list', (tag) => `${FOREIGN}, W/${tag}`, 412],
    ['the tag without its quotes', (tag) => tag.slice(1, -1), 412],
    ['a part of the tag', (tag) => `${tag.slice(0, 20)}"`, 412],
    ['nothing', () => '', 412],
  ])('%s', async (_name, header, expected) => {
    const agency = await service.agency();
    const url = `/v1/catalog/products/${await productId(agency)}`;
    const tag = String((await agency.get(url)).headers.etag);
    const { status } = await agency.patch(url, { title: 'Mérida' }, matching(header(tag)));
    expect(status).toBe(expected);
    expect((await agency.get(url)).body.title).toBe(expected === 200 ? 'Mérida' : 'Oaxaca');
  });

  test('that names a weak tag is told that this never matches, and another what the record is', async () => {
    const agency = await service.agency();
    const url = `/v1/catalog/products/${await productId(agency)}`;
    const tag = String((await agency.get(url)).headers.etag);
    const messageFor = async (named: string): Promise<string> =>
      (await agency.patch(url, { title: 'Mérida' }, matching(named))).body.error.message;
    expect(await messageFor(`W/${tag}`)).toBe(
      'If-Match names a weak tag (W/"…"), and that never matches; a proxy that compresses answers makes tags weak, so read without Accept-Encoding and send that tag.',
    );
    expect(await messageFor(FOREIGN)).toBe('The record is no longer the one that If-Match names.');
  });
});

describe('a DELETE', () => {
  test('and PATCHes at the same moment with one tag: one of them is done', async () => {
    const agency = await service.agency();
    for (let round = 0; round < 10; round += 1) {
      const url = `/v1/customers/${(await customer(agency)).id}`;
      const tag = String((await agency.get(url)).headers.etag);
      const answers = await Promise.all([
        agency.delete(url, matching(tag)),
        agency.patch(url, { city: 'Mérida' }, matching(tag)),
        agency.patch(url, { city: 'Puebla' }, matching(tag)),
      ]);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      for (const { status } of answers) expect([200, 404, 412]).toContain(status);
    }
  });
});

describe('a PUT', () => {
  const only = { headers: { 'if-none-match': '*' } };
  const bodyOfAnother = async (name: string, has: Has) =>
    (await requestOf(name, { ...has, word: 'Mérida' })).body as object;

  test.each(operationsBy('PUT'))(
    '%s with `If-None-Match: *` only creates; with a tag, or any, it creates nothing',
    async (name) => {
      const agency = await service.agency();
      const world = { service, dashboard, agency };
      const has = { ...(await populate(world)), stageKey: randomUUID() };
      const [idName = ''] = /\w+(?=\}$)/.exec(name) ?? [];
      const one = await requestOf(name, has, { [idName]: randomUUID() });
      const other = { ...one, body: await bodyOfAnother(name, has) };
      for (const tag of [FOREIGN, '*']) expectFailed(await send(world, one, { 'if-match': tag }));
      const created = await send(world, one, only.headers);
      expect(created.status).toBe(201);
      const before = await dashboard.stored(agency);
      expectFailed(await send(world, other, only.headers));
      expect(await dashboard.stored(agency)).toEqual(before);
    },
  );

  test('of an archived record is no creation, and replaces nothing that was seen', async () => {
    const agency = await service.agency();
    const call = dashboard.of(agency);
    const { id } = await opportunity(agency);
    await call.delete(`/opportunities/${id}`);
    const before = await dashboard.stored(agency);
    for (const headers of [only.headers, matching('*').headers])
      expectFailed(await call.put(`/opportunities/${id}`, { salesStage: 'new' }, { headers }));
    expect(await dashboard.stored(agency)).toEqual(before);
    expect((await call.put(`/opportunities/${id}`, { salesStage: 'new' })).status).toBe(200);
  });

  test('sent ten times at the same moment is done once: as a creation, and with one tag', async () => {
    const agency = await service.agency();
    const { get, put } = dashboard.of(agency);
    const path = `/opportunities/${randomUUID()}`;
    const race = async (title: string, headers: Record<string, string>) => {
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, nights) =>
          put(path, { salesStage: 'new', title, nights: nights + 1 }, { headers }),
        ),
      );
      const [done, ...more] = answers.filter(({ status }) => status < 300);
      expect(more).toEqual([]);
      for (const answer of answers) if (answer !== done) expectFailed(answer);
      return done;
    };
    const created = await race('one', only.headers);
    expect(created?.status).toBe(201);
    const replaced = await race('other', { 'if-match': String(created?.headers.etag) });
    expect(replaced?.status).toBe(200);
    expect((await get(path)).text).toBe(replaced?.text);
  });
});
