import { type SQL, sql } from 'drizzle-orm';
import { nameOf, type Resource, type TenantTable } from './resource.ts';
import { inTransaction, type OrganizationScope } from './scope.ts';
import { type Params, prepared } from './statement.ts';

/** Records whose copy is to be made anew, and where the next look begins: after the last record that was looked at. */
export type Batch = { ids: string[]; last: string | undefined };

type Find = (scope: OrganizationScope, after: string, limit: number) => Promise<Batch>;

/** For jobs: looks after the copies that are kept beside the records of one kind. A look is at `limit` records, whatever it finds. */
export type Keeper = {
  /** The next records whose copy is missing, or of an older release. */
  stale: Find;
  /** Of the next records, those whose copy counts and is not what it should be. There should be none. */
  wrong: Find;
  /** Makes the copies of these records anew. */
  refresh: (scope: OrganizationScope, ids: string[]) => Promise<void>;
};

type KeeperOptions = {
  /** What the copies are: the end of its statements' names. */
  copies: string;
  /** Where they are kept. The conditions call it `kept`. */
  table: TenantTable;
  /** What makes a copy count, beside its id. */
  counts?: SQL;
  stale: SQL;
  /** Absent where whatever is stale is wrong. */
  wrong?: SQL;
  /** Which records are looked at. */
  where: SQL;
  /** The statements that make the copies of some records anew, by their names. They get a condition on the records. */
  refresh: (which: SQL) => Record<string, SQL>;
};

type LookValues = { organizationId: string; after: string; limit: number };
type BatchValues = { organizationId: string; ids: string[] };

export function defineKeeper(resource: Resource, options: KeeperOptions): Keeper {
  const { table } = resource;
  const name = nameOf(resource);
  const ofBatch = ($: Params<BatchValues>): SQL =>
    sql`${table.organizationId} = ${$.organizationId} and ${table.id} = any(${$.ids}::uuid[])`;

  const defineFind = (what: 'stale' | 'wrong', isFound: SQL): Find => {
    // Both sides begin after the last id: a merge of the two would read all copies before it, at every look.
    const statement = prepared(
      `${name}.${what}_${options.copies}`,
      ($: Params<LookValues>) => sql<{ id: string; isFound: boolean }>`
        select ${table.id} as "id", ${isFound} as "isFound" from ${table}
        left join ${options.table} kept on kept.organization_id = ${$.organizationId}
          and kept.id = ${table.id} and kept.id > ${$.after} ${options.counts ?? sql``}
        where ${table.organizationId} = ${$.organizationId} and ${options.where} and ${table.id} > ${$.after}
        order by ${table.id} limit ${$.limit}`,
    );
    return async ({ db, organizationId }, after, limit) => {
      const rows = await db.read(statement, { organizationId, after, limit });
      return { ids: rows.filter(({ isFound }) => isFound).map(({ id }) => id), last: rows.at(-1)?.id };
    };
  };

  /** Whoever changes a record writes its copies too. Under this lock nobody does. */
  const lockStatement = prepared(
    `${name}.lock_for_copies`,
    ($: Params<BatchValues>) => sql<{ id: string }>`
      select ${table.id} as "id" from ${table} where ${ofBatch($)} order by ${table.id} for update`,
  );
  const refreshStatements = Object.keys(options.refresh(sql``)).map((step) =>
    prepared(`${name}.${step}`, ($: Params<BatchValues>) => sql`${options.refresh(ofBatch($))[step]}`),
  );

  const stale = defineFind('stale', options.stale);
  return {
    stale,
    wrong: options.wrong ? defineFind('wrong', options.wrong) : stale,
    refresh: (scope, ids) =>
      inTransaction(scope, async ({ db, organizationId }) => {
        await db.write(lockStatement, { organizationId, ids });
        for (const statement of refreshStatements) await db.write(statement, { organizationId, ids });
      }),
  };
}
