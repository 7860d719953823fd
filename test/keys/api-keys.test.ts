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

async function agency() {
  const made = await service.agency();
  return { made, call: dashboard.of(made) };
}

/** What /v1 answers to the key. */
const statusOf = async (key: string): Promise<number> => (await service.client(key).get('/v1/team')).status;

describe('issueApiKey', () => {
  test('shows a key that works at once, and keeps only its hash', async () => {
    const { made, call } = await agency();
    const { status, body } = await call.post('/api-keys', { name: 'Website' });
    expect(status).toBe(201);
    expect(body).toEqual({ ...KEY, name: 'Website', key: expect.stringMatching(/^tcrm_\w{43}_\w{6}$/) });
    expect(body.key.startsWith(body.start) && body.key.endsWith(body.last4)).toBe(true);
    const theirs = await service.client(body.key).get('/v1/team');
    expect(theirs.status).toBe(200);
    const stored = JSON.stringify(await dashboard.stored(made));
    expect(stored).not.toContain(body.key);
    expect((await call.get('/api-keys')).text).not.toContain(body.key);
  });

  test('takes a future expiry with any offset, and a limit of its own or none', async () => {
    const { call } = await agency();
    const { body } = await call.post('/api-keys', {
      name: 'n',
      expiresAt: inFuture(HOUR).replace('Z', '+00:00'),
      requestsPerMinute: 0,
    });
    expect(body).toMatchObject({ expiresAt: inFuture(HOUR), requestsPerMinute: 0 });
    const nulls = await call.post('/api-keys', { name: 'n', expiresAt: null, requestsPerMinute: null });
    expect(nulls.body).toMatchObject({ expiresAt: null, requestsPerMinute: null });
  });

  test.each([
    [{ name: 'n', expiresAt: inFuture(0) }, 'body.expiresAt', 'must be in the future'],
    [{ name: 'n', expiresAt: inFuture(-HOUR) }, 'body.expiresAt', 'must be in the future'],
    [{ name: 'n', resources: ['team', 'team'] }, 'body.resources', 'must name each once'],
  ])('refuses %j', async (body, path, message) => {
    const { made, call } = await agency();
    const before = await dashboard.stored(made);
    const answer = await call.post('/api-keys', body);
    expect(answer.status).toBe(400);
    expect(answer.body.error.details).toEqual([{ path, message }]);
    expect(await dashboard.stored(made)).toEqual(before);
  });
});

describe('listApiKeys', () => {
  test('shows the keys of the organization only, newest first, revoked ones too, page by page', async () => {
    const { call } = await agency();
    const neighbour = await agency();
    const issued = [];
    for (const name of ['one', 'two', 'three']) issued.push((await call.post('/api-keys', { name })).body);
    await neighbour.call.post('/api-keys', { name: 'theirs' });
    await call.delete(`/api-keys/${issued[1].id}`);
    const { body } = await call.get('/api-keys');
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['three', 'two', 'one', 'test']);
    expect(body.data[1].revokedAt).toEqual(expect.any(String));
    expect(body.pagination).toEqual({ limit: 25, offset: 0, total: 4 });
    const second = await call.get('/api-keys?limit=1&offset=1');
    expect(second.body).toEqual({ data: [body.data[1]], pagination: { limit: 1, offset: 1, total: 4 } });
    expect((await call.get('/api-keys?limit=101')).status).toBe(400);
  });
});

