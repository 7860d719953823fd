import { bigint, pgTable, primaryKey, smallint, text } from 'drizzle-orm/pg-core';
import { organizationId } from './columns.ts';
import { toOrganization } from './organizations.ts';

/**
 * How many live records an organization has: the sum of the slots. So an unfiltered list never counts rows. Each
 * connection writes its own slot, so that simultaneous creates do not wait for one row.
 */
export const liveCounts = pgTable(
  'live_counts',
  {
    organizationId: organizationId(),
    resource: text('resource').notNull(),
    slot: smallint('slot').notNull(),
    live: bigint('live', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({ name: 'live_counts_pkey', columns: [table.organizationId, table.resource, table.slot] }),
    toOrganization('live_counts_organization_fkey', table),
  ],
);
