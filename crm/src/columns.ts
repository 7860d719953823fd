import { fromCell } from './cells.ts';
import { CommandError } from './context.ts';
import { IMPORTED, type Importable, propertiesOf, type Schema, schemaOf, typesOf } from './document.ts';
import { CellError, cellValue, FIELDS, type Fields, folded } from './fields.ts';
import type { Row, Source } from './source.ts';

/** Which column fills which field; undefined where it fills none. */
export type Columns = { header: string; field: string | undefined; isGuess: boolean }[];

/** The columns that a file of rejected rows has in front. */
export const REJECTION_COLUMNS = ['line', 'code', 'message', 'customerId'];

export const isRejections = (header: readonly string[]): boolean =>
  REJECTION_COLUMNS.every((column, index) => header[index] === column);

/** The field that a column's name means. A field's own name goes before the other names of others. */
function fieldNamed(header: string, fields: Fields): string | undefined {
  const name = folded(header);
  if (name === '') return undefined;
  const all = Object.entries(fields);
  const meant =
    all.find(([field]) => folded(field) === name) ?? all.find(([, { names }]) => names.includes(name));
  return meant?.[0];
}

/**
 * Maps columns to fields: as `maps` say (`"Teléfono=contacts.whatsapp"`; nothing after the = leaves a column out), else by
 * their names. A field that is no contact takes one column.
 * @throws CommandError when a map names no column or no field
 */
export function mapColumns(
  header: readonly string[],
  maps: readonly string[],
  resource: Importable,
): Columns {
  const fields = FIELDS[resource];
  const mapped = new Map<string, string | undefined>();
  for (const map of maps) {
    const at = map.lastIndexOf('=');
    const [column, field] = [map.slice(0, at).trim(), map.slice(at + 1).trim()];
    if (at < 0 || !header.includes(column))
      throw new CommandError(`--map ${map}: no column is named "${column}". Columns: ${header.join(', ')}.`);
    if (field !== '' && !(field in fields))
      throw new CommandError(
        `--map ${map}: there is no field "${field}". Fields: ${Object.keys(fields).join(', ')}.`,
      );
    mapped.set(column, field === '' ? undefined : field);
  }
  const taken = new Set(mapped.values());
  const own = isRejections(header) ? REJECTION_COLUMNS.length : 0;
  return header.map((column, index) => {
    if (mapped.has(column)) return { header: column, field: mapped.get(column), isGuess: false };
    const field = index < own ? undefined : fieldNamed(column, fields);
    const isFree = field !== undefined && (!taken.has(field) || fields[field]?.kind === 'contact');
    taken.add(field);
    return { header: column, field: isFree ? field : undefined, isGuess: column !== field };
  });
}

/**
 * Why the file may be of something else: all columns that are used are guesses, and they are only one of many, or more columns
 * would fit the other resource. A table of people has a name for the title of a product.
 */
export function doubtOf(columns: Columns, resource: Importable): string | undefined {
  const used = columns.filter(({ field }) => field !== undefined);
  const [only] = used;
  if (!only || used.some(({ isGuess }) => !isGuess)) return undefined;
  const other = resource === 'products' ? 'customers' : 'products';
  const fitsOther = columns.filter(({ header }) => fieldNamed(header, FIELDS[other])).length;
  if (fitsOther <= used.length && (used.length > 1 || columns.length <= 2)) return undefined;
  const which = used.map(({ header, field }) => `"${header}" as ${field}`).join(', ');
  return `Is this a file of ${resource}? Of its ${columns.length} columns, only ${which} would be imported, and this is a guess. To confirm it, use --map "${only.header}=${only.field}".`;
}

export type Body = Record<string, unknown>;

/** Why a row cannot be sent at all, in the words of the service's own errors. */
export class RowError extends Error {
  readonly code: string;
  /** Where it is in the body of the row, as the service writes it: `body.contacts[0].identifierValue`. */
  readonly path: string | undefined;
  constructor(message: string, { path, code = 'VALIDATION_FAILED' }: { path?: string; code?: string } = {}) {
    super(message);
    this.path = path;
    this.code = code;
  }
}

function withoutReadOnly(value: unknown, written: Schema | undefined, shown: Schema | undefined): unknown {
  if (Array.isArray(value)) return value.map((entry) => withoutReadOnly(entry, written, shown));
  if (typeof value !== 'object' || value === null) return value;
  const [writable, readable] = [propertiesOf(written), propertiesOf(shown)];
  const kept = Object.entries(value).filter(
    ([name]) => Object.hasOwn(writable, name) || !Object.hasOwn(readable, name),
  );
  return Object.fromEntries(
    kept.map(([name, inner]) => [name, withoutReadOnly(inner, writable[name], readable[name])]),
  );
}

