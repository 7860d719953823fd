import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { DELIMITERS, fromCell, quoted } from './cells.ts';
import { CommandError } from './context.ts';

/** The file of an import: CSV of any spreadsheet, or one JSON object a line. */

export type Source = {
  path: string;
  format: 'csv' | 'ndjson';
  encoding: string;
  /** Lines of text, for the progress. */
  lines: number;
  /** SHA-256 of the content. */
  fingerprint: string;
  delimiter: string;
  /** Rows that contain nothing but delimiters, as spreadsheets leave them at the end; counted while rows are read. */
  emptyRows: number;
};

/** One row: its first line in the file and its cells, in the order of the header; or the object of a line of NDJSON. */
export type Row = { line: number; cells: string[]; object?: Record<string, unknown> };

/** A quote that is never closed would swallow the rest of the file. */
const MAX_RECORD_CHARACTERS = 4 * 1024 * 1024;

function byteOrderMark(start: Buffer): string | undefined {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le';
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf-16be';
  return start.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])) ? 'utf-8' : undefined;
}

/** The text of a file, without its byte order mark. */
async function* textOf(path: string, encoding: string): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding);
  for await (const chunk of createReadStream(path)) yield decoder.decode(chunk as Buffer, { stream: true });
  yield decoder.decode();
}

const SAMPLE_LINES = 20;
const SAMPLE_CHARACTERS = 65_536;

/** The delimiter that most of the first lines have equally often, outside of quotes. */
function delimiterOf(sample: string): string {
  const named = /^sep=([,;\t|])(?:\r|\n)/i.exec(sample)?.[1];
  if (named !== undefined) return named;
  const lines = sample.replaceAll(/"[^"]*"/g, '').split(/[\r\n]+/);
  const scores = DELIMITERS.map((delimiter) => {
    const counts = lines.slice(0, SAMPLE_LINES).map((line) => line.split(delimiter).length);
    const score = (count: number) => counts.filter((other) => other === count).length + count / 10_000;
    return Math.max(0, ...counts.filter((count) => count > 1).map(score));
  });
  return DELIMITERS[scores.indexOf(Math.max(...scores))] ?? ',';
}

/** What a file is that is no table, by its first characters, and what to do. */
const OTHER_FILES: [RegExp, string][] = [
  [/^BEGIN:VCARD/i, 'is a vCard. Import it into Google Contacts, and export it there as Google CSV.'],
  [/^(?:PK\p{Cc}{2}|ÐÏ\p{Cc}à)/u, 'is a workbook. Save its sheet as CSV UTF-8.'],
  [/^\s*<(?:!doctype|html|table|\?xml)/i, 'is a web page or XML. Save it as CSV UTF-8 in a spreadsheet.'],
  [/^%PDF/, 'is a PDF. Export the table as CSV.'],
];

/**
 * Letters of Mac Roman and of DOS, read as Windows-1252: signs that end a word or stand inside of it, and that nobody writes
 * there. A closing quote, a dash or a lone `¡` can be meant.
 */
const FOREIGN_LETTER = /\p{Ll}(?:[‚ƒ„†‡ˆ‰ŠŒŽ¢£¤¥]|¡(?=\p{Ll})|[—–œ](?![\p{L}\s]))/u;

/** Bytes that Windows-1252 gives no character, and the zero of files that are no text. */
const NO_TEXT = /[\0\u0081\u008d\u008f\u0090\u009d]/;

/** A file of which some bytes are not UTF-8 is Windows-1252, unless it has a mark of UTF-8, or most of its accents are: then those bytes are errors. */
async function windowsOrNone(path: string, isMarked: boolean): Promise<string> {
  let [accents, strays, line, strayLine] = [0, 0, 1, 0];
  for await (const text of textOf(path, 'utf-8')) {
    for (const [character] of text.matchAll(/[\n\u0080-\u{10ffff}]/gu)) {
      if (character === '\n') line += 1;
      else if (character !== '\ufffd') accents += 1;
      else {
        strays += 1;
        strayLine ||= line;
      }
    }
  }
  if (strays > accents && !isMarked) return 'windows-1252';
  throw new CommandError(
    `${path}, line ${strayLine}: a byte is not UTF-8, although the rest of the file is. Save the file as UTF-8.`,
  );
}

