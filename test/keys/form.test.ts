import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hashKey, isWellFormedKey, makeKey, randomBase62, recognisable } from '../../src/api-keys/api-key.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Keys of this form are out there and in secret scanners: these stay well formed for good. */
const ISSUED = [
  'tcrm_0000000000000000000000000000000000000000000_1QWaf5',
  'tcrm_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfG_33rtbZ',
];

describe('makeKey', () => {
  test('makes keys of one form, no two alike, each well formed', () => {
    const keys = Array.from({ length: 2_000 }, makeKey);
    for (const key of keys) {
      expect(key).toMatch(/^tcrm_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
      expect(isWellFormedKey(key)).toBe(true);
    }
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('uses every character of the alphabet', () => {
    const used = new Set(Array.from({ length: 200 }, () => makeKey().slice(5, 48)).join(''));
    expect([...used].sort().join('')).toBe(ALPHABET);
  });
});

describe('isWellFormedKey', () => {
  test.each(ISSUED)('%s', (key) => {
    expect(isWellFormedKey(key)).toBe(true);
  });

  test('knows a key by its checksum: any one character changed, added or lost is refused', () => {
    const key = makeKey();
    for (const index of key.split('').keys()) {
      for (const other of ['0', 'A', 'z', '_', '-']) {
        if (other === key[index]) continue;
        expect(isWellFormedKey(key.slice(0, index) + other + key.slice(index + 1))).toBe(false);
      }
      expect(isWellFormedKey(key.slice(0, index) + key.slice(index + 1))).toBe(false);
      expect(isWellFormedKey(`${key.slice(0, index)}0${key.slice(index)}`)).toBe(false);
    }
  });

  test('refuses two neighbours swapped', () => {
    const key = makeKey();
    for (let index = 5; index < key.length - 1; index += 1) {
      const [a = '', b = ''] = [key[index], key[index + 1]];
      if (a !== b) expect(isWellFormedKey(key.slice(0, index) + b + a + key.slice(index + 2))).toBe(false);
    }
  });

  test.each([
    '',
    'tcrm_',
    'TCRM_',
    ` ${ISSUED[0]}`,
    `${ISSUED[0]} `,
    `${ISSUED[0]}\n`,
    ISSUED[0]?.toUpperCase() ?? '',
    ISSUED[0]?.replace('tcrm', 'sk') ?? '',
    `${ISSUED[0]}${ISSUED[1]}`,
  ])('refuses %j', (text) => {
    expect(isWellFormedKey(text)).toBe(false);
  });

  test('refuses whatever else there is', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !isWellFormedKey(text)));
    fc.assert(
      fc.property(
        fc.stringMatching(/^[0-9A-Za-z]{43}$/),
        fc.stringMatching(/^[0-9A-Za-z]{5}$/),
        (body, sum) => {
          const guesses = [...ALPHABET].filter((last) => isWellFormedKey(`tcrm_${body}_${sum}${last}`));
          expect(guesses.length).toBeLessThanOrEqual(1);
        },
      ),
    );
  });
});

test('of a key only its SHA-256 and a few characters to recognise it by are kept', () => {
  const key = makeKey();
  expect(hashKey(key)).toEqual(createHash('sha256').update(key).digest('hex'));
  expect(recognisable(key)).toEqual({ start: key.slice(0, 11), last4: key.slice(-4) });
});

test.each([
  [1, 2],
  [16, 22],
  [32, 43],
])('text for %d random bytes has %d characters', (bytes, length) => {
  expect(randomBase62(bytes)).toMatch(new RegExp(`^[0-9A-Za-z]{${length}}$`));
});
