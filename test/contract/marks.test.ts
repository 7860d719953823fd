import { expect, test } from 'vitest';
import { hasTooManyMarks } from '../../src/contract/fields.ts';

/** What must be accepted. test/contract/fields.test.ts and requests.test.ts send texts with too many combining marks. */

const MARK = '\u0301';
/** A mark of two UTF-16 units. */
const ASTRAL_MARK = '\u{1d165}';

test.each(['', 'Ñandú, Bogotá', 'नमस्ते', `a${MARK.repeat(30)}`.repeat(3), ASTRAL_MARK.repeat(30)])(
  'a text with at most 30 combining marks in a row is accepted: %j',
  (text) => {
    expect(hasTooManyMarks(text)).toBe(false);
  },
);

test('a megabyte of marks is checked in linear time: in quadratic time it would take hours', () => {
  expect(hasTooManyMarks(`a${MARK.repeat(30)}`.repeat(1024 * 32))).toBe(false);
});
