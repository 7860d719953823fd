import { readFileSync } from 'node:fs';
import { type CountryCode, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { contactKey, type IdentifierType } from '../../rules/contact-key.ts';
import {
  IMPORTED,
  type Importable,
  propertiesOf,
  resolved,
  type Schema,
  schemaOf,
  typesOf,
} from './document.ts';

/** The fields that a column can fill, and how a cell becomes a value. The document says which fields there are and of which kind. */

type Kind =
  `${'text' | 'date' | 'currency' | 'choice' | 'number' | 'integer' | 'list' | 'tags' | 'json' | 'contact'}`;

export type Field = {
  kind: Kind;
  /** Column names that mean this field, folded; its own name always does. */
  names: string[];
  /** The codes of a choice, each with the names that people write for it, folded. */
  codes: Record<string, string[]>;
};

/** What a file or its owner says of how cells are to be read. */
export type Reading = {
  /** The decimal mark of the column. */
  mark?: Mark | undefined;
  /** The column has the field's own name, as in our exports. */
  isOwn?: boolean;
  /** The country of telephone numbers without a country code. */
  country?: CountryCode | undefined;
};

/** A longer text is no name of a column and no code, and could take minutes to normalize. */
export const MAX_NAME_LENGTH = 255;
/** A longer text is no contact. */
const MAX_CONTACT_LENGTH = 640;

/** A name's letters and digits, without accents and case. */
export const folded = (name: string): string =>
  name
    .slice(0, MAX_NAME_LENGTH)
    .normalize('NFD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');

export type Fields = Record<string, Field>;

/**
 * Folded names, between spaces: of the columns of each field, and of the codes of closed lists, beside their own names; and
 * the exports of other products.
 */
export const NAMES = JSON.parse(readFileSync(new URL('../names.json', import.meta.url), 'utf8')) as Record<
  Importable,
  Record<string, string>
> &
  Record<'codes' | 'exports', Record<string, Record<string, string>>> &
  Record<'currencies', Record<string, string>>;

const words = (text = ''): string[] => text.split(' ').filter(Boolean);

function kindOf(name: string, schema: Schema): Kind {
  const { enum: codes, items } = resolved(schema);
  if (codes) return 'choice';
  const types = typesOf(schema);
  if (types.includes('array') && typesOf(items ?? {}).includes('string'))
    return name === 'tags' ? 'tags' : 'list';
  if (types.includes('integer')) return 'integer';
  if (types.includes('number')) return 'number';
  if (name.startsWith('valid')) return 'date';
  if (name === 'currency') return 'currency';
  return types.includes('string') ? 'text' : 'json';
}

function fieldOf(name: string, schema: Schema, names: Record<string, string>): [string, Field] {
  const codes = (resolved(schema).enum ?? []).flatMap((code) => (code === null ? [] : String(code)));
  const spoken = Object.fromEntries(codes.map((code) => [code, words(NAMES.codes[name]?.[code])]));
  return [name, { kind: kindOf(name, schema), names: words(names[name]), codes: spoken }];
}

/** The fields that a row can fill; contacts have one for each channel. */
function fieldsOf(resource: Importable): Fields {
  const names = NAMES[resource];
  const fields = Object.entries(propertiesOf(schemaOf(IMPORTED[resource].created))).flatMap(
    ([name, schema]) => {
      if (name !== 'contacts') return [fieldOf(name, schema, names)];
      const channels = resolved(propertiesOf(schema).identifierType).enum ?? [];
      return channels.map((channel): [string, Field] => [
        `contacts.${channel}`,
        { kind: 'contact', names: words(names[`contacts.${channel}`]), codes: {} },
      ]);
    },
  );
  return Object.fromEntries(fields);
}

export const FIELDS = { customers: fieldsOf('customers'), products: fieldsOf('products') };

/** A cell that cannot be what its field needs. */
export class CellError extends Error {}

/** A decimal mark; the other one then groups digits by three. */
export type Mark = '.' | ',';

/** Exports write a very large number as 1e+21; 1e5 may be a code. */
const NUMBERS: Record<Mark, RegExp> = {
  '.': /^-?(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?(?:e[+-]\d+)?$/i,
  ',': /^-?(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?(?:e[+-]\d+)?$/i,
};

/** The number with the point, and with the comma as decimal mark; `1.450` has two readings, `1.450,00`, `0.125` and `12.5` one. */
function readingsOf(text: string): (number | undefined)[] {
  const plain = text.trim().replaceAll(/(?<=\d)[\s'’](?=\d{3}(?!\d))/g, '');
  return (['.', ','] as const).map((mark) =>
    NUMBERS[mark].test(plain)
      ? Number(plain.replaceAll(mark === '.' ? ',' : '.', '').replace(',', '.'))
      : undefined,
  );
}

/** The decimal mark that the text proves: it is no number with the other one. */
export function provenMark(text: string): Mark | undefined {
  const [point, comma] = readingsOf(text);
  return (point === undefined) === (comma === undefined) ? undefined : point === undefined ? ',' : '.';
}

/** @param mark decides where the text can be two numbers @throws CellError */
export function parseNumber(text: string, mark?: Mark, isInteger = false): number {
  const [point, comma] = readingsOf(text);
  const found = [...new Set([point, comma])].filter((one) => one !== undefined);
  const whole = found.filter(Number.isInteger);
  const [only] = isInteger && whole.length === 1 ? whole : found;
  if (only === undefined) throw new CellError(`is not a number: ${JSON.stringify(text)}`);
  if (found.length === 1 || (isInteger && whole.length === 1)) return only;
  if (mark === undefined) throw new CellError(`can be ${comma} or ${point}: ${JSON.stringify(text)}`);
  return (mark === '.' ? point : comma) as number;
}

/** Entries that are all in quotes, as Mailchimp writes tags. */
const QUOTED = /^"[^"\\\p{Cc}]+"(?:, ?"[^"\\\p{Cc}]+")*$/u;

/** A list in one cell: JSON, or entries between bars or lines (tags between commas and semicolons, too). */
export function parseList(text: string, separators: RegExp): string[] {
  const json = QUOTED.test(text) ? `[${text}]` : text;
  if (json.startsWith('[')) {
    const list = parseJson(json);
    if (!Array.isArray(list) || !list.every((entry) => typeof entry === 'string'))
      throw new CellError('is not a list of strings');
    return list;
  }
  const entries = text.split(separators).map((entry) => entry.trim());
  return entries.filter((entry) => entry !== '');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CellError(`is not JSON: ${JSON.stringify(text.slice(0, 60))}`);
  }
}

const BARS = /[|\n]/;
const TAGS = /[|\n,;]|:::/;

/** What people put between several contacts. A telephone number or an address also begins a new one. */
const BETWEEN: Record<string, RegExp> = {
  whatsapp: /[|\n,;/]|:::|\s(?:y|e|o|ou|or|and|&)\s|(?<=\d)\s+(?=\+)/i,
  email: /[|\n,;]|:::|\s(?:y|e|o|ou|or|and|[/&])\s|\s(?=\S+@)/i,
  instagram: /[|\n,;]|:::/,
};

/** What stands around a contact: a label, the kind of the number, an apostrophe, the decimals of a spreadsheet. */
const AROUND =
  /^\p{L}[\p{L} .]*:\s*(?=[+\d(]|\S+@)|\s*\((?:whatsapp|wsp|cel|celular|m[oó]vil|casa|trabajo|oficina|personal)\)$|^'(?=[+\d]|[^\s']+@)|(?<=@\S+)'$|(?<=\d{7})\.0{1,2}$/giu;

/** What people write where there is no contact: as an account, it would make one customer of all who have none. */
const NONE =
  /^(?:n\/?[ad]|s\/?[nd]|no|n[aã]o tem|no (?:tiene|usa|aplica|sabe)|ningun[oa]|nenhuma?|none|null|sin (?:dato|n[uú]m|mail|correo|tel|what|insta)\S*)$/i;

/** A link that opens a chat, before its slashes are taken for those between contacts. */
const CHAT_LINKS =
  /(?:https?:\/\/)?(?:\w{1,4}\.)?(?:wa\.me\/|whatsapp\.com\/send\/?\?phone=)\+?(\d{6,18})(?:[/?&#]\S*)?/gi;

/** The number with its country code, if it is valid in the country. */
function withCountryCode(text: string, country: CountryCode | undefined): string {
  if (country === undefined || /^\D*(?:\+|00)/.test(text)) return text;
  const number = parsePhoneNumberFromString(text, { defaultCountry: country, extract: false });
  return number?.isValid() && number.ext === undefined ? number.number : text;
}

/** The contacts of a cell, each as it can be sent. `Ana <ana@example.com>` is the address alone. */
export function contactsIn(channel: string, text: string, { country, isOwn }: Reading): string[] {
  if (!isOwn && NONE.test(text)) return [];
  const isTelephone = channel === 'whatsapp' || channel === 'telefono';
  const between = BETWEEN[isTelephone ? 'whatsapp' : channel];
  if (between === undefined) return parseList(text, BARS);
  const plain =
    channel === 'email' ? text.replaceAll(/(?<![^,;|\n<>])[^,;|\n<>]*<([^<>\s@]+@[^<>\s@]+)>/g, '$1') : text;
  const values = parseList(isTelephone ? plain.replaceAll(CHAT_LINKS, '+$1') : plain, between)
    .filter((value) => /[\p{L}\p{N}]/u.test(value))
    .map((value) => (value.length > MAX_CONTACT_LENGTH ? value : value.replace(AROUND, '')))
    .map((value) => (isTelephone ? withCountryCode(value, country) : value));
  const byKey = new Map(
    values.map((value) => [contactKey(channel as IdentifierType, value) ?? value, value]),
  );
  return [...byKey.values()];
}

const signsOf = (text: string): string => text.replaceAll(/[.,:()\s]/g, '').toUpperCase();

/** Signs and words of currencies, and the code of each. */
const CURRENCIES = new Map(
  Object.entries(NAMES.currencies).flatMap(([code, signs]) =>
    [code, ...words(signs)].map((sign) => [signsOf(sign), code]),
  ),
);
const CODES = new Set(Intl.supportedValuesOf('currency'));

/** Stands for a sign of several currencies. */
export const undefinedCurrency = '?';

const currencyOf = (text: string): string | undefined =>
  CURRENCIES.get(signsOf(text)) ?? (CODES.has(signsOf(text)) ? signsOf(text) : undefined);

/** Whether a word of a header is a currency: a code is written in capitals. */
export const isCurrency = (word: string): boolean =>
  CURRENCIES.has(signsOf(word)) || (word === word.toUpperCase() && currencyOf(word) !== undefined);

/** The currency in the name of a column: `Precio (US$)` is USD. */
export const currencyNamed = (header: string): string | undefined =>
  currencyOf(header.split(/[\s()[\]]+|(?<=[\p{L}$]{2})[/-]/u).find(isCurrency) ?? '');

/** The code that the text means in a closed list. */
export function codeOf({ codes }: Field, text: string): string | undefined {
  // A language may have its country behind it: es-pe, Español (Perú). A negative number is no code: of WooCommerce, -1 is a draft.
  const short = text.slice(0, MAX_NAME_LENGTH);
  const plain = codes.pt ? short.replace(/^([a-z]{2})[-_]\w+$|\s*\(.*\)$/i, '$1') : short;
  const name = text.startsWith('-') ? text : folded(plain);
  return Object.entries(codes).find(([code, names]) => folded(code) === name || names.includes(name))?.[0];
}

/** The value of a cell that is not empty. @throws CellError */
export function cellValue(field: Field, text: string, { mark, isOwn }: Reading): unknown {
  const { kind, codes } = field;
  switch (kind) {
    case 'choice': {
      const code = codeOf(field, text);
      if (code === undefined) throw new CellError(`is none of ${Object.keys(codes).join(', ')}: "${text}"`);
      return code;
    }
    case 'currency': {
      const code = CURRENCIES.get(/^\p{L}+$/u.test(text) ? '' : signsOf(text)) ?? text;
      if (code.length !== 3 || /\p{Sc}/u.test(code) || !(isOwn || CODES.has(code.toUpperCase())))
        throw new CellError(`is not the code of a currency: "${text}". Write three letters, such as USD`);
      return code;
    }
    case 'number':
    case 'integer':
      return parseNumber(text, mark, kind === 'integer');
    case 'date':
      if (/^[2-7]\d{4}(?:[.,]\d+)?$/.test(text))
        throw new CellError(`is a day number of your spreadsheet: format the column as a date: "${text}"`);
      return text;
    case 'list':
      return parseList(text, BARS);
    case 'tags':
      return parseList(text, TAGS);
    case 'json':
      return parseJson(text);
    default:
      return text;
  }
}

/** The cell of a list that `parseList` reads back as it was; undefined for an empty one. */
export function listCell(list: readonly string[]): string | undefined {
  if (list.length === 0) return undefined;
  const isPlain = (entry: string) =>
    entry !== '' && entry === entry.trim() && !/[|\n,;]|:::|^[["]/.test(entry);
  return list.every(isPlain) ? list.join(' | ') : JSON.stringify(list);
}