/**
 * Reads the file once to learn what it is. Without a byte order mark it is UTF-8, or what Excel writes in the West.
 * @throws CommandError for a file that is neither
 */
export async function inspect(
  path: string,
  options: { delimiter?: string | undefined; format?: 'csv' | 'ndjson' | undefined } = {},
): Promise<Source> {
  if (path === '-')
    throw new CommandError(
      'Standard input cannot be imported, because it is read more than once: save it as a file.',
    );
  const found = await stat(path).catch((error: { code?: string }) => {
    throw error.code === 'ENOENT' ? new CommandError(`File not found: ${path}`) : error;
  });
  if (found.isDirectory()) throw new CommandError(`${path} is a folder, not a file.`);
  if (/\.json$/i.test(path))
    throw new CommandError(
      `${path}: JSON must have one object per line (.ndjson). To convert the file: jq -c '.[]' ${quoted(path)} > ${quoted(path.replace(/json$/i, 'ndjson'))}`,
    );
  const hash = createHash('sha256');
  const strict = new TextDecoder('utf-8', { fatal: true });
  let marked: string | undefined;
  let start: Buffer | undefined;
  let isUtf8 = true;
  const isWellFormed = (bytes?: Buffer): boolean => {
    try {
      return strict.decode(bytes, { stream: bytes !== undefined }) !== undefined;
    } catch {
      return false;
    }
  };
  for await (const chunk of createReadStream(path)) {
    const bytes = chunk as Buffer;
    if (!start) marked = byteOrderMark(bytes);
    start ??= bytes.subarray(marked === 'utf-8' ? 3 : 0, SAMPLE_CHARACTERS);
    hash.update(bytes);
    isUtf8 = isUtf8 && isWellFormed(bytes);
  }
  isUtf8 = isUtf8 && isWellFormed();
  const [, other] = OTHER_FILES.find(([form]) => form.test(start?.toString('latin1') ?? '')) ?? [];
  if (other !== undefined) throw new CommandError(`${path} ${other}`);
  const wide = marked === 'utf-8' ? undefined : marked;
  const encoding = wide ?? (isUtf8 ? 'utf-8' : await windowsOrNone(path, marked !== undefined));
  let lines = 0;
  let sample = '';
  let last = '\n';
  for await (const text of textOf(path, encoding)) {
    if (encoding === 'windows-1252' ? NO_TEXT.test(text) : text.includes('\0'))
      throw new CommandError(
        `${path} is not text in UTF-8, UTF-16 or Windows-1252. Save it as CSV in UTF-8.`,
      );
    const foreign = encoding === 'windows-1252' && FOREIGN_LETTER.exec(text);
    if (foreign)
      throw new CommandError(
        `${path} may be of a Mac or of DOS: as Windows-1252 it has "${text.slice(Math.max(0, foreign.index - 10), foreign.index + 10)}". Save it as CSV UTF-8.`,
      );
    if (sample.length < SAMPLE_CHARACTERS) sample += text;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
    last = text.at(-1) ?? last;
  }
  return {
    path,
    format: options.format ?? (/\.(ndjson|jsonl)$/i.test(path) ? 'ndjson' : 'csv'),
    encoding,
    lines: last === '\n' ? lines : lines + 1,
    fingerprint: hash.digest('hex'),
    delimiter: options.delimiter ?? delimiterOf(sample),
    emptyRows: 0,
  };
}

type RawRow = { record: string[]; raw: string };

const LINE_END = /\r*\n|\r/;

/** Whether the lines of a cell are rows: as many cells in each as in the header, and a number or an address among them. */
function hasRowsInside(cell: string, place: number, width: number, delimiter: string): boolean {
  const lines = cell.split(LINE_END).map((line) => line.split(delimiter));
  const isRow = (count: number, index: number): boolean => {
    const first = index === 0 ? place : 0;
    const last = index === lines.length - 1 ? place : width - 1;
    return count === last - first + 1;
  };
  const [, ...others] = lines.flat();
  return (
    lines.every((parts, index) => isRow(parts.length, index)) &&
    others.some((part) => /\d{3}|\S@\S/.test(part))
  );
}

