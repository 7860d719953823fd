import { type SQL, sql } from 'drizzle-orm';
import { lock } from '../define/get.ts';
import type { WrittenView } from '../define/patch.ts';
import { copiesOf, dropReadRow, refresh, renderingOf } from '../define/read-row.ts';
import { dropSearchRow, putSearchRow, searchedColumns } from '../define/search-row.ts';
import { keyOf, type RecordKey, tableName } from '../define/view.ts';
import type { OrganizationScope } from '../run/scope.ts';
import { jsonRows } from '../sql/json.ts';
import { columnsFrom } from '../sql/row.ts';
import { type Params, prepared, type Statement, step } from '../sql/statement.ts';

/** A record whose rows are to be made anew, or to go when it is not visible. */
type Found = { id: string; isVisible: boolean };

/** The records that a look found, and the last one that it looked at: the next look begins after it. */
export type Batch = { found: Found[]; last: string | undefined };

type Find = (scope: OrganizationScope, after: string, limit: number) => Promise<Batch>;

/** For jobs: looks after the read rows and search rows of one kind of record. A look is at `limit` records, whatever it finds. */
export type Copies = {
  /** The next records with a row that is missing, of another version or release, or left over. */
  stale: Find;
  /** The next records that a list, a GET or a search shows otherwise than they are. There should be none. */
  wrong: Find;
  /** Makes the rows of these records anew. */
  refresh: (scope: OrganizationScope, found: readonly Found[]) => Promise<void>;
};

type LookValues = { organizationId: string; after: string; limit: number };

/** Records in one transaction: their writers wait for so many at most. */
const TOGETHER = 20;

export function defineCopies<T>(view: WrittenView<T>): Copies {
  const { table, visible, readRow, searchRow } = view;
  const name = tableName(view);

  const differs = (relation: string, columns: Parameters<typeof columnsFrom>[1]): SQL =>
    sql`row(${columnsFrom(relation, columns)}) is distinct from row(${columnsFrom(name, columns)})`;
  const isSeenOtherwise = sql`kept.id is null or ${differs('kept', copiesOf(readRow))}
    or searched.id is null or ${differs('searched', searchedColumns(searchRow))}`;
  const isCurrent = sql`kept.rendering = ${renderingOf(view)}`;

  const defineFind = (kind: 'stale' | 'wrong', isFound: SQL): Find => {
    // All sides begin after the last id: a merge of them would read all rows before it, at every look.
    const statement = prepared(
      `${name}.${kind}_copies`,
      ($: Params<LookValues>) => sql<Found & { isFound: boolean }>`
        select ${table.id} as "id", ${visible} as "isVisible", case when ${visible} then ${isSeenOtherwise} or ${isFound}
          else kept.id is not null or (searched.id is not null and searched.archived_at is null) end as "isFound"
        from ${table}
        left join ${readRow} kept on kept.organization_id = ${$.organizationId}
          and kept.id = ${table.id} and kept.id > ${$.after}
        left join ${searchRow.table} searched on searched.organization_id = ${$.organizationId}
          and searched.id = ${table.id} and searched.id > ${$.after}
        where ${table.organizationId} = ${$.organizationId} and ${table.id} > ${$.after}
        order by ${table.id} limit ${$.limit}`,
    );
    return async ({ db, organizationId }, after, limit) => {
      const rows = await db.read(statement, { organizationId, after, limit });
      return { found: rows.filter(({ isFound }) => isFound), last: rows.at(-1)?.id };
    };
  };

  /** A body of this release is made anew too: it may be wrong. */
  const forget = prepared(
    `${name}.forget_body`,
    ($: Params<RecordKey>) => sql`
      update ${readRow} set rendering = 0 where ${keyOf(readRow, $)} and rendering = ${renderingOf(view)}`,
  );
  const [first, end] = [[lock(view)], [putSearchRow(view), refresh(view)]];
  const shown = [...first, forget, ...end];
  // A record that was restored since it was looked at gets its rows back.
  const hidden = [...first, dropReadRow(view, readRow), dropSearchRow(view, searchRow), ...end];

  return {
    stale: defineFind('stale', sql`not ${isCurrent}`),
    wrong: defineFind('wrong', sql`(${isCurrent} and kept.body <> (${jsonRows(view.fields, sql``)}))`),
    refresh: async ({ db, organizationId }, found) => {
      for (let start = 0; start < found.length; start += TOGETHER)
        await db.writeTogether(
          found.slice(start, start + TOGETHER).flatMap(({ id, isVisible }) => {
            const steps: readonly Statement<unknown, RecordKey>[] = isVisible ? shown : hidden;
            return steps.map((each) => step(each, { organizationId, id }));
          }),
        );
    },
  };
}
