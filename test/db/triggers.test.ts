import { getTableColumns, getTableName, is } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { newId } from '../../src/db/index.ts';
import * as schema from '../../src/db/tables/index.ts';
import { useDashboard } from '../support/dashboard.ts';
import { administer, withoutTriggers } from '../support/databases.ts';
import { COMPARE, findAllDrift, findDrift } from '../support/drift.ts';
import { LISTS, populate, readList } from '../support/operations.ts';
import { contact, conversation, customer, opportunity, product, quote } from '../support/records.ts';

/** Derived data, which triggers maintain whoever writes a record: the service, a job or psql. */

const { service, dashboard } = await useDashboard();
const CHANGED = Object.values(schema)
  .filter((table) => is(table, PgTable))
  .filter((table) => 'updatedAt' in getTableColumns(table))
  .map(getTableName);

const populated = await service.agency();
await populate({ service, agency: populated });

test.each(CHANGED)(
  'an update of %s moves updated_at, whatever value it sets; an update that changes nothing is dropped',
  async (table) => {
    const named = 'select column_name as name from information_schema.columns where table_name = $1';
    const columns = await service.query<{ name: string }>(named, [table]);
    expect(columns.length).toBeGreaterThan(5);
    const where = `where organization_id = '${populated.id}'`;
    const update = (set: string) => `update ${table} set ${set} ${where} returning updated_at as updated`;
    const stored = () => service.query(`select xmin::text, ctid::text, t as row from ${table} t ${where}`);
    /** Runs these updates in one transaction, and returns the `updated_at` of each row after each of them. */
    const updateAll = async (...updates: string[]) =>
      administer(service.ownerUrl, async (client) => {
        await client.query('begin');
        const times: number[][] = [];
        for (const set of updates) {
          const { rows } = await client.query<{ updated: Date }>(update(set));
          expect(rows.length).toBeGreaterThan(0);
          times.push(rows.map(({ updated }) => updated.getTime()));
        }
        await client.query('commit');
        return times;
      });
    const oneLater = (times: number[] = []) => times.map((time) => time + 1);

    // In one transaction, each update is a millisecond later.
    const [first, second] = await updateAll(`created_at = '2001-01-01'`, `created_at = '2002-01-01'`);
    expect(second).toEqual(oneLater(first));
    const [third = []] = await updateAll(`updated_at = '2000-01-01'`);
    for (const [index, time] of third.entries()) expect(time).toBeGreaterThan(second?.[index] ?? Number.NaN);
    const before = await stored();
    expect(await service.query(update(columns.map(({ name }) => `${name} = ${name}`).join()))).toEqual([]);
    expect(await stored()).toEqual(before);

    // Also if the clock was ahead before.
    await withoutTriggers(service.ownerUrl, (client) =>
      client.query(`update ${table} set updated_at = '2099-01-01T00:00:00Z' ${where}`),
    );
    const [ahead = []] = await updateAll(`created_at = '2003-01-01'`);
    expect(ahead).toEqual(ahead.map(() => Date.parse('2099-01-01T00:00:00Z') + 1));
  },
);

/** Copies the record `$3` of the organization `$1` to the new id `$2`, without contacts: only the service knows their keys. */
const copyRecord = (table: string): string =>
  `insert into ${table}
    select (jsonb_populate_record(t, jsonb_build_object('id', $2::text, 'token', $2::text, 'contacts', '[]'::json, 'contact_keys', '[]'::json))).*
    from ${table} t where organization_id = $1 and id = $3`;

/** The lists whose records are counted or have search documents. */
const DERIVED = Object.entries(LISTS)
  .filter(([, { resource, searched }]) => resource.isCounted || Object.keys(searched).length > 0)
  .map(([name, list]) => ({ name, list, table: getTableName(list.resource.table) }));

