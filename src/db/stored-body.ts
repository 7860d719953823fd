import { hash } from 'node:crypto';
import { getTableName, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { type Json, jsonRows } from './json.ts';
import { defineKeeper, type Keeper } from './keeper.ts';
import { nameOf, organizationParam, type RecordKey, rowOf, type TenantTable, type View } from './resource.ts';
import { type Params, rendered, type Statement, textOf } from './statement.ts';

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

/** For jobs: finds bodies that do not count, or are not what rendering gives, and makes them anew. */
export function defineBodyKeeper<T>(view: View<T, TenantTable & { updatedAt: PgColumn }>): Keeper {
  const { table, bodies } = view;
  if (!bodies) throw new Error(`${nameOf(view)} keeps no bodies.`);
  const rendering = sql.raw(String(renderingOf(view)));
  const body = sql`(${jsonRows(view.fields, sql``)})`;
  return defineKeeper(view, {
    copies: 'bodies',
    table: bodies,
    counts: sql`and kept.updated_at = ${table.updatedAt} and kept.rendering = ${rendering}`,
    stale: sql`kept.id is null`,
    wrong: sql`coalesce(kept.body <> ${body}, false)`,
    where: view.visible,
    refresh: (which) => ({
      keep_bodies: sql`
        insert into ${bodies} (organization_id, id, updated_at, rendering, body)
        select ${table.organizationId}, ${table.id}, ${table.updatedAt}, ${rendering}, ${body} from ${table} where ${which}
        on conflict (organization_id, id) do update
        set updated_at = excluded.updated_at, rendering = excluded.rendering, body = excluded.body`,
    }),
  });
}
