import { getTableName } from 'drizzle-orm';
import { beforeAll, describe, expect, test } from 'vitest';
import { withoutTriggers } from '../support/databases.ts';
import { filterValues, LISTS, pathOf } from '../support/operations.ts';
import { message } from '../support/records.ts';
import { type Agency, useService } from '../support/service.ts';

const service = useService();

/** More than a page has that names no limit. */
const COUNT = 27;

/** The ids of all pages, read one after another. */
async function walk(agency: Agency, path: string, limit: number, filter = ''): Promise<string[][]> {
  const pages: string[][] = [];
  for (let offset = 0; ; offset += limit) {
    const { status, body } = await agency.get(`${path}?limit=${limit}&offset=${offset}&${filter}`);
    expect(status).toBe(200);
    expect(body.pagination).toEqual({ limit, offset, total: body.pagination.total });
    pages.push(body.data.map(({ id }: { id: string }) => id));
    if (offset + limit >= body.pagination.total) return pages;
  }
}

describe.each(Object.entries(LISTS))('%s', (name, list) => {
  const path = pathOf(name);
  const table = getTableName(list.resource.table);
  const [orderedBy, direction] = list.order;
  /** Every second record has the one value of the filter. */
  let filter: Awaited<ReturnType<typeof filterValues>>[number] | undefined;
  const make = (agency: Agency, index: number) =>
    list.make(agency, filter && { [filter.field]: filter.written[index % 2] });
  let agency: Agency;
  beforeAll(async () => {
    agency = await service.agency();
    [filter] = await filterValues(agency, list);
    for (let index = 0; index < COUNT; index += 1) {
      const { id } = await make(agency, index);
      if (orderedBy === 'last_message_at' && index % 3 > 0) await message(agency, id);
    }
    // Few moments for many rows: the order must come from the ids as well.
    await withoutTriggers(service.ownerUrl, (client) =>
      client.query(
        `update ${table} set ${orderedBy} =
          (date_trunc('day', ${orderedBy} at time zone 'UTC') + ascii(right(id::text, 1)) % 3 * interval '1 hour') at time zone 'UTC'
        where organization_id = $1`,
        [agency.id],
      ),
    );
    await list.make(await service.agency());
  });

  test('a walk by any limit shows every row exactly once, in one order', async () => {
    const stored = await service.query<{ id: string }>(
      `select id from ${table} where organization_id = $1 order by ${orderedBy} ${direction}, id ${direction}`,
      [agency.id],
    );
    expect(stored).toHaveLength(COUNT);
    for (const limit of [1, 4, 10, COUNT, COUNT + 1, 100]) {
      const pages = await walk(agency, path, limit);
      expect(pages.slice(0, -1).filter((page) => page.length !== limit)).toEqual([]);
      expect(pages.flat()).toEqual(stored.map(({ id }) => id));
    }
    const { body } = await agency.get(path);
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(stored.slice(0, 25).map(({ id }) => id));
    expect(body.pagination).toEqual({ limit: 25, offset: 0, total: COUNT });
  });

  test('total is exact on every page, and past the last', async () => {
    for (const offset of [0, 5, COUNT - 1, COUNT, COUNT + 1, 1_000, 2_147_483_647]) {
      const { body } = await agency.get(`${path}?limit=5&offset=${offset}`);
      expect(body.pagination).toEqual({ limit: 5, offset, total: COUNT });
      expect(body.data).toHaveLength(Math.max(0, Math.min(5, COUNT - offset)));
    }
  });

  test.skipIf(Object.keys(list.filters).length === 0)(
    'total is of the filters sent, on every page and past the last',
    async () => {
      const even = Math.ceil(COUNT / 2);
      const sent = String(new URLSearchParams({ [filter?.name ?? '']: filter?.sent ?? '' }));
      const pages = await walk(agency, path, 5, sent);
      expect(new Set(pages.flat()).size).toBe(even);
      const { body } = await agency.get(`${path}?offset=500&${sent}`);
      expect(body).toEqual({ data: [], pagination: { limit: 25, offset: 500, total: even } });
    },
  );
});
