import { describe, expect, test } from 'vitest';
import { useDashboard } from '../support/dashboard.ts';

const NOW = Date.now();
const HOUR = 3_600_000;
const { service, dashboard } = useDashboard(() => ({ now: () => NOW }));

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

async function agency() {
  const made = await service.agency();
  const call = dashboard.of(made);
  const issue = async (settings: object = {}) =>
    (await call.post('/api-keys', { name: 'n', ...settings })).body;
  const rotate = (id: string, body?: object) => call.post(`/api-keys/${id}/rotate`, body);
  const listed = async () => (await call.get('/api-keys')).body.data;
  return { made, call, issue, rotate, listed };
}

/** What /v1 answers to the key. */
const statusOf = async (key: string): Promise<number> => (await service.client(key).get('/v1/team')).status;

const expiryOf = async (id: string): Promise<number | undefined> => {
  const [row] = await service.query<{ at: Date }>('select expires_at as at from api_keys where id = $1', [
    id,
  ]);
  return row?.at.getTime();
};

describe('issueApiKey', () => {
  test('shows a key that works at once, and keeps only its hash', async () => {
    const { made, call } = await agency();
    const { status, body } = await call.post('/api-keys', { name: 'Website' });
    expect(status).toBe(201);
    expect(body).toEqual({ ...KEY, name: 'Website', key: expect.stringMatching(/^tcrm_\w{43}_\w{6}$/) });
    expect(body.key.startsWith(body.start) && body.key.endsWith(body.last4)).toBe(true);
    expect(await statusOf(body.key)).toBe(200);
    const [row] = await service.query('select * from api_keys where id = $1', [body.id]);
    expect(row?.hash).toHaveLength(32);
    const stored = JSON.stringify([await dashboard.stored(made), row?.hash.toString('latin1')]);
    for (const text of [stored, (await call.get('/api-keys')).text])
      expect(text).not.toContain(body.key.slice(11, -4));
  });

  test('takes a future expiry with any offset, and each resource once', async () => {
    const { made, call, issue } = await agency();
    const expiresAt = inFuture(HOUR);
    const key = await issue({ expiresAt: expiresAt.replace('Z', '+00:00'), requestsPerMinute: 0 });
    expect(key).toMatchObject({ expiresAt, requestsPerMinute: 0 });
    const before = await dashboard.stored(made);
    for (const [settings, path, message] of [
      [{ expiresAt: inFuture(0) }, 'body.expiresAt', 'must be in the future'],
      [{ expiresAt: inFuture(-HOUR) }, 'body.expiresAt', 'must be in the future'],
      [{ resources: ['team', 'team'] }, 'body.resources', 'must not have duplicates'],
    ] as const) {
      const { status, body } = await call.post('/api-keys', { name: 'n', ...settings });
      expect([status, body.error.details]).toEqual([400, [{ path, message }]]);
    }
    expect(await dashboard.stored(made)).toEqual(before);
  });
});

test('listApiKeys shows the keys of the organization only, newest first, revoked ones too, page by page', async () => {
  const [{ call, issue }, neighbour] = [await agency(), await agency()];
  const issued = [];
  for (const name of ['one', 'two', 'three']) issued.push(await issue({ name }));
  await neighbour.issue({ name: 'theirs' });
  await call.delete(`/api-keys/${issued[1].id}`);
  const { body } = await call.get('/api-keys');
  expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['three', 'two', 'one', 'test']);
  expect(body.data[1].revokedAt).toEqual(expect.any(String));
  expect(body.pagination).toEqual({ limit: 25, offset: 0, total: 4 });
  const second = await call.get('/api-keys?limit=1&offset=1');
  expect(second.body).toEqual({ data: [body.data[1]], pagination: { limit: 1, offset: 1, total: 4 } });
});

