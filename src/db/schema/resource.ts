import type { SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { ErrorCode } from '../../errors.ts';

/** A table whose rows belong to organizations. */
export type TenantTable = PgTable & { organizationId: PgColumn; id: PgColumn };

/** Records of one kind, as the API knows them. Each stands beside its table, in schema/. */
export type Resource<Table extends TenantTable = TenantTable> = {
  readonly table: Table;
  /** The condition on visible rows: lists, lookups and writes see no other. */
  readonly visible: SQL;
  /** How a missing record is answered. */
  readonly missing: { readonly code: ErrorCode; readonly noun: string };
  /** True when `live_counts` keeps the number of visible rows. */
  readonly isCounted: boolean;
  /** Where reads look; without it, records are rendered while reading. See db/define/read-row.ts. */
  readonly readRow?: ReadRow | undefined;
  /** Where searches look; without it, in the table itself. See db/define/search-row.ts. */
  readonly searchRow?: SearchRow | undefined;
};

/** A table with the body of each visible record. Its other columns are copies of the record's, for filters and order. */
export type ReadRow = TenantTable & { updatedAt: PgColumn; rendering: PgColumn; body: PgColumn };

/** A table with the folded text of each visible record. Its other columns are copies of the record's, for filters. */
export type SearchRow = {
  readonly table: TenantTable & { search: PgColumn; archivedAt: PgColumn };
  /** The fields that the folded text is made of. */
  readonly texts: readonly string[];
};