/** The body without the fields that only responses have, in contacts and variants too: so an export can be imported as it is. */
export const writableOf = (body: Body, resource: Importable): Body =>
  withoutReadOnly(body, schemaOf(IMPORTED[resource].created), schemaOf(IMPORTED[resource].shown)) as Body;

/** What an empty cell does: nothing, or it clears its field; with `all`, lists too, and fields without a column stay. */
export type Clearing = 'none' | 'nullable' | 'all';

/**
 * Returns what reads a body from a row. The comma is the decimal mark in files whose delimiter is the semicolon, as
 * spreadsheets write them.
 */
export function bodyReader(
  columns: Columns,
  { delimiter }: Pick<Source, 'delimiter'>,
  resource: Importable,
  clears: Clearing = 'none',
): (row: Row) => Body {
  const fields = FIELDS[resource];
  const created = propertiesOf(schemaOf(IMPORTED[resource].created));
  const isNullable = (field: string): boolean => typesOf(created[field] ?? {}).includes('null');
  const used = columns.flatMap(({ header, field }, index) => {
    const rule = field === undefined ? undefined : fields[field];
    return field === undefined || rule === undefined ? [] : [{ header, field, rule, index }];
  });
  const isDecimalComma = delimiter === ';';
  return ({ cells, object }) => {
    if (object) return object;
    // A row with too few cells was cut; one with more has a delimiter that is not quoted.
    if (cells.length < columns.length || cells.slice(columns.length).some((cell) => cell.trim() !== ''))
      throw new RowError(`the row has ${cells.length} cells, but the header has ${columns.length}`);
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
        if (kind !== 'contact') body[field] = value;
        else
          for (const identifierValue of value as string[])
            contacts.push({ identifierType: field.slice('contacts.'.length), identifierValue });
      } catch (error) {
        if (!(error instanceof CellError)) throw error;
        throw new RowError(`column "${header}" ${error.message}`);
      }
    }
    if (resource === 'customers') {
      const needsContact = clears !== 'all' || used.some(({ rule }) => rule.kind === 'contact');
      if (contacts.length === 0 && needsContact)
        throw new RowError('the row has no contact: every contact column is empty');
      if (contacts.length > 0) body.contacts = contacts;
    } else if (body.title === undefined && clears === 'none') throw new RowError('the row has no title');
    return body;
  };
}

const SHOWN = 60;

type Contact = { identifierType: string; identifierValue: string };

/** Returns what words an error of a body for whoever wrote the file: with the column and the cell, not the path in the body. */
export function errorSpeaker(columns: Columns) {
  /** The column with this value of a contact. */
  const columnOf = (cells: readonly string[], { identifierType, identifierValue }: Contact): number =>
    columns.findIndex(({ field }, index) => {
      const text = field === `contacts.${identifierType}` ? fromCell(cells[index] ?? '') : undefined;
      const values = text === undefined ? [] : cellValue({ kind: 'contact', codes: {} }, text, false);
      return (values as string[]).includes(identifierValue);
    });

  return ({ cells, object }: Row, body: Body, path: string, message: string): string => {
    const [, field = '', entry, rest = ''] = /^body\.(\w+)(?:\[(\d+)\])?(.*)$/.exec(path) ?? [];
    const contact =
      field === 'contacts' ? (body.contacts as Contact[] | undefined)?.[Number(entry)] : undefined;
    const index = contact ? columnOf(cells, contact) : columns.findIndex((column) => column.field === field);
    const header = columns[index]?.header;
    if (object || header === undefined) return `${path.replace(/^body\./, '')} ${message}`;
    const text = contact?.identifierValue ?? fromCell(cells[index] ?? '') ?? '';
    const isWithin = field === 'variants' && rest !== '';
    const value = text === '' || isWithin ? '' : `: ${JSON.stringify(text.slice(0, SHOWN))}`;
    return `column "${header}" ${isWithin ? `, at ${rest.replace(/^\./, '')},` : ''}${message}${value}`;
  };
}

/** @throws CommandError when no column fills what every record needs */
export function requireFields(columns: Columns, resource: Importable, more: readonly string[] = []): void {
  const filled = columns.flatMap(({ field }) => field ?? []);
  const needed = resource === 'customers' ? ['contacts.'] : ['title', ...more];
  for (const field of needed) {
    if (filled.some((name) => name === field || (field.endsWith('.') && name.startsWith(field)))) continue;
    const example = resource === 'customers' ? 'Teléfono=contacts.whatsapp' : `Código=${field}`;
    throw new CommandError(
      `No column fills ${field === 'contacts.' ? 'a contact' : field}. Name the column with --map, such as --map "${example}".`,
    );
  }
}
