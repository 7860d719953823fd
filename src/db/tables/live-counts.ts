import { bigint, pgTable, primaryKey, smallint, text } from 'drizzle-orm/pg-core';
import { organizationId } from './columns.ts';
import { toOrganization } from './organizations.ts';

/**
 * How many records the lists of an organization show: the sum of the slots. So a list counts no rows that is unfiltered, or filtered
 * by the field that its resource is `countedBy`. Each connection writes its own slot, so that simultaneous creates do not wait for
 * one row. `value` is '' where the resource is counted by no field.
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
