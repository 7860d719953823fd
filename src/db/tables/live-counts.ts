import { bigint, pgTable, primaryKey, smallint, text } from 'drizzle-orm/pg-core';
import { organizationId } from './columns.ts';
import { toOrganization } from './organizations.ts';

/**
 * Totals of lists, each the sum of its slots. `value` is '', or a value of the resource's `countedBy` field. Slots keep
 * concurrent creates from waiting for one row.
 */
export const liveCounts = pgTable(
  'live_counts',
  {
    organizationId: organizationId(),
    resource: text('resource').notNull(),
    value: text('value').notNull(),
    slot: smallint('slot').notNull(),
    live: bigint('live', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({
      name: 'live_counts_pkey',
      columns: [table.organizationId, table.resource, table.value, table.slot],
    }),
    toOrganization('live_counts_organization_fkey', table),
  ],
);
