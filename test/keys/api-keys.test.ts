import { describe, expect, test } from 'vitest';
import { useDashboard } from '../support/dashboard.ts';
import { failed, rejected } from '../support/faults.ts';
import { idsOf } from '../support/service.ts';

const NOW = Date.now();
const HOUR = 3_600_000;
const { service, dashboard } = await useDashboard();

const inFuture = (ms: number): string => new Date(NOW + ms).toISOString();

const KEY = {
  id: expect.any(String),
  start: expect.stringMatching(/^tcrm_\w{6}$/),
  last4: expect.stringMatching(/^\w{4}$/),
  access: 'write',
  resources: null,
  requestsPerMinute: null,
  createdAt: expect.any(String),
  lastUsedAt: null,
  expiresAt: null,
  revokedAt: null,
  replacedBy: null,
};
const SETTINGS = { access: 'read', resources: ['team', 'quotes'], requestsPerMinute: 7 };

/** An agency, and calls to its keys in the dashboard API. */
async function startAgency() {
  const agency = await service.agency();
  const calls = dashboard.of(agency);
  const post = (body: object = {}) => calls.post('/api-keys', { name: 'n', ...body });
  return {
    key: agency.key,
    stored: () => dashboard.stored(agency),
    post,
    issue: async (body?: object) => (await post(body)).body,
    list: (query = '') => calls.get(`/api-keys${query}`),
    find: async (id: string) => (await calls.get(`/api-keys/${id}`)).body,
    rotate: (id: string, body?: object) => calls.post(`/api-keys/${id}/rotate`, body),
    update: (id: string, body: object) => calls.patch(`/api-keys/${id}`, body),
    revoke: (id: string) => calls.delete(`/api-keys/${id}`),
  };
}
const statusOf = async (key: string): Promise<number> => (await service.client(key).get('/v1/team')).status;

const expire = (id: string) =>
  service.query("update api_keys set expires_at = now() - interval '1 second' where id = $1", [id]);

const IN_PAST = rejected(['body.expiresAt', 'must be in the future']);
const INACTIVE = failed(409, 'API_KEY_INACTIVE');
test('a new key works at once, and only its hash is stored', async () => {
  const { post, list, stored } = await startAgency();
  const { status, body } = await post({ name: 'Website' });
  expect(status).toBe(201);
  expect(body).toEqual({ ...KEY, name: 'Website', key: expect.stringMatching(/^tcrm_\w{43}_\w{6}$/) });
  expect(body.key.startsWith(body.start) && body.key.endsWith(body.last4)).toBe(true);
  expect(await statusOf(body.key)).toBe(200);
  const [row] = await service.query('select * from api_keys where id = $1', [body.id]);
  expect(row?.hash).toHaveLength(32);
  const secret = body.key.slice(11, -4);
  const everywhere = JSON.stringify(await stored()) + row?.hash.toString('latin1') + (await list()).text;
  expect(everywhere).not.toContain(secret);
});

test('a new key, also of a rotation, has an expiry in the future with any offset, or none', async () => {
  const { post, issue, rotate } = await startAgency();
  const expiresAt = inFuture(HOUR);
  const sent = { expiresAt: expiresAt.replace('Z', '+00:00'), requestsPerMinute: 0 };
  expect(await issue(sent)).toMatchObject({ expiresAt, requestsPerMinute: 0 });
  expect(await post({ expiresAt: inFuture(0) })).toMatchObject(IN_PAST);
  for (const other of [inFuture(2 * HOUR), null]) {
    const { id } = await issue({ expiresAt });
    expect(await rotate(id, { expiresAt: inFuture(0) })).toMatchObject(IN_PAST);
    expect((await rotate(id, { expiresAt: other })).body.expiresAt).toBe(other);
  }
});

test('keys are listed newest first, also revoked ones; `active=true` lists those neither revoked, expired nor replaced; these cannot be rotated, which issues nothing', async () => {
  const { issue, find, list, rotate, revoke } = await startAgency();
  const [revoked, expired, replaced, active] = [await issue(), await issue(), await issue(), await issue()];
  await revoke(revoked.id);
  await expire(expired.id);
  const { body: replacing } = await rotate(replaced.id, { overlapSeconds: 60 });
  for (const { id } of [revoked, expired, replaced]) expect(await rotate(id)).toMatchObject(INACTIVE);
  const { key: _key, ...shown } = active;
  expect(await find(active.id)).toEqual(shown);
  expect((await find(revoked.id)).revokedAt).not.toBeNull();
  const all = idsOf(await list());
  expect(all.slice(0, -1)).toEqual([replacing, active, replaced, expired, revoked].map(({ id }) => id));
  expect(idsOf(await list('?limit=1&offset=1'))).toEqual([active.id]);
  expect(idsOf(await list('?active=true'))).toEqual([replacing.id, active.id, all.at(-1)]);
  expect(await list('?active=false')).toMatchObject(rejected(['query.active', 'must be true']));
});

