import { z } from 'zod';
import { codePoints, textRule } from '../../rules/text.ts';

export function addIssue(
  { issues, value }: z.core.ParsePayload,
  message: string,
  path: (string | number)[],
): void {
  issues.push({ code: 'custom', message, path, input: value, continue: true });
}

type Lengths = { min?: number; max: number };

/** What is wrong with a text. Its length comes first, so that nothing reads more characters than the field can have. */
function errorIn(value: string, { min = 0, max }: Lengths): string | undefined {
  // A text has at most as many code points as UTF-16 units, and at least half as many: most values need no counting.
  const isShort = value.length < min || (value.length < 2 * min && codePoints(value) < min);
  const isLong = value.length > 2 * max || (value.length > max && codePoints(value) > max);
  if ((isShort || isLong) && min === max) return `must have exactly ${count(max)}`;
  if (isShort) return `must have at least ${count(min)}`;
  if (isLong) return `must have at most ${count(max)}`;
  return textRule(value);
}

/** A rejected text ends the checks of the record: normalizing 64 kB of combining marks takes up to 27 s. */
export const text = (lengths: Lengths) =>
  z
    .string()
    .check(({ value, issues }) => {
      const message = errorIn(value, lengths);
      if (message !== undefined)
        issues.push({ code: 'custom', message, path: [], input: value, continue: false });
    })
    .meta({ ...(lengths.min && { minLength: lengths.min }), maxLength: lengths.max });

const count = (characters: number): string => `${characters} character${characters === 1 ? '' : 's'}`;

export const name = () => text({ max: 255 });
export const title = () => text({ min: 1, max: 500 });
export const shortText = () => text({ max: 2_000 });
export const longText = () => text({ max: 50_000 });
export const dateText = () =>
  text({ max: 64 })
    .describe('Text, stored as it is. A calendar date such as 2027-03-31 (ISO 8601) is recommended.')
    .meta({ examples: ['2027-03-31'] });
export const currency = () => text({ min: 3, max: 3 }).meta({ examples: ['USD'] });
export const texts = () => z.array(text({ max: 1_000 })).max(200);

export const integer = () =>
  z.int32({
    error: ({ code }) =>
      ({ invalid_type: 'must be an integer', too_big: 'must be at most 2147483647' })[String(code)],
  });
export const naturalNumber = () => integer().min(0, 'must be at least 0');
export const positiveInteger = () => integer().min(1, 'must be greater than 0');
export const positiveNumber = () => z.number().gt(0, 'must be greater than 0');
export const price = () => z.number().min(0, 'must be at least 0');

const EARLIEST = Date.parse('0001-01-01T00:00:00Z');
export const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/** PostgreSQL has no year 0, which `z.iso.datetime()` accepts. */
function hasShortYear(timestamp: string): boolean {
  const time = Date.parse(timestamp);
  return time >= EARLIEST && time <= LATEST;
}

/*
 * The kinds of date:
 * - `dateText`: free text, stored as it is. Nothing compares it.
 * - `timestamp` in a request and `dateTime` in a response: a point in time. Its column is `timestamp()`.
 */

export const dateTime = () =>
  z.iso.datetime({ precision: 3 }).meta({ examples: ['2026-11-21T08:25:00.123Z'] });

/** ISO 8601 also has `2026-11-21t08:25z` and, as Meta's Graph API writes them, offsets like `+0000`. */
const inOneForm = (sent: string): string =>
  sent
    .toUpperCase()
    .replace(/([+-]\d\d)(\d\d)$/, '$1:$2')
    .replace(/(T\d\d:\d\d)(?=[Z+-])/, '$1:00');

const TIMESTAMP_RULE = 'must be an ISO 8601 date-time with an offset, such as 2026-11-21T08:25:00Z';

export const timestamp = () =>
  z
    .string(TIMESTAMP_RULE)
    .max(40, { error: 'must have at most 40 characters', abort: true })
    .overwrite(inOneForm)
    .check(z.iso.datetime({ offset: true, error: TIMESTAMP_RULE, abort: true }))
    .refine(hasShortYear, { error: 'must be between the years 1 and 9999', abort: true })
    .overwrite((sent) => new Date(sent).toISOString())
    .meta({ examples: ['2026-11-21T08:25:00.123Z'] });

