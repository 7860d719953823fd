import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test, vi } from 'vitest';
import { declaredCodes, INTERNAL, operationsOf } from './support/contract.ts';
import { ownDashboard, TOKEN, useDashboard } from './support/dashboard.ts';
import { failed, rejected } from './support/faults.ts';
import { ownLog } from './support/instance.ts';
import { BELOW, populate } from './support/operations.ts';
import { attachment, customer, member, quote } from './support/records.ts';
import { idsOf } from './support/service.ts';

/** The dashboard API and its token. test/contract/declared-errors.test.ts sends each operation without one. */

const { service, dashboard } = await useDashboard();

test('another token in Authorization is 401, also with the token in x-api-key', async () => {
  const { key } = await service.agency();
  const error = { ...failed(401, 'UNAUTHORIZED'), headers: { 'www-authenticate': 'Bearer' } };
  for (const sent of [`${TOKEN}x`, TOKEN.slice(0, -1), TOKEN.toUpperCase(), key]) {
    const headers = { authorization: `Bearer ${sent}`, 'x-api-key': TOKEN };
    expect(await dashboard.get('/organizations', { token: null, headers })).toMatchObject(error);
  }
  const headers = { authorization: `Basic ${TOKEN}` };
  expect((await dashboard.get('/organizations', { token: null, headers })).status).toBe(401);
});

test('a dashboard without a configured token returns 503 whatever is sent, and logs the reason once', async () => {
  const { logger, lines } = ownLog('warn');
  const closed = await ownDashboard(service, { token: undefined, logger });
  for (const token of [TOKEN, null, 'undefined'])
    expect(await closed.get('/organizations', { token })).toMatchObject({
      ...failed(503, 'SERVICE_UNAVAILABLE'),
      headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
    });
  const warnings = lines.filter(({ level }) => level === 40);
  expect(warnings).toMatchObject([{ msg: expect.stringContaining('DASHBOARD_TOKEN') }]);
});

test('X-Actor, of at most 64 characters, stands in the log line of the request', async () => {
  const { logger, lines } = ownLog();
  const logged = await ownDashboard(service, { logger });
  const agency = await service.agency();
  const inUtf8 = (actor: string) => ({ 'x-actor': Buffer.from(actor).toString('latin1') });
  const actedBy = (actor: string) => logged.of(agency).get('/customers', { headers: inUtf8(actor) });
  const actor = '😀'.repeat(64);
  await actedBy(actor);
  expect(lines).toMatchObject([{ organizationId: agency.id, actor, method: 'GET', status: 200 }]);
  const long = rejected(['header.x-actor', 'must have at most 64 characters']);
  expect(await actedBy(`${actor}x`)).toMatchObject(long);
});

test('organizations are created with a name, read, and listed, oldest first', async () => {
  const { body } = await dashboard.post('/organizations', { name: 'Viajes Ñandú' });
  expect(body).toMatchObject({ name: 'Viajes Ñandú', closedAt: null, purgeAt: null });
  expect((await dashboard.of(body).get('')).body).toEqual(body);
  const { data } = (await dashboard.get('/organizations?limit=100')).body;
  expect(data.at(-1)).toEqual(body);
  const dates = data.map(({ createdAt }: { createdAt: string }) => createdAt);
  expect(dates).toEqual(dates.toSorted());
});

test('organizations are found by a part of their name and by the account of an active member', async () => {
  const [own, other] = [await service.agency('Viajes Ñandú Azul'), await service.agency('Rutas')];
  const userId = `account ${randomUUID()}`;
  const { id } = await member(own, { userId });
  await member(other, { userId, name: 'Lucía' });
  const find = async (query: string) =>
    (await dashboard.get(`/organizations?${query}`)).body.data.map(({ name }: { name: string }) => name);
  const account = `userId=${encodeURIComponent(userId)}`;
  expect(await find(account)).toEqual(['Viajes Ñandú Azul', 'Rutas']);
  expect(await find(`${account}&query=nandu+AZ`)).toEqual(['Viajes Ñandú Azul']);
  expect((await dashboard.of(own).get(`/team-members?${account}`)).body.pagination.total).toBe(1);
  await dashboard.of(own).delete(`/team-members/${id}`);
  expect(await find(account)).toEqual(['Rutas']);
});

