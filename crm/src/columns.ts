import { contactKey, type IdentifierType, identifierRule } from '../../rules/contact-key.ts';
import { damageOf, fromCell } from './cells.ts';
import { CommandError } from './context.ts';
import { IMPORTED, type Importable, propertiesOf, type Schema, schemaOf, typesOf } from './document.ts';
import {
  CellError,
  cellValue,
  codeOf,
  contactsIn,
  currencyNamed,
  FIELDS,
  type Field,
  type Fields,
  folded,
  isCurrency,
  MAX_NAME_LENGTH,
  type Mark,
  parseNumber,
  provenMark,
  type Reading,
  undefinedCurrency,
} from './fields.ts';
import { isOfOthers, recognize } from './known.ts';
import type { Row } from './source.ts';

/** Which column fills which field; undefined where it fills none. */
export type Columns = {
  header: string;
  field: string | undefined;
  isGuess: boolean;
  /** A whole name, for rows without another first name. */
  isWhole?: boolean;
}[];

/** What the cells of a column are like. */
export type Cells = {
  /** The first ones that are not empty. */
  samples: string[];
  /** The decimal marks that some of its numbers prove. */
  marks: Set<Mark>;
  /** The first number that can be two numbers, and its line. */
  doubtful?: { text: string; line: number };
};

const SAMPLES = 200;
const FIRST_ROWS = 10;

/** Looks at every cell below the header. */
export async function survey(
  width: number,
  rows: AsyncIterable<Row> | Row[],
): Promise<{ cells: Cells[]; first: Row[] }> {
  const columns = Array.from({ length: width }, (): Cells => ({ samples: [], marks: new Set() }));
  const first: Row[] = [];
  for await (const row of rows) {
    if (first.length < FIRST_ROWS) first.push(row);
    for (const [index, column] of columns.entries()) {
      const text = fromCell(row.cells[index] ?? '');
      if (text === undefined) continue;
      if (column.samples.length < SAMPLES) column.samples.push(text);
      const mark = text.length < 40 ? provenMark(text) : undefined;
      if (mark) column.marks.add(mark);
      else if (/^-?[1-9]\d{0,2}[.,]\d{3}$/.test(text)) column.doubtful ??= { text, line: row.line };
    }
  }
  return { cells: columns, first };
}

/** The columns that a file of rejected rows has in front. */
export const REJECTION_COLUMNS = ['line', 'code', 'message', 'customerId'];

export const isRejections = (header: readonly string[]): boolean =>
  REJECTION_COLUMNS.every((column, index) => header[index] === column);

/** A column is of the same field with its currency or a remark: `Precio (US$)`, `Precio en dólares`, `Correo *`. */
const withoutRemark = (header: string): string =>
  header
    .slice(0, MAX_NAME_LENGTH)
    .replaceAll(/^\d+[.)] ?|\(.*\)|\[.*\]/g, '')
    .split(/\s+/)
    .filter((word, index) => index === 0 || (!isCurrency(word) && !/^(?:en|em|in)$/i.test(word)))
    .join('');

/** The field that a column's name means. A field's own name goes before the other names of others. */
function fieldNamed(header: string, fields: Fields): string | undefined {
  const all = Object.entries(fields);
  for (const name of [folded(header), folded(withoutRemark(header))]) {
    const meant =
      all.find(([field]) => folded(field) === name) ?? all.find(([, { names }]) => names.includes(name));
    if (meant) return meant[0];
  }
  return undefined;
}

const isAddress = (text: string): boolean => /^[^\s@]+@[^\s@.]+\.[^\s@]+$/.test(text);
/** A number that can be somebody's: not a date, and no more letters than `tel` or `ext`. */
const isNumber = (text: string): boolean =>
  text.replaceAll(/\D/g, '').length >= 7 && !/\p{L}{5}|@|^\d+[-/.]\d+[-/.]\d+(?: |$)/u.test(text);
