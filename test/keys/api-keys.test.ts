import { describe, expect, test } from 'vitest';
import { useDashboard } from '../support/dashboard.ts';

const NOW = Date.now();
const HOUR = 3_600_000;
const { service, dashboard } = useDashboard();

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
  return {
    key: agency.key,
    stored: () => dashboard.stored(agency),
    post: (body: object) => calls.post('/api-keys', { name: 'n', ...body }),
    issue: async (body: object = {}) => (await calls.post('/api-keys', { name: 'n', ...body })).body,
    list: (query = '') => calls.get(`/api-keys${query}`),
    find: async (id: string) => (await calls.get(`/api-keys/${id}`)).body,
    rotate: (id: string, body?: object) => calls.post(`/api-keys/${id}/rotate`, body),
    update: (id: string, body: object) => calls.patch(`/api-keys/${id}`, body),
    revoke: (id: string) => calls.delete(`/api-keys/${id}`),
  };
}

/** The status of a request with the key. */
const statusOf = async (key: string): Promise<number> => (await service.client(key).get('/v1/team')).status;

const expire = (id: string) =>
  service.query("update api_keys set expires_at = now() - interval '1 second' where id = $1", [id]);

const invalid = (path: string, message: string) => ({
  status: 400,
  body: { error: { code: 'VALIDATION_FAILED', details: [{ path, message }] } },
});
const IN_PAST = invalid('body.expiresAt', 'must be in the future');

const inactive = (message: string) => ({
  status: 409,
  body: { error: { code: 'API_KEY_INACTIVE', message } },
});
const alreadyRotated = (id: string) => inactive(`The key was already rotated. Key ${id} replaces it.`);

describe('issueApiKey', () => {
  test('returns a key that works at once, and stores only its hash', async () => {
    const { post, list, stored } = await startAgency();
    const { status, body } = await post({ name: 'Website' });
    expect(status).toBe(201);
    expect(body).toEqual({ ...KEY, name: 'Website', key: expect.stringMatching(/^tcrm_\w{43}_\w{6}$/) });
    expect(body.key.startsWith(body.start) && body.key.endsWith(body.last4)).toBe(true);
    expect(await statusOf(body.key)).toBe(200);
    const [row] = await service.query('select * from api_keys where id = $1', [body.id]);
    expect(row?.hash).toHaveLength(32);
    const secret = body.key.slice(11, -4);
    expect(JSON.stringify(await stored()) + row?.hash.toString('latin1')).not.toContain(secret);
    expect((await list()).text).not.toContain(secret);
  });

  test('accepts an expiry in the future with any offset, and each resource once', async () => {
    const { post, issue, stored } = await startAgency();
    const expiresAt = inFuture(HOUR);
    expect(await issue({ expiresAt: expiresAt.replace('Z', '+00:00'), requestsPerMinute: 0 })).toMatchObject({
      expiresAt,
      requestsPerMinute: 0,
    });
    const before = await stored();
    expect(await post({ expiresAt: inFuture(0) })).toMatchObject(IN_PAST);
    expect(await post({ resources: ['team', 'team'] })).toMatchObject(
      invalid('body.resources', 'must not have duplicates'),
    );
    expect(await stored()).toEqual(before);
  });
});

test('listApiKeys returns the keys newest first, including revoked keys', async () => {
  const { issue, revoke, list } = await startAgency();
  for (const name of ['one', 'two', 'three']) await revoke((await issue({ name })).id);
  const { body } = await list();
  expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['three', 'two', 'one', 'test']);
  expect((await list('?limit=1&offset=1')).body.data).toEqual([body.data[1]]);
});

test('a key can be read by its id; `active=true` lists keys that are neither revoked, expired nor replaced', async () => {
  const { issue, find, list, rotate, revoke } = await startAgency();
  const [revoked, expired, replaced, active] = [await issue(), await issue(), await issue(), await issue()];
  await revoke(revoked.id);
  await expire(expired.id);
  const { body: replacing } = await rotate(replaced.id, { overlapSeconds: 60 });
  const { key: _key, ...shown } = active;
  expect(await find(active.id)).toEqual(shown);
  expect((await find(revoked.id)).revokedAt).not.toBeNull();
  const ids = (await list('?active=true')).body.data.map(({ id }: { id: string }) => id);
  expect(ids).toEqual(expect.arrayContaining([active.id, replacing.id]));
  for (const { id } of [revoked, expired, replaced]) expect(ids).not.toContain(id);
  expect((await list('?active=false')).body).toMatchObject(
    invalid('query.active', 'must be one of true').body,
  );
});

