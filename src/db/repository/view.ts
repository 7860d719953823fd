import { and, getTableName } from 'drizzle-orm';
import { ApiError } from '../../contract/errors.ts';
import { type Fields, keyIs, type RecordKey } from '../query.ts';
import type { Params } from '../sql/statement.ts';
import type { Resource, TenantTable } from '../tables/resource.ts';

export type View<T, Table extends TenantTable = TenantTable> = Resource<Table> & {
  readonly fields: Fields<T>;
};

export const tableName = ({ table }: Pick<Resource, 'table'>): string => getTableName(table);

export const keyOf = keyIs;

/** The row with this key, visible or not. */
export const rowOf = ({ table }: Pick<Resource, 'table'>, $: Params<RecordKey>) => keyIs(table, $);

export const recordOf = ({ table, visible }: Resource, $: Params<RecordKey>) => and(keyIs(table, $), visible);

/** 404 for a record that is unknown, archived or of another organization. */
export function recordNotFound({ notFound }: Pick<Resource, 'notFound'>, id: string): ApiError {
  return new ApiError(notFound, { id });
}
