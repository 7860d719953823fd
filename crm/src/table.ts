import type { CrmError } from '../../client/src/index.ts';
import { printable } from './cells.ts';
import {
  type Body,
  bodyReader,
  type Clearing,
  type Columns,
  errorSpeaker,
  mapColumns,
  type RowError,
  requireFields,
  writableOf,
} from './columns.ts';
import type { Context } from './context.ts';
import type { Importable } from './document.ts';
import { type Rejection, rejectionOf } from './rejections.ts';
import { openRows, type Row, type Source } from './source.ts';

/** A file whose columns are known, about to be read row by row. */
export type Table = {
  header: string[];
  columns: Columns;
  rows: AsyncGenerator<Row>;
  /** All that the row says. @throws RowError */
  read: (row: Row) => Body;
  /** What of it can be written. @throws RowError */
  toBody: (row: Row) => Body;
  /** Why the row is rejected, in the words of whoever wrote the file. `body` is what was sent or checked. */
  rejectionFor: (row: Row, error: CrmError | RowError, body: Body) => Rejection;
};

const DELIMITER_NAMES: Record<string, string> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'tabs',
  '|': 'bars',
};

/** The columns, what each fills, and the first value of each. */
function describeColumns(columns: Columns, first: Row | undefined): string {
  const width = Math.max(...columns.map(({ header }) => header.length), 0);
  return columns
    .map(({ header, field, isGuess }, index) => {
      const sample = printable(first?.cells[index] ?? '').slice(0, 40);
      const target = `${field ?? '(left out)'}${field !== undefined && isGuess ? ' ?' : ''}`;
      return `  ${printable(header).padEnd(width)}  →  ${target.padEnd(22)} ${sample}\n`;
    })
    .join('');
}

/** The first row, without losing it. */
async function peek(
  rows: AsyncGenerator<Row>,
): Promise<{ first: Row | undefined; rows: AsyncGenerator<Row> }> {
  const { value: first, done } = await rows.next();
  async function* all(): AsyncGenerator<Row> {
    if (!done) yield first;
    yield* rows;
  }
  return { first: done ? undefined : first, rows: all() };
}

/**
 * Opens the file and shows which column fills which field.
 * @throws CommandError when a map means nothing, or no column fills what is needed
 */
export async function openTable(
  { errors }: Context,
  source: Source,
  resource: Importable,
  options: {
    map: readonly string[];
    /** The columns that an earlier run had. */
    columns?: Columns | undefined;
    /** Fields that some column must fill, beside those of every record. */
    needs?: readonly string[];
    /** Rows of an export can be changed: such a file need not have every field of a record. */
    isEdited?: boolean;
    clears?: Clearing;
  },
): Promise<Table> {
  const opened = await openRows(source);
  const columns = options.columns ?? mapColumns(opened.header, options.map, resource);
  const { first, rows } = await peek(opened.rows);
  if (source.format === 'csv') {
    const { path, encoding, delimiter } = source;
    errors.write(`${path} is ${encoding}, with ${DELIMITER_NAMES[delimiter] ?? delimiter} between cells.\n`);
    errors.write('Columns (? marks a guess; --map "Column=field" overrides it):\n');
    errors.write(describeColumns(columns, first));
    const isExport = options.isEdited && ['id', 'updatedAt'].every((name) => opened.header.includes(name));
    if (!isExport) requireFields(columns, resource, options.needs);
  }
  const say = errorSpeaker(columns);
  const read = bodyReader(columns, source, resource, options.clears);
  return {
    header: opened.header,
    columns,
    rows,
    read,
    toBody: (row) => writableOf(read(row), resource),
    rejectionFor: (row, error, body) => rejectionOf(error, (path, message) => say(row, body, path, message)),
  };
}
