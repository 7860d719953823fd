import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { entityTag } from '../../rules/entity-tag.ts';
import { readDocument } from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import { OPERATIONS, operationsBy, pathOf, populate, requestOf, run, send } from '../support/operations.ts';
import type { Agency, Reply } from '../support/service.ts';

/** Every POST of both routers replays; every PATCH, PUT and DELETE holds to If-Match. */

const { service, dashboard } = useDashboard();

const POSTS = operationsBy('POST');
const CHANGES = operationsBy('PATCH', 'PUT', 'DELETE');

/** Everything that the agency has, and the names of all organizations. */
const everything = async (agency: Agency) => [
  await dashboard.stored(agency),
  await service.query('select * from organizations order by id'),
];

describe('sent again with its Idempotency-Key is answered with its first answer, and changes nothing', () => {
  test.each(POSTS)('%s', async (name) => {
    const agency = await service.agency();
    const world = { service, dashboard, agency };
    const sent = await requestOf(name, await populate(world));
    const headers = { 'idempotency-key': randomUUID() };
    const first = await send(world, sent, headers);
    expect([200, 201]).toContain(first.status);
    expect(first.headers).not.toHaveProperty('idempotency-replayed');
    const after = await everything(agency);
    const again = await send(world, sent, headers);
    // A link is signed for each answer.
    const said = ({ status, text }: Reply) => [status, text.replace(/"url":"[^"]+"/, '')];
    expect([...said(again), again.headers['idempotency-replayed']]).toEqual([...said(first), 'true']);
    expect(again.headers['cache-control']).toBe(first.headers['cache-control']);
    expect(await everything(agency)).toEqual(after);
  });
});

describe('is refused with a tag that the record does not have, and done with its own, which its answer then replaces', () => {
  test.each(CHANGES)('%s', async (name) => {
    const agency = await service.agency();
    const world = { service, dashboard, agency };
    const has = await populate(world);
    const sent = await requestOf(name, has);
    const before = await everything(agency);
    for (const tag of ['"another"', '', 'W/"another"']) {
      const refused = await send(world, sent, { 'if-match': tag });
      expect([refused.status, refused.body.error?.code]).toEqual([412, 'PRECONDITION_FAILED']);
    }
    expect(await everything(agency)).toEqual(before);

    const read = `GET ${pathOf(name)}`;
    const tagNow = async () => String((await run(world, read, has)).headers.etag);
    const own = read in OPERATIONS ? await tagNow() : '*';
    const done = await send(world, sent, { 'if-match': own });
    expect(done.status).toBe(200);
    expect(await everything(agency)).not.toEqual(before);
    if (name.startsWith('DELETE')) return expect(done.headers).not.toHaveProperty('etag');
    const tag = String(done.headers.etag);
    expect([tag, tag === own]).toEqual([entityTag(done.text), false]);
    if (own !== '*')
      expect([await tagNow(), (await send(world, sent, { 'if-match': own })).status]).toEqual([tag, 412]);
    expect((await send(world, sent)).headers.etag, 'the same again').toBe(tag);
  });
});

test('the documents name the headers, where they mean something', () => {
  for (const { paths } of [readDocument('openapi/openapi.json'), readDocument('openapi/dashboard.json')]) {
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { parameters = [], responses }] of Object.entries(operations)) {
        const name = `${method.toUpperCase()} ${path}`;
        const isPost = POSTS.includes(name);
        const takes = (header: string) =>
          parameters.some((parameter) => parameter.name === header && (parameter.description ?? '') !== '');
        const gives = (status: number, header: string) => header in (responses[status]?.headers ?? {});
        expect(takes('Idempotency-Key'), name).toBe(isPost);
        const isConditional = CHANGES.includes(name);
        expect(takes('If-Match'), name).toBe(isConditional);
        for (const status of [200, 201].filter((one) => one in responses))
          expect(gives(status, 'Idempotency-Replayed'), name).toBe(isPost);
        if (409 in responses) expect(gives(409, 'Retry-After'), name).toBe(isPost);
        expect(412 in responses, name).toBe(isConditional);
      }
    }
  }
});
