import { describe, expect, test } from 'vitest';
import { generateKey, hashKey, isWellFormedKey } from '../../src/api-keys/api-key.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Keys of this form are in use, and secret scanners know it: both must stay well-formed. */
const KEYS_IN_USE = [
  'tcrm_0000000000000000000000000000000000000000000_1QWaf5',
  'tcrm_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfG_33rtbZ',
] as const;

test('generated keys are unique and well-formed, and use the whole alphabet at each place', () => {
  const keys = Array.from({ length: 2_000 }, generateKey);
  expect(keys.filter((key) => !/^tcrm_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/.test(key))).toEqual([]);
  expect(keys.filter((key) => !isWellFormedKey(key))).toEqual([]);
  expect(new Set(keys).size).toBe(keys.length);
  // 32 bytes never begin with a z.
  for (let place = 'tcrm_'.length + 1; place < 48; place += 1)
    expect([...new Set(keys.map((key) => key[place]))].sort().join(''), `at ${place}`).toBe(ALPHABET);
});

test('the hash of a key never changes', () => {
  expect(hashKey(KEYS_IN_USE[0])).toBe('af47167b2ac191e894883a72ba1cf1a85744be8d2397112d0f4da737fd805b16');
});

describe('isWellFormedKey', () => {
  test.each(KEYS_IN_USE)('accepts %s', (key) => {
    expect(isWellFormedKey(key)).toBe(true);
  });

  test('rejects a key with a character that is changed, added, lost or swapped', () => {
    const key = generateKey();
    const mistyped = [...key].flatMap((character, index) => {
      const [before, after] = [key.slice(0, index), key.slice(index + 1)];
      const changed = ['0', 'A', 'z', '_', '-'].map((other) => before + other + after);
      const swapped = before + after.slice(0, 1) + character + after.slice(1);
      return [...changed, before + after, `${before}0${character}${after}`, swapped];
    });
    expect(mistyped.filter((other) => other !== key && isWellFormedKey(other))).toEqual([]);
  });

  test.each([
    ` ${KEYS_IN_USE[0]}`,
    `${KEYS_IN_USE[0]}\n`,
    KEYS_IN_USE[0].toUpperCase(),
    KEYS_IN_USE.join(''),
  ])('rejects %j', (text) => {
    expect(isWellFormedKey(text)).toBe(false);
  });
});
