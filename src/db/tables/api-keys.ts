import { sql } from 'drizzle-orm';
import { integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { bytea, createdAt, id, organizationId, timestamp } from './columns.ts';
import { primary, toOrganization } from './organizations.ts';
import type { Resource } from './resource.ts';

/** A key is stored only as its SHA-256, with the first and last characters to recognise it by. */
export const apiKeys = pgTable(
  'api_keys',
  {
    organizationId: organizationId(),
    id: id(),
    name: text('name').notNull(),
    hash: bytea('hash').notNull(),
    start: text('start').notNull(),
    last4: text('last4').notNull(),
    /** `write`, `read` or `create`. */
    access: text('access').notNull(),
    /** The parts of /v1 that it reaches; null: all. */
    resources: text('resources').array(),
    /** null: the default of the environment. 0: no limit. */
    requestsPerMinute: integer('requests_per_minute'),
    createdAt: createdAt(),
    lastUsedAt: timestamp('last_used_at'),
    expiresAt: timestamp('expires_at'),
    revokedAt: timestamp('revoked_at'),
    replacedBy: uuid('replaced_by'),
  },
  (table) => [
    primary('api_keys_pkey', table),
    toOrganization('api_keys_organization_fkey', table),
    // For authentication: the only lookup that does not know the organization yet, but finds it.
    uniqueIndex('api_keys_hash_key').on(table.hash),
  ],
);

/** All keys, those revoked and expired too. */
export const issuedKeys = {
  table: apiKeys,
  visible: sql`true`,
  notFound: { code: 'API_KEY_NOT_FOUND', noun: 'API key' },
  isCounted: false,
} satisfies Resource;
