import { type SQL, sql } from 'drizzle-orm';
import {
  customType,
  type ExtraConfigColumn,
  index,
  timestamp as pgTimestamp,
  text,
  uuid,
} from 'drizzle-orm/pg-core';

/** A moment, to the millisecond. The API shows milliseconds, and lists must be ordered by what it shows. */
export const timestamp = (name: string) =>
  pgTimestamp(name, { withTimezone: true, precision: 3, mode: 'date' });

export const organizationId = () => uuid('organization_id').notNull();
export const id = () => uuid('id').notNull();

export const createdAt = () => timestamp('created_at').notNull().default(sql`now()`);
/** A trigger moves it at each change of the row. */
export const updatedAt = () => timestamp('updated_at').notNull().default(sql`now()`);

/** Set when the record leaves lists and lookups; null on live records. */
const archivedAt = () => timestamp('archived_at');

/** What every record has that can be archived. */
export const record = () => ({
  organizationId: organizationId(),
  id: id(),
  createdAt: createdAt(),
  updatedAt: updatedAt(),
  archivedAt: archivedAt(),
});

/** A list of texts. It is never null. */
export const texts = (name: string) => text(name).array().notNull().default(sql`'{}'::text[]`);

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** For indexes of lists: the rows that lists show. */
export const isLive = sql`archived_at is null`;

type Listed = Record<'organizationId' | 'updatedAt' | 'id', ExtraConfigColumn>;

/** The columns of a list's index: the organization, what the list is filtered by, and its order. */
export const listOrder = (table: Listed, ...filters: (ExtraConfigColumn | SQL)[]) =>
  [table.organizationId, ...filters, table.updatedAt.desc(), table.id.desc()] as const;

/** An index of a list: of its live records, by what it is filtered by. */
export const listIndex = (name: string, table: Listed, ...filters: ExtraConfigColumn[]) =>
  index(name)
    .on(...listOrder(table, ...filters))
    .where(isLive);

/** What the list of every resource is read by: its order; and createdSince, with what the list is ordered by. */
export const listIndexes = (name: string, table: Listed & Record<'createdAt', ExtraConfigColumn>) => [
  listIndex(`${name}_live_idx`, table),
  index(`${name}_created_idx`)
    .on(table.organizationId, table.createdAt, table.updatedAt, table.id)
    .where(isLive),
];

/**
 * A search row: the folded text that `query` looks at, beside one visible record, in a narrow table with the trigram index. Triggers
 * keep it. So a change of a field that nobody searches does not write that index.
 */
export const searchDocument = () => ({
  organizationId: organizationId(),
  id: id(),
  search: text('search').notNull(),
});

/**
 * For trigram indexes: new entries wait in a list of so many kB, which every search reads. See jobs/pending-lists.ts.
 */
export const PENDING_LIST = { fastupdate: true, gin_pending_list_limit: 512 };
