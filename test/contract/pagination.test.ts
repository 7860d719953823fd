import { getTableName } from 'drizzle-orm';
import { beforeAll, describe, expect, test } from 'vitest';
import { DOCUMENTED } from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import { withoutTriggers } from '../support/databases.ts';
import { ownApp } from '../support/instance.ts';
import {
  DASHBOARD_LISTS,
  LISTS,
  pathOf,
  populate,
  readList,
  requestOf,
  send,
} from '../support/operations.ts';
import { message, product } from '../support/records.ts';
import type { Agency } from '../support/service.ts';
import { owned } from '../support/tables.ts';

const { service, dashboard } = useDashboard();

/** More than the default page size. */
const COUNT = 27;

/** The address of the next page. */
function nextOf({ link }: Record<string, string | undefined>): string | undefined {
  const [, address] = /^<(.*)>; rel="next"$/.exec(link ?? '') ?? [];
  expect(link).toBe(address && `<${address}>; rel="next"`);
  return address;
}

describe.each(Object.entries(LISTS))('%s', (name, list) => {
  const path = pathOf(name);
  const table = getTableName(list.resource.table);
  const [orderedBy, direction] = list.order;
  let agency: Agency;
  beforeAll(async () => {
    agency = await service.agency();
    for (let index = 0; index < COUNT; index += 1) {
      const { id } = await list.make(agency);
      if (orderedBy === 'last_message_at' && index % 3 > 0) await message(agency, id);
    }
    // Three timestamps for all rows, so that ids decide the order among many.
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

  test('reading page by page returns every record exactly once, in one order, with any limit', async () => {
    const stored = await service.query<{ id: string }>(
      `select id from ${table} where organization_id = $1 order by ${orderedBy} ${direction}, id ${direction}`,
      [agency.id],
    );
    expect(stored).toHaveLength(COUNT);
    for (const limit of [1, 4, 10, COUNT, COUNT + 1, 100]) {
      const found: string[] = [];
      for (let offset = 0; offset < COUNT; offset += limit) {
        const { body } = await agency.get(`${path}?limit=${limit}&offset=${offset}`);
        expect(body.pagination).toEqual({ limit, offset, total: COUNT });
        expect(body.data).toHaveLength(Math.min(limit, COUNT - offset));
        found.push(...body.data.map(({ id }: { id: string }) => id));
      }
      expect(found).toEqual(stored.map(({ id }) => id));
    }
    const { body } = await agency.get(path);
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(stored.slice(0, 25).map(({ id }) => id));
    expect(body.pagination).toEqual({ limit: 25, offset: 0, total: COUNT });
  });
});

const ARCHIVABLE = owned.filter((table) => 'archivedAt' in table).map((table) => getTableName(table));
const ARCHIVED = Object.entries(DASHBOARD_LISTS).filter(([name]) => name.endsWith('?archived=true'));

test.each(ARCHIVED)(
  '%s has the latest archived first, and its pages have every record once, in the order of the whole',
  async (name, { make }) => {
    const agency = await service.agency();
    for (let index = 0; index < 5; index += 1) await make(agency);
    const archiveAll = (timestamp: string) =>
      withoutTriggers(service.ownerUrl, async (client) => {
        for (const table of ARCHIVABLE)
          await client.query(`update ${table} set archived_at = ${timestamp} where archived_at is not null`);
      });
    const read = async (query: string) => {
      const { body } = await readList({ service, dashboard, agency }, name, query);
      expect(body.pagination.total).toBe(5);
      return body.data as { id: string; archivedAt: string }[];
    };
    // The longer ago it was changed, the later it was archived.
    await archiveAll('now() + (now() - updated_at)');
    const times = (await read('limit=100')).map(({ archivedAt }) => archivedAt);
    expect(new Set(times).size).toBeGreaterThan(1);
    expect(times).toEqual(times.toSorted().reverse());
    // At once, so that ids decide the order.
    await archiveAll('now()');
    const whole = await read('limit=100');
    expect(new Set(whole.map(({ id }) => id)).size).toBe(5);
    const pages = [await read('limit=2'), await read('limit=2&offset=2'), await read('limit=2&offset=4')];
    expect(pages.flat()).toEqual(whole);
  },
);

const PAGED = DOCUMENTED.filter(({ operation }) =>
  operation.parameters?.some(({ name }) => name === 'offset'),
);

test('every list of both APIs links to the next page if there is one, and no other read does', async () => {
  const agency = await service.agency();
  const world = { service, dashboard, agency };
  const has = await populate(world);
  await populate(world, 'Puebla', 1);
  expect(PAGED.length).toBeGreaterThan(Object.keys(LISTS).length + 5);
  for (const { name, operation } of DOCUMENTED.filter(({ method }) => method === 'GET')) {
    const { path } = await requestOf(name, has);
    const isPaged = PAGED.some((paged) => paged.name === name);
    expect('Link' in (operation.responses[200]?.headers ?? {}), name).toBe(isPaged);
    for (const offset of isPaged ? [0, 1, 100] : [undefined]) {
      const query = offset === undefined ? '' : `${path.includes('?') ? '&' : '?'}limit=1&offset=${offset}`;
      const { body, headers } = await send(world, { method: 'GET', path: path + query });
      const follows = offset !== undefined && offset + 1 < body.pagination.total;
      const expected = follows && (path + query).replace(`offset=${offset}`, `offset=${offset + 1}`);
      expect(nextOf(headers), name).toBe(expected ? `http://localhost:80${expected}` : undefined);
      if (offset === 0 && !name.includes('archived=')) expect(follows, name).toBe(true);
    }
  }
});

test('rel="next" begins with PUBLIC_URL if that is set, whatever host the request names, and a 304 has none', async () => {
  const agency = await service.agency();
  for (let index = 0; index < 2; index += 1) await product(agency, { title: 'producto de "José"' });
  const app = await ownApp(service, { publicUrl: 'https://api.agency.example/crm' });
  const ask = (url: string, headers: Record<string, string> = {}) =>
    app.inject({ url, headers: { 'x-api-key': agency.key, host: 'evil.example', ...headers } });
  const url = '/v1/catalog/products?limit=1&query=producto+de+%22Jos%C3%A9%22';
  const next = `https://api.agency.example/crm${url}&offset=1`;
  const { statusCode, headers } = await ask(url);
  expect([statusCode, headers.link]).toEqual([200, `<${next}>; rel="next"`]);
  const unchanged = await ask(url, { 'if-none-match': String(headers.etag) });
  expect([unchanged.statusCode, unchanged.headers.link]).toEqual([304, undefined]);
  const last = await ask(next.replace('https://api.agency.example/crm', ''));
  expect([last.json().data.length, last.headers.link]).toEqual([1, undefined]);
});
