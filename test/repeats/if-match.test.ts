import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useDashboard } from '../support/dashboard.ts';
import { customer, product } from '../support/records.ts';
import { type Agency, type Reply, type Service, startService } from '../support/service.ts';

/** That every PATCH, PUT and DELETE rejects a stale tag is tested in test/contract/repeats.test.ts. */

const { service, dashboard } = useDashboard();

let other: Service;
beforeAll(async () => {
  other = await startService({ beside: service });
});
afterAll(() => other?.close());

const ifMatch = (tag: unknown) => ({ headers: { 'if-match': String(tag) } });

/** The only response that is not 412. */
function onlySuccess(responses: readonly Reply[]): Reply | undefined {
  const [success, ...others] = responses.filter(({ status }) => status < 300);
  expect(others).toEqual([]);
  for (const response of responses)
    if (response !== success) {
      expect(response).toMatchObject({ status: 412, body: { error: { code: 'PRECONDITION_FAILED' } } });
      expect(response.headers).not.toHaveProperty('etag');
    }
  return success;
}

test('of ten simultaneous PATCHes with one tag, over two instances, one is applied', async () => {
  const agency = await service.agency();
  const clients = [agency, other.client(agency.key)];
  const url = `/v1/customers/${(await customer(agency)).id}`;
  const tag = ifMatch((await agency.get(url)).headers.etag);
  const contacts = [{ identifierType: 'email', identifierValue: 'ana@example.com' }];
  const responses = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      (clients[index % 2] as Agency).patch(url, { city: `by ${index}`, contacts }, tag),
    ),
  );
  const applied = onlySuccess(responses);
  const { text, headers } = await agency.get(url);
  expect([text, headers.etag]).toEqual([applied?.text, applied?.headers.etag]);
});

test('of ten simultaneous PUTs that may only create, or that have one tag, one is applied', async () => {
  const { get, put } = dashboard.of(await service.agency());
  const path = `/opportunities/${randomUUID()}`;
  const putTen = async (options: object) => {
    const bodies = Array.from({ length: 10 }, (_, index) => ({ salesStage: 'new', nights: index + 1 }));
    return onlySuccess(await Promise.all(bodies.map((body) => put(path, body, options))));
  };
  expect((await putTen({ headers: { 'if-none-match': '*' } }))?.status).toBe(201);
  // Differs from each of the ten bodies.
  const { headers } = await put(path, { salesStage: 'new', nights: 99 });
  const replaced = await putTen(ifMatch(headers.etag));
  expect([replaced?.status, replaced?.text]).toEqual([200, (await get(path)).text]);
  // Only `*` asks for a record that does not exist.
  const another = await put(path, { salesStage: 'new' }, { headers: { 'if-none-match': OTHER } });
  expect(another.status).toBe(200);
});

const OTHER = `"${'A'.repeat(43)}"`;
const CHANGED = 'The record has changed since you read it. Read it again and send its new ETag.';
const NO_TAG = 'If-Match has no entity tag. Send the ETag of the response unchanged, with its quotes.';

test.each<[string, (tag: string) => string, message?: string]>([
  ['a list with the tag', (tag) => `${OTHER},${tag} ,"x"`],
  ['a list of tags that a proxy weakened', (tag) => `W/${OTHER}, W/${tag}`],
  ['the tag with the suffix of a proxy', (tag) => `${tag.slice(0, -1)}-gzip"`],
  ['a list with a star', () => `${OTHER}, *`, CHANGED],
  ['a part of the tag', (tag) => `${tag.slice(0, 20)}"`, CHANGED],
  ['a list of other weak tags', () => `W/${OTHER}, W/"x-gzip"`, CHANGED],
  ['the tag without quotes', (tag) => tag.slice(1, -1), NO_TAG],
])('a PATCH whose If-Match is %s is applied, or its error says why not', async (_what, header, message) => {
  const agency = await service.agency();
  const url = `/v1/catalog/products/${(await product(agency)).id}`;
  const tag = String((await agency.get(url)).headers.etag);
  const { status, body } = await agency.patch(url, { title: 'Mérida' }, ifMatch(header(tag)));
  expect([status, body.error?.message]).toEqual([message ? 412 : 200, message]);
  expect((await agency.get(url)).body.title).toBe(message ? 'Oaxaca' : 'Mérida');
});
