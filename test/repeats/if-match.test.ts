import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useDashboard } from '../support/dashboard.ts';
import { customer, product } from '../support/records.ts';
import { type Agency, type Reply, type Service, startService } from '../support/service.ts';

/** If-Match: a change that happens only while the record is the one that its sender has seen. And a PUT that only creates. */

const { service, dashboard } = useDashboard();

let other: Service;
beforeAll(async () => {
  other = await startService({ beside: service });
});
afterAll(() => other?.close());

const matching = (tag: string) => ({ headers: { 'if-match': tag } });
const ONLY_NEW = { headers: { 'if-none-match': '*' } };
const FOREIGN = `"${'A'.repeat(43)}"`;

const tagOf = async (agency: Agency, url: string) => String((await agency.get(url)).headers.etag);

function expectFailed({ status, body, headers }: Reply): void {
  expect([status, body.error.code]).toEqual([412, 'PRECONDITION_FAILED']);
  expect(headers).not.toHaveProperty('etag');
}

/** The one answer of those at the same moment that is not refused. */
function theOneDone(answers: readonly Reply[]): Reply | undefined {
  const [done, ...more] = answers.filter(({ status }) => status < 300);
  expect(more).toEqual([]);
  for (const answer of answers) if (answer !== done) expectFailed(answer);
  return done;
}

test.each<[string, path: string, make: typeof customer, change: object, field: string]>([
  ['a product', '/v1/catalog/products', product, {}, 'title'],
  ['a customer', '/v1/customers', customer, {}, 'city'],
  [
    'a customer with its contacts',
    '/v1/customers',
    customer,
    { contacts: [{ identifierType: 'email', identifierValue: 'ana@example.com' }] },
    'city',
  ],
])(
  'a PATCH of %s is applied once when ten are sent at once with one tag, over two instances',
  async (_name, path, make, change, field) => {
    const agency = await service.agency();
    const clients = [agency, other.client(agency.key)];
    const url = `${path}/${(await make(agency)).id}`;
    const tag = matching(await tagOf(agency, url));
    const answers = Array.from({ length: 10 }, (_, index) =>
      (clients[index % 2] as Agency).patch(url, { ...change, [field]: `by ${index}` }, tag),
    );
    const applied = theOneDone(await Promise.all(answers));
    const { text, headers } = await agency.get(url);
    expect([text, headers.etag]).toEqual([applied?.text, applied?.headers.etag]);
  },
);

const WEAK =
  'If-Match has a weak tag (W/"…"), which never matches. A proxy that compresses responses weakens tags: read the record without Accept-Encoding and send that ETag.';
const CHANGED = 'The record has changed since you read it. Read it again and send its new ETag.';
const NO_TAG = 'If-Match has no entity tag. Send the ETag of the response unchanged, with its quotes.';

test.each<[string, (tag: string) => string, refusal?: string]>([
  ['the tag', (tag) => tag],
  ['any', () => '*'],
  ['any, among white space', () => ' * '],
  ['the tag in a list', (tag) => `${FOREIGN}, ${tag}`],
  ['the tag in a list without spaces', (tag) => `${tag},${FOREIGN}`],
  ['a list of others', () => `${FOREIGN}, "x"`, CHANGED],
  ['a list with a star, which is no tag', () => `${FOREIGN}, *`, CHANGED],
  ['a part of the tag', (tag) => `${tag.slice(0, 20)}"`, CHANGED],
  ['the tag, weak', (tag) => `W/${tag}`, WEAK],
  ['the tag, weak, in a list', (tag) => `${FOREIGN}, W/${tag}`, WEAK],
  ['the tag without its quotes', (tag) => tag.slice(1, -1), NO_TAG],
  ['nothing', () => '', NO_TAG],
])('If-Match: %s', async (_name, header, refusal) => {
  const agency = await service.agency();
  const url = `/v1/catalog/products/${(await product(agency)).id}`;
  const tag = matching(header(await tagOf(agency, url)));
  const { status, body } = await agency.patch(url, { title: 'Mérida' }, tag);
  expect([status, body.error?.message]).toEqual([refusal ? 412 : 200, refusal]);
  expect((await agency.get(url)).body.title).toBe(refusal ? 'Oaxaca' : 'Mérida');
});

test('a PUT that is sent ten times at the same moment is done once: as a creation, and with one tag', async () => {
  const { get, put } = dashboard.of(await service.agency());
  const path = `/opportunities/${randomUUID()}`;
  const race = async (options: object) => {
    const bodies = Array.from({ length: 10 }, (_, nights) => ({ salesStage: 'new', nights: nights + 1 }));
    return theOneDone(await Promise.all(bodies.map((body) => put(path, body, options))));
  };
  const created = await race(ONLY_NEW);
  expect(created?.status).toBe(201);
  // What is there is replaced by something else.
  await put(path, { salesStage: 'new', nights: 99 });
  const replaced = await race(matching(String((await get(path)).headers.etag)));
  expect([replaced?.status, replaced?.text]).toEqual([200, (await get(path)).text]);
});
