import { getTableName } from 'drizzle-orm';
import { isId } from '../ids.ts';
import type { Json } from '../json.ts';
import type { OrganizationScope } from '../pool/scope.ts';
import { body, keyIs, qb, type RecordKey, recordIs, type View } from '../query.ts';
import { type Params, prepared } from '../statement.ts';
import { type Resource, recordNotFound } from '../tables/resource.ts';

export type Get<T> = (scope: OrganizationScope, id: string) => Promise<Json<T>>;

const getStatement = <T>(view: View<T>, name = `${getTableName(view.table)}.get`) =>
  prepared(
    name,
    ($: Params<RecordKey>) => qb.select(body(view.fields)).from(view.table).where(recordIs(view, $)),
    { isShort: true },
  );

/** A lock needs its own statement: the next one sees what was committed before the lock. */
const lockStatement = ({ table }: Resource) =>
  prepared(`${getTableName(table)}.lock`, ($: Params<RecordKey>) =>
    qb.select({}).from(table).where(keyIs(table, $)).for('no key update'),
  );

/** The function throws the resource's not-found error. */
export function defineGet<T>(view: View<T>, name?: string): Get<T> {
  const statement = getStatement(view, name);
  return async ({ db, organizationId }, id) => {
    const [row] = isId(id) ? await db.read(statement, { organizationId, id }) : [];
    if (!row) throw recordNotFound(view, id);
    return row.body;
  };
}

/** Like `defineGet`, and locks the record until the transaction ends. */
export function defineLockedGet<T>(view: View<T>, name?: string): Get<T> {
  const [lock, get] = [lockStatement(view), getStatement(view, name)];
  return async ({ db, organizationId }, id) => {
    if (!isId(id)) throw recordNotFound(view, id);
    const key = { organizationId, id };
    await db.write(lock, key);
    const [row] = await db.read(get, key);
    if (!row) throw recordNotFound(view, id);
    return row.body;
  };
}