describe('rotateApiKey', () => {
  test('issues a key with the same settings, and lets the old one live for the overlap', async () => {
    const { call } = await agency();
    const old = (
      await call.post('/api-keys', {
        name: 'n',
        access: 'read',
        resources: ['team', 'quotes'],
        requestsPerMinute: 7,
      })
    ).body;
    const { status, body } = await call.post(`/api-keys/${old.id}/rotate`, { overlapSeconds: 3_600 });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...KEY,
      name: 'n',
      access: 'read',
      resources: ['team', 'quotes'],
      requestsPerMinute: 7,
      key: expect.any(String),
    });
    expect(body.key).not.toBe(old.key);
    const [replaced] = (await call.get('/api-keys')).body.data.filter(
      ({ id }: { id: string }) => id === old.id,
    );
    expect(replaced.replacedBy).toBe(body.id);
    const lives = Date.parse(replaced.expiresAt) - Date.parse(body.createdAt);
    expect(lives).toBe(HOUR);
    expect(await Promise.all([statusOf(old.key), statusOf(body.key)])).toEqual([200, 200]);
  });

  test('has an overlap of a day without a body', async () => {
    const { call } = await agency();
    for (const send of [undefined, {}]) {
      const old = (await call.post('/api-keys', { name: 'n' })).body;
      const { status, body } = await call.post(`/api-keys/${old.id}/rotate`, send);
      expect(status).toBe(201);
      const [row] = await service.query<{ expires_at: Date }>(
        'select expires_at from api_keys where id = $1',
        [old.id],
      );
      expect(row?.expires_at.getTime()).toBe(Date.parse(body.createdAt) + 24 * HOUR);
    }
  });

  test('with no overlap ends the old key at once, also where it was just used', async () => {
    const { call } = await agency();
    const old = (await call.post('/api-keys', { name: 'n' })).body;
    expect(await statusOf(old.key)).toBe(200);
    const { body } = await call.post(`/api-keys/${old.id}/rotate`, { overlapSeconds: 0 });
    await expect.poll(() => statusOf(old.key)).toBe(401);
    expect(await statusOf(body.key)).toBe(200);
  });

  test('never lengthens the life of the old key, and the new one ends with it', async () => {
    const { call } = await agency();
    const old = (await call.post('/api-keys', { name: 'n', expiresAt: inFuture(HOUR) })).body;
    const { body } = await call.post(`/api-keys/${old.id}/rotate`, { overlapSeconds: 2_592_000 });
    expect(body.expiresAt).toBe(inFuture(HOUR));
    const [row] = await service.query<{ expires_at: Date }>('select expires_at from api_keys where id = $1', [
      old.id,
    ]);
    expect(row?.expires_at.toISOString()).toBe(inFuture(HOUR));
  });

  test('of a revoked or expired key is 409 and issues nothing', async () => {
    const { made, call } = await agency();
    const revoked = (await call.post('/api-keys', { name: 'n' })).body;
    await call.delete(`/api-keys/${revoked.id}`);
    const expired = (await call.post('/api-keys', { name: 'n' })).body;
    await service.query("update api_keys set expires_at = now() - interval '1 second' where id = $1", [
      expired.id,
    ]);
    const before = await dashboard.stored(made);
    for (const [{ id }, message] of [
      [revoked, 'The key is revoked; issue a new one.'],
      [expired, 'The key has expired; issue a new one.'],
    ]) {
      const { status, body } = await call.post(`/api-keys/${id}/rotate`);
      expect(status).toBe(409);
      expect(body.error).toMatchObject({ code: 'API_KEY_INACTIVE', message });
    }
    expect(await dashboard.stored(made)).toEqual(before);
  });

  test('by ten requests at once issues one key, and tells the others which one', async () => {
    const { call } = await agency();
    const old = (await call.post('/api-keys', { name: 'n' })).body;
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => call.post(`/api-keys/${old.id}/rotate`)),
    );
    const [issued, ...refused] = answers.sort((a, b) => a.status - b.status);
    expect(issued?.status).toBe(201);
    expect(refused).toHaveLength(9);
    for (const { status, body } of refused) {
      expect(status).toBe(409);
      expect(body.error).toMatchObject({
        code: 'API_KEY_INACTIVE',
        message: `The key was rotated already: key ${issued?.body.id} stands in its place.`,
      });
    }
    const keys = (await call.get('/api-keys')).body.data.filter(({ name }: { name: string }) => name === 'n');
    expect(keys.map(({ id }: { id: string }) => id)).toEqual([issued?.body.id, old.id]);
    expect(keys[1].replacedBy).toBe(issued?.body.id);
  });
});

describe('revokeApiKey', () => {
  test('ends the key, and answers the same again', async () => {
    const { call } = await agency();
    const issued = (await call.post('/api-keys', { name: 'n' })).body;
    expect(await statusOf(issued.key)).toBe(200);
    const { key, ...shown } = issued;
    const first = await call.delete(`/api-keys/${issued.id}`);
    expect(first.status).toBe(200);
    expect(first.body).toEqual({ ...shown, revokedAt: expect.any(String) });
    await expect.poll(() => statusOf(key)).toBe(401);
    const again = await call.delete(`/api-keys/${issued.id}`);
    expect(again).toMatchObject({ status: 200, body: first.body });
  });

  test('by 30 requests at once gives every one of them the same moment', async () => {
    const { call } = await agency();
    const { id } = (await call.post('/api-keys', { name: 'n' })).body;
    const answers = await Promise.all(Array.from({ length: 30 }, () => call.delete(`/api-keys/${id}`)));
    expect(new Set(answers.map(({ body }) => body.revokedAt)).size).toBe(1);
    expect(answers[0]?.body.revokedAt).toEqual(expect.any(String));
  });
});

describe('updateApiKey', () => {
  test('changes the settings that are sent, and no other; null sets one free', async () => {
    const { made, call } = await agency();
    const { key, ...issued } = (await call.post('/api-keys', { name: 'n', expiresAt: inFuture(HOUR) })).body;
    const patch = async (body: object) => (await call.patch(`/api-keys/${issued.id}`, body)).body;
    const changed = {
      ...issued,
      name: 'Website',
      access: 'read',
      resources: ['catalog'],
      requestsPerMinute: 5,
    };
    expect(
      await patch({ name: 'Website', access: 'read', resources: ['catalog'], requestsPerMinute: 5 }),
    ).toEqual(changed);
    expect(await patch({ resources: null })).toEqual({ ...changed, resources: null });
    expect(await patch({ requestsPerMinute: null })).toEqual({
      ...changed,
      resources: null,
      requestsPerMinute: null,
    });
    const before = await dashboard.stored(made);
    expect(await patch({})).toMatchObject({ name: 'Website' });
    const strange = { headers: { prefer: 'handling=strict' } };
    expect((await call.patch(`/api-keys/${issued.id}`, { expiresAt: null }, strange)).status).toBe(200);
    expect(await dashboard.stored(made)).toEqual(before);
    expect(await statusOf(key)).toBe(200);
  });
});
