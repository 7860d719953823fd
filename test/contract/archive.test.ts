import { describe, expect, test } from 'vitest';
import { useDashboard } from '../support/dashboard.ts';
import { findDrift } from '../support/drift.ts';
import {
  archiveOf,
  filterValues,
  LISTS,
  operationsBy,
  populate,
  readList,
  run,
} from '../support/operations.ts';

const { service, dashboard } = useDashboard();
const newWorld = async () => ({ service, dashboard, agency: await service.agency() });

const archivable = Object.entries(LISTS).filter(([, { archive }]) => archive !== undefined);

describe.each(archivable)('an archived record of %s', (name, list) => {
  test('is in no list and no total, whatever the filter', async () => {
    const world = await newWorld();
    const [text] = Object.keys(list.searched);
    const filters = await filterValues(world.agency, list);
    const fields = {
      ...Object.fromEntries(filters.map(({ field, written }) => [field, written[0]])),
      ...(text && { [text]: 'Igual' }),
    };
    const gone = await list.make(world.agency, fields);
    const stays = await list.make(world.agency, fields);
    const sent = filters.map((filter) => new URLSearchParams({ [filter.name]: filter.sent }).toString());
    const queries = ['', ...sent, ...(text ? ['query=igual'] : [])];
    for (const query of queries)
      expect((await readList(world, name, query)).body.pagination.total, `${query} before`).toBe(2);
    expect((await archiveOf(world, list, gone.id)).status).toBe(200);
    for (const query of ['limit=1', ...queries]) {
      const { body } = await readList(world, name, query);
      expect(body.data, query).toEqual([stays]);
      expect(body.pagination.total, query).toBe(1);
    }
    expect((await readList(world, name, 'offset=1')).body).toEqual({
      data: [],
      pagination: { limit: 25, offset: 1, total: 1 },
    });
  });
});

/** To end a key or to close an organization a second time has the first answer. */
const ONCE = operationsBy('DELETE').filter((name) => !/\{(apiKeyId|organizationId)\}$/.test(name));

test.each(ONCE)('of 20 simultaneous %s exactly one is done, and counts', async (name) => {
  const world = await newWorld();
  const has = await populate(world);
  const answers = await Promise.all(Array.from({ length: 20 }, () => run(world, name, has)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(404)]);
  expect(await findDrift(service, world.agency)).toEqual([]);
});
