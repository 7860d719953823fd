import { hash } from 'node:crypto';
import { getTableName, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { type Json, jsonRows } from './json.ts';
import { nameOf, organizationParam, type RecordKey, rowOf, type TenantTable, type View } from './resource.ts';
import { inTransaction, type OrganizationScope } from './scope.ts';
import { type Params, prepared, rendered, type Statement, textOf } from './statement.ts';

/**
 * Bodies that are kept with their record: rendered when it is written, in the same transaction, and read as they are. A
 * kept body counts while it is of the record's `updated_at`, which every change moves on, and of this release's list of
 * fields. Any other is rendered while reading, so that neither a release nor a write that knows nothing of bodies can
 * make one stale.
 * Measured: a list of 25 products takes a quarter of PostgreSQL's processor time, one of customers a third.
 */

/** A number for the list of fields: another one for any other SQL that renders them. */
const renderingOf = <T>(view: Pick<View<T>, 'fields'>): number =>
  Number.parseInt(hash('sha256', textOf(jsonRows(view.fields, sql``))).slice(0, 7), 16);

/**
 * The body of a record: the kept one, else the rendered one.
 * @param row names the relation that has the record's `id` and `updated_at`
 * @param rendered a query of the body
 */
export function storedBody<T>(view: View<T>, row: string, rendered: SQL): SQL {
  const { bodies } = view;
  if (!bodies) return sql`(${rendered})`;
  return sql`coalesce(
    (select kept.body from ${bodies} kept where kept.organization_id = ${organizationParam}
      and kept.id = ${sql.raw(row)}.id and kept.updated_at = ${sql.raw(row)}.updated_at
      and kept.rendering = ${sql.raw(String(renderingOf(view)))}),
    (${rendered}))`;
}

/**
 * The last part of a statement that changes a record: it renders what the record is then, keeps that, and returns it. A
 * record that never had a body gets none: on a cluster an insert beside an update would make a statement several tasks.
 * @param from what follows the select list of the body, from `from` on
 * @param isKept a condition: false where the statement may have seen less of the record than it wrote
 */
export function renderAndKeep<T>(view: View<T>, from: SQL, isKept: SQL): SQL<{ body: Json<T> }> {
  if (!view.bodies) throw new Error(`${nameOf(view)} keeps no bodies.`);
  const name = sql.identifier(getTableName(view.table));
  return sql`, rendered as (
      select ${name}.id, ${name}.updated_at, (${jsonRows(view.fields, sql``)}) as body ${from}),
    kept as (
      update ${view.bodies} kept
      set updated_at = rendered.updated_at, rendering = ${sql.raw(String(renderingOf(view)))}, body = rendered.body
      from rendered where kept.organization_id = ${organizationParam} and kept.id = rendered.id and ${isKept})
    select body from rendered`;
}

/** Composes the statement that renders and keeps the body of a record that was just made, and returns it. */
export function keepNewBody<T>(
  view: View<T, TenantTable & { updatedAt: PgColumn }>,
): Statement<{ body: Json<T> }, RecordKey> {
  const { table, bodies } = view;
  if (!bodies) throw new Error(`${nameOf(view)} keeps no bodies.`);
  return rendered(
    `${nameOf(view)}.keep_new_body`,
    ($: Params<RecordKey>) => sql<{ body: Json<T> }>`
      insert into ${bodies} as kept (organization_id, id, updated_at, rendering, body)
      select ${table.organizationId}, ${table.id}, ${view.table.updatedAt}, ${sql.raw(String(renderingOf(view)))}, (${jsonRows(view.fields, sql``)})
      from ${table} where ${rowOf(view, $)}
      returning kept.body`,
  );
}

type BatchValues = { organizationId: string; ids: string[] };
type AfterValues = { organizationId: string; after: string; limit: number };

/** Ids of records whose body is to be made, and where the next look begins: after the last record that was looked at. */
export type BodyBatch = { ids: string[]; last: string | undefined };

/** For jobs: finds bodies that do not count, or are not what rendering gives, and makes them anew. */
export type BodyKeeper = {
  /** The next records without a body that counts: never kept, or of another release. */
  stale: (scope: OrganizationScope, after: string, limit: number) => Promise<BodyBatch>;
  /** Of the next records, those whose body counts and is not what rendering gives now. There should be none. */
  wrong: (scope: OrganizationScope, after: string, limit: number) => Promise<BodyBatch>;
  /** Renders the records and keeps their bodies. */
  refresh: (scope: OrganizationScope, ids: string[]) => Promise<void>;
};

export function defineBodyKeeper<T>(view: View<T, TenantTable & { updatedAt: PgColumn }>): BodyKeeper {
  const { table, bodies } = view;
  if (!bodies) throw new Error(`${nameOf(view)} keeps no bodies.`);
  const name = nameOf(view);
  const rendering = sql.raw(String(renderingOf(view)));
  const body = sql`(${jsonRows(view.fields, sql``)})`;
  const ofBatch = ($: Params<BatchValues>): SQL =>
    sql`${table.organizationId} = ${$.organizationId} and ${table.id} = any(${$.ids}::uuid[])`;
  const counts = sql`kept.organization_id = ${table.organizationId} and kept.id = ${table.id}
    and kept.updated_at = ${table.updatedAt} and kept.rendering = ${rendering}`;

  /** Looks at so many records, whatever it finds: the cost of a look is bounded. */
  const look = (what: string, isFound: SQL) =>
    prepared(
      `${name}.${what}_bodies`,
      ($: Params<AfterValues>) => sql<{ id: string; isFound: boolean }>`
        select ${table.id} as "id", ${isFound} as "isFound" from ${table} left join ${bodies} kept on ${counts}
        where ${table.organizationId} = ${$.organizationId} and ${view.visible} and ${table.id} > ${$.after}
        order by ${table.id} limit ${$.limit}`,
    );
  const staleStatement = look('stale', sql`kept.id is null`);
  const wrongStatement = look('wrong', sql`coalesce(kept.body <> ${body}, false)`);

  const find =
    (statement: typeof staleStatement): BodyKeeper['stale'] =>
    async ({ db, organizationId }, after, limit) => {
      const rows = await db.read(statement, { organizationId, after, limit });
      return { ids: rows.filter(({ isFound }) => isFound).map(({ id }) => id), last: rows.at(-1)?.id };
    };

  /** Whoever changes a record keeps its body then. Under this lock nobody does. */
  const lockStatement = prepared(
    `${name}.lock_for_bodies`,
    ($: Params<BatchValues>) => sql<{ id: string }>`
      select ${table.id} as "id" from ${table} where ${ofBatch($)} order by ${table.id} for update`,
  );

  const keepStatement = prepared(
    `${name}.keep_bodies`,
    ($: Params<BatchValues>) => sql`
      insert into ${bodies} (organization_id, id, updated_at, rendering, body)
      select ${table.organizationId}, ${table.id}, ${table.updatedAt}, ${rendering}, ${body} from ${table} where ${ofBatch($)}
      on conflict (organization_id, id) do update
      set updated_at = excluded.updated_at, rendering = excluded.rendering, body = excluded.body`,
  );

  return {
    stale: find(staleStatement),
    wrong: find(wrongStatement),
    refresh: (scope, ids) =>
      inTransaction(scope, async ({ db, organizationId }) => {
        await db.write(lockStatement, { organizationId, ids });
        await db.write(keepStatement, { organizationId, ids });
      }),
  };
}