/** With a plus or brackets, or valid as it is. Other digits can be any code. */
const isTelephone = (text: string): boolean =>
  isNumber(text) && (/[+(]/.test(text) || contactKey('telefono', text) !== null);

const shareOf = ({ samples }: Cells, fits: (text: string) => boolean): number =>
  samples.length === 0 ? 1 : samples.filter(fits).length / samples.length;

/** The share of the cells that can be values of the field. */
function fitOf(rule: Field, field: string, cells: Cells): number {
  if (field === 'contacts.email') return shareOf(cells, (text) => text.includes('@'));
  if (field === 'contacts.web') return shareOf(cells, (text) => !/\w\.\w/.test(text));
  if (rule.kind === 'contact') return shareOf(cells, (text) => !isAddress(text) && /\d|^@|^\S+$/.test(text));
  if (/^(first|last)Name$/.test(field))
    return shareOf(cells, (text) => !isAddress(text) && !isTelephone(text));
  if (rule.kind === 'choice') return shareOf(cells, (text) => codeOf(rule, text) !== undefined);
  const isNumeric = rule.kind === 'number' || rule.kind === 'integer';
  return isNumeric ? shareOf(cells, (text) => /^\D{0,4}\d[\d.,\s]*\D?$/.test(text)) : 1;
}

/** The channel that a part of the name means, where most cells are such contacts: `Teléfono de casa`, `E-mail 2`. */
function contactNamed(header: string, fields: Fields, cells: Cells): string | undefined {
  const parts = header
    .replace(/e-mail/i, 'email')
    .split(/[^\p{L}]+/u)
    .map(folded);
  return ['contacts.whatsapp', 'contacts.telefono', 'contacts.email'].find((field) => {
    const fits = field === 'contacts.email' ? (text: string) => text.includes('@') : isNumber;
    return parts.some((part) => fields[field]?.names.includes(part)) && shareOf(cells, fits) > 0.5;
  });
}

/** A second name or surname: it joins the one of another column. */
const SECOND = /^(?:apellidomaterno|segundoapellido|apellido2|segundonombre|middlename)$/;

/** The fields that `--map` names. @throws CommandError when a map names no column or no field */
function mapped(header: readonly string[], maps: readonly string[], fields: Fields) {
  return new Map(
    maps.map((map) => {
      const at = map.lastIndexOf('=');
      const [column, field] = [map.slice(0, at).trim(), map.slice(at + 1).trim()];
      const [columns, names] = [header.join(', '), Object.keys(fields).join(', ')];
      if (at < 0) throw new CommandError(`--map ${map}: write Column=field; Column= leaves the column out.`);
      if (!header.includes(column))
        throw new CommandError(`--map ${map}: no column is named "${column}". Columns: ${columns}.`);
      if (field !== '' && !Object.hasOwn(fields, field))
        throw new CommandError(`--map ${map}: there is no field "${field}". Fields: ${names}.`);
      return [column, field];
    }),
  );
}

/**
 * Maps columns to fields: as `maps` say (`"Teléfono=contacts.whatsapp"`; nothing after the = leaves a column out), as the
 * product that wrote the file does, or by their names and cells. A field that is no contact takes the column that fits best.
 * @throws CommandError when a map names no column or no field
 */
export function mapColumns(
  header: readonly string[],
  maps: readonly string[],
  resource: Importable,
  surveyed: readonly Cells[] = [],
): Columns {
  const fields = FIELDS[resource];
  const named = mapped(header, maps, fields);
  const isOfPeople = resource === 'customers';
  const known = isOfPeople ? recognize(header) : undefined;
  const reasons = isRejections(header) ? REJECTION_COLUMNS.length : 0;
  const columns = header.map((column, index) => {
    const isLeftOut = index < reasons || (isOfPeople && isOfOthers(column));
    const set = named.get(column) ?? known?.fieldOf(column) ?? (isLeftOut ? '' : undefined);
    if (set !== undefined) {
      const field = set === 'name' ? 'firstName' : set || undefined;
      return { header: column, field, isGuess: false, isWhole: set === 'name', rank: 3 };
    }
    const cells = surveyed[index] ?? { samples: [], marks: new Set<Mark>() };
    // Every column of a recognized export that is not empty is named: only an empty one is left out in silence.
    const isEmptyOfKnown = known !== undefined && cells.samples.length === 0;
    const guess = isEmptyOfKnown ? '' : (fieldNamed(column, fields) ?? '');
    const rule = fields[guess];
    const own = guess.replace(/^contacts\.(?!web)/, '');
    const isOwn = guess !== '' && (column === guess || folded(column) === folded(own));
    const fit = rule === undefined ? 0 : fitOf(rule, guess, cells);
    // A column of numbers is not left out because of its cells: they are rejected one by one.
    const isMeant = fit > 0 || (rule && (isOwn || !/contact|choice|Name$/.test(`${rule.kind} ${guess}`)));
    const byPart = isOfPeople && !isEmptyOfKnown ? contactNamed(column, fields, cells) : undefined;
    const rank = isOwn ? 2 : SECOND.test(folded(column)) ? 0 : fit;
    return { header: column, field: isMeant ? guess : byPart, isGuess: !isOwn, rank };
  });
  // Of several columns for one field, the one whose name is the field's, or whose cells fit best.
  return columns.map(({ rank, ...column }, index) => {
    const isTaken = columns.some(({ field, rank: other }, at) => {
      const isBetter = other > rank || (other === rank && at < index);
      return at !== index && field === column.field && isBetter;
    });
    const isShared = rank === 3 || SECOND.test(folded(column.header));
    const isFree = isShared || fields[column.field ?? '']?.kind === 'contact' || !isTaken;
    return isFree ? column : { ...column, field: undefined };
  });
}

/** A sentence for each column that nothing takes although its cells are contacts. */
export function contactsLeftOut(columns: Columns, surveyed: readonly Cells[]): string[] {
  return columns.flatMap(({ header, field, isGuess }, index) => {
    const cells = surveyed[index];
    if (field !== undefined || !isGuess || cells?.samples[0] === undefined) return [];
    const isOfMail = shareOf(cells, isAddress) > 0.5;
    if (!isOfMail && shareOf(cells, isTelephone) <= 0.5) return [];
    const [what, channel] = isOfMail ? ['addresses', 'email'] : ['telephone numbers', 'telefono'];
    const example = cells.samples.find(isOfMail ? isAddress : isTelephone);
    return `Column "${header}" has ${what} (${example}), and fills no field: use --map "${header}=contacts.${channel}", or --map "${header}=" to leave it out.`;
  });
}

const PRICE = /^(?:precios?|precos?|prices?|tarifas?|valor|importe|monto|pvp|fare|rate)$/;

/** `Peso` alone may be a weight. */
const isOfPrice = (header: string): boolean =>
  ![undefined, undefinedCurrency].includes(currencyNamed(header)) ||
  header.split(/[^\p{L}]+/u).some((word) => PRICE.test(folded(word)));

/** The status of which a column's name has a word: `Visible en web`, `Agotado`. Short words are of anything: `No`. */
const statusIn = (header: string): string | undefined =>
  [header, ...header.split(/[^\p{L}]+/u)]
    .map((word) => (word.length > 3 ? codeOf(FIELDS.products.status as Field, word) : undefined))
    .find((code) => code !== undefined);

/** A sentence for each column of a catalog that would be lost in silence, and without which a product has a wrong price or is on sale. */
export function productsLeftOut(columns: Columns, surveyed: readonly Cells[]): string[] {
  const isSet = (field: string): boolean =>
    columns.some((column) => column.field === field && !column.isGuess);
  const isFilled = (field: string): boolean => columns.some((column) => column.field === field);
  const prices = columns.filter(
    ({ header, isGuess, field }, index) =>
      isGuess &&
      (field === 'fromPrice' || (field === undefined && isOfPrice(header))) &&
      surveyed[index]?.samples.some((text) => /\d/.test(text)),
  );
  const [first] = prices;
  const currencies = new Set(prices.flatMap(({ header }) => currencyNamed(header) ?? []));
  const quoted = prices.map(({ header }) => `"${header}"`).join(' and ');
  function ofPrices(): string | undefined {
    if (!first || isSet('fromPrice')) return undefined;
    const [name, choice] = [`Column "${first.header}"`, `use --map "${first.header}=fromPrice"`];
    const others = prices.slice(1).map(({ header }) => ` --map "${header}="`);
    if (currencies.size > 1)
      return `Columns ${quoted} have prices in ${currencies.size} currencies: ${choice}${others.join('')}.`;
    if (!isFilled('fromPrice'))
      return `${name} has prices, and fills no field: ${choice}, or --map "${first.header}=".`;
    if (currencies.has(undefinedCurrency) && !isFilled('currency'))
      return `${name} does not say which currency: name the column "${withoutRemark(first.header)} (USD)" with its three letters, add a column with them, or ${choice}.`;
    return undefined;
  }
  const ofStatus = columns.flatMap(({ header, field, isGuess }) => {
    const meant = fieldNamed(header, FIELDS.products) === 'status' ? 'active' : statusIn(header);
    if (field !== undefined || !isGuess || meant === undefined) return [];
    // A yes in a column of what is not on sale would be read as active.
    const choice = meant === 'active' ? `use --map "${header}=status", or` : 'add a column "status", or use';
    return `Column "${header}" may say what is on sale, and fills no field: ${choice} --map "${header}=" to leave it out.`;
  });
  return [ofPrices() ?? [], ofStatus].flat();
}

/**
 * Why the header row is none: it is a title, or a row of data.
 * @throws CommandError that says which line to change
 */
export function requireHeader(
  header: readonly string[],
  line: number,
  rows: readonly Row[],
  resource: Importable,
): void {
  const namesOf = (cells: readonly string[]): number =>
    recognize(cells) ? cells.length : cells.filter((cell) => fieldNamed(cell, FIELDS[resource])).length;
  const widthOf = (cells: readonly string[]): number => cells.filter((cell) => cell.trim() !== '').length;
  const width = widthOf(header);
  const names = namesOf(header);
  const [only = ''] = header;
  const parts = only.split(/[,;|^\t]|\s{2,}/).filter((part) => fieldNamed(part, FIELDS[resource]));
  if (header.length === 1 && parts.length > 1)
    throw new CommandError(
      `Line ${line} has several names in one cell (${only}): save the file with one delimiter between all cells.`,
    );
  const later = rows.find(
    ({ cells }) => widthOf(cells) > width && (width === 1 || namesOf(cells) > Math.max(1, names)),
  );
  const title = header.find(Boolean);
  if (later)
    throw new CommandError(
      `The names of the columns are in line ${later.line}: delete what is above it ("${title}").`,
    );
  const datum = header.find((cell) => isAddress(cell) || isNumber(cell) || /^-?\d[\d.,]*$/.test(cell));
  if (datum === undefined || names > 0) return;
  const example =
    resource === 'customers' ? 'firstName,whatsapp,email' : 'externalReferenceCode,title,fromPrice';
  throw new CommandError(
    `Line ${line} has data (${datum}), not the names of the columns: put a line above it, such as ${example}.`,
  );
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

/** The first name without the surname that another column repeats. */
function withoutSurname(name: string, surname: string): string {
  const wordsOf = (text: string): string[] => text.split(/[\s,]+/);
  const [first, last] = [wordsOf(name), wordsOf(surname)];
  const at = [first.length - last.length, 0].find(
    (from) => from >= 0 && last.every((word, index) => folded(first[from + index] ?? '') === folded(word)),
  );
  return (at !== undefined && first.toSpliced(at, last.length).join(' ')) || name;
}

/** What several columns of one field make together; of most fields the first one counts. */
const TOGETHER: Record<string, (one: unknown, other: unknown) => unknown> = {
  firstName: (one, other) => `${one} ${other}`,
  lastName: (one, other) => `${one} ${other}`,
  summary: (one, other) => `${one}\n${other}`,
  tags: (one, other) => [...new Set([...(one as string[]), ...(other as string[])])],
};

/** Labels that Google adds by itself. */
const isOwnLabel = (tag: string): boolean => /^\* ?\S|^(?:Imported on|Restored from) /.test(tag);

export type Contact = { identifierType: IdentifierType; identifierValue: string };

/** A cell without which a row was read. */
export type SkippedCell = { field: string; message: string };

/** What a new product without its status is: nobody sells by mistake what may not be on sale. */
export const withSafeStatus = (body: Body, skipped: readonly SkippedCell[]): Body =>
  skipped.some(({ field }) => field === 'status') ? { ...body, status: 'draft' } : body;

/** How the cells of a table are read. */
export type ReadOptions = {
  resource: Importable;
  /** The decimal mark of each column. */
  marks: readonly (Mark | undefined)[];
  country?: Reading['country'];
  clears?: Clearing;
};

/**
 * Returns what reads a body from a row. A contact that is none goes to `skipped` if the row has another one, and a value that a
 * closed list does not have always; without `skipped`, or without another contact, the row is rejected.
 */
export function bodyReader(
  columns: Columns,
  { resource, marks, country, clears = 'none' }: ReadOptions,
): (row: Row, skipped?: SkippedCell[]) => Body {
  const fields = FIELDS[resource];
  const created = propertiesOf(schemaOf(IMPORTED[resource].created));
  const isNullable = (field: string): boolean => typesOf(created[field] ?? {}).includes('null');
  const used = columns.flatMap(({ header, field, isWhole }, index) => {
    const rule = field === undefined ? undefined : fields[field];
    return field === undefined || rule === undefined ? [] : [{ header, field, rule, index, isWhole }];
  });
  const titles = used.flatMap(({ field, header }) => (field === 'title' ? `"${header}"` : []));
  return ({ cells, object }, skipped) => {
    if (object) return object;
    // A row with too few cells was cut; one with more has a delimiter that is not quoted.
    if (cells.length < columns.length || cells.slice(columns.length).some((cell) => cell.trim() !== ''))
      throw new RowError(`the row has ${cells.length} cells, but the header has ${columns.length}`);
    const body: Body = {};
    const contacts = new Map<string, Contact>();
    const currencies: string[] = [];
    const bad: SkippedCell[] = [];
    let whole: string | undefined;
    for (const { header, field, rule, index, isWhole } of used) {
      const { kind } = rule;
      const isOwn = header === field;
      const text = fromCell(cells[index] ?? '');
      if (text === undefined) {
        if (clears !== 'none' && isNullable(field)) body[field] ??= null;
        else if (clears === 'all' && kind === 'tags') body[field] ??= [];
        continue;
      }
      const damage = kind === 'number' || kind === 'integer' ? undefined : damageOf(cells[index] ?? '');
      const about = (message: string) => `column "${header}" ${message}`;
      try {
        if (damage !== undefined) throw new CellError(`${damage}: ${JSON.stringify(text)}`);
        if (kind === 'contact') {
          const identifierType = field.slice('contacts.'.length) as IdentifierType;
          for (const identifierValue of contactsIn(identifierType, text, { country, isOwn })) {
            const key = contactKey(identifierType, identifierValue);
            const rule = key ?? identifierRule(identifierType, identifierValue);
            const message = about(`${rule}: ${JSON.stringify(identifierValue)}`);
            if (key === null) bad.push({ field, message });
            else if (!contacts.has(`${field} ${key}`))
              contacts.set(`${field} ${key}`, { identifierType, identifierValue });
          }
        } else if (isWhole) whole ??= text;
        else {
          const value = cellValue(rule, text, { mark: marks[index], isOwn });
          const read =
            kind === 'tags' && !isOwn ? (value as string[]).filter((tag) => !isOwnLabel(tag)) : value;
          body[field] = body[field] == null ? read : (TOGETHER[field]?.(body[field], read) ?? body[field]);
          if (/^(?:fromPrice|priceMax)$/.test(field))
            currencies.push(currencyNamed(header) ?? undefinedCurrency);
        }
      } catch (error) {
        if (!(error instanceof CellError)) throw error;
        const cell = { field, message: about(error.message) };
        if (kind === 'contact') bad.push(cell);
        else if (kind === 'choice' && skipped) skipped.push(cell);
        else throw new RowError(cell.message);
      }
    }
    if (resource === 'customers') {
      const name = (body.firstName ?? whole) as string | undefined | null;
      const isOwnName = used.some(({ header, field }) => field === 'firstName' && header === field);
      if (typeof name === 'string' && !isOwnName)
        body.firstName = typeof body.lastName === 'string' ? withoutSurname(name, body.lastName) : name;
      const hasColumn = used.some(({ rule }) => rule.kind === 'contact');
      if (bad.length > 0 && (!skipped || contacts.size === 0))
        throw new RowError(bad.map(({ message }) => message).join('; '));
      if (contacts.size === 0 && hasColumn)
        throw new RowError('the row has no contact: every mapped contact column is empty');
      if (contacts.size === 0 && clears !== 'all')
        throw new RowError('the row has no id of a customer, and no column has contacts');
      skipped?.push(...bad);
      if (contacts.size > 0) body.contacts = [...contacts.values()];
      return body;
    }
    const [named, other = body.currency] = new Set(currencies.filter((one) => one !== undefinedCurrency));
    if (named !== undefined && other != null && other !== named)
      throw new RowError(`the name of a price column says ${named}, and another column ${other}`);
    if (named !== undefined) body.currency = named;
    if (body.title === undefined && clears === 'none')
      throw new RowError(`the row has no title: column ${titles.join(', ')} is empty`);
    return body;
  };
}

const SHOWN = 60;

/** Returns what words an error of a body for whoever wrote the file: with the column and the cell, not the path in the body. */
export function errorSpeaker(columns: Columns, { country }: Reading) {
  /** The column with this value of a contact. */
  const columnOf = (cells: readonly string[], { identifierType, identifierValue }: Contact): number =>
    columns.findIndex(({ field }, index) => {
      const text = field === `contacts.${identifierType}` ? fromCell(cells[index] ?? '') : undefined;
      return text !== undefined && contactsIn(identifierType, text, { country }).includes(identifierValue);
    });

  return ({ cells, object }: Row, body: Body, path: string, message: string): string => {
    const [, field = '', entry, rest = ''] = /^body\.(\w+)(?:\[(\d+)\])?(.*)$/.exec(path) ?? [];
    const contacts = body.contacts as Contact[] | undefined;
    const contact = field === 'contacts' ? contacts?.[Number(entry)] : undefined;
    const index = contact ? columnOf(cells, contact) : columns.findIndex((column) => column.field === field);
    const header = columns[index]?.header;
    if (object || header === undefined) return `${path.replace(/^body\./, '')} ${message}`;
    const text = contact?.identifierValue ?? fromCell(cells[index] ?? '') ?? '';
    const isWithin = field === 'variants' && rest !== '';
    const value = text === '' || isWithin ? '' : `: ${JSON.stringify(text.slice(0, SHOWN))}`;
    return `column "${header}" ${isWithin ? `, at ${rest.replace(/^\./, '')},` : ''}${message}${value}`;
  };
}

/**
 * The decimal mark of each column.
 * @param preset that of our own export, which needs no proof
 * @throws CommandError for a column of numbers that can each be two numbers
 */
export function decimalMarks(
  columns: Columns,
  surveyed: readonly Cells[],
  resource: Importable,
  preset: Mark | undefined,
): (Mark | undefined)[] {
  return columns.map(({ header, field }, index) => {
    const { marks, doubtful } = surveyed[index] ?? { marks: new Set<Mark>() };
    const mark = marks.size === 1 ? [...marks][0] : preset;
    const kind = field === undefined ? undefined : FIELDS[resource][field]?.kind;
    if (!doubtful || (kind !== 'number' && kind !== 'integer')) return mark;
    try {
      parseNumber(doubtful.text, mark, kind === 'integer');
      return mark;
    } catch (error) {
      throw new CommandError(
        `Column "${header}", line ${doubtful.line}: ${(error as Error).message}, and no other cell of the column shows which. Write its numbers without marks between thousands.`,
      );
    }
  });
}

/** @throws CommandError when no column fills what every record needs */
export function requireFields(
  columns: Columns,
  resource: Importable,
  { needs = [], doubts }: { needs?: readonly string[] | undefined; doubts: readonly string[] },
): void {
  const filled = columns.map(({ field }) => field?.replace(/^contacts\..*/, 'a contact'));
  const needed = resource === 'customers' ? ['a contact'] : ['title', ...needs];
  const missing = needed.find((field) => !filled.includes(field));
  if (missing === undefined) return;
  const example = resource === 'customers' ? 'Teléfono=contacts.whatsapp' : `Column=${missing}`;
  const advice = doubts.join('\n') || `Name the column with --map, such as --map "${example}".`;
  throw new CommandError(`No column fills ${missing}. ${advice}`);
}
