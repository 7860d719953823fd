import { index, jsonb, pgTable, primaryKey, smallint } from 'drizzle-orm/pg-core';
import { bytea, createdAt, organizationId } from './columns.ts';

/**
 * The first answers of requests with an Idempotency-Key, kept for a day. No foreign key: what creates organizations is
 * kept under an id that no organization has.
 */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    organizationId: organizationId(),
    /** SHA-256 of method, path and key: the key itself is nobody's business here. */
    fingerprint: bytea('fingerprint').notNull(),
    /** SHA-256 of the body: another body under the same key is refused. */
    bodyHash: bytea('body_hash').notNull(),
    status: smallint('status').notNull(),
    headers: jsonb('headers').$type<Record<string, string>>().notNull(),
    body: bytea('body').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ name: 'idempotency_keys_pkey', columns: [table.organizationId, table.fingerprint] }),
    // The sweep, oldest first: of all organizations at once.
    index('idempotency_keys_created_at_idx').on(table.createdAt),
  ],
);
