import { printable } from './cells.ts';
import { type Body, bodyMaker, type Columns, mapColumns, requireFields } from './columns.ts';
import type { Context } from './context.ts';
import type { Importable } from './document.ts';
import { openRows, type Row, type Source } from './source.ts';

/** A file whose columns are known, about to be read row by row. */
export type Table = {
  header: string[];
  columns: Columns;
  rows: AsyncGenerator<Row>;
  toBody: (row: Row) => Body;
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
 * @throws when a map means nothing, or no column fills what is needed
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
    /** An empty cell clears its field. */
    clears?: boolean;
  },
): Promise<Table> {
  const opened = await openRows(source);
  const columns = options.columns ?? mapColumns(opened.header, options.map, resource);
  const { first, rows } = await peek(opened.rows);
  if (source.format === 'csv') {
    const { path, encoding, delimiter } = source;
    errors.write(`${path} is ${encoding}, with ${DELIMITER_NAMES[delimiter] ?? delimiter} between cells.\n`);
    errors.write('Its columns (? is a guess; --map "Column=field" says otherwise):\n');
    errors.write(describeColumns(columns, first));
    requireFields(columns, resource, options.needs);
  }
  const toBody = bodyMaker(columns, source, resource, { clears: options.clears === true });
  return { header: opened.header, columns, rows, toBody };
}