test.each(DERIVED)(
  '$table that SQL inserts, archives, restores and deletes have the same counts and search documents as others; deploy/compare.sql finds a search document that is not there',
  async ({ name, list, table }) => {
    const [agency, neighbour] = [await service.agency(), await service.agency()];
    const world = { service, dashboard, agency };
    await list.make(neighbour);
    const [field = ''] = Object.keys(list.searched);
    const fields = table === 'conversations' ? { contact: 'Igual' } : {};
    const original = await list.make(agency, fields);
    if (table !== 'conversations') await list.make(agency, { [field]: 'Igual' }, original.id);

    const key = [agency.id, newId()];
    const where = 'where organization_id = $1 and id = $2';
    const hides = table === 'conversations' ? 'continued_by' : 'archived_at';
    const hidden = table === 'conversations' ? `'${newId()}'` : 'now()';
    const insert = () => service.query(copyRecord(table), [...key, original.id]);
    const archive = () => service.query(`update ${table} set ${hides} = ${hidden} ${where}`, key);
    const restore = () => service.query(`update ${table} set ${hides} = null ${where}`, key);
    const remove = () => service.query(`delete from ${table} ${where}`, key);
    const expectTotal = async (total: number, after: string) => {
      for (const query of ['limit=100', 'limit=100&query=igual']) {
        const { data, pagination } = (await readList(world, name, query)).body;
        expect([data.length, pagination.total], after).toEqual([total, total]);
      }
      expect(await findDrift(service, agency, neighbour), after).toEqual([]);
    };

    await expectTotal(1, 'create');
    for (const [after, change, total] of [
      ['insert', insert, 2],
      ['archive', archive, 1],
      ['archive of an archived record', archive, 1],
      ['delete of an archived record', remove, 1],
      ['insert again', insert, 2],
      ['archive again', archive, 1],
      ['restore', restore, 2],
      ['delete', remove, 1],
    ] as const) {
      await change();
      await expectTotal(total, after);
    }
    if (list.record.archive) {
      await list.record.archive(agency.scope, original.id);
      await insert();
      await expectTotal(0, 'insert of an archived record');
    }
    expect((await readList({ ...world, agency: neighbour }, name)).body.pagination.total).toBe(1);

    // Each text alone: a search document is written again only if one that it has is another.
    const texts = `select column_name as name, data_type as type from information_schema.columns
      where table_name = $1 and data_type in ('text', 'ARRAY') and column_name <> 'contact_keys'`;
    for (const { name, type } of await service.query(texts, [table])) {
      const values = [neighbour.id, type === 'ARRAY' ? '{igual}' : 'igual'];
      await service.query(`update ${table} set ${name} = $2 where organization_id = $1`, values);
      expect(await findDrift(service, neighbour), name).toEqual([]);
    }
    const lose = `delete from searchable_${table} where organization_id = $1`;
    await withoutTriggers(service.ownerUrl, (client) => client.query(lose, [neighbour.id]));
    expect(
      await findDrift(service, neighbour),
      `deploy/compare.sql compares searchable_${table}`,
    ).toMatchObject([{ kept_in: `searchable_${table}` }]);
  },
);

/** A connection whose backend counts in the slot of another connection, or in a different one. */
async function connectBeside(other?: pg.Client, isSame = false): Promise<pg.Client> {
  const slotOf = async (client: pg.Client) =>
    (await client.query<{ slot: number }>('select pg_backend_pid() % 16 as slot')).rows[0]?.slot;
  for (;;) {
    const client = new pg.Client({ connectionString: service.ownerUrl });
    await client.connect();
    onTestFinished(() => client.end());
    if (!other || ((await slotOf(client)) === (await slotOf(other))) === isSame) return client;
  }
}

test('a writer does not wait for the commit of another that counts in the same organization', async () => {
  const agency = await service.agency();
  const { id: original } = await product(agency);
  const one = await connectBeside();
  const other = await connectBeside(one);
  const insert = (client: pg.Client) => client.query(copyRecord('products'), [agency.id, newId(), original]);
  const total = async () => (await agency.get('/v1/catalog/products')).body.pagination.total;

  await one.query('begin');
  await insert(one);
  await other.query("set lock_timeout = '30s'");
  await insert(other);
  expect(await total()).toBe(2);
  await one.query('commit');
  expect(await total()).toBe(3);
});

test('simultaneous updates that swap two counted values, counted in one slot, are all counted and never deadlock', async () => {
  const agency = await service.agency();
  const one = await connectBeside();
  const other = await connectBeside(one, true);
  const move = async (client: pg.Client, stages: readonly string[], rounds: number) => {
    const { id } = await opportunity(agency, { salesStage: stages[1] });
    const update = 'update opportunities set sales_stage = $3 where organization_id = $1 and id = $2';
    for (let round = 0; round < rounds; round += 1)
      await client.query(update, [agency.id, id, stages[round % 2]]);
  };
  await Promise.all([move(one, ['b', 'a'], 400), move(other, ['a', 'b'], 401)]);
  expect(await findDrift(service, agency)).toEqual([]);
});

