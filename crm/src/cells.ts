/** Converts text to a cell that spreadsheets open safely, and back. */

export const DELIMITERS = [',', ';', '\t', '|'];

/**
 * Where a spreadsheet would begin a formula: at the start, and after each delimiter that it may take for the file's own. A
 * telephone number or an amount is no formula.
 */
const FORMULA = /(?<=^|[,;\t|\r\n])'*(?=[=@＝＠]|[-+－＋](?![\d ().+-]*(?:$|[,;\t|\r\n])))/g;

/** Text that readers would drop or trim: it is empty, or has spaces around it. */
const BLANK = /^'*(?:\s|$)|\s$/;

/** `#N/A`, `#¡VALOR!`, `#NOME?` and so on; `####` is a column that was too narrow. */
const ERROR = /^(?:#[¡¿]?\p{Lu}[\p{Lu}\d/_]*[!?]|#\p{Lu}\/\p{Lu}|#(?:NV|YOK|GETTING_DATA)|#{3,}|Err:\d{3})$/u;

/** A long number as spreadsheets show it: only its first digits are left. */
const CUT = /^\d(?:[.,]\d+)?E\+\d{2,}$/i;

/** UTF-8 that was read as Windows-1252 and saved, and characters that were lost. */
const GARBLED = /\p{Ll}Ã[¡-¿]|\ufffd/u;

/** Text that a spreadsheet would open as a number or a date: it would lose its plus, its zeros, its last digits or its form. */
const CHANGED = /^(?:\+[\d ().-]+|0\d+|\d{12,}|\d{1,4}[-/]\d{1,2}(?:[-/]\d{1,4})?)$/;
const NUMBER = /^\+?\d[\d ().,/-]*$/;

/** Whether a spreadsheet would change the text, or an apostrophe before it would be taken for a mark. */
const isChanged = (text: string): boolean => {
  const plain = text.replace(/^'+/, '');
  return [CHANGED, ERROR, CUT, GARBLED, ...(plain === text ? [] : [NUMBER])].some((form) => form.test(plain));
};

/** An apostrophe marks text that is to be taken literally: formulas, blanks, and what a spreadsheet would change. */
export function toCell(text: string | undefined): string {
  if (text === undefined) return '';
  const plain = text.replaceAll(FORMULA, "'$&");
  return BLANK.test(plain) || isChanged(plain) ? `'${plain}` : plain;
}

/** The text of a cell that `toCell` wrote, or a spreadsheet as `="text"`; any other cell is trimmed. */
export function fromCell(cell: string): string | undefined {
  const isBlank = cell.startsWith("'") && BLANK.test(cell.slice(1));
  const plain = isBlank ? cell.slice(1) : cell.trim();
  if (plain === '' && !isBlank) return undefined;
  const [, quoted] = /^="(.*)"$/s.exec(plain) ?? [];
  if (quoted !== undefined) return quoted.replaceAll('""', '"').trim() || undefined;
  const isMarked = !isBlank && plain.startsWith("'") && isChanged(plain);
  return plain.slice(isMarked ? 1 : 0).replaceAll(FORMULA, (apostrophes) => apostrophes.slice(1));
}

/** Why a cell is no longer what somebody wrote; undefined for any other cell. */
export function damageOf(cell: string): string | undefined {
  if (ERROR.test(cell.trim())) return 'is an error of your spreadsheet';
  if (/^=\s*[A-Z.]+\(/i.test(cell.trim())) return 'is a formula of your spreadsheet: save its result';
  if (/^[^']/.test(cell) && GARBLED.test(cell)) return 'has letters of another encoding: save it as UTF-8';
  return CUT.test(cell.trim())
    ? 'is a number that your spreadsheet has cut: format the column as text, and enter the number again'
    : undefined;
}

/** One line of CSV. Every delimiter that a reader may assume is quoted, not only that of this file. */
export const csvLine = (cells: readonly string[], delimiter: string): string =>
  `${cells.map((cell) => (/[,;\t|"\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(delimiter)}\r\n`;

/** A path in a command to copy. Browsers name a second download `leads (1).csv`. */
export const quoted = (path: string): string => (/^[\w./\\:-]+$/.test(path) ? path : `"${path}"`);

/** Text for a terminal, without characters that move its cursor or reverse the direction of writing. */
export const printable = (text: string): string =>
  text.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' ');
