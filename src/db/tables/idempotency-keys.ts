import { index, jsonb, pgTable, primaryKey, smallint } from 'drizzle-orm/pg-core';
import { bytea, createdAt, organizationId } from './columns.ts';

/** The first responses to requests with an Idempotency-Key, for a day. No foreign key: a request may create its organization. */
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
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ name: 'idempotency_keys_pkey', columns: [table.organizationId, table.fingerprint] }),
    index('idempotency_keys_created_at_idx').on(table.createdAt),
  ],
);