const DAY = 24 * 3_600_000;

/** Up to a day ahead, because the clock or the time zone of a client may be wrong. */
export const pastTimestamp = () =>
  timestamp().refine(
    (sent) => !(Date.parse(sent) > Date.now() + DAY),
    'must be at most 24 hours in the future',
  );

/** The demo agency has a product, a customer, an opportunity, a conversation and a quote with this id. */
export const EXAMPLE_ID = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

/** A pattern of a UUID. The OpenAPI documents contain it, so it needs no flag. */
export const UUID = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}';

export const uuid = () =>
  z
    .string()
    .regex(new RegExp(`^${UUID}$`), 'must be a UUID')
    .meta({ format: 'uuid', examples: [EXAMPLE_ID] });

export const id = () => z.string().meta({ examples: [EXAMPLE_ID] });

/** What the responses of all resources begin and end with. */
export const recordId = () => id().describe('Opaque, immutable identifier.');
export const createdAt = () => dateTime().describe('When it was created.');
export const updatedAt = () =>
  dateTime().describe('When it was last changed. The list has this order, newest first.');

/** The length is documented, not validated: text that is not an id matches no record (404). */
export const pathId = (description: string) => id().meta({ maxLength: 64, description });

const DECIMAL_DIGITS = /^\d{1,16}$/;

/** Anything but decimal digits stays text, and is rejected as not an integer. */
const fromDigits = (value: unknown): unknown =>
  typeof value === 'string' && DECIMAL_DIGITS.test(value) ? Number(value) : value;

export const limitRule = (maximum: number): string =>
  `must be an integer from 1 to ${maximum}, in decimal digits`;

export function limit(maximum: number, preset: number) {
  const rule = limitRule(maximum);
  return z
    .preprocess(fromDigits, z.int32(rule).min(1, rule).max(maximum, rule).default(preset))
    .describe(`How many records to return, 1 to ${maximum}.`);
}

const emptyOrDigits = (value: unknown): unknown =>
  value === '' || value === 'null' ? null : fromDigits(value);

function offset() {
  const rule = 'must be an integer from 0 to 2147483647, in decimal digits';
  const count = z.int32(rule).min(0, rule).nullable().default(0);
  return z
    .preprocess(emptyOrDigits, count)
    .transform((value) => value ?? 0)
    .describe('How many records to skip. Empty or `null` means 0.');
}

/** @param id the name in the documents */
export const object = <Shape extends z.ZodRawShape>(id: string, shape: Shape) => z.object(shape).meta({ id });

/** A field with its meaning. Without an example, `.describe()` is enough for a short one. */
export const field = <Field extends z.ZodType>(
  field: Field,
  meaning: string,
  example?: z.output<Field>,
): Field => field.meta({ ...(example !== undefined && { examples: [example] }), description: meaning });

export const string = (meaning: string, example: string) => field(z.string(), meaning, example);

export const nullableText = (meaning: string, example?: string) =>
  field(z.string().nullable(), meaning, example);

export const nullableNumber = (meaning: string, example?: number) =>
  field(z.number().nullable(), meaning, example);

export const nullableId = (meaning: string) => id().nullable().describe(meaning);

export const nullableDateTime = (meaning: string) => dateTime().nullable().describe(meaning);

const descriptionOf = (field: unknown): string | undefined =>
  (field as z.ZodType).description ??
  (field instanceof z.ZodOptional || field instanceof z.ZodNullable || field instanceof z.ZodDefault
    ? descriptionOf(field.unwrap())
    : undefined);

/** An object whose fields say what those of the response say, unless they have a description. */
export function objectLike<Shape extends z.ZodRawShape>(response: z.ZodRawShape, shape: Shape) {
  const described = Object.entries(shape).map(([name, field]) => {
    const meaning = (response[name] as z.ZodType | undefined)?.description;
    const needsMeaning = meaning !== undefined && descriptionOf(field) === undefined;
    return [name, needsMeaning ? (field as z.ZodType).describe(meaning) : field];
  });
  return z.object(Object.fromEntries(described) as Shape);
}