describe('rotateApiKey', () => {
  test.each([
    [undefined, 24 * HOUR],
    [{ overlapSeconds: 3_600 }, HOUR],
  ])(
    'with the body %j issues a key with the same settings; the old one stays active for %i ms',
    async (sent, overlap) => {
      const { issue, rotate, find } = await startAgency();
      const old = await issue(SETTINGS);
      const { status, body } = await rotate(old.id, sent);
      expect([status, body]).toEqual([201, { ...KEY, ...SETTINGS, name: 'n', key: expect.any(String) }]);
      expect(body.key).not.toBe(old.key);
      const { replacedBy, expiresAt } = await find(old.id);
      expect(replacedBy).toBe(body.id);
      expect(Date.parse(expiresAt) - Date.parse(body.createdAt)).toBe(overlap);
      expect([await statusOf(old.key), await statusOf(body.key)]).toEqual([200, 200]);
    },
  );

  test('never extends the old key, and gives the new one the same lifetime', async () => {
    const { issue, rotate, find } = await startAgency();
    const old = await issue({ expiresAt: inFuture(HOUR) });
    // A lifetime of ten hours, of which nine have passed.
    await service.query('update api_keys set created_at = $2 where id = $1', [old.id, inFuture(-9 * HOUR)]);
    const { body } = await rotate(old.id, { overlapSeconds: 2_592_000 });
    const late = Date.parse(body.expiresAt) - Date.parse(inFuture(10 * HOUR));
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(HOUR);
    expect((await find(old.id)).expiresAt).toBe(inFuture(HOUR));
  });

  test('accepts an expiry of the new key in the future, or null', async () => {
    const { issue, rotate } = await startAgency();
    for (const expiresAt of [inFuture(2 * HOUR), null]) {
      const old = await issue({ expiresAt: inFuture(HOUR) });
      expect(await rotate(old.id, { expiresAt: inFuture(0) })).toMatchObject(IN_PAST);
      expect((await rotate(old.id, { expiresAt })).body.expiresAt).toBe(expiresAt);
    }
  });

  test('of a revoked or expired key is 409 and issues nothing', async () => {
    const { stored, issue, rotate, revoke } = await startAgency();
    const [revoked, expired] = [await issue(), await issue()];
    await revoke(revoked.id);
    await expire(expired.id);
    const before = await stored();
    expect(await rotate(revoked.id)).toMatchObject(inactive('The key is revoked. Issue a new one.'));
    expect(await rotate(expired.id)).toMatchObject(inactive('The key has expired. Issue a new one.'));
    expect(await stored()).toEqual(before);
  });

  test('by ten simultaneous requests issues one key, which the other responses name', async () => {
    const { issue, rotate, find, list } = await startAgency();
    const old = await issue();
    const responses = await Promise.all(Array.from({ length: 10 }, () => rotate(old.id)));
    const { replacedBy } = await find(old.id);
    const [issued, ...rejected] = responses.sort((a, b) => a.status - b.status);
    expect(issued).toMatchObject({ status: 201, body: { id: replacedBy } });
    for (const response of rejected) expect(response).toMatchObject(alreadyRotated(replacedBy));
    // With the key of the agency itself.
    expect((await list()).body.pagination.total).toBe(3);
  });
});

test('revokeApiKey ends one key, also in 30 simultaneous requests, which all return the same', async () => {
  const { key: neighbour, issue, revoke } = await startAgency();
  const { key, ...issued } = await issue();
  expect(await statusOf(key)).toBe(200);
  const responses = await Promise.all(Array.from({ length: 30 }, () => revoke(issued.id)));
  const { body } = await revoke(issued.id);
  expect(body).toEqual({ ...issued, lastUsedAt: body.lastUsedAt, revokedAt: expect.any(String) });
  for (const response of responses) expect(response).toMatchObject({ status: 200, body });
  await expect.poll(() => statusOf(key)).toBe(401);
  expect(await statusOf(neighbour)).toBe(200);
});

describe('updateApiKey', () => {
  test('changes only the settings that are sent; null resets one', async () => {
    const { stored, issue, update } = await startAgency();
    const { key, ...issued } = await issue({ expiresAt: inFuture(HOUR) });
    const changed = { ...issued, name: 'Website', ...SETTINGS };
    expect((await update(issued.id, { name: 'Website', ...SETTINGS })).body).toEqual(changed);
    const reset = { ...changed, resources: null };
    expect((await update(issued.id, { resources: null })).body).toEqual(reset);
    const before = await stored();
    for (const body of [{}, { expiresAt: issued.expiresAt }])
      expect((await update(issued.id, body)).body).toEqual(reset);
    expect(await stored()).toEqual(before);
    expect(await statusOf(key)).toBe(200);
  });

  test('changes the expiry to a timestamp in the future or to null, also of an expired key', async () => {
    const { stored, issue, update } = await startAgency();
    const { key, ...issued } = await issue({ expiresAt: inFuture(HOUR) });
    for (const expiresAt of [inFuture(2 * HOUR), null])
      expect((await update(issued.id, { expiresAt })).body).toEqual({ ...issued, expiresAt });
    const before = await stored();
    expect(await update(issued.id, { expiresAt: inFuture(0) })).toMatchObject(IN_PAST);
    expect(await stored()).toEqual(before);
    await expire(issued.id);
    await expect.poll(() => statusOf(key)).toBe(401);
    await update(issued.id, { expiresAt: inFuture(HOUR) });
    await expect.poll(() => statusOf(key)).toBe(200);
  });

  test('does not change the expiry of a rotated key', async () => {
    const { stored, issue, rotate, update, find } = await startAgency();
    const { id } = await issue();
    const { body: successor } = await rotate(id);
    const { expiresAt } = await find(id);
    const before = await stored();
    for (const other of [inFuture(HOUR), null])
      expect(await update(id, { expiresAt: other })).toMatchObject(alreadyRotated(successor.id));
    expect((await update(id, { expiresAt })).status).toBe(200);
    expect(await stored()).toEqual(before);
  });
});
