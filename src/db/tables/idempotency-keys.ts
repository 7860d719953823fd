import { index, pgTable, primaryKey, uuid } from 'drizzle-orm/pg-core';
import { bytea, createdAt, organizationId } from './columns.ts';

/** The records that requests with an Idempotency-Key created, for a day. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    organizationId: organizationId(),
    /** SHA-256 of method, path and key. */
    fingerprint: bytea('fingerprint').notNull(),
    /** SHA-256: another body with the same key is rejected. */
    bodyHash: bytea('body_hash').notNull(),
    /** Of the table that the path names. */
    recordId: uuid('record_id').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ name: 'idempotency_keys_pkey', columns: [table.organizationId, table.fingerprint] }),
    index('idempotency_keys_created_at_idx').on(table.createdAt),
  ],
);