test('each of 2,000 sales stages has its count, and the count of all opportunities has a row for each slot at most', async () => {
  const agency = await service.agency();
  const { id } = await opportunity(agency, { salesStage: 'first' });
  await service.query(
    `insert into opportunities (organization_id, id, sales_stage)
     select organization_id, gen_random_uuid(), 'stage ' || n from opportunities, generate_series(1, 2000) n where id = $1`,
    [id],
  );
  const counted = `select from live_counts where organization_id = $1 and resource = 'opportunities'`;
  const rows = await service.query(counted, [agency.id]);
  expect(rows.length).toBeLessThanOrEqual(16);
  const total = async (query = '') =>
    (await agency.get(`/v1/opportunities?limit=1${query}`)).body.pagination.total;
  expect(await total()).toBe(2_001);
  expect([await total('&salesStage=stage%207'), await total('&salesStage=stage')]).toEqual([1, 0]);
  await dashboard.of(agency).patch(`/opportunities/${id}`, { salesStage: 'stage 7' });
  expect([await total('&salesStage=stage%207'), await total('&salesStage=first')]).toEqual([2, 0]);
  expect(await findDrift(service, agency)).toEqual([]);
});

test('deploy/compare.sql finds changes that bypassed the triggers, and its repair of a count is exact during other writes', async () => {
  const agency = await service.agency();
  const titles = ['Oaxaca', 'Puebla', 'Colima'];
  const ids = await Promise.all(titles.map(async (title) => (await product(agency, { title })).id));
  const [changed = '', deleted = '', archived = ''] = ids;
  const ana = await customer(agency);
  await withoutTriggers(service.ownerUrl, async (client) => {
    await client.query(`update products set title = 'Sonora' where id = $1`, [changed]);
    await client.query('delete from products where id = $1', [deleted]);
    await client.query('update products set archived_at = now() where id = $1', [archived]);
    await client.query('delete from searchable_customers where id = $1', [ana.id]);
    await client.query('delete from customer_contact_keys where customer_id = $1', [ana.id]);
  });
  const row = { organization_id: agency.id, value: null, missing: null };
  const count = { ...row, kept_in: 'live_counts', what: 'products', value: 'active', missing: '-2' };
  expect(await findDrift(service, agency)).toEqual([
    { ...row, kept_in: 'customer_contact_keys', what: ana.id, missing: '1' },
    count,
    { ...row, kept_in: 'searchable_customers', what: ana.id },
    ...ids.sort().map((what) => ({ ...row, kept_in: 'searchable_products', what })),
  ]);

  const creating = Promise.all(Array.from({ length: 50 }, () => product(agency)));
  const [repair = ''] = /insert into live_counts.*\n-- .*/.exec(COMPARE) ?? [];
  const { what: WHAT, value: VALUE, missing: MISSING } = count;
  const values: Record<string, string> = { ORGANIZATION: agency.id, WHAT, VALUE, MISSING };
  await service.query(repair.replace('\n--', '\n').replace(/[A-Z]+/g, (name) => values[name] ?? name));
  await creating;
  expect((await agency.get('/v1/catalog/products')).body.pagination.total).toBe(51);
  expect((await findDrift(service, agency)).map(({ kept_in }) => kept_in)).not.toContain('live_counts');
});

test('deploy/compare.sql finds records of a merged customer, and those without the customer that they should have', async () => {
  const agency = await service.agency();
  const contacts = [contact('whatsapp', '+525512345678')];
  const [from, into] = [await customer(agency, { contacts }), await customer(agency)];
  await dashboard.of(agency).post(`/customers/${into.id}/merge`, { from: from.id });
  const { id } = await conversation(agency, { contact: '+525512345678' });
  const offer = await quote(agency, { customerId: into.id });
  const found = async (customerOfAll: string | null, customerOfLead: string | null) => {
    await withoutTriggers(service.ownerUrl, async (client) => {
      const set = (table: string, value: string | null) =>
        client.query(`update ${table} set customer_id = $2 where organization_id = $1`, [agency.id, value]);
      for (const table of ['conversations', 'quotes']) await set(table, customerOfAll);
      await set('opportunities', customerOfLead);
    });
    return (await findAllDrift(service, agency)).map(({ kept_in, what, value }) => [kept_in, what, value]);
  };
  expect(await found(into.id, into.id)).toEqual([]);
  expect(await found(from.id, from.id)).toEqual([
    ['conversations.customer_id', id, into.id],
    ['opportunities.customer_id', offer.opportunityId, into.id],
    ['quotes.customer_id', offer.id, into.id],
  ]);
  expect(await found(null, into.id)).toEqual([
    ['linked_conversations', id, into.id],
    ['linked_quotes', offer.id, into.id],
  ]);
});
