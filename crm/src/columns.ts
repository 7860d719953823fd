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
  readonly code: string;
  /** Where it is in the body that the row makes, as the service writes it: `body.contacts[0].identifierValue`. */
  readonly path: string | undefined;
  constructor(message: string, { path, code = 'VALIDATION_FAILED' }: { path?: string; code?: string } = {}) {
    super(message);
    this.path = path;
    this.code = code;
  }
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

/** What an empty cell does: its field is left out, or cleared; with `all`, lists too, and fields without a column stay. */
export type Clearing = 'none' | 'nullable' | 'all';

/**
 * Makes bodies from rows. The comma is the decimal mark in files whose delimiter is the semicolon, as spreadsheets have it.
 */
export function bodyMaker(
  columns: Columns,
  { delimiter }: Pick<Source, 'delimiter'>,
  resource: Importable,
  clears: Clearing = 'none',
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
        if (clears !== 'none' && isNullable(field)) body[field] = null;
        else if (clears === 'all' && kind === 'tags') body[field] = [];
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
      const isAbout = clears !== 'all' || used.some(({ rule }) => rule.kind === 'contact');
      if (contacts.length === 0 && isAbout)
        throw new RowError('no contact: every contact column of the row is empty');
      if (contacts.length > 0) body.contacts = contacts;
    } else if (body.title === undefined && clears === 'none') throw new RowError('no title');
    return body;
  };
}

const SHOWN = 60;

/**
 * Makes the function that says a fault of a row in the words of whoever made the file: the column and the cell, and not the
 * path in the body.
 */
export function faultSpeaker(columns: Columns, resource: Importable) {
  const fields = FIELDS[resource];
  const isContact = ({ field }: Columns[number]): boolean =>
    field !== undefined && fields[field]?.kind === 'contact';

  /** The column of a contact, by its place in the body. */
  function contactColumn(
    cells: readonly string[],
    place: number,
  ): [column: number, value: string] | undefined {
    let next = 0;
    for (const [index, column] of columns.entries()) {
      const text = isContact(column) ? fromCell(cells[index] ?? '') : undefined;
      const values =
        text === undefined ? [] : (cellValue({ kind: 'contact', codes: {} }, text, false) as string[]);
      if (place < next + values.length) return [index, values[place - next] ?? ''];
      next += values.length;
    }
    return undefined;
  }

  return ({ cells, object }: Row, path: string, message: string): string => {
    const [, field = '', entry, rest = ''] = /^body\.(\w+)(?:\[(\d+)\])?(.*)$/.exec(path) ?? [];
    const contact =
      field === 'contacts' && entry !== undefined ? contactColumn(cells, Number(entry)) : undefined;
    const index = contact?.[0] ?? columns.findIndex((column) => column.field === field);
    const header = columns[index]?.header;
    if (object || header === undefined) return `${path.replace(/^body\./, '')} ${message}`;
    const text = contact?.[1] ?? fromCell(cells[index] ?? '') ?? '';
    const isWithin = field === 'variants' && rest !== '';
    const value = text === '' || isWithin ? '' : `: ${JSON.stringify(text.slice(0, SHOWN))}`;
    return `column "${header}" ${isWithin ? `, at ${rest.replace(/^\./, '')},` : ''}${message}${value}`;
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
