import { expect, test } from 'vitest';
import { hasTooManyMarks } from '../../src/contract/fields.ts';

/** The bound of combining marks. That every text has it, the walks over fields and parameters say. */

const MARK = '\u0301';

test.each([
  ['', false],
  ['Ñandú, Bogotá, São Paulo', false],
  ['नमस्ते', false],
  [MARK.repeat(30), false],
  [`${`a${MARK.repeat(30)}`.repeat(3)}`, false],
  [MARK.repeat(31), true],
  [`Ana ${MARK.repeat(16)}\u0323${MARK.repeat(14)} Gil`, true],
  [`${'\u{1d165}'.repeat(30)}`, false],
  [`${'\u{1d165}'.repeat(31)}`, true],
])('%j has too many marks: %s', (text, isTooMany) => {
  expect(hasTooManyMarks(text)).toBe(isTooMany);
});

test('a megabyte of marks is checked in one pass: the square of its length would take hours', () => {
  expect(hasTooManyMarks(`a${MARK.repeat(30)}`.repeat(1024 * 32))).toBe(false);
});
