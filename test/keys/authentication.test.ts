import { expect, test, vi } from 'vitest';
import { generateKey, hashKey, isWellFormedKey } from '../../src/api-keys/api-key.ts';
import { presentedKey } from '../../src/http/credentials.ts';
import { UNAUTHORIZED } from '../support/faults.ts';
import { useService } from '../support/service.ts';

const service = await useService();

/** Keys of this form are in use, and secret scanners know it: both must stay well-formed. */
const KEYS_IN_USE = [
  'tcrm_0000000000000000000000000000000000000000000_1QWaf5',
  'tcrm_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfG_33rtbZ',
] as const;

test('generated keys are unique and well-formed, and use the whole alphabet at each place', () => {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const keys = Array.from({ length: 2_000 }, generateKey);
  expect(keys.filter((key) => !/^tcrm_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/.test(key))).toEqual([]);
  expect(keys.filter((key) => !isWellFormedKey(key))).toEqual([]);
  expect(new Set(keys).size).toBe(keys.length);
  // 32 bytes never begin with a z.
  for (let place = 'tcrm_'.length + 1; place < 48; place += 1)
    expect([...new Set(keys.map((key) => key[place]))].sort().join(''), `at ${place}`).toBe(alphabet);
});

test('the form and the hash of keys in use never change; a key with a character changed, added, lost or swapped has another form', () => {
  expect(hashKey(KEYS_IN_USE[0])).toBe('af47167b2ac191e894883a72ba1cf1a85744be8d2397112d0f4da737fd805b16');
  expect(KEYS_IN_USE.map(isWellFormedKey)).toEqual([true, true]);
  const key = generateKey();
  const mistyped = [...key].flatMap((character, index) => {
    const [before, after] = [key.slice(0, index), key.slice(index + 1)];
    const changed = ['0', 'A', 'z', '_', '-'].map((other) => before + other + after);
    const swapped = before + after.slice(0, 1) + character + after.slice(1);
    return [...changed, before + after, `${before}0${character}${after}`, swapped];
  });
  const others = [` ${key}`, `${key}\n`, key.toUpperCase(), key + key];
  expect([...mistyped, ...others].filter((other) => other !== key && isWellFormedKey(other))).toEqual([]);
});

test.each([
  ['Authorization: Bearer abc', 'abc'],
  ['authorization: bEARER   abc  ', 'abc'],
  ['X-Api-Key:  abc ', 'abc'],
  ['authorization: Bearer abc\nx-api-key: abc', 'abc'],
  ['Authorization: Bearer abc\nauthorization: Bearer abc', 'abc'],
  // Proxies add a password.
  ['authorization: Basic eDp5\nx-api-key: abc', 'abc'],
  ['authorization: Bearer \nx-api-key: abc', 'abc'],
  ['authorization: Bearer abc\nx-api-key: ', 'abc'],
  ['x-trace: Bearer x', undefined],
  ['authorization: Bearer abc\nx-api-key: ABC', undefined],
  ['Authorization: Bearer abc\nAuthorization: Bearer abd', undefined],
  ['X-Api-Key: abc\nx-api-key: abd', undefined],
  ['Authorization: Bearer abc\nAuthorization: Basic eDp5', undefined],
  ['authorization: A x\nauthorization: B\nx-api-key: a', undefined],
  ['authorization: Basic eDp5', undefined],
  ['authorization: abc', undefined],
  ['authorization: Bearerabc', undefined],
  ['authorization: Bearer\nx-api-key: ', undefined],
  // Names of the same length.
  ['x-trace-span1: Bearer x\nx-api-kez: x', undefined],
])('the headers %j have the key %j', (lines, key) => {
  const rawHeaders = lines.split('\n').flatMap((line) => line.split(/:(?: (.*))/s, 2));
  expect(presentedKey(rawHeaders)).toBe(key);
});

test('an active key that is sent otherwise is 401, whose message says how to send it; one with a wrong checksum is not looked up', async () => {
  const find = vi.spyOn(service.keys, 'find');
  const { key } = await service.agency();
  const mistyped = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
  const { noKey, incomplete } = UNAUTHORIZED;
  for (const [body, headers, query] of [
    [noKey, { authorization: key }],
    [noKey, { cookie: `k=${key}` }],
    [noKey, {}, `?api_key=${key}`],
    [noKey, { authorization: `Bearer ${key}x`, 'x-api-key': key }],
    [incomplete, { authorization: `Bearer Bearer ${key}` }],
    [incomplete, { authorization: `Bearer ${mistyped}` }],
  ] as const) {
    const response = await service.app.inject({ url: `/v1/team${query ?? ''}`, headers });
    expect(response).toMatchObject({ statusCode: 401, headers: { 'www-authenticate': 'Bearer' } });
    expect(response.json()).toEqual(body);
  }
  expect(find).not.toHaveBeenCalled();
});
