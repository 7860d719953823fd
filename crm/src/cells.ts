/** Converts text to a cell that spreadsheets open safely, and back. */

export const DELIMITERS = [',', ';', '\t', '|'];

/**
 * Where a spreadsheet would begin a formula: at the start, and after each delimiter that it may take for the file's own. A
 * telephone number or an amount is no formula.
 */
const FORMULA = /(?<=^|[,;\t|\r\n])'*(?=[=@＝＠]|[-+－＋](?![\d ().+-]*(?:$|[,;\t|\r\n])))/g;

/** Text that readers would drop or trim: it is empty, or has spaces around it. */
const BLANK = /^'*(?:\s|$)|\s$/;

/** An apostrophe marks text that is to be taken literally. Each formula and each blank gets one; undefined is an empty cell. */
export function toCell(text: string | undefined): string {
  if (text === undefined) return '';
  const plain = text.replaceAll(FORMULA, "'$&");
  return BLANK.test(plain) ? `'${plain}` : plain;
}

/** The text of a cell that `toCell` wrote; any other cell is trimmed. */
export function fromCell(cell: string): string | undefined {
  const isBlank = cell.startsWith("'") && BLANK.test(cell.slice(1));
  const plain = isBlank ? cell.slice(1) : cell.trim();
  if (plain === '' && !isBlank) return undefined;
  return plain.replaceAll(FORMULA, (apostrophes) => apostrophes.slice(1));
}

/** One line of CSV. Every delimiter that a reader may assume is quoted, not only that of this file. */
export const csvLine = (cells: readonly string[], delimiter: string): string =>
  `${cells.map((cell) => (/[,;\t|"\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(delimiter)}\r\n`;

/** Text for a terminal, without characters that move its cursor or reverse the direction of writing. */
export const printable = (text: string): string =>
  text.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' ');
