import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { databaseNow, newId, toJson } from '../src/db/index.ts';
import { storageKey } from '../src/files/storage.ts';
import { watchClock } from '../src/http/health.ts';
import { createLogger } from '../src/http/logging.ts';
import { linkPages } from '../src/http/pages.ts';
import { createHttpServer } from '../src/http/server.ts';
import { purgeProducts } from '../src/jobs/purge.ts';
import { sweepFiles } from '../src/jobs/sweep-files.ts';
import { TeamMemberListQuery } from '../src/team/schema.ts';
import { useDashboard } from './support/dashboard.ts';
import { ownLog } from './support/instance.ts';
import { BELOW, operationsBy, populate, requestOf, run, send } from './support/operations.ts';
import { attachment, conversation, message, product, quote } from './support/records.ts';
import { type Agency, idsOf } from './support/service.ts';

/** Stored timestamps are compared with the database's clock alone, whatever that of the service says. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Only `Date`: timers and PostgreSQL go on. */
const setClock = (ahead: number): void => {
  vi.useRealTimers();
  const now = Date.now() + ahead;
  vi.useFakeTimers({ toFake: ['Date'], now });
};
afterEach(() => {
  vi.useRealTimers();
});

const isoAt = (milliseconds: number): string => new Date(milliseconds).toISOString();

const { service, dashboard } = await useDashboard();

/** Seconds between the timestamp and the database's clock. */
const fromNow = async (timestamp: string | undefined): Promise<number> =>
  Math.abs(Date.parse(timestamp ?? '') - (await databaseNow(service.db))) / 1_000;

/** More than a test takes, and less than the clocks differ. */
const CLOSE = 1_800;

test('Date of a list is when the database read it', async () => {
  const app = createHttpServer({ logger: createLogger('silent') });
  linkPages(app);
  const list = async () => Object.assign(toJson({}), { total: 0, readAt: 1 });
  app.get('/', { schema: { querystring: TeamMemberListQuery } }, list);
  expect((await app.inject('/')).headers.date).toBe('Thu, 01 Jan 1970 00:00:01 GMT');
});