/** `createdAt` in a PUT: records from another system keep their dates. */
export const createdOnce = () =>
  pastTimestamp()
    .optional()
    .describe('At most 24 hours in the future. Default: now. It cannot be changed later.');

/** Ends the sentence about the body of a PATCH. Over MCP, null stands for an absent argument. */
export const NULL_CLEARS = 'null clears one';

type Patched<Shape extends z.ZodRawShape> = {
  [Name in keyof Shape]: z.ZodOptional<Shape[Name] extends z.ZodDefault<infer Inner> ? Inner : Shape[Name]>;
};

export const patchOf = <Shape extends z.ZodRawShape>(put: z.ZodObject<Shape>): z.ZodObject<Patched<Shape>> =>
  z.object(
    Object.fromEntries(
      (Object.entries(put.shape) as unknown as [string, z.ZodType][]).map(([name, field]) => {
        const inner = field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field;
        return [name, inner.optional().meta({ ...field.meta() })];
      }),
    ) as unknown as Patched<Shape>,
  );

export const optionalBody = <Body extends z.ZodType>(body: Body) => z.preprocess((sent) => sent ?? {}, body);

/** Of a request, and of a response. */
export const MAX_HEADER_BYTES = 8 * 1024;

export const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 25;

export const textFilter = (description: string, max = 200) =>
  text({ min: 1, max }).optional().describe(description);

/** An unencoded + arrives as a space, which no valid timestamp contains. */
export const withPlus = (value: unknown): unknown =>
  typeof value === 'string' ? value.replace(' ', '+') : value;

const timestampFilter = (description: string) =>
  z.preprocess(withPlus, timestamp()).optional().describe(description);

const MAX_IDS = 100;
const IS_ID = new RegExp(`^\\s*${UUID}\\s*$`);

const list = () =>
  text({ min: 1, max: 40 * MAX_IDS }).refine(
    (sent) => sent.split(',').length <= MAX_IDS,
    `must have at most ${MAX_IDS} ids`,
  );

/** Strict: a client that mirrors a list would take an empty page for records that are gone. */
const ids = () =>
  list()
    .refine((sent) => sent.split(',').every((id) => IS_ID.test(id)), 'must be ids, separated by commas')
    .optional()
    .describe(`Up to ${MAX_IDS} ids, separated by commas.`);

/** @param records that the ids refer to, in the plural */
export const idFilter = (records: string) =>
  list().optional().describe(`Ids of ${records}, separated by commas; the text \`null\`: none.`);

export const recordQuery = () => ({
  limit: limit(MAX_LIMIT, DEFAULT_LIMIT),
  offset: offset(),
  createdSince: timestampFilter('Records that were created at this timestamp or later.'),
  createdBefore: timestampFilter('Records that were created before this timestamp.'),
  ids: ids(),
});

export const changeQuery = () => ({
  ...recordQuery(),
  updatedSince: timestampFilter('Records that were created or changed at this timestamp or later.'),
  updatedBefore: timestampFilter('Records whose last change was before this timestamp.'),
});

export const flag = (description: string) => z.enum(['true']).optional().describe(description);

export const archivedFilter = () =>
  flag('Only archived records, latest archived first, in place of the others.');

export const archivedAt = () => nullableDateTime('When it was archived; null while it is active.');

const Pagination = z
  .object({
    limit: z
      .int32()
      .min(1)
      .describe('The limit of this page. The last page may have fewer records.')
      .meta({ examples: [DEFAULT_LIMIT] }),
    offset: z.int32().min(0).describe('The offset of this page: the number of records before it.'),
    total: z
      .int()
      .min(0)
      .describe('The number of all records that match the filters.')
      .meta({ examples: [60] }),
  })
  .meta({ id: 'Pagination', description: 'Another page exists if offset plus limit is below total.' });

export const page = <Item extends z.ZodType>(item: Item) =>
  z
    .object({
      data: z.array(item).describe('The records of this page, in the order of the list.'),
      pagination: Pagination,
    })
    .meta({ id: `${item.meta()?.id}List` });
