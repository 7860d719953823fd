import { getTableColumns, is } from 'drizzle-orm';
import { type PgColumn, PgTable } from 'drizzle-orm/pg-core';
import * as schema from '../../src/db/tables/index.ts';

type Owned = PgTable & { organizationId: PgColumn };

/** The tables whose rows belong to an organization. */
export const owned: readonly Owned[] = Object.values(schema).filter(
  (table): table is Owned & typeof table => is(table, PgTable) && 'organizationId' in getTableColumns(table),
);
