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

/** Requests at the same moment to one record that the dashboard owns. What follows from one at a time is the model's. */

const { service, dashboard } = useDashboard();

const KINDS = operationsBy('PUT')
  .filter((name) => name.replace('PUT', 'PATCH') in OPERATIONS)
  .map((name) => ({
    name,
    path: pathOf(name)
      .replace(BELOW, '')
      .replace(/\/\{\w+\}$/, ''),
  }));

let has: Has;
let call: Caller;
beforeAll(async () => {
  const agency = await service.agency();
  has = await populate({ service, agency });
  call = dashboard.of(agency);
});

/** Without what the service makes, and the key that no two pipeline stages have. */
const comparable = ({ id: _, createdAt: __, updatedAt: ___, token, publishedAt, key, ...others }: Fields) =>
  others;

const twentyTimes = <Result>(work: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: 20 }, (_, index) => work(index)));

describe.each(KINDS)('$name', ({ name, path }) => {
  /** A path that no record has, a body with every field, and one with those that it must have. */
  const fresh = () => {
    const of = { ...has, stageKey: randomUUID() };
    const [whole, least] = [wholeOf(name, of) ?? {}, wholeOf(name, of, true) ?? {}];
    return { url: `${path}/${randomUUID()}`, whole, least };
  };
  const total = async (): Promise<number> => (await call.get(`${path}?limit=1`)).body.pagination.total;

  test('by 20 senders creates one record, of one whole body', async () => {
    const [one, other, raced] = [fresh(), fresh(), fresh()];
    const outcomes = [
      comparable((await call.put(one.url, one.whole)).body),
      comparable((await call.put(other.url, other.least)).body),
    ];
    const counted = await total();
    const answers = await twentyTimes((index) => call.put(raced.url, index % 2 ? raced.whole : raced.least));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
    for (const { body } of answers) expect(outcomes).toContainEqual(comparable(body));
    expect(await total()).toBe(counted + 1);
  });

  test('by 20 senders of one body creates one record, and does not touch it afterwards', async () => {
    const { url, whole } = fresh();
    const answers = await twentyTimes(() => call.put(url, whole));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
    for (const { body } of answers) expect(body).toEqual(answers[0]?.body);
  });

  test.runIf(name.replace('PUT', 'DELETE') in OPERATIONS)(
    'among DELETEs brings the record back or not, and the total knows',
    async () => {
      const { url, whole } = fresh();
      await call.put(url, whole);
      const counted = await total();
      await twentyTimes((index) =>
        index % 2 ? call.delete(url) : call.put(url, { ...whole, name: `n${index}`, title: `t${index}` }),
      );
      const { status } = await call.get(url);
      expect(await total()).toBe(status === 200 ? counted : counted - 1);
      expect((await call.delete(url)).status).toBe(status);
    },
  );
});
