import type { SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { ErrorCode } from '../../contract/errors.ts';

export type TenantTable = PgTable & { organizationId: PgColumn; id: PgColumn };

/** The table of search documents. Its other columns are copies of the record's, for filters. */
type SearchTable = TenantTable & { search: PgColumn };

/** Records of one kind. */
export type Resource<Table extends TenantTable = TenantTable> = {
  readonly table: Table;
  /** The condition on rows that lists, lookups and writes can see. */
  readonly visible: SQL;
  /** The error for a record that is not found. */
  readonly notFound: {
    readonly code: ErrorCode;
    readonly noun: string;
    /** The request that finds a record without its id. */
    readonly search?: string;
  };
  /** True if triggers maintain the total of the list in `live_counts`. */
  readonly isCounted: boolean;
  /** A field whose values have a total each, and their `resource` in `live_counts`. */
  readonly countedBy?: { readonly field: string; readonly name: string };
  readonly searchDocument?: SearchTable | undefined;
};
