import { type SQL, sql } from 'drizzle-orm';
import {
  type AnyPgColumn,
  customType,
  type ExtraConfigColumn,
  index,
  timestamp as pgTimestamp,
  text,
  uuid,
} from 'drizzle-orm/pg-core';

/** Milliseconds, like timestamps of the API: lists are ordered by what a response shows. */
export const timestamp = (name: string) =>
  pgTimestamp(name, { withTimezone: true, precision: 3, mode: 'string' });

export const organizationId = () => uuid('organization_id').notNull();
export const id = () => uuid('id').notNull();

export const createdAt = () => timestamp('created_at').notNull().default(sql`now()`);
/** A trigger sets it at each change of the row. */
export const updatedAt = () => timestamp('updated_at').notNull().default(sql`now()`);

/** The columns of every record that can be archived. */
export const recordColumns = () => ({
  organizationId: organizationId(),
  id: id(),
  createdAt: createdAt(),
  updatedAt: updatedAt(),
  archivedAt: timestamp('archived_at'),
});

export const texts = (name: string) => text(name).array().notNull().default(sql`'{}'::text[]`);

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

export const isActive = sql`archived_at is null`;

type Listed = Record<'organizationId' | 'updatedAt' | 'id', ExtraConfigColumn>;

/**
 * The rows in the order of a list.
 * @param by what a filter compares
 * @param also what more filters compare, so that a total is an index-only scan. For an expression, the scan needs its columns too.
 */
export const listIndex = (
  name: string,
  table: Listed,
  rows: SQL,
  by: readonly (ExtraConfigColumn | SQL)[] = [],
  also: readonly ExtraConfigColumn[] = [],
) =>
  index(name)
    .on(table.organizationId, ...by, table.updatedAt.desc(), table.id.desc(), ...also)
    .where(rows);

/** The text of a search document, as the triggers write it. */
export const searched = (...texts: (AnyPgColumn | SQL)[]): SQL =>
  sql`fold_text(concat_ws(chr(31), ${sql.join(texts, sql`, `)}))`;

/** A search document: the folded text of one visible record, maintained by triggers. */
export const searchDocument = () => ({
  organizationId: organizationId(),
  id: id(),
  search: text('search').notNull(),
});