/**
 * Whether a quote in the row was opened and never closed, and so took the rows behind it into its cell: it ends at the next quote,
 * wherever that is. A quote that is text at the start of a cell is written as three.
 */
function hasOpenQuote({ record, raw }: RawRow, width: number, delimiter: string): boolean {
  return record.some((cell, place) => {
    if (!LINE_END.test(cell)) return false;
    const [start = ''] = cell.slice(1).split(/["\r\n]/);
    if (cell.startsWith('"') && !raw.includes(`"""${start}`)) return true;
    return record.length === width
      ? width > 1 && hasRowsInside(cell, place, width, delimiter)
      : cell.includes(delimiter);
  });
}

const openQuote = (path: string, line: number): CommandError =>
  new CommandError(
    `${path} is not valid CSV: the row that begins in line ${line} has a quote that is never closed. Close it, or double it if it is text.`,
  );

async function* csvRows(source: Source): AsyncGenerator<Row> {
  const { path, encoding, delimiter, lines } = source;
  let next = 1;
  /** The first lines of the rows that are parsed, and not read yet: an error discards such rows. */
  const starts: number[] = [];
  const parser = parse({
    delimiter,
    // A lone carriage return ends a line only where no line feed does; elsewhere it is text. Two of them before a line feed are
    // of programs that convert line ends twice.
    record_delimiter: lines > 1 ? ['\r\r\n', '\r\n', '\n'] : ['\r\n', '\n', '\r'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_CHARACTERS,
    raw: true,
    on_record: (row, { empty_lines }) => {
      // With `raw`, a record has its cells inside, which the types do not say.
      const { record } = row as unknown as RawRow;
      starts.push(next + empty_lines);
      next += record.reduce((sum, cell) => sum + cell.split('\n').length - 1, 1);
      return row;
    },
  });
  let width = 0;
  const input = Readable.from(textOf(path, encoding));
  input.on('error', (error) => parser.destroy(error));
  try {
    for await (const { record: cells, raw } of input.pipe(parser) as AsyncIterable<RawRow>) {
      const line = starts.shift() ?? next;
      if (line === 1 && /^sep=.?$/i.test(cells.join(''))) continue;
      width ||= cells.length;
      if (hasOpenQuote({ record: cells, raw }, width, delimiter)) throw openQuote(path, line);
      if (cells.every((cell) => cell.trim() === '')) source.emptyRows += 1;
      else yield { line, cells };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw openQuote(path, next + parser.info.empty_lines);
  } finally {
    input.destroy();
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

async function* ndjsonRows({ path, encoding }: Source): AsyncGenerator<Row> {
  let line = 0;
  let held = '';
  const row = (text: string): Row[] => {
    line += 1;
    if (text.trim() === '') return [];
    try {
      const sent: unknown = JSON.parse(text);
      // A line of a file of rejected rows has the row inside.
      const object = isObject(sent) && 'code' in sent && isObject(sent.row) ? sent.row : sent;
      if (isObject(object)) return [{ line, cells: [text], object }];
    } catch {
      // Thrown below, with the line.
    }
    throw new CommandError(`${path}, line ${line}: not a JSON object.`);
  };
  for await (const text of textOf(path, encoding)) {
    const lines = (held + text).split('\n');
    held = lines.pop() ?? '';
    for (const complete of lines) yield* row(complete);
  }
  if (held !== '') yield* row(held);
}

/** The header and the rows below it; NDJSON has no header. */
export async function openRows(
  source: Source,
): Promise<{ header: string[]; line: number; rows: AsyncGenerator<Row> }> {
  source.emptyRows = 0;
  if (source.format === 'ndjson') return { header: [], line: 0, rows: ndjsonRows(source) };
  const rows = csvRows(source);
  const first = await rows.next();
  if (first.done) throw new CommandError(`${source.path} is empty.`);
  return { header: first.value.cells.map((cell) => fromCell(cell) ?? ''), line: first.value.line, rows };
}
