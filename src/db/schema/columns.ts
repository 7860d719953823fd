import { type SQL, sql } from 'drizzle-orm';
import { toSnakeCase } from 'drizzle-orm/casing';
import { customType, type ExtraConfigColumn, integer, text, timestamp, uuid } from 'drizzle-orm/pg-core';

/** A moment, to the millisecond. The API shows milliseconds, and lists must be ordered by what it shows. */
export const moment = () => timestamp({ withTimezone: true, precision: 3, mode: 'date' });

export const organizationId = () => uuid().notNull();

export const createdAt = () => moment().notNull().default(sql`now()`);
export const updatedAt = () => moment().notNull().default(sql`now()`);

/** Set when the record leaves lists and lookups; null on live records. */
export const archivedAt = () => moment();

/** For indexes of lists: the rows that lists show. */
export const isLive = sql`archived_at is null`;

type Listed = Record<'organizationId' | 'updatedAt' | 'id', ExtraConfigColumn>;

/** The columns of a list's index: the organization, what the list is filtered by, and its order. */
export const listOrder = (table: Listed, ...filters: (ExtraConfigColumn | SQL)[]) =>
  [table.organizationId, ...filters, table.updatedAt.desc(), table.id.desc()] as const;

/** The columns of a read row, beside its copies for filters; see db/define/read-row.ts. */
export const readRowColumns = () => ({
  organizationId: organizationId(),
  id: uuid().notNull(),
  updatedAt: moment().notNull(),
  /** Which list of fields made the body. */
  rendering: integer().notNull(),
  body: text().notNull(),
});

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** U+001F between the parts keeps a substring search from matching across two fields. */
const SEPARATOR = sql.raw(`chr(31)`);

/**
 * The text that `query` searches: its parts folded (lower case, no accents) into one generated column.
 * @param parts fields of the table, or SQL over its columns
 */
export const folded = (parts: readonly (string | SQL)[]): SQL =>
  sql`public.fold_text(${sql.join(
    parts.map((part) => sql`coalesce(${typeof part === 'string' ? sql.raw(toSnakeCase(part)) : part}, '')`),
    sql` || ${SEPARATOR} || `,
  )})`;

/** For GIN indexes: each write goes into the index at once. A pending list would have to be read by every search. */
export const NO_PENDING_LIST = { fastupdate: false };

/**
 * For the GIN indexes of tables that clients write: new entries wait in a list of 64 kB, which every search reads. Measured over none:
 * a create takes 0.6 of PostgreSQL's time, a PATCH of a text 0.65, the search of a rare term 1.3 times.
 */
export const SHORT_PENDING_LIST = { fastupdate: true, gin_pending_list_limit: 64 };
