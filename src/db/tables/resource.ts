import type { SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { ApiError, type NotFoundCode } from '../../contract/errors.ts';

type IdColumn = PgColumn & { _: { data: string; notNull: true } };

export type TenantTable = PgTable & { organizationId: IdColumn; id: IdColumn };

/** Other columns are copies of the record's, for filters. */
type SearchTable = TenantTable & { search: PgColumn };

export type Resource<Table extends TenantTable = TenantTable> = {
  readonly table: Table;
  /** The condition on the rows of lists, lookups and writes. */
  readonly visible: SQL;
  /** The column with the record that a merged one became: a reference to one is to the other. */
  readonly mergedInto?: PgColumn;
  readonly notFound: NotFoundCode;
  /** True if triggers maintain the total of the list in `live_counts`. */
  readonly isCounted?: boolean;
  /** A field with a total for each value, and its `resource` in `live_counts`. */
  readonly countedBy?: { readonly field: string; readonly name: string };
  readonly searchDocument?: SearchTable | undefined;
  /** The text of the search document, for archived records, which have none. */
  readonly searchedText?: SQL;
};

/** 404 for a record that is unknown, archived or of another organization. */
export function recordNotFound({ notFound }: Pick<Resource, 'notFound'>, id: string): ApiError {
  return new ApiError(notFound, { id });
}