describe.each([
  ['ahead of', HOUR],
  ['behind', -HOUR],
])('with its clock an hour %s the database', (_name, ahead) => {
  let agency: Agency;
  beforeEach(async () => {
    setClock(ahead);
    agency = await service.agency();
  });

  test('a follower that keeps Date, of a page with or without records, misses no conversation', async () => {
    const list = (query = '') => agency.get(`/v1/conversations?limit=100${query}`);
    let kept = (await list()).headers.date ?? '';
    for (let round = 0; round < 2; round += 1) {
      expect(await fromNow(kept)).toBeLessThan(CLOSE);
      const { id } = await conversation(agency);
      await message(agency, id);
      const changed = await list(`&updatedSince=${isoAt(Date.parse(kept) - MINUTE)}`);
      expect(idsOf(changed)).toContain(id);
      kept = changed.headers.date ?? '';
      expect(Date.parse(kept)).toBeLessThanOrEqual(await databaseNow(service.db));
    }
  });

  test('a signed link works at an instance whose clock differs', async () => {
    const { id } = await quote(agency);
    await attachment(agency, service.storage, id);
    const [{ url }] = (await agency.get(`/v1/quotes/${id}/attachments`)).body.data;
    setClock(-2 * ahead);
    expect((await service.app.inject(new URL(url).pathname)).statusCode).toBe(200);
  });

  test('products are purged, and restored, after 30 days of the database', async () => {
    const archive = async (minutes: number) => {
      const { id } = await product(agency);
      const at = `now() - interval '720 hours' + $2 * interval '1 minute'`;
      await service.query(`update products set archived_at = ${at} where id = $1`, [id, minutes]);
      return id;
    };
    const [kept, due] = [await archive(30), await archive(-30)];
    await purgeProducts({ db: service.db, logger: createLogger('silent') });
    const rows = await service.query('select id from products where organization_id = $1', [agency.id]);
    expect(rows).toEqual([{ id: kept }]);
    const restore = (id: string) => dashboard.of(agency).post(`/catalog/products/${id}/restore`);
    expect([(await restore(kept)).status, (await restore(due)).status]).toEqual([200, 404]);
  });

  test('keys end by the clock of the database', async () => {
    const { post } = dashboard.of(agency);
    const issue = (expiresAt: string) => post('/api-keys', { name: 'one', expiresAt });
    const now = await databaseNow(service.db);
    expect((await issue(isoAt(now - MINUTE))).status).toBe(400);
    const issued = (await issue(isoAt(now + 30 * MINUTE))).body;
    expect((await service.client(issued.key).get('/v1/team')).status).toBe(200);
    const rotated = (await post(`/api-keys/${issued.id}/rotate`, { overlapSeconds: 1_800 })).body;
    expect(await fromNow(isoAt(Date.parse(rotated.expiresAt) - 30 * MINUTE))).toBeLessThan(CLOSE);
    expect((await service.client(rotated.key).get('/v1/team')).status).toBe(200);
  });

  test('openings without a timestamp, and whatever any operation archives, deletes, erases or exports, are of now by the clock of the database', async () => {
    const start = await databaseNow(service.db);
    const { id } = await quote(agency, { status: 'published' });
    const json = { headers: { 'content-type': 'application/json' } };
    let text = (await dashboard.of(agency).post(`/quotes/${id}/opens`, undefined, json)).text;
    const has = await populate({ agency, service });
    // The documents name a record before its parts, which have to be deleted first.
    const names = [...operationsBy('GET', 'POST', 'PUT', 'PATCH'), ...operationsBy('DELETE').reverse()];
    for (const name of names.filter((each) => !each.endsWith('/organizations')))
      text += (await run({ agency, service, dashboard }, name, has)).text;
    text += JSON.stringify(await dashboard.stored(agency));
    const end = (await databaseNow(service.db)) + 1_000;
    const set = [...text.matchAll(/"(?:archived|closed|deleted|erased|exported|revoked)_?[aA]t":"([^"]+)"/g)];
    const opened = /"lastOpenedAt":"([^"]+)"/.exec(text) ?? [];
    for (const [field, at = ''] of [...set, opened])
      expect(Date.parse(at) >= start && Date.parse(at) <= end, field).toBe(true);
    expect(new Set(set.map(([field]) => field.slice(0, 8))).size).toBeGreaterThan(5);
  });
});

test('a difference of the clocks is reported at each check, and logged once until it ends', () => {
  const { logger, lines } = ownLog('warn');
  const reported: number[] = [];
  const compare = watchClock(logger, (difference) => reported.push(difference));
  for (const difference of [4, -6, -6, 0, 6]) compare(difference);
  expect(reported).toEqual([4, -6, -6, 0, 6]);
  expect(lines.map(({ difference }) => difference)).toEqual([-6, 6]);
});

test('a process whose clock goes 26 hours ahead answers as it did at its start: createdAt of now, links, lists; it removes no young file', async () => {
  const world = { agency: await service.agency(), service, dashboard };
  const { agency } = world;
  const has = await populate(world);
  await service.storage.put(storageKey(agency.id, newId()), Readable.from([]));
  // What a module computed when it was loaded is of the real time too.
  setClock(26 * HOUR);
  const { db, storage } = service;
  const { files } = await sweepFiles({ db, storage, logger: createLogger('silent') });
  expect(files).toBe(0);
  for (const name of operationsBy('GET')) {
    const { status, body } = await send(world, await requestOf(name, has));
    expect([name, status], JSON.stringify(body)).toEqual([name, 200]);
  }
  const createdAt = isoAt(Date.now());
  const unique = { createdAt, key: newId(), userId: newId() };
  for (const name of operationsBy('PUT').filter((each) => each.includes(BELOW))) {
    const sent = await requestOf(name, has, { [/\{(\w+)\}$/.exec(name)?.[1] ?? '']: newId() });
    const { status, body } = await send(world, { ...sent, body: { ...sent.body, ...unique } });
    expect([name, status, body.createdAt], JSON.stringify(body)).toEqual([name, 201, createdAt]);
  }
  const [{ url }] = (await agency.get(`/v1/quotes/${has.quoteId}/attachments`)).body.data;
  expect((await service.app.inject(new URL(url).pathname)).statusCode).toBe(200);
});