describe('a rotation', () => {
  test('issues a key with the same settings; the old one stays active for 24 hours or the overlap that is sent, which nothing changes', async () => {
    const { issue, rotate, find, update, stored } = await startAgency();
    for (const [sent, overlap] of [
      [undefined, 24 * HOUR],
      [{ overlapSeconds: 3_600 }, HOUR],
    ] as const) {
      const old = await issue(SETTINGS);
      const { status, body } = await rotate(old.id, sent);
      expect([status, body]).toEqual([201, { ...KEY, ...SETTINGS, name: 'n', key: expect.any(String) }]);
      expect(body.key).not.toBe(old.key);
      const { replacedBy, expiresAt } = await find(old.id);
      expect(replacedBy).toBe(body.id);
      expect(Date.parse(expiresAt) - Date.parse(body.createdAt)).toBe(overlap);
      expect([await statusOf(old.key), await statusOf(body.key)]).toEqual([200, 200]);
      const before = await stored();
      for (const other of [inFuture(HOUR), null])
        expect(await update(old.id, { expiresAt: other })).toMatchObject(INACTIVE);
      expect((await update(old.id, { expiresAt })).status).toBe(200);
      expect(await stored()).toEqual(before);
    }
  });

  test('shortens the life of the old key to the overlap, never extends it, and gives the new one the same lifetime', async () => {
    const { issue, rotate, find } = await startAgency();
    const old = await issue({ expiresAt: inFuture(HOUR) });
    // A lifetime of ten hours, of which nine have passed.
    await service.query('update api_keys set created_at = $2 where id = $1', [old.id, inFuture(-9 * HOUR)]);
    const { body } = await rotate(old.id, { overlapSeconds: 2_592_000 });
    const late = Date.parse(body.expiresAt) - Date.parse(inFuture(10 * HOUR));
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(HOUR);
    expect((await find(old.id)).expiresAt).toBe(inFuture(HOUR));
    const long = await issue({ expiresAt: inFuture(48 * HOUR) });
    await rotate(long.id, { overlapSeconds: 0 });
    expect(await statusOf(long.key)).toBe(401);
    // The last timestamp that is stored.
    const last = '9999-12-31T23:59:59.999Z';
    const { id } = await issue({ expiresAt: last });
    await service.query("update api_keys set created_at = '2020-01-01' where id = $1", [id]);
    expect((await rotate(id)).body.expiresAt).toBe(last);
  });

  test('by ten simultaneous requests issues one key', async () => {
    const { issue, rotate, find, list } = await startAgency();
    const old = await issue();
    const responses = await Promise.all(Array.from({ length: 10 }, () => rotate(old.id)));
    const { replacedBy } = await find(old.id);
    const [issued, ...others] = responses.sort((a, b) => a.status - b.status);
    expect(issued).toMatchObject({ status: 201, body: { id: replacedBy } });
    for (const response of others) expect(response).toMatchObject(INACTIVE);
    // With the key of the agency itself.
    expect((await list()).body.pagination.total).toBe(3);
  });
});

test('a revocation ends one key; another one returns the same', async () => {
  const { key: neighbour, issue, revoke } = await startAgency();
  const { key, ...issued } = await issue();
  expect(await statusOf(key)).toBe(200);
  // When it was last used is written at any moment.
  const { lastUsedAt, ...revoked } = (await revoke(issued.id)).body;
  expect({ ...revoked, lastUsedAt: null }).toEqual({ ...issued, revokedAt: expect.any(String) });
  expect(await revoke(issued.id)).toMatchObject({ status: 200, body: revoked });
  await expect.poll(() => statusOf(key)).toBe(401);
  expect(await statusOf(neighbour)).toBe(200);
});

test('a PATCH changes only the settings that are sent; null resets one, also the expiry of an expired key', async () => {
  const { stored, issue, update } = await startAgency();
  const { key, ...issued } = await issue({ expiresAt: inFuture(HOUR) });
  const changed = { ...issued, name: 'Website', ...SETTINGS };
  expect((await update(issued.id, { name: 'Website', ...SETTINGS })).body).toEqual(changed);
  const reset = { ...changed, resources: null };
  expect((await update(issued.id, { resources: null })).body).toEqual(reset);
  const before = await stored();
  for (const body of [{}, { expiresAt: issued.expiresAt }])
    expect((await update(issued.id, body)).body).toEqual(reset);
  expect(await update(issued.id, { expiresAt: inFuture(0) })).toMatchObject(IN_PAST);
  expect(await stored()).toEqual(before);
  await expire(issued.id);
  expect(await statusOf(key)).toBe(401);
  for (const expiresAt of [inFuture(2 * HOUR), null])
    expect((await update(issued.id, { expiresAt })).body).toEqual({ ...reset, expiresAt });
  expect(await statusOf(key)).toBe(200);
});
