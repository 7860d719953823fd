import type { SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { ErrorCode } from '../../contract/errors.ts';

/** A table whose rows belong to organizations. */
export type TenantTable = PgTable & { organizationId: PgColumn; id: PgColumn };

/** A table with the folded text of each visible record. Its other columns are copies of the record's, for filters. */
type SearchTable = TenantTable & { search: PgColumn };

/** Records of one kind, as the API knows them. Each stands beside its table. */
export type Resource<Table extends TenantTable = TenantTable> = {
  readonly table: Table;
  /** The condition on visible rows: lists, lookups and writes see no other. */
  readonly visible: SQL;
  /** How a missing record is answered. */
  readonly notFound: {
    readonly code: ErrorCode;
    readonly noun: string;
    /** How one is found whose id nobody knows. */
    readonly search?: string;
  };
  /** True when `live_counts` has the number of visible rows. Triggers keep it. */
  readonly isCounted: boolean;
  /** The field whose values `live_counts` counts one by one too, and the name that it counts them under. */
  readonly countedBy?: { readonly field: string; readonly name: string };
  /** Where `query` looks. */
  readonly searchDocument?: SearchTable | undefined;
};
