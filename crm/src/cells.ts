/** Text as a cell of a table that spreadsheets open, and back. */

/** What may stand between cells. */
export const DELIMITERS = [',', ';', '\t', '|'];

/**
 * Where a spreadsheet would begin a formula: at the start, and after whatever it may split the text at when it takes the file
 * for another one. A telephone number or an amount is none.
 */
const FORMULA = /(?<=^|[,;\t|\r\n])'*(?=[=@＝＠]|[-+－＋](?![\d ().+-]*(?:$|[,;\t|\r\n])))/g;

/** What readers would drop: a text that is empty, or has spaces around it. */
const BLANK = /^'*(?:\s|$)|\s$/;

/** An apostrophe says: this is text, as it stands. Each formula and each blank gets one. No cell at all is no text. */
export function toCell(text: string | undefined): string {
  if (text === undefined) return '';
  const plain = text.replaceAll(FORMULA, "'$&");
  return BLANK.test(plain) ? `'${plain}` : plain;
}

/** The text that `toCell` made the cell of; for cells of others, without the spaces around it. */
export function fromCell(cell: string): string | undefined {
  const isBlank = cell.startsWith("'") && BLANK.test(cell.slice(1));
  const plain = isBlank ? cell.slice(1) : cell.trim();
  if (plain === '' && !isBlank) return undefined;
  return plain.replaceAll(FORMULA, (apostrophes) => apostrophes.slice(1));
}

/** One line of CSV. Whatever some reader could split at is quoted, not the delimiter of this file alone. */
export const csvLine = (cells: readonly string[], delimiter: string): string =>
  `${cells.map((cell) => (/[,;\t|"\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(delimiter)}\r\n`;

/** Text of others on a terminal: without what would move its cursor or turn its writing. */
export const printable = (text: string): string =>
  text.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' ');
