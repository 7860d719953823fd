import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createLogger } from '../../src/http/logging.ts';
import { linkPages } from '../../src/http/pages.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { DOCUMENTED } from '../support/contract.ts';
import { ownDashboard, TOKEN, useDashboard } from '../support/dashboard.ts';
import { withoutTriggers } from '../support/databases.ts';
import { TENANT_COLUMNS } from '../support/dataset.ts';
import { ownApp } from '../support/instance.ts';
import { BELOW, DASHBOARD_LISTS, LISTS, populate, readList, requestOf, send } from '../support/operations.ts';
import { conversation, type Fields, message, product } from '../support/records.ts';
import type { Agency } from '../support/service.ts';

const { service, dashboard } = await useDashboard();

/** More than the default page size. */
const COUNT = 27;

function nextOf({ link }: Record<string, string | undefined>): string | undefined {
  const [, address] = /^<(.*)>; rel="next"$/.exec(link ?? '') ?? [];
  expect(link).toBe(address && `<${address}>; rel="next"`);
  return address;
}

/** The field that a list is ordered by; those of archived records, by that date. */
function orderOf(name: string): [field: string, direction: 1 | -1] {
  if (name.endsWith('?archived=true')) return ['archivedAt', -1];
  const [column, direction] = LISTS[name.replace(BELOW, '/v1')]?.order ?? ['updated_at'];
  const field = column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return [field, direction === 'asc' ? 1 : -1];
}

const COLUMNS = ['updated_at', 'archived_at', 'created_at', 'last_message_at'];

/** Gives all rows one of three timestamps, so that ids decide the order among many. */
const flattenTimestamps = ({ id }: Agency) =>
  withoutTriggers(service.ownerUrl, async (client) => {
    for (const { table, column } of TENANT_COLUMNS.filter(({ column }) => COLUMNS.includes(column)))
      await client.query(
        `update ${table} t set ${column} = date_trunc('day', now()) - ascii(md5(t::text)) % 3 * interval '1 hour'
          where organization_id = $1 and ${column} is not null`,
        [id],
      );
  });

// Others have an order of their own.
const ORDERED = Object.entries({ ...LISTS, ...DASHBOARD_LISTS }).filter(
  ([name]) => name.endsWith('archived=true') || name.replace(BELOW, '/v1') in LISTS,
);

test.each(ORDERED)(
  '%s read page by page has every record exactly once, in its order, with any limit, and those of a date by its filters',
  async (name, { make, dates }) => {
    const [agency, other] = [await service.agency(), await service.agency()];
    const world = { service, dashboard, agency };
    for (let index = 0; index < COUNT; index += 1) {
      const { id } = await make(agency);
      if (make === conversation && index % 3 > 0) await message(agency, id);
    }
    await make(other);
    await flattenTimestamps(agency);
    const [field, direction] = orderOf(name);
    const whole: Fields[] = (await readList(world, name, 'limit=100')).body.data;
    const ordered = whole.toSorted((one, next) => {
      const [was, is] = [one, next].map((each) => `${each[field] ?? ''} ${each.id}`) as [string, string];
      return (was < is ? -1 : 1) * direction;
    });
    expect(whole.map(({ id }) => id)).toEqual(ordered.map(({ id }) => id));
    expect(new Set(whole.map((each) => each[field])).size).toBeGreaterThan(1);
    expect(whole).toHaveLength(COUNT);
    for (const limit of [4, COUNT, undefined]) {
      const found: Fields[] = [];
      const size = limit ?? 25;
      for (let offset = 0; offset < COUNT + size; offset += size) {
        const query = `offset=${offset}${limit === undefined ? '' : `&limit=${limit}`}`;
        const { data, pagination } = (await readList(world, name, query)).body;
        expect(pagination).toEqual({ limit: size, offset, total: COUNT });
        found.push(...data);
      }
      expect(found).toEqual(whole);
    }
    for (const filter of dates) {
      const [, date, side] = /(.+)(Since|Before)/.exec(filter) ?? [];
      const dateOf = (each: Fields | undefined) => String(each?.[`${date}At`]);
      const at = dateOf(whole[0]);
      const found = whole.filter((each) => dateOf(each) < at === (side === 'Before'));
      const query = `limit=100&${filter}=${at}`;
      // A conversation does not show when it changed.
      if (at !== 'undefined') expect((await readList(world, name, query)).body.data, query).toEqual(found);
    }
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

test('rel="next" begins with PUBLIC_URL if that is set, whatever host the request names, else with the host, by X-Forwarded only of a trusted proxy, and has no unknown parameter; a 304 has none', async () => {
  const agency = await service.agency();
  for (let index = 0; index < 2; index += 1) await product(agency, { title: 'producto de "José"' });
  const app = await ownApp(service, { publicUrl: 'https://api.agency.example/crm' });
  const ask = (url: string, headers: Record<string, string> = {}) =>
    app.inject({ url, headers: { 'x-api-key': agency.key, host: 'evil.example', ...headers } });
  const url = '/v1/catalog/products?limit=1&query=producto+de+%22Jos%C3%A9%22';
  const next = `https://api.agency.example/crm${url}&offset=1`;
  const { statusCode, headers } = await ask(`${url}&unknown=1`);
  expect([statusCode, headers.link]).toEqual([200, `<${next}>; rel="next"`]);
  const unchanged = await ask(url, { 'if-none-match': String(headers.etag) });
  expect([unchanged.statusCode, unchanged.headers.link]).toEqual([304, undefined]);
  const last = await ask(next.replace('https://api.agency.example/crm', ''));
  expect([last.json().data.length, last.headers.link]).toEqual([1, undefined]);

  const sent = { host: 'evil.example', 'x-forwarded-host': 'proxy.example', 'x-forwarded-proto': 'https' };
  for (const [options, origin] of [
    [{}, 'http://evil.example'],
    [{ trustProxy: true }, 'https://proxy.example'],
  ] as const) {
    const other = await ownApp(service, options);
    const { headers } = await other.inject({ url, headers: { 'x-api-key': agency.key, ...sent } });
    expect(headers.link).toBe(`<${origin}${url}&offset=1>; rel="next"`);
    const { app: internal } = await ownDashboard(service, options);
    const list = '/dashboard/v1/organizations?limit=1';
    const authorization = `Bearer ${TOKEN}`;
    const page = await internal.inject({ url: list, headers: { authorization, ...sent } });
    expect(page.headers.link).toBe(`<${origin}${list}&offset=1>; rel="next"`);
  }
});

test('Date of a page is when the database read it', async () => {
  const app = createHttpServer({ logger: createLogger('silent') });
  onTestFinished(() => app.close());
  linkPages(app);
  const schema = { querystring: z.object({ offset: z.string().optional() }) };
  app.get('/', { schema }, () => Object.assign(Buffer.from('{}'), { total: 0, readAt: 1_000_000_000 }));
  expect((await app.inject('/')).headers.date).toBe('Sun, 09 Sep 2001 01:46:40 GMT');
});
