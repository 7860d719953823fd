import type { CrmError } from '../../client/src/index.ts';
import { printable } from './cells.ts';
import {
  type Body,
  bodyReader,
  type Clearing,
  type Columns,
  contactsLeftOut,
  decimalMarks,
  doubtOf,
  errorSpeaker,
  mapColumns,
  productsLeftOut,
  type RowError,
  requireFields,
  requireHeader,
  type SkippedCell,
  survey,
  writableOf,
} from './columns.ts';
import { CommandError, type Context, confirm, isOnTerminal } from './context.ts';
import type { Importable } from './document.ts';
import type { Reading } from './fields.ts';
import { recognize } from './known.ts';
import { type Rejection, rejectionOf } from './rejections.ts';
import { openRows, type Row, type Source } from './source.ts';

/** A file whose columns are known, about to be read row by row. */
export type Table = Awaited<ReturnType<typeof openTable>>;

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

/**
 * Opens the file and shows which column fills which field.
 * @throws CommandError when a map means nothing, no column fills what is needed, or a column has more than one reading
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
    country?: Reading['country'];
  },
) {
  const { country, map, clears = 'none' } = options;
  const looked = await openRows(source);
  const isTable = source.format === 'csv';
  const { cells: surveyed, first } = await survey(looked.header.length, looked.rows);
  const { header, line, rows } = await openRows(source);
  const known = recognize(header)?.name;
  if (isTable && map.length === 0) {
    requireHeader(header, line, first, resource);
    if (known !== undefined && resource === 'products')
      throw new CommandError(`This is an export of ${known}: use crm import customers.`);
  }
  const columns = options.columns ?? mapColumns(header, map, resource, surveyed);
  const leftOut = resource === 'customers' ? contactsLeftOut : productsLeftOut;
  const doubts = leftOut(columns, surveyed);
  const isOwn = ['id', 'createdAt', 'updatedAt'].every((name) => header.includes(name));
  if (isTable) {
    const { path, encoding, delimiter } = source;
    errors.write(`${path} is ${encoding}, with ${delimiter === '\t' ? 'tabs' : delimiter} between cells.\n`);
    if (known !== undefined) errors.write(`This is an export of ${known}.\n`);
    errors.write('Columns (? marks a guess; --map "Column=field" overrides it):\n');
    errors.write(describeColumns(columns, first[0]));
    const isExport = options.isEdited && ['id', 'updatedAt'].every((name) => header.includes(name));
    if (!isExport) requireFields(columns, resource, { needs: options.needs, doubts });
  }
  const preset = isOwn ? (source.delimiter === ';' ? ',' : '.') : undefined;
  const marks = decimalMarks(columns, surveyed, resource, preset);
  const say = errorSpeaker(columns, { country });
  const reader = (clears: Clearing) => bodyReader(columns, { resource, marks, country, clears });
  const [read, readEdited] = [reader(clears), reader('all')];
  return {
    header,
    columns,
    /** Sentences about columns that fill no field, although they have contacts or prices. */
    doubts,
    rows,
    /** All that the row says; cells that mean nothing go to `skipped`. @throws RowError */
    read,
    /** What of it can be written. @throws RowError */
    toBody: (row: Row, skipped?: SkippedCell[]): Body => writableOf(read(row, skipped), resource),
    /** The same of a row of an export, where an empty cell clears its field. @throws RowError */
    toEdit: (row: Row): Body => writableOf(readEdited(row), resource),
    /** Why the row is rejected, in the words of whoever wrote the file. `body` is what was sent or checked. */
    rejectionFor: (row: Row, error: CrmError | RowError, body: Body): Rejection =>
      rejectionOf(error, (path, message) => say(row, body, path, message)),
  };
}

/**
 * Asks whether to go on. Nothing that is guessed runs without a yes; what may lose a column or is of something else needs `--map`.
 * @throws CommandError where nobody can be asked
 */
export async function confirmTable(
  context: Context,
  { columns, doubts }: Table,
  { resource, question, isSure }: { resource: Importable; question: string; isSure: boolean },
): Promise<boolean> {
  const mistaken = doubtOf(columns, resource);
  const grave = mistaken === undefined ? doubts : [mistaken, ...doubts];
  const isAlone = !isOnTerminal(context);
  if (grave.length > 0 && (isSure || isAlone)) throw new CommandError(grave.join('\n'));
  if (grave.length > 0) return confirm(context, `${grave.join('\n')}\n${question}`, false);
  const guessed = columns.filter(({ field, isGuess }) => field !== undefined && isGuess);
  const guesses = guessed.map(({ header, field }) => `"${header}" as ${field}`);
  if (isAlone && !isSure && guesses.length > 0)
    throw new CommandError(
      `Nobody has confirmed what is guessed: ${guesses.join(', ')}. Use --yes, or --map "Column=field" for each.`,
    );
  return isSure || confirm(context, question, true);
}
