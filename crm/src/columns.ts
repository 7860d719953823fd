import { fromCell } from './cells.ts';
import { CommandError } from './context.ts';
import { IMPORTED, type Importable, propertiesOf, type Schema, typesOf } from './document.ts';
import { CellError, cellValue, FIELDS, type Fields, folded } from './fields.ts';
import type { Row, Source } from './source.ts';

/** Which column fills which field; undefined where it fills none. */
export type Columns = { header: string; field: string | undefined; isGuess: boolean }[];

/** The columns that a file of refused rows has in front. */
export const REFUSAL_COLUMNS = ['line', 'code', 'message', 'customerId'];

/** A field's own name goes before the other names of others. */
function guess(header: string, fields: Fields): string | undefined {
  const name = folded(header);
  if (name === '') return undefined;
  const all = Object.entries(fields);
  const meant =
    all.find(([field]) => folded(field) === name) ?? all.find(([, { names }]) => names.includes(name));
  return meant?.[0];
}

/**
 * Maps columns to fields: as `maps` say (`"Teléfono=contacts.whatsapp"`; nothing after the = leaves a column out), else by
 * guessing from their names. A field that is no contact takes one column.
 * @throws when a map names no column or no field
 */
export function mapColumns(
  header: readonly string[],
  maps: readonly string[],
  resource: Importable,
): Columns {
  const fields = FIELDS[resource];
  const told = new Map<string, string | undefined>();
  for (const map of maps) {
    const at = map.lastIndexOf('=');
    const [column, field] = [map.slice(0, at).trim(), map.slice(at + 1).trim()];
    if (at < 0 || !header.includes(column))
      throw new CommandError(
        `--map ${map}: the file has no column "${column}". It has: ${header.join(', ')}.`,
      );
    if (field !== '' && !(field in fields))
      throw new CommandError(
        `--map ${map}: there is no field "${field}". There are: ${Object.keys(fields).join(', ')}.`,
      );
    told.set(column, field === '' ? undefined : field);
  }
  const taken = new Set(told.values());
  const isRefusals = REFUSAL_COLUMNS.every((column, index) => header[index] === column);
  return header.map((column, index) => {
    if (told.has(column)) return { header: column, field: told.get(column), isGuess: false };
    const field = isRefusals && index < REFUSAL_COLUMNS.length ? undefined : guess(column, fields);
    const isFree = field !== undefined && (!taken.has(field) || fields[field]?.kind === 'contact');
    taken.add(field);
    return { header: column, field: isFree ? field : undefined, isGuess: true };
  });
}

export type Body = Record<string, unknown>;

/** Why a row cannot be sent at all, in the words of the service's own errors. */
export class RowError extends Error {
  readonly code = 'VALIDATION_FAILED';
}

/**
 * What can be written of a value that an answer had: without the fields that only answers have, in contacts and variants
 * too. So an export can be imported as it is.
 */
function writable(value: unknown, written: Schema | undefined, shown: Schema | undefined): unknown {
  if (Array.isArray(value)) return value.map((entry) => writable(entry, written, shown));
  if (typeof value !== 'object' || value === null) return value;
  const [taken, answered] = [propertiesOf(written), propertiesOf(shown)];
  const kept = Object.entries(value).filter(
    ([name]) => Object.hasOwn(taken, name) || !Object.hasOwn(answered, name),
  );
  return Object.fromEntries(
    kept.map(([name, inner]) => [name, writable(inner, taken[name], answered[name])]),
  );
}

/**
 * Makes bodies from rows. With `clears`, an empty cell is null, so that the field is cleared; else the field is left out.
 * The comma is the decimal mark in files whose delimiter is the semicolon, as spreadsheets have it.
 */
export function bodyMaker(
  columns: Columns,
  { delimiter }: Pick<Source, 'delimiter'>,
  resource: Importable,
  { clears = false }: { clears?: boolean } = {},
): (row: Row) => Body {
  const fields = FIELDS[resource];
  const { written, shown } = IMPORTED[resource];
  const [taken, answered] = [propertiesOf(written), propertiesOf(shown)];
  /** An empty cell leaves a field that has no null as it is. */
  const isNullable = (field: string): boolean => typesOf(taken[field] ?? {}).includes('null');
  const used = columns.flatMap(({ header, field }, index) => {
    const rule = field === undefined ? undefined : fields[field];
    return field === undefined || rule === undefined ? [] : [{ header, field, rule, index }];
  });
  const isDecimalComma = delimiter === ';';
  return ({ cells, object }) => {
    if (object) return writable(object, written, shown) as Body;
    // A cell that is missing is not an empty one: the row was cut, or holds a delimiter that is not quoted.
    if (cells.length < columns.length || cells.slice(columns.length).some((cell) => cell.trim() !== ''))
      throw new RowError(`the row has ${cells.length} cells, the header ${columns.length}`);
    const body: Body = {};
    const contacts: { identifierType: string; identifierValue: string }[] = [];
    for (const { header, field, rule, index } of used) {
      const { kind } = rule;
      const text = fromCell(cells[index] ?? '');
      if (text === undefined) {
        if (clears && isNullable(field)) body[field] = null;
        continue;
      }
      try {
        const value = cellValue(rule, text, isDecimalComma);
        if (kind === 'json') body[field] = writable(value, taken[field], answered[field]);
        else if (kind !== 'contact') body[field] = value;
        else
          for (const identifierValue of value as string[])
            contacts.push({ identifierType: field.slice('contacts.'.length), identifierValue });
      } catch (error) {
        if (!(error instanceof CellError)) throw error;
        throw new RowError(`column "${header}" ${error.message}`);
      }
    }
    if (resource === 'customers') {
      if (contacts.length === 0) throw new RowError('no contact: every contact column of the row is empty');
      body.contacts = contacts;
    } else if (body.title === undefined && !clears) throw new RowError('no title');
    return body;
  };
}

/** @throws when no column can fill what every record needs */
export function requireFields(columns: Columns, resource: Importable, more: readonly string[] = []): void {
  const filled = columns.flatMap(({ field }) => field ?? []);
  const needed = resource === 'customers' ? ['contacts.'] : ['title', ...more];
  for (const field of needed) {
    if (filled.some((name) => name === field || (field.endsWith('.') && name.startsWith(field)))) continue;
    const example = resource === 'customers' ? 'Teléfono=contacts.whatsapp' : `Código=${field}`;
    throw new CommandError(
      `No column fills ${field === 'contacts.' ? 'a contact' : field}. Say which one does: --map "${example}".`,
    );
  }
}