describe('rotateApiKey', () => {
  test('issues a key with the same settings, and lets the old one live for the overlap: a day, unless it is said', async () => {
    const { issue, rotate, listed } = await agency();
    for (const [sent, overlap] of [
      [undefined, 24 * HOUR],
      [{}, 24 * HOUR],
      [{ overlapSeconds: 3_600 }, HOUR],
    ] as const) {
      const old = await issue(SETTINGS);
      const { status, body } = await rotate(old.id, sent);
      expect([status, body]).toEqual([201, { ...KEY, ...SETTINGS, name: 'n', key: expect.any(String) }]);
      expect(body.key).not.toBe(old.key);
      const replaced = (await listed()).find(({ id }: { id: string }) => id === old.id);
      expect(replaced.replacedBy).toBe(body.id);
      expect(Date.parse(replaced.expiresAt) - Date.parse(body.createdAt)).toBe(overlap);
      expect(await Promise.all([statusOf(old.key), statusOf(body.key)])).toEqual([200, 200]);
    }
  });

  test('with no overlap ends the old key at once, also where it was just used', async () => {
    const { issue, rotate } = await agency();
    const old = await issue();
    expect(await statusOf(old.key)).toBe(200);
    const { body } = await rotate(old.id, { overlapSeconds: 0 });
    await expect.poll(() => statusOf(old.key)).toBe(401);
    expect(await statusOf(body.key)).toBe(200);
  });

  test('never lengthens the life of the old key, and gives the new one as long a life as the old one was given', async () => {
    const { issue, rotate } = await agency();
    const old = await issue({ expiresAt: inFuture(HOUR) });
    // It was given ten hours, nine of which have passed.
    const created = inFuture(-9 * HOUR);
    await service.query('update api_keys set created_at = $2 where id = $1', [old.id, created]);
    const { body } = await rotate(old.id, { overlapSeconds: 2_592_000 });
    expect([body.expiresAt, await expiryOf(old.id)]).toEqual([inFuture(10 * HOUR), NOW + HOUR]);
  });

  test('takes the expiry of the new key: any timestamp in the future, or null for none', async () => {
    const { made, issue, rotate } = await agency();
    for (const expiresAt of [inFuture(2 * HOUR), null]) {
      const old = await issue({ expiresAt: inFuture(HOUR) });
      expect((await rotate(old.id, { expiresAt })).body.expiresAt).toBe(expiresAt);
      expect(await expiryOf(old.id)).toBe(NOW + HOUR);
    }
    const { id } = await issue();
    const before = await dashboard.stored(made);
    const { status, body } = await rotate(id, { expiresAt: inFuture(0) });
    const fault = { path: 'body.expiresAt', message: 'must be in the future' };
    expect([status, body.error.details]).toEqual([400, [fault]]);
    expect(await dashboard.stored(made)).toEqual(before);
  });

  test('of a revoked or expired key is 409 and issues nothing', async () => {
    const { made, call, issue, rotate } = await agency();
    const [revoked, expired] = [await issue(), await issue()];
    await call.delete(`/api-keys/${revoked.id}`);
    await service.query("update api_keys set expires_at = now() - interval '1 second' where id = $1", [
      expired.id,
    ]);
    const before = await dashboard.stored(made);
    for (const [{ id }, message] of [
      [revoked, 'The key is revoked. Issue a new one.'],
      [expired, 'The key has expired. Issue a new one.'],
    ]) {
      const { status, body } = await rotate(id);
      expect([status, body.error]).toEqual([409, { code: 'API_KEY_INACTIVE', message }]);
    }
    expect(await dashboard.stored(made)).toEqual(before);
  });

  test('by ten requests at once issues one key, and tells the others which one', async () => {
    const { issue, rotate, listed } = await agency();
    const old = await issue();
    const answers = await Promise.all(Array.from({ length: 10 }, () => rotate(old.id)));
    const [issued, ...refused] = answers.sort((a, b) => a.status - b.status);
    expect([issued?.status, refused.length]).toEqual([201, 9]);
    const message = `The key was already rotated. Key ${issued?.body.id} replaces it.`;
    for (const { status, body } of refused)
      expect([status, body.error]).toEqual([409, { code: 'API_KEY_INACTIVE', message }]);
    const keys = (await listed()).filter(({ name }: { name: string }) => name === 'n');
    expect(keys.map(({ id }: { id: string }) => id)).toEqual([issued?.body.id, old.id]);
    expect(keys[1].replacedBy).toBe(issued?.body.id);
  });
});

