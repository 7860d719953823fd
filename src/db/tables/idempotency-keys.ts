import { index, jsonb, pgTable, primaryKey, smallint, uuid } from 'drizzle-orm/pg-core';
import { bytea, createdAt, organizationId } from './columns.ts';

/**
 * The first responses to requests with an Idempotency-Key, for a day. No foreign key: the response to the
 * creation of an organization belongs to none.
 */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    organizationId: organizationId(),
    /** SHA-256 of method, path and key. */
    fingerprint: bytea('fingerprint').notNull(),
    /** SHA-256: another body with the same key is rejected. */
    bodyHash: bytea('body_hash').notNull(),
    status: smallint('status').notNull(),
    headers: jsonb('headers').$type<Record<string, string>>().notNull(),
    body: bytea('body').notNull(),
    /** The ids in the path and the body of a record that has texts of a person; null if release 1.0.0 stored the response. */
    recordIds: uuid('record_ids').array(),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ name: 'idempotency_keys_pkey', columns: [table.organizationId, table.fingerprint] }),
    index('idempotency_keys_created_at_idx').on(table.createdAt),
    // For the erasure of a customer.
    index('idempotency_keys_records_idx')
      .using('gin', table.organizationId, table.recordIds)
      .with({ fastupdate: true, gin_pending_list_limit: 512 }),
  ],
);
