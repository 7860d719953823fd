import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { useDashboard } from '../support/dashboard.ts';
import { rejected } from '../support/faults.ts';
import { BELOW, OPERATIONS, operationsBy, pathOf, populate, wholeOf } from '../support/operations.ts';
import type { Fields } from '../support/records.ts';

/** PUT, PATCH and DELETE of every record that the dashboard writes, with bodies generated from the document. */

const { service, dashboard } = await useDashboard();

const KINDS = operationsBy('PUT')
  .filter((name) => name.replace('PUT', 'PATCH') in OPERATIONS)
  .map((name) => ({
    name,
    path: pathOf(name)
      .replace(BELOW, '')
      .replace(/\/\{\w+\}$/, ''),
  }))
  // Messages belong to a conversation, and have no list of their own.
  .filter(({ path }) => !path.includes('{'));

const agency = await service.agency();
const has = await populate({ service, agency });
const call = dashboard.of(agency);

/** Without what the service generates, what is unique to a pipeline stage or team member, and the customer of a conversation, who stays. */
function comparable({ id, createdAt, updatedAt, token, publishedAt, key, userId, ...others }: Fields) {
  const { customerId, customerName, ...ofConversation } = others;
  return 'rotatedFrom' in others ? ofConversation : others;
}

describe.each(KINDS)('$name', ({ name, path }) => {
  /** The path of a new record, a body with every field, and one with the required fields. */
  const fresh = () => {
    const of = { ...has, stageKey: randomUUID() };
    const [whole, least] = [wholeOf(name, of) ?? {}, wholeOf(name, of, true) ?? {}];
    return { url: `${path}/${randomUUID()}`, whole, least };
  };
  const total = async (): Promise<number> => (await call.get(`${path}?limit=1`)).body.pagination.total;

  test('creates and replaces; an omitted field is cleared, and repeating the request changes nothing', async () => {
    const [one, other] = [fresh(), fresh()];
    const created = await call.put(one.url, one.whole);
    expect([created.status, created.body]).toEqual([201, expect.objectContaining(one.whole)]);
    expect((await call.get(one.url)).body).toEqual(created.body);
    expect((await call.get(`${path}?limit=100`)).body.data).toContainEqual(created.body);
    expect(await call.put(one.url, one.whole)).toMatchObject({ status: 200, body: created.body });
    const { body: ofLeast } = await call.put(other.url, other.least);
    expect(comparable((await call.put(one.url, one.least)).body)).toEqual(comparable(ofLeast));
  });

  test('its creation date can be set when it is created, up to 24 hours in the future, and never changes', async () => {
    const { url, whole } = fresh();
    const createdAt = '2019-03-01T10:00:00.000Z';
    const history = { ...whole, createdAt: '2019-03-01T11:00:00+01:00' };
    const created = await call.put(url, history);
    expect([created.status, created.body.createdAt]).toEqual([201, createdAt]);
    for (const again of [call.put(url, history), call.put(url, whole), call.patch(url, { createdAt })])
      expect(await again).toMatchObject({ status: 200, body: created.body });
    const other = { createdAt: '2019-03-02T10:00:00Z' };
    const fixed = rejected(['body.createdAt', 'cannot be changed after it was first set']);
    for (const change of [call.put(url, { ...whole, ...other }), call.patch(url, other)])
      expect(await change).toMatchObject(fixed);
    const earliest = { ...fresh().whole, createdAt: '0001-01-01T00:00:00.000Z' };
    expect((await call.put(fresh().url, earliest)).body).toMatchObject(earliest);
    const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    expect((await call.put(fresh().url, { ...fresh().whole, createdAt: inHours(23) })).status).toBe(201);
    const ahead = await call.put(fresh().url, { ...fresh().whole, createdAt: inHours(25) });
    expect(ahead).toMatchObject(rejected(['body.createdAt', 'must be at most 24 hours in the future']));
  });

  test('a PATCH changes the field that is sent and no other; null clears it', async () => {
    const { url, whole, least } = fresh();
    const { body: empty } = await call.put(url, least);
    // The response has one temperature for two fields.
    const fields = Object.keys(whole).filter((field) => !/temperature/i.test(field));
    let expected = empty;
    for (const field of fields) {
      const { status, body } = await call.patch(url, { [field]: whole[field] });
      expect([status, body[field]], field).toEqual([200, whole[field]]);
      // An opportunity that enters the pipeline is qualified.
      const others = fields.filter((one) => one !== field && !(field === 'stageId' && one === 'qualifiedAt'));
      for (const other of others) expect(body[other], other).toEqual(expected[other]);
      expected = body;
    }
    const strictly = { headers: { prefer: 'handling=strict' } };
    for (const body of [{}, expected])
      expect(await call.patch(url, body, strictly)).toMatchObject({ status: 200, body: expected });
    // What was published stays so.
    const cleared = fields.filter((field) => empty[field] === null && field !== 'publishedAt');
    const nulls = cleared.map((field) => [field, null]);
    const { body } = await call.patch(url, Object.fromEntries(nulls));
    expect(body).toMatchObject(Object.fromEntries(nulls));
  });

  test.runIf(name.replace('PUT', 'DELETE') in OPERATIONS)(
    'a PUT restores an archived record, and the total counts it again',
    async () => {
      const { url, whole } = fresh();
      const { body: made } = await call.put(url, whole);
      const counted = await total();
      expect((await call.delete(url)).body).toEqual({ id: made.id, archivedAt: expect.any(String) });
      expect([(await call.delete(url)).status, await total()]).toEqual([404, counted - 1]);
      expect(comparable((await call.put(url, whole)).body)).toEqual(comparable(made));
      expect(await total()).toBe(counted);
    },
  );
});
