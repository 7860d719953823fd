import { sql } from 'drizzle-orm';
import { integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { bytea, createdAt, id, organizationId, timestamp } from './columns.ts';
import { primary, toOrganization } from './organizations.ts';
import type { Resource } from './resource.ts';

/** API keys: the SHA-256 of each, and its first and last characters. */
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
    /** The resources of /v1 that it may access; null: all. */
    resources: text('resources').array(),
    /** null: the configured default. 0: no limit. */
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
    // For authentication, which does not know the organization yet.
    uniqueIndex('api_keys_hash_key').on(table.hash),
  ],
);

export const issuedKeys = {
  table: apiKeys,
  visible: sql`true`,
  notFound: 'API_KEY_NOT_FOUND',
} satisfies Resource;
