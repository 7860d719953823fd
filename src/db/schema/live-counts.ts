import { bigint, foreignKey, pgTable, primaryKey, smallint, text } from 'drizzle-orm/pg-core';
import { organizationId } from './columns.ts';
import { organizations } from './organizations.ts';

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