test('organizations and API keys are found by their ids, and by when they were created', async () => {
  const [own, other] = [await service.agency('Rutas de Abril'), await service.agency('Rutas de Abril')];
  const { id } = (await dashboard.of(own).post('/api-keys', { name: 'Website' })).body;
  const [first = ''] = idsOf(await dashboard.of(own).get('/api-keys')).filter((one) => one !== id);
  await service.query(`update organizations set created_at = '2025-03-01Z' where id = $1`, [own.id]);
  await service.query(`update api_keys set created_at = '2025-03-01Z' where id = $1`, [id]);
  const lists = [
    { read: (by: string) => dashboard.get(`/organizations?query=abril&${by}`), old: own.id, now: other.id },
    { read: (query: string) => dashboard.of(own).get(`/api-keys?${query}`), old: id, now: first },
  ];
  for (const { read, old, now } of lists) {
    const find = async (query: string) => idsOf(await read(query));
    expect(await find(`ids=${old.toUpperCase()},${randomUUID()}`)).toEqual([old]);
    expect((await find(`ids=${old},%20${now}`)).toSorted()).toEqual([old, now].toSorted());
    const notIds = rejected(['query.ids', 'must be ids, separated by commas']);
    expect(await read('ids=none')).toMatchObject(notIds);
    expect(await find('createdBefore=2025-03-02T00:00:00Z&createdSince=2025-03-01T00:00:00Z')).toEqual([old]);
    expect(await find('createdSince=2025-03-01T00:00:00.001Z')).toEqual([now]);
    expect(await find('createdBefore=2025-03-01T00:00:00Z')).toEqual([]);
  }
});

test('the roles of a member have at most 64 KiB: a page of the team stays below 13 MiB', async () => {
  const call = dashboard.of(await service.agency());
  const [id, who] = [randomUUID(), { userId: 'one', name: 'Ana', email: 'ana@example.com' }];
  const put = (roles: number) =>
    call.put(`/team-members/${id}`, { ...who, roles: Array(roles).fill('r'.repeat(1_000)) });
  expect((await put(65)).status).toBe(201);
  const long = ['body.roles', 'must have at most 65536 bytes as JSON in UTF-8'] as const;
  expect(await put(66)).toMatchObject(rejected([...long]));
});

test('organizations of one timestamp are listed by id, whole and page by page', async () => {
  const made = await Promise.all([1, 2, 3, 4].map((n) => service.agency(`Gemela ${n}`)));
  const ids = made.map(({ id }) => id).sort();
  await service.query('update organizations set created_at = now() where id = any($1)', [ids]);
  const read = async (page: string) => idsOf(await dashboard.get(`/organizations?query=gemela&${page}`));
  expect(await read('limit=100')).toEqual(ids);
  expect((await Promise.all([0, 1, 2, 3].map((n) => read(`limit=1&offset=${n}`)))).flat()).toEqual(ids);
});

/** An organization can be closed. For 30 days its records can be read, and it can be reopened; then it is purged: test/jobs/purge-organizations.test.ts. */

const message = 'The organization is closed. Reopen it to write.';
const CLOSED = { error: { code: 'ORGANIZATION_CLOSED', message } };
const DAYS_30 = 30 * 24 * 3_600_000;
/** Writes that a closed organization accepts. */
const OF_CLOSED = [`DELETE ${BELOW}`, `POST ${BELOW}/reopen`];

type Id = { id: string };
const close = (agency: Id) => dashboard.of(agency).delete('');
const reopen = (agency: Id) => dashboard.of(agency).post('/reopen');
/** Sets the date of the closing to this long ago. */
const setAge = ({ id }: Id, age: string) =>
  service.query('update organizations set closed_at = now() - $2::interval where id = $1', [id, age]);
const statusWith = async (key: string) => (await service.client(key).get('/v1/team')).status;

