import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openKeyCache } from '../../src/api-keys/cache.ts';
import { issueApiKey } from '../../src/api-keys/repository.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { presentedKey } from '../../src/http/credentials.ts';
import { createLogger } from '../../src/http/logging.ts';
import { type Agency, useService } from '../support/service.ts';
import { UNAUTHORIZED } from '../support/unauthorized.ts';

const service = useService();

let agency: Agency;
beforeAll(async () => {
  agency = await service.agency();
});

describe('the key of a request', () => {
  test.each<[string, string[], string | undefined]>([
    ['a bearer token', ['authorization', 'Bearer abc'], 'abc'],
    ['in any case', ['Authorization', 'bEARER abc'], 'abc'],
    ['with spaces around it', ['authorization', 'Bearer   abc  '], 'abc'],
    ['in a header of its own', ['X-Api-Key', 'abc'], 'abc'],
    ['in a header of its own, with spaces', ['x-api-key', ' abc '], 'abc'],
    ['in both', ['authorization', 'Bearer abc', 'x-api-key', 'abc'], 'abc'],
    ['two that differ', ['authorization', 'Bearer abc', 'x-api-key', 'abd'], undefined],
    ['two that differ in case', ['authorization', 'Bearer abc', 'x-api-key', 'ABC'], undefined],
    ['beside the password of a proxy', ['authorization', 'Basic eDp5', 'x-api-key', 'abc'], 'abc'],
    ['beside an empty bearer', ['authorization', 'Bearer ', 'x-api-key', 'abc'], 'abc'],
    ['beside an empty header of its own', ['authorization', 'Bearer abc', 'x-api-key', ''], 'abc'],
    ['only the password of a proxy', ['authorization', 'Basic eDp5'], undefined],
    ['the key without a scheme', ['authorization', 'abc'], undefined],
    ['another scheme', ['authorization', 'Token abc'], undefined],
    ['a scheme that only begins so', ['authorization', 'Bearerabc'], undefined],
    ['an empty bearer', ['authorization', 'Bearer'], undefined],
    ['an empty header', ['x-api-key', ''], undefined],
    ['none', [], undefined],
    ['twice the same', ['Authorization', 'Bearer abc', 'authorization', 'Bearer abc'], 'abc'],
    ['two keys', ['Authorization', 'Bearer abc', 'Authorization', 'Bearer abd'], undefined],
    ['a key and a password', ['Authorization', 'Bearer abc', 'Authorization', 'Basic eDp5'], undefined],
    ['a password and a key', ['Authorization', 'Basic eDp5', 'Authorization', 'Bearer abc'], undefined],
    ['two keys in x-api-key', ['X-Api-Key', 'abc', 'x-api-key', 'abd'], undefined],
    ['x-api-key twice the same', ['X-Api-Key', 'abc', 'x-api-key', 'abc'], 'abc'],
    ['two passwords', ['authorization', 'A x', 'authorization', 'B', 'x-api-key', 'a'], undefined],
    ['beside others as long', ['x-trace-span1', 'Bearer x', 'authorization', 'Bearer abc'], 'abc'],
    ['only others as long', ['x-trace-span1', 'Bearer x', 'x-api-kez', 'x'], undefined],
  ])('%s', (_name, rawHeaders, key) => {
    expect(presentedKey(rawHeaders)).toBe(key);
  });

  test('is read in a time that grows no faster than the header', () => {
    const authorization = `Bearer a${' '.repeat(300_000)}b`;
    expect(presentedKey(['authorization', authorization])).toBe(authorization.slice(7));
    expect(presentedKey(['authorization', `Bearer${' '.repeat(300_000)}`])).toBeUndefined();
  });
});

const { misplaced } = UNAUTHORIZED;
const WITHOUT = misplaced('Authorization contains the key without the word Bearer.');
const SURPLUS = misplaced('The header has one word Bearer too many before the key.');
const ADDRESS = misplaced('The key was sent in the URL, which logs record: replace the key.');

test.each<[string, (key: string) => Record<string, string>, object]>([
  ['without Bearer', (key) => ({ authorization: key }), WITHOUT],
  ['with another scheme', (key) => ({ authorization: `Token ${key}` }), WITHOUT],
  ['with Bearer twice', (key) => ({ authorization: `Bearer Bearer ${key}` }), SURPLUS],
  ['with Bearer in x-api-key', (key) => ({ 'x-api-key': `bearer ${key}` }), SURPLUS],
  ['in another header', (key) => ({ 'api-key': key }), misplaced('The key was sent in the header api-key.')],
  ['in a cookie', (key) => ({ cookie: `k=${key}` }), misplaced('The key was sent in the header cookie.')],
  [
    'in two headers, as two keys',
    (key) => ({ authorization: `Bearer ${key}x`, 'x-api-key': key }),
    UNAUTHORIZED.noKey,
  ],
])('a good key sent %s is 401, and the message says how to send it', async (_how, headers, expected) => {
  const {
    statusCode,
    headers: answered,
    body,
  } = await service.app.inject({
    url: '/v1/team',
    headers: headers(agency.key),
  });
  expect([statusCode, JSON.parse(body), answered['www-authenticate']]).toEqual([401, expected, 'Bearer']);
});

test('a key in the address is 401, and the message says so', async () => {
  const { statusCode, body } = await service.app.inject({ url: `/v1/team?api_key=${agency.key}` });
  expect([statusCode, JSON.parse(body)]).toEqual([401, ADDRESS]);
});

describe('the directory of keys', () => {
  test('is not asked for a key without the form of one', async () => {
    const before = service.keys.stats();
    const wrong = agency.key.endsWith('0') ? '1' : '0';
    for (const key of ['abc', `${agency.key.slice(0, -1)}${wrong}`])
      expect((await agency.get('/v1/team', { key })).body).toEqual(UNAUTHORIZED.incomplete);
    expect(service.keys.stats()).toEqual(before);
  });

  test('knows a key that it has seen from memory', async () => {
    await expect
      .poll(async () => {
        const { hits } = service.keys.stats();
        await agency.get('/v1/team');
        return service.keys.stats().hits - hits;
      })
      .toBe(1);
  });
});

test('a full memory of keys forgets the one that was longest unused, and no other', async () => {
  // Nothing is looked up again by itself, and what is remembered stays good however busy the machine is.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const keys = openKeyCache({
    db: service.db,
    logger: createLogger('silent'),
    now: () => 0,
    capacity: 2,
  });
  onTestFinished(keys.close);
  const issue = async (name: string) => parseJson(await issueApiKey(agency.scope, { name })).key;
  const [first, second, third] = [await issue('first'), await issue('second'), await issue('third')];
  const remembered: boolean[] = [];
  for (const key of [first, second, first, third, first, third, second, first]) {
    const { hits } = keys.stats();
    expect(await keys.find(key)).toMatchObject({ organizationId: agency.id });
    remembered.push(keys.stats().hits > hits);
  }
  expect(remembered).toEqual([false, false, true, false, true, true, false, false]);
});
