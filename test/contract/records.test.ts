import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Caller, useDashboard } from '../support/dashboard.ts';
import {
  BELOW,
  type Has,
  OPERATIONS,
  operationsBy,
  pathOf,
  populate,
  wholeOf,
} from '../support/operations.ts';
import type { Fields } from '../support/records.ts';
import type { Agency } from '../support/service.ts';

/** Every record that the dashboard puts as a whole, with bodies made from the document. What else follows is the model's. */

const { service, dashboard } = useDashboard();

const KINDS = operationsBy('PUT')
  .filter((name) => name.replace('PUT', 'PATCH') in OPERATIONS)
  .map((name) => {
    const path = pathOf(name)
      .replace(BELOW, '')
      .replace(/\/\{\w+\}$/, '');
    return { name, path, table: path.slice(1).replace('-', '_') };
  });

let agency: Agency;
let has: Has;
let call: Caller;
beforeAll(async () => {
  agency = await service.agency();
  has = await populate({ service, agency });
  call = dashboard.of(agency);
});

/** Without what the service makes, what a PUT keeps, and the key that no two pipeline stages have. */
const comparable = ({ id: _, createdAt: __, updatedAt: ___, token, publishedAt, key, ...others }: Fields) =>
  others;

describe.each(KINDS)('$name', ({ name, path, table }) => {
  /** A path that no record has, a body with every field, and one with those that it must have. */
  const fresh = () => {
    const of = { ...has, stageKey: randomUUID() };
    const [whole, least] = [wholeOf(name, of) ?? {}, wholeOf(name, of, true) ?? {}];
    return { id: randomUUID(), whole, least };
  };
  const made = async () => {
    const { id, whole, least } = fresh();
    const url = `${path}/${id}`;
    const { status, body } = await call.put(url, whole);
    expect(status).toBe(201);
    return { id, url, whole, least, body };
  };
  const rowOf = async (id: string): Promise<Record<string, unknown>> =>
    (
      await service.query(`select * from ${table} where organization_id = $1 and id = $2`, [agency.id, id])
    )[0] ?? {};
  const total = async (): Promise<number> => (await call.get(`${path}?limit=1`)).body.pagination.total;

  test('creates, and answers what was sent, as GET and the list do', async () => {
    const { id, url, whole, body } = await made();
    expect(body).toMatchObject({ ...whole, id });
    expect((await call.get(url)).body).toEqual(body);
    expect((await call.get(`${path}?limit=100`)).body.data).toContainEqual(body);
  });

  test('the same again changes nothing; another one replaces: what it leaves out is as if never sent', async () => {
    const { id, url, whole, least, body } = await made();
    const before = await rowOf(id);
    expect(await call.put(url, whole)).toMatchObject({ status: 200, body });
    expect(await rowOf(id)).toEqual(before);
    const other = fresh();
    const created = await call.put(`${path}/${other.id}`, other.least);
    const replaced = await call.put(url, least);
    expect(replaced.status).toBe(200);
    expect(comparable(replaced.body)).toEqual(comparable(created.body));
    const after = await rowOf(id);
    expect(after.created_at).toEqual(before.created_at);
    expect(Number(after.updated_at)).toBeGreaterThan(Number(before.updated_at));
  });

  test('a PATCH changes the fields that are sent and no other, null clears, and what was read can be sent back', async () => {
    const { id, whole, least } = fresh();
    const url = `${path}/${id}`;
    const { body: empty } = await call.put(url, least);
    // Two temperatures are shown as one.
    const fields = Object.keys(whole).filter((field) => !/temperature/i.test(field));
    let expected = empty;
    for (const [field, value] of Object.entries(whole)) {
      const { status, body } = await call.patch(url, { [field]: value });
      expect([status, body[field]], field).toEqual([200, value]);
      for (const other of fields) if (other !== field) expect(body[other], other).toEqual(expected[other]);
      expect((await call.get(url)).body).toEqual(body);
      expected = body;
    }
    const stored = await rowOf(id);
    const strictly = { headers: { prefer: 'handling=strict' } };
    for (const body of [{}, whole, expected])
      expect(await call.patch(url, body, strictly)).toMatchObject({ status: 200, body: expected });
    expect(await rowOf(id)).toEqual(stored);
    const nulls = Object.fromEntries(
      fields.filter((field) => empty[field] === null).map((field) => [field, null]),
    );
    expect((await call.patch(url, nulls)).body).toMatchObject(nulls);
  });

  test('of 20 simultaneous ones exactly one creates, and one whole body is what stays', async () => {
    const [one, other] = [await made(), fresh()];
    const { body: ofLeast } = await call.put(`${path}/${other.id}`, other.least);
    const outcomes = [one.body, ofLeast].map(comparable);
    const counted = await total();
    const { id, whole, least } = fresh();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => call.put(`${path}/${id}`, index % 2 ? whole : least)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
    for (const { body } of answers) expect(outcomes).toContainEqual(comparable(body));
    expect(await total()).toBe(counted + 1);
  });

  test('of 20 identical simultaneous ones exactly one creates, and none touches the record after it', async () => {
    const { id, whole } = fresh();
    const answers = await Promise.all(Array.from({ length: 20 }, () => call.put(`${path}/${id}`, whole)));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
    for (const { body } of answers) expect(body).toEqual(answers[0]?.body);
  });

  test.runIf(name.replace('PUT', 'DELETE') in OPERATIONS)(
    'a DELETE archives once, a PUT brings the record back, and totals follow, also of those that race',
    async () => {
      const { id, url, whole, body: created } = await made();
      const counted = await total();
      const { status, body } = await call.delete(url);
      expect([status, body]).toEqual([200, { id, archivedAt: expect.any(String) }]);
      expect((await rowOf(id)).archived_at).toEqual(new Date(body.archivedAt));
      expect([(await call.delete(url)).status, await total()]).toEqual([404, counted - 1]);
      const back = await call.put(url, whole);
      expect([back.status, comparable(back.body)]).toEqual([200, comparable(created)]);
      expect([(await rowOf(id)).archived_at, await total()]).toEqual([null, counted]);

      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          index % 2 ? call.delete(url) : call.put(url, { ...whole, name: `n${index}`, title: `t${index}` }),
        ),
      );
      const isLive = (await rowOf(id)).archived_at === null;
      expect(await total()).toBe(isLive ? counted : counted - 1);
      expect((await call.delete(url)).status).toBe(isLive ? 200 : 404);
    },
  );
});
