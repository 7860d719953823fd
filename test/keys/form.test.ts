import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { generateKey, hashKey, isWellFormedKey, visiblePartsOf } from '../../src/api-keys/api-key.ts';
import { randomBase62 } from '../../src/contract/base62.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Keys of this form are out there and in secret scanners: these stay well formed for good. */
const ISSUED = [
  'tcrm_0000000000000000000000000000000000000000000_1QWaf5',
  'tcrm_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfG_33rtbZ',
] as const;

test('keys are made of one form and of the whole alphabet, no two alike, each well formed', () => {
  const keys = Array.from({ length: 2_000 }, generateKey);
  expect(keys.filter((key) => !/^tcrm_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/.test(key))).toEqual([]);
  expect(keys.filter((key) => !isWellFormedKey(key))).toEqual([]);
  expect(new Set(keys).size).toBe(keys.length);
  const used = new Set(keys.map((key) => key.slice(5, 48)).join(''));
  expect([...used].sort().join('')).toBe(ALPHABET);
  for (const [bytes, length] of [
    [1, 2],
    [16, 22],
    [32, 43],
  ] as const)
    expect(randomBase62(bytes)).toMatch(new RegExp(`^[0-9A-Za-z]{${length}}$`));
});

describe('isWellFormedKey', () => {
  test.each(ISSUED)('%s', (key) => {
    expect(isWellFormedKey(key)).toBe(true);
  });

  test('knows a key by its checksum: with any character changed, added, lost or swapped it is refused', () => {
    const key = generateKey();
    const others = [...key].flatMap((own, index) => {
      const [before, after] = [key.slice(0, index), key.slice(index + 1)];
      const changed = ['0', 'A', 'z', '_', '-'].map((other) => before + other + after);
      const swapped = before + after.slice(0, 1) + own + after.slice(1);
      return [...changed, before + after, `${before}0${own}${after}`, swapped];
    });
    expect(others.filter((other) => other !== key && isWellFormedKey(other))).toEqual([]);
  });

  test.each([
    '',
    'tcrm_',
    ` ${ISSUED[0]}`,
    `${ISSUED[0]} `,
    `${ISSUED[0]}\n`,
    ISSUED[0].toUpperCase(),
    ISSUED[0].replace('tcrm', 'sk'),
    `${ISSUED[0]}${ISSUED[1]}`,
  ])('refuses %j', (text) => {
    expect(isWellFormedKey(text)).toBe(false);
  });
});

test('of a key only its SHA-256 and a few characters to recognise it by are kept', () => {
  const key = generateKey();
  expect(hashKey(key)).toEqual(createHash('sha256').update(key).digest('hex'));
  expect(visiblePartsOf(key)).toEqual({ start: key.slice(0, 11), last4: key.slice(-4) });
});
