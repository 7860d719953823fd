import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { DELIMITERS, fromCell } from './cells.ts';
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

/** The delimiter that is most frequent in the first line, outside of quotes. */
function delimiterOf(firstLine: string): string {
  const named = /^sep=([,;\t|])$/i.exec(firstLine)?.[1];
  if (named !== undefined) return named;
  const plain = firstLine.replaceAll(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => plain.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
}

/** Bytes that Windows-1252 gives no character, and the zero of files that are no text. */
const NO_TEXT = /[\0\u0081\u008d\u008f\u0090\u009d]/;

/** A file of which some bytes are not UTF-8 is Windows-1252, unless most of its accents are UTF-8: then those bytes are errors. */
async function windowsOrNone(path: string): Promise<string> {
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
  if (strays > accents) return 'windows-1252';
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
  const found = await stat(path).catch((error: { code?: string }) => {
    throw error.code === 'ENOENT' ? new CommandError(`File not found: ${path}`) : error;
  });
  if (found.isDirectory()) throw new CommandError(`${path} is a folder, not a file.`);
  if (/\.json$/i.test(path))
    throw new CommandError(
      `${path}: JSON must have one object per line (.ndjson). To convert the file: jq -c '.[]' ${path} > ${path.replace(/json$/i, 'ndjson')}`,
    );
  const hash = createHash('sha256');
  const strict = new TextDecoder('utf-8', { fatal: true });
  let marked: string | undefined;
  let isStart = true;
  let isUtf8 = true;
  const isWellFormed = (bytes?: Buffer): boolean => {
    try {
      strict.decode(bytes, { stream: bytes !== undefined });
      return true;
    } catch {
      return false;
    }
  };
  for await (const chunk of createReadStream(path)) {
    const bytes = chunk as Buffer;
    if (isStart) marked = byteOrderMark(bytes);
    isStart = false;
    hash.update(bytes);
    isUtf8 = isUtf8 && isWellFormed(bytes);
  }
  isUtf8 = isUtf8 && isWellFormed();
  const wide = marked === 'utf-8' ? undefined : marked;
  const encoding = wide ?? (isUtf8 ? 'utf-8' : await windowsOrNone(path));
  let lines = 0;
  let first = '';
  let last = '\n';
  for await (const text of textOf(path, encoding)) {
    if (encoding === 'windows-1252' ? NO_TEXT.test(text) : text.includes('\0'))
      throw new CommandError(
        `${path} is not text in UTF-8, UTF-16 or Windows-1252. Save it as CSV in UTF-8.`,
      );
    if (lines === 0) first += text;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
    last = text.at(-1) ?? last;
  }
  const firstLine = first.split(/[\r\n]/, 1)[0] ?? '';
  return {
    path,
    format: options.format ?? (/\.(ndjson|jsonl)$/i.test(path) ? 'ndjson' : 'csv'),
    encoding,
    lines: last === '\n' ? lines : lines + 1,
    fingerprint: hash.digest('hex'),
    delimiter: options.delimiter ?? delimiterOf(firstLine),
    emptyRows: 0,
  };
}

async function* csvRows(source: Source): AsyncGenerator<Row> {
  const { path, encoding, delimiter, lines } = source;
  const parser = parse({
    delimiter,
    // A lone carriage return ends a line only where no line feed does; elsewhere it is text.
    record_delimiter: lines > 1 ? ['\r\n', '\n'] : ['\r\n', '\n', '\r'],
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_CHARACTERS,
  });
  const input = Readable.from(textOf(path, encoding));
  input.on('error', (error) => parser.destroy(error));
  let next = 1;
  try {
    for await (const { record, info } of input.pipe(parser)) {
      const cells = record as string[];
      const line = next + info.empty_lines;
      next += cells.reduce((sum, cell) => sum + cell.split('\n').length - 1, 1);
      if (line === 1 && /^sep=.?$/i.test(cells.join(''))) continue;
      if (cells.every((cell) => cell.trim() === '')) source.emptyRows += 1;
      else yield { line, cells };
    }
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    throw code?.startsWith('CSV_') ? new CommandError(`${path} is not valid CSV: ${message}`) : error;
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
      const object: unknown = JSON.parse(text);
      // A line of a file of rejected rows has the row inside.
      if (isObject(object))
        return [
          { line, cells: [text], object: 'code' in object && isObject(object.row) ? object.row : object },
        ];
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
export async function openRows(source: Source): Promise<{ header: string[]; rows: AsyncGenerator<Row> }> {
  if (source.format === 'ndjson') return { header: [], rows: ndjsonRows(source) };
  const rows = csvRows(source);
  const first = await rows.next();
  if (first.done) throw new CommandError(`${source.path} is empty.`);
  return { header: first.value.cells.map((cell) => fromCell(cell) ?? ''), rows };
}