test('revokeApiKey ends the key, and answers the same again, by 30 requests at once too', async () => {
  const { call, issue } = await agency();
  const { key, ...shown } = await issue();
  expect(await statusOf(key)).toBe(200);
  const revoke = () => call.delete(`/api-keys/${shown.id}`);
  const answers = await Promise.all(Array.from({ length: 30 }, revoke));
  const [first] = answers;
  expect(first?.body).toEqual({
    ...shown,
    lastUsedAt: first?.body.lastUsedAt,
    revokedAt: expect.any(String),
  });
  for (const { status, body } of [...answers, await revoke()])
    expect([status, body]).toEqual([200, first?.body]);
  await expect.poll(() => statusOf(key)).toBe(401);
});

test('updateApiKey changes the settings that are sent, and no other; null sets one free', async () => {
  const { made, call, issue } = await agency();
  const { key, ...issued } = await issue({ expiresAt: inFuture(HOUR) });
  const patch = async (body: object) => (await call.patch(`/api-keys/${issued.id}`, body)).body;
  const changed = { ...issued, name: 'Website', ...SETTINGS };
  expect(await patch({ name: 'Website', ...SETTINGS })).toEqual(changed);
  expect(await patch({ resources: null })).toEqual({ ...changed, resources: null });
  const free = { resources: null, requestsPerMinute: null };
  expect(await patch({ requestsPerMinute: null })).toEqual({ ...changed, ...free });
  const before = await dashboard.stored(made);
  for (const body of [{}, { expiresAt: issued.expiresAt }])
    expect(await patch(body)).toEqual({ ...changed, ...free });
  expect(await dashboard.stored(made)).toEqual(before);
  expect(await statusOf(key)).toBe(200);
});

test('updateApiKey changes the expiry to a timestamp in the future or to none, but not of a rotated key', async () => {
  const { made, call, issue, rotate } = await agency();
  const { key, ...issued } = await issue({ expiresAt: inFuture(HOUR) });
  const patch = (id: string, expiresAt: string | null) => call.patch(`/api-keys/${id}`, { expiresAt });
  for (const expiresAt of [inFuture(2 * HOUR), null, inFuture(HOUR)])
    expect((await patch(issued.id, expiresAt)).body).toEqual({ ...issued, expiresAt });
  const old = await issue();
  const { body: successor } = await rotate(old.id);
  const { expiresAt } = (await call.get('/api-keys')).body.data.find(
    ({ id }: { id: string }) => id === old.id,
  );
  const before = await dashboard.stored(made);
  const past = await patch(issued.id, inFuture(0));
  const fault = { path: 'body.expiresAt', message: 'must be in the future' };
  expect([past.status, past.body.error.details]).toEqual([400, [fault]]);
  const message = `The key was already rotated. Key ${successor.id} replaces it.`;
  for (const other of [inFuture(HOUR), null]) {
    const { status, body } = await patch(old.id, other);
    expect([status, body.error]).toEqual([409, { code: 'API_KEY_INACTIVE', message }]);
  }
  expect((await patch(old.id, expiresAt)).status).toBe(200);
  expect(await dashboard.stored(made)).toEqual(before);
  await patch(issued.id, inFuture(60 * HOUR));
  await service.query("update api_keys set expires_at = now() - interval '1 second' where id = $1", [
    issued.id,
  ]);
  await expect.poll(() => statusOf(key)).toBe(401);
  await patch(issued.id, inFuture(HOUR));
  await expect.poll(() => statusOf(key)).toBe(200);
});
