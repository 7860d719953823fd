import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { buildDashboard, TOKEN, useDashboard } from './support/dashboard.ts';
import { failed, rejected } from './support/faults.ts';
import { ownLog } from './support/instance.ts';
import { member } from './support/records.ts';
import { idsOf } from './support/service.ts';

/** The dashboard API and its token. test/contract/declared-errors.test.ts sends each operation without one. */

const { service, dashboard } = useDashboard();

test('another token in Authorization is 401, also with the token in x-api-key', async () => {
  const { key } = await service.agency();
  for (const sent of [`${TOKEN}x`, TOKEN.slice(0, -1), TOKEN.toUpperCase(), key]) {
    const headers = { authorization: `Bearer ${sent}`, 'x-api-key': TOKEN };
    expect(await dashboard.get('/organizations', { token: null, headers })).toMatchObject({
      ...failed(401, 'UNAUTHORIZED'),
      headers: { 'www-authenticate': 'Bearer' },
    });
  }
  const headers = { authorization: `Basic ${TOKEN}` };
  expect((await dashboard.get('/organizations', { token: null, headers })).status).toBe(401);
});

test('a dashboard without a configured token returns 503 whatever is sent, and logs the reason once', async () => {
  const { logger, lines } = ownLog('warn');
  const closed = await buildDashboard(service, { token: undefined, logger });
  for (const token of [TOKEN, null, 'undefined'])
    expect(await closed.get('/organizations', { token })).toMatchObject({
      ...failed(503, 'SERVICE_UNAVAILABLE'),
      headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
    });
  const warnings = lines.filter(({ level }) => level === 40);
  expect(warnings).toMatchObject([{ msg: expect.stringContaining('DASHBOARD_TOKEN') }]);
  await closed.app.close();
});

test('X-Actor, of at most 64 characters, stands in the log line of the request', async () => {
  const { logger, lines } = ownLog();
  const logged = await buildDashboard(service, { logger });
  const agency = await service.agency();
  const actedBy = (actor: string) => logged.of(agency).get('/customers', { headers: { 'x-actor': actor } });
  const actor = 'x'.repeat(64);
  await actedBy(actor);
  expect(lines).toMatchObject([{ organizationId: agency.id, actor, method: 'GET', status: 200 }]);
  const long = rejected(['header.x-actor', 'must have at most 64 characters']);
  expect(await actedBy(`${actor}x`)).toMatchObject(long);
  await logged.app.close();
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

test('organizations of one timestamp are listed by id, whole and page by page', async () => {
  const made = await Promise.all([1, 2, 3, 4].map((n) => service.agency(`Gemela ${n}`)));
  const ids = made.map(({ id }) => id).sort();
  await service.query('update organizations set created_at = now() where id = any($1)', [ids]);
  const read = async (page: string) => idsOf(await dashboard.get(`/organizations?query=gemela&${page}`));
  expect(await read('limit=100')).toEqual(ids);
  expect((await Promise.all([0, 1, 2, 3].map((n) => read(`limit=1&offset=${n}`)))).flat()).toEqual(ids);
});