test('a closing returns the date of the purge, which the organization shows until it is reopened; repeated, it changes nothing; every instance sees it within a second', async () => {
  const agency = await service.agency('Viajes Ñandú');
  const before = (await dashboard.of(agency).get('')).body;
  const { status, body, text } = await close(agency);
  expect(status).toBe(200);
  expect(body).toEqual({ id: agency.id, closedAt: expect.any(String), purgeAt: expect.any(String) });
  expect(Date.parse(body.purgeAt) - Date.parse(body.closedAt)).toBe(DAYS_30);
  const closed = { ...before, closedAt: body.closedAt, purgeAt: body.purgeAt };
  expect((await dashboard.of(agency).get('')).body).toEqual(closed);
  expect((await dashboard.get('/organizations?limit=100')).body.data).toContainEqual(closed);
  for (const again of await Promise.all([close(agency), close(agency)])) expect(again.text).toBe(text);
  for (const _ of [1, 2]) expect((await reopen(agency)).body).toEqual(before);
  // As another instance closes it: this one knows it as open for 900 ms.
  const write = () => dashboard.of(agency).patch('', {});
  expect((await write()).status).toBe(200);
  await setAge(agency, '0');
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 900);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(await write()).toMatchObject({ status: 409, body: CLOSED });
});

test('while the organization is closed, links work and an export signs new ones; a public link does until the purge is due', async () => {
  const agency = await service.agency();
  const { id: customerId } = await customer(agency);
  const { id, token } = await quote(agency, { customerId, status: 'published' });
  const { content } = await attachment(agency, service.storage, id);
  const [{ url }] = (await agency.get(`/v1/quotes/${id}/attachments`)).body.data;
  await close(agency);
  const exported = await dashboard.of(agency).get(`/customers/${customerId}/export`);
  const [{ url: signed }] = exported.body.quotes[0].attachments;
  for (const link of [url, signed]) {
    const { status, text } = await service.client('').get(new URL(link).pathname, { key: null });
    expect([status, text]).toEqual([200, content.toString()]);
  }
  const find = async () => (await dashboard.get(`/quotes?token=${token}`)).body;
  expect(await find()).toMatchObject({ token, organizationId: agency.id });
  await setAge(agency, '30 days 1 hour');
  expect(await find()).toMatchObject({ error: { code: 'QUOTE_NOT_FOUND' } });
});

test('reopened within 30 days, an organization has every record and key again', async () => {
  const agency = await service.agency();
  await populate({ service, agency });
  const before = await dashboard.stored(agency);
  await close(agency);
  await expect.poll(() => statusWith(agency.key)).toBe(401);
  await setAge(agency, '29 days 23 hours 30 minutes');
  expect((await reopen(agency)).body).toMatchObject({ id: agency.id, closedAt: null, purgeAt: null });
  expect(await dashboard.stored(agency)).toEqual(before);
  expect(await statusWith(agency.key)).toBe(200);
  // A second closing has a date of its own.
  expect((await close(agency)).body.closedAt > new Date(Date.now() - 3_600_000).toISOString()).toBe(true);
});

test('after 30 days an organization is not found, even before the purge', async () => {
  const agency = await service.agency();
  await close(agency);
  await setAge(agency, '30 days 1 second');
  const call = dashboard.of(agency);
  for (const { body } of [await reopen(agency), await close(agency), await call.get('/customers')])
    expect(body.error.code).toBe('ORGANIZATION_NOT_FOUND');
  expect((await dashboard.get('/organizations?limit=100')).text).not.toContain(agency.id);
  await expect.poll(() => statusWith(agency.key)).toBe(401);
});

test('the document declares ORGANIZATION_CLOSED for every write of an organization, and for no read', () => {
  for (const { name, method, path, operation } of operationsOf(INTERNAL)) {
    const isWrite = path.startsWith(BELOW) && method !== 'GET' && !OF_CLOSED.includes(name);
    expect(declaredCodes(operation, 409).includes('ORGANIZATION_CLOSED'), name).toBe(isWrite);
  }
});
