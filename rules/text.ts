/** PostgreSQL normalizes combining marks in a row in quadratic time: 18 s for 50,000. No language needs more than 30. */
const MAX_MARKS = 30;
/** Combining marks, and the two letters that normalize to one. Runs in linear time. */
const MARKS = new RegExp(`[\\p{M}\\uFF9E\\uFF9F]{1,${MAX_MARKS + 1}}`, 'gu');

function hasTooManyMarks(text: string): boolean {
  MARKS.lastIndex = 0;
  for (let found = MARKS.exec(text); found; found = MARKS.exec(text))
    if (found[0].length > MAX_MARKS && codePoints(found[0]) > MAX_MARKS) return true;
  return false;
}

export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** The rule that a text of any field breaks: the end of a sentence that begins with the field's name. */
export function textRule(text: string): string | undefined {
  // PostgreSQL stores neither.
  if (!text.isWellFormed() || text.includes('\u0000')) return 'must not contain U+0000 or a lone surrogate';
  if (hasTooManyMarks(text)) return `must not contain more than ${MAX_MARKS} combining marks in a row`;
  return undefined;
}
