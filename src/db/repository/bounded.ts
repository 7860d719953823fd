import { getTableName, sql } from 'drizzle-orm';
import { jsonBytes, MAX_BYTES, sizeError } from '../../../rules/record-size.ts';
import { ApiError, invalid } from '../../contract/errors.ts';
import { inTransaction, type OrganizationScope } from '../pool/scope.ts';
import type { Columns, Storable } from '../sql/fields.ts';
import { type Json, parseJson } from '../sql/json.ts';
import type { View } from '../sql/query.ts';
import { defineGet, defineLockedGet, defineUpdate } from './record.ts';

/** Records with a largest size. Whoever may exceed it writes in a transaction, which is rolled back if the record is too large. */

type Kind = 'product' | 'customer';

/**
 * @param sent the fields of the request
 * @param before the bytes of the record before: a record that is too large already may stay as large
 * @throws VALIDATION_FAILED naming the largest field
 */
export function checkSize(kind: Kind, sent: object, record: Json<unknown>, before = 0): void {
  if (record.length <= MAX_BYTES[kind] || record.length <= before) return;
  const { field, message } = sizeError(kind, sent, record.length);
  throw invalid(`body.${field}`, message);
}

/** @throws VALIDATION_FAILED if the record is too large */
export async function createBounded<T>(
  scope: OrganizationScope,
  kind: Kind,
  sent: object,
  create: (scope: OrganizationScope) => Promise<Json<T>>,
): Promise<Json<T>> {
  // A record with all its fields and parts has half of the bytes at most, besides what was sent.
  if (jsonBytes(sent) <= MAX_BYTES[kind] / 2) return create(scope);
  return inTransaction(scope, async (within) => {
    const record = await create(within);
    checkSize(kind, sent, record);
    return record;
  });
}

/**
 * The function changes a record in one statement if the record has space for the change; otherwise it locks the record, and
 * measures it. `change` may depend on the stored record. It throws VALIDATION_FAILED and the resource's not-found error.
 */
export function defineBoundedUpdate<T, Name extends string>(
  view: View<T>,
  kind: Kind,
  columns: Columns<Name>,
  name = getTableName(view.table),
) {
  const [get, lock] = [defineGet(view, `${name}.get`), defineLockedGet(view, `${name}.get`)];
  const update = defineUpdate(view, columns, `${name}.update`, get);
  // JSON of a response has at most four times the bytes of its request. That of the row has those of the record, and the
  // names of its columns; it costs less, because its timestamps need no `to_char`.
  const [eighth, space] = [MAX_BYTES[kind] / 8, (3 * MAX_BYTES[kind]) / 8];
  const hasSpace = sql`octet_length(row_to_json(${view.table})::text) <= ${sql.raw(String(space))}`;
  const withSpace = { ...view, visible: sql`${view.visible} and ${hasSpace}` };
  const updateWithSpace = defineUpdate(withSpace, columns, `${name}.update_small`, get);
  const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.code === view.notFound;

  return async <Input extends object>(
    scope: OrganizationScope,
    id: string,
    sent: object,
    change: Storable<Input, Name> | ((stored: T) => Storable<Input, Name>),
  ): Promise<Json<T>> => {
    if (typeof change === 'object' && jsonBytes(sent) <= eighth)
      try {
        return await updateWithSpace(scope, id, change);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    return inTransaction(scope, async (within) => {
      const stored = await lock(within, id);
      const changed = typeof change === 'function' ? change(parseJson(stored)) : change;
      const record = await update(within, id, changed);
      checkSize(kind, sent, record, stored.length);
      return record;
    });
  };
}
