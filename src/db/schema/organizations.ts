import {
  bigint,
  foreignKey,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
  varchar,
} from 'drizzle-orm/pg-core';
import { bytea, createdAt, moment, organizationId } from './columns.ts';

export const organizations = pgTable('organizations', {
  id: uuid().primaryKey(),
  name: text().notNull(),
  createdAt: createdAt(),
});

/** Keys at rest: only the SHA-256 of the key, with its first and last characters to recognise it. */
export const apiKeys = pgTable(
  'api_keys',
  {
    organizationId: organizationId(),
    id: uuid().notNull(),
    name: text().notNull(),
    hash: bytea().notNull(),
    start: text().notNull(),
    last4: text().notNull(),
    /** null: the default of the environment; 0: unlimited. */
    requestsPerMinute: integer(),
    createdAt: createdAt(),
    lastUsedAt: moment(),
    expiresAt: moment(),
    revokedAt: moment(),
    replacedBy: uuid(),
  },
  (table) => [
    primaryKey({ name: 'api_keys_pkey', columns: [table.organizationId, table.id] }),
    foreignKey({
      name: 'api_keys_organization_fkey',
      columns: [table.organizationId],
      foreignColumns: [organizations.id],
    }),
    // Authentication: the one lookup that finds the organization instead of starting from it.
    uniqueIndex('api_keys_hash_key').on(table.hash),
  ],
);

/**
 * How many live records an organization has, so that an unfiltered list never counts rows: the sum over the slots. Each
 * connection writes a slot of its own, so that simultaneous creates in one organization do not queue for one row.
 */
export const liveCounts = pgTable(
  'live_counts',
  {
    organizationId: organizationId(),
    resource: text().notNull(),
    slot: smallint().notNull(),
    live: bigint({ mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({ name: 'live_counts_pkey', columns: [table.organizationId, table.resource, table.slot] }),
    foreignKey({
      name: 'live_counts_organization_fkey',
      columns: [table.organizationId],
      foreignColumns: [organizations.id],
    }),
  ],
);

/** Windows of the rate limit when several instances share them (RATE_LIMIT_STORE=postgres). Columns as rate-limiter-flexible expects. */
export const rateLimits = pgTable(
  'rate_limits',
  {
    key: varchar({ length: 255 }).primaryKey(),
    points: integer().notNull().default(0),
    expire: bigint({ mode: 'number' }),
  },
  // The limiter removes windows that ended.
  (table) => [index('rate_limits_expire_idx').on(table.expire)],
);
