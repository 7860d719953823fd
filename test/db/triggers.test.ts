import { getTableColumns, getTableName, is } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newId } from '../../src/db/sql/ids.ts';
import * as schema from '../../src/db/tables/index.ts';
import { useDashboard } from '../support/dashboard.ts';
import { administer, withoutTriggers } from '../support/databases.ts';
import { copyRecord, findDrift, hidden, mendCount } from '../support/drift.ts';
import { archiveOf, LISTS, populate, readList } from '../support/operations.ts';
import {
  conversation,
  customer,
  type Fields,
  type Make,
  message,
  opportunity,
  product,
  quote,
} from '../support/records.ts';
import type { Agency } from '../support/service.ts';

/** What PostgreSQL keeps of records by itself, whoever writes them: the service, a job or psql. */

const { service, dashboard } = useDashboard();

const tables = Object.values(schema).filter((table) => is(table, PgTable));
const namesOf = (found: typeof tables): string[] => found.map((table) => getTableName(table)).sort();

/** The tables of records that can be changed. */
const CHANGED = namesOf(tables.filter((table) => 'updatedAt' in getTableColumns(table)));

test.each(CHANGED)(
  'an update of %s moves updated_at, whatever value it sets; an update that changes nothing is dropped',
  async (table) => {
    const agency = await service.agency();
    await populate({ service, agency });
    const columns = await service.query<{ name: string }>(
      `select column_name as name from information_schema.columns where table_name = $1`,
      [table],
    );
    expect(columns.length).toBeGreaterThan(5);
    const where = `where organization_id = '${agency.id}'`;
    const update = (set: string) => `update ${table} set ${set} ${where} returning updated_at as updated`;
    const stored = () => service.query(`select xmin::text, ctid::text, t as row from ${table} t ${where}`);
    /** The moments that these updates give, each in one statement and all in one transaction. */
    const moments = async (...updates: string[]) =>
      administer(service.ownerUrl, async (client) => {
        await client.query('begin');
        const answers: number[][] = [];
        for (const set of updates) {
          const { rows } = await client.query<{ updated: Date }>(update(set));
          expect(rows.length).toBeGreaterThan(0);
          answers.push(rows.map(({ updated }) => updated.getTime()));
        }
        await client.query('commit');
        return answers;
      });
    const later = (times: number[] = []) => times.map((time) => time + 1);

    const [first = [], again] = await moments(`created_at = '2001-01-01'`, `created_at = '2002-01-01'`);
    // In one transaction by a millisecond.
    expect(again).toEqual(later(first));
    const [next = []] = await moments(`updated_at = '2000-01-01'`);
    for (const [index, time] of next.entries()) expect(time).toBeGreaterThan(again?.[index] ?? Number.NaN);
    const before = await stored();
    expect(await service.query(update(columns.map(({ name }) => `${name} = ${name}`).join()))).toEqual([]);
    expect(await stored()).toEqual(before);

    // A clock that was ahead.
    await withoutTriggers(service.ownerUrl, (client) =>
      client.query(`update ${table} set updated_at = '2099-01-01T00:00:00Z' ${where}`),
    );
    const [ahead = []] = await moments(`created_at = '2003-01-01'`);
    expect(ahead).toEqual(ahead.map(() => Date.parse('2099-01-01T00:00:00Z') + 1));
    expect(await moments(`created_at = '2004-01-01'`)).toEqual([later(ahead)]);
  },
);

/** What is counted, and what has a search document. */
const DERIVED = Object.entries(LISTS)
  .filter(([, { resource, searched }]) => resource.isCounted || Object.keys(searched).length > 0)
  .map(([name, list]) => ({ name, list, table: getTableName(list.resource.table) }));

test.each(DERIVED)(
  '$table that SQL inserts, archives, restores and deletes are counted and searched like others, of their organization alone; deploy/compare.sql finds a missing search document',
  async ({ name, list, table }) => {
    const { by, as } = hidden(table);
    const agency = await service.agency();
    const world = { service, dashboard, agency };
    const neighbour = await service.agency();
    await list.make(neighbour);
    const made = await list.make(agency, table === 'conversations' ? { contact: 'Igual' } : {});
    const [field] = Object.keys(list.searched);
    if (table !== 'conversations') await list.make(agency, { [field ?? '']: 'Igual' }, made.id);

    const id = newId();
    const totals = async () => {
      const [all, found] = [await readList(world, name), await readList(world, name, 'query=igual')];
      const shown = await readList(world, name, 'limit=100');
      expect(shown.body.data).toHaveLength(all.body.pagination.total);
      expect(await findDrift(service, agency, neighbour)).toEqual([]);
      return [all.body.pagination.total, found.body.pagination.total];
    };
    const change = (to: string) =>
      service.query(`update ${table} set ${by} = ${to} where organization_id = $1 and id = $2`, [
        agency.id,
        id,
      ]);
    const remove = () =>
      service.query(`delete from ${table} where organization_id = $1 and id = $2`, [agency.id, id]);
    const insert = () => service.query(copyRecord(table), [agency.id, id, made.id]);

    expect(await totals()).toEqual([1, 1]);
    await insert();
    expect(await totals(), 'inserted').toEqual([2, 2]);
    await change(as);
    expect(await totals(), 'archived').toEqual([1, 1]);
    await change(hidden(table).as);
    expect(await totals(), 'archived again').toEqual([1, 1]);
    await remove();
    expect(await totals(), 'deleted while archived').toEqual([1, 1]);
    await insert();
    await change(as);
    await change('null');
    expect(await totals(), 'restored').toEqual([2, 2]);
    await remove();
    expect(await totals(), 'deleted').toEqual([1, 1]);
    if (list.archive) {
      expect((await archiveOf(world, list, made.id)).status).toBe(200);
      await service.query(copyRecord(table), [agency.id, id, made.id]);
      expect(await totals(), 'inserted as an archived one').toEqual([0, 0]);
    }
    expect((await readList({ ...world, agency: neighbour }, name)).body.pagination.total).toBe(1);
    const lost = `delete from searchable_${table} where organization_id = $1`;
    await withoutTriggers(service.ownerUrl, (client) => client.query(lost, [neighbour.id]));
    const found = await findDrift(service, neighbour);
    expect(found, `deploy/compare.sql compares searchable_${table}`).toMatchObject([
      { kept_in: `searchable_${table}` },
    ]);
  },
);

test('records of sixteen simultaneous writers are counted, except those that were rolled back', async () => {
  const agency = await service.agency();
  const { id: model } = await product(agency);
  let visible = 1;
  const write = (writer: number) =>
    administer(service.ownerUrl, async (client) => {
      for (let round = 0; round < 10; round += 1) {
        const key = [agency.id, newId()];
        const isGivenUp = round % 5 === writer % 5;
        await client.query('begin');
        await client.query(copyRecord('products'), [...key, model]);
        await client.query(isGivenUp ? 'rollback' : 'commit');
        const where = 'where organization_id = $1 and id = $2';
        if (round % 3 === 0) await client.query(`update products set archived_at = now() ${where}`, key);
        if (round % 4 === 0) await client.query(`delete from products ${where}`, key);
        if (!isGivenUp && round % 3 > 0 && round % 4 > 0) visible += 1;
      }
    });
  await Promise.all(Array.from({ length: 16 }, (_, writer) => write(writer)));
  expect((await agency.get('/v1/catalog/products')).body.pagination.total).toBe(visible);
  expect(await findDrift(service, agency)).toEqual([]);
});

test('a writer does not wait for the commit of another that counts in the same organization', async () => {
  const agency = await service.agency();
  const { id: model } = await product(agency);
  const connect = async () => {
    const client = new pg.Client({ connectionString: service.ownerUrl });
    await client.connect();
    onTestFinished(() => client.end());
    const { rows } = await client.query<{ slot: number }>('select pg_backend_pid() % 16 as slot');
    return { client, slot: rows[0]?.slot };
  };
  const one = await connect();
  let other = await connect();
  while (other.slot === one.slot) other = await connect();
  const insert = (client: pg.Client) => client.query(copyRecord('products'), [agency.id, newId(), model]);
  const total = async () => (await agency.get('/v1/catalog/products')).body.pagination.total;

  await one.client.query('begin');
  await insert(one.client);
  await other.client.query("set lock_timeout = '30s'");
  await insert(other.client);
  expect(await total()).toBe(2);
  await one.client.query('commit');
  expect(await total()).toBe(3);
});

/** So many connections whose backends count in one slot. */
async function connectInOneSlot(count: number): Promise<pg.Client[]> {
  const bySlot = new Map<number, pg.Client[]>();
  for (;;) {
    const client = new pg.Client({ connectionString: service.ownerUrl });
    await client.connect();
    onTestFinished(() => client.end());
    const { rows } = await client.query<{ slot: number }>('select pg_backend_pid() % 16 as slot');
    const slot = rows[0]?.slot ?? 0;
    const clients = [...(bySlot.get(slot) ?? []), client];
    if (clients.length === count) return clients;
    bySlot.set(slot, clients);
  }
}

test('records that change places between two values at once, counted in one slot, wait for each other and never deadlock', async () => {
  const agency = await service.agency();
  const [here, there] = [
    await opportunity(agency, { salesStage: 'a' }),
    await opportunity(agency, { salesStage: 'b' }),
  ];
  const [one, other] = (await connectInOneSlot(2)) as [pg.Client, pg.Client];
  const move = async (client: pg.Client, id: string, stages: readonly [string, string]) => {
    for (let round = 0; round < 400; round += 1)
      await client.query('update opportunities set sales_stage = $3 where organization_id = $1 and id = $2', [
        agency.id,
        id,
        stages[round % 2],
      ]);
  };
  await Promise.all([move(one, here.id, ['b', 'a']), move(other, there.id, ['a', 'b'])]);
  expect(await findDrift(service, agency)).toEqual([]);
});

test('however many sales stages an agency has, each has its count, and the number of all takes a row for each slot', async () => {
  const agency = await service.agency();
  const { id } = await opportunity(agency, { salesStage: 'first' });
  await service.query(
    `insert into opportunities (organization_id, id, sales_stage)
     select organization_id, gen_random_uuid(), 'stage ' || n from opportunities, generate_series(1, 2000) n where id = $1`,
    [id],
  );
  const rows = await service.query(
    `select from live_counts where organization_id = $1 and resource = 'opportunities'`,
    [agency.id],
  );
  expect(rows.length).toBeLessThanOrEqual(16);
  const total = async (query = '') =>
    (await agency.get(`/v1/opportunities?limit=1${query}`)).body.pagination.total;
  expect(await total()).toBe(2_001);
  expect([await total('&salesStage=stage%207'), await total('&salesStage=stage')]).toEqual([1, 0]);
  await opportunity(agency, { salesStage: 'stage 7' }, id);
  expect([await total('&salesStage=stage%207'), await total('&salesStage=first')]).toEqual([2, 0]);
  expect(await findDrift(service, agency)).toEqual([]);
});

/** The versions of all rows of the organization, table by table. */
async function versions({ id }: Agency): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const table of namesOf(tables.filter((each) => 'organizationId' in getTableColumns(each)))) {
    // Keys are marked as used by a timer.
    if (table === 'api_keys') continue;
    const rows = await service.query<{ version: string }>(
      `select concat(ctid, ' ', xmin) as version from ${table} where organization_id = $1 order by 1`,
      [id],
    );
    found.set(table, rows.map(({ version }) => version).join());
  }
  return found;
}

const CONTACTS = [
  { identifierType: 'whatsapp', identifierValue: '+525512345678' },
  { identifierType: 'email', identifierValue: 'ana@example.com' },
];
const SAME_CONTACTS = [
  { identifierType: 'email', identifierValue: 'ANA@example.com' },
  { identifierType: 'whatsapp', identifierValue: '+52 1 55 1234 5678' },
];
const OTHER_CONTACTS = [{ identifierType: 'web', identifierValue: 'x' }];

/** What a record is made with, and changes that touch nothing, its row alone, its count too, and its search document too. */
type Touched = {
  make: Make;
  fields: Fields;
  nothing?: Fields[];
  alone: Fields[];
  counted?: Fields[];
  searched: Fields[];
};
const TOUCHED: Record<string, Touched> = {
  customers: {
    make: customer,
    fields: { firstName: 'Ana', city: 'Lima', summary: 'x'.repeat(50_000), contacts: CONTACTS },
    nothing: [{ firstName: 'Ana', city: 'Lima' }, { contacts: CONTACTS }],
    alone: [{ city: 'Quito' }],
    searched: [{ firstName: 'Eva' }, { summary: 'x' }, { tags: ['vip'] }, { contacts: SAME_CONTACTS }],
  },
  products: {
    make: product,
    fields: { title: 'Oaxaca', operator: 'Andes' },
    nothing: [{ title: 'Oaxaca', operator: 'Andes' }],
    alone: [{ operator: 'Sur' }, { specialConditions: 'x' }],
    searched: [{ title: 'Puebla' }, { description: 'x' }, { type: 'custom' }, { destinations: ['Lima'] }],
  },
  opportunities: {
    make: opportunity,
    fields: { title: 'Viaje', salesStage: 'new' },
    alone: [{ checkInDate: '2027-01-15' }],
    counted: [{ salesStage: 'won' }],
    searched: [{ title: 'Otro' }],
  },
  conversations: {
    make: conversation,
    fields: { contactName: 'Ana', activityState: 'open' },
    alone: [{ activityState: 'closed' }],
    searched: [{ contactName: 'Eva' }],
  },
  quotes: {
    make: quote,
    fields: { title: 'Oferta', status: 'published', price: 100 },
    alone: [{ price: 200 }],
    counted: [{ status: 'disabled' }],
    searched: [{ title: 'Otra' }],
  },
};

describe('a write touches no more than it changes', () => {
  async function touched(agency: Agency, write: () => Promise<unknown>): Promise<string[]> {
    const before = await versions(agency);
    await write();
    const after = await versions(agency);
    return [...after.keys()].filter((table) => after.get(table) !== before.get(table));
  }

  test.each(Object.entries(TOUCHED))(
    'of %s',
    async (table, { make, fields, nothing = [{}], alone, counted = [], searched }) => {
      const [agency, neighbour] = [await service.agency(), await service.agency()];
      await make(neighbour, fields);
      const beside = await versions(neighbour);
      const opportunityId = table === 'quotes' && (await opportunity(agency)).id;
      const all = { ...fields, ...(opportunityId && { opportunityId }) };
      const { id } = await make(agency, all);
      // A PUT says all of a record.
      const kept = table === 'customers' || table === 'products' ? {} : all;
      for (const [changes, wanted] of [
        [nothing, []],
        [alone, [table]],
        [counted, [table, 'live_counts'].sort()],
        [searched, [table, `searchable_${table}`]],
      ] as const)
        for (const change of changes) {
          const write = () => make(agency, { ...kept, ...change }, id);
          expect(await touched(agency, write), JSON.stringify(change).slice(0, 80)).toEqual(wanted);
          await make(agency, all, id);
        }
      expect(await versions(neighbour)).toEqual(beside);
      expect(await findDrift(service, agency, neighbour)).toEqual([]);
    },
  );

  test('and a record that comes or goes all that follows from it; media, a message and an opening their record alone', async () => {
    const agency = await service.agency();
    const call = dashboard.of(agency);
    const [thread, offer] = [await conversation(agency), await quote(agency, { status: 'published' })];
    const [ana, trip] = [await customer(agency), await product(agency)];
    const ofContacts = ['customer_contact_keys', 'customers', 'searchable_customers'];
    const ofCustomers = [...ofContacts, 'live_counts'].sort();
    const ofProducts = ['live_counts', 'products', 'searchable_products'];
    for (const [tables, write] of [
      [ofCustomers, () => customer(agency)],
      [ofProducts, () => product(agency)],
      [['products'], () => call.patch(`/catalog/products/${trip.id}`, { gallery: ['1.jpg'] })],
      [ofContacts, () => customer(agency, { contacts: OTHER_CONTACTS }, ana.id)],
      [ofCustomers, () => agency.delete(`/v1/customers/${ana.id}`)],
      [ofProducts, () => agency.delete(`/v1/catalog/products/${trip.id}`)],
      [['conversations', 'whatsapp_messages'], () => message(agency, thread.id)],
      [['quotes'], () => call.post(`/quotes/${offer.id}/opens`)],
    ] as const)
      expect(await touched(agency, write), String(write)).toEqual(tables);
  });
});

test('deploy/compare.sql finds changes that bypassed the triggers, and its repair of a count is right beside writes', async () => {
  const agency = await service.agency();
  const titles = ['Oaxaca', 'Puebla', 'Colima'];
  const ids = await Promise.all(titles.map(async (title) => (await product(agency, { title })).id));
  const [changed = '', gone = '', archived = ''] = ids;
  const ana = await customer(agency);
  await withoutTriggers(service.ownerUrl, async (client) => {
    await client.query(`update products set title = 'Sonora' where id = $1`, [changed]);
    await client.query('delete from products where id = $1', [gone]);
    await client.query('update products set archived_at = now() where id = $1', [archived]);
    await client.query('delete from searchable_customers where id = $1', [ana.id]);
    await client.query('delete from customer_contact_keys where customer_id = $1', [ana.id]);
  });
  const count = {
    organization_id: agency.id,
    kept_in: 'live_counts',
    what: 'products',
    value: 'active',
    missing: '-2',
  };
  const row = { organization_id: agency.id, value: null, missing: null };
  expect(await findDrift(service, agency)).toEqual([
    { ...row, kept_in: 'customer_contact_keys', what: ana.id, missing: '1' },
    count,
    { ...row, kept_in: 'searchable_customers', what: ana.id },
    ...ids.sort().map((what) => ({ ...row, kept_in: 'searchable_products', what })),
  ]);

  const creating = Promise.all(Array.from({ length: 50 }, () => product(agency)));
  await mendCount(service, count);
  await creating;
  expect((await agency.get('/v1/catalog/products')).body.pagination.total).toBe(51);
  expect((await findDrift(service, agency)).map(({ kept_in }) => kept_in)).not.toContain('live_counts');
  // What it says to do with the others.
  await service.query('delete from searchable_products where id = any($1)', [[gone, archived, changed]]);
  for (const title of ['Nueva', 'Sonora']) await product(agency, { title }, changed);
  for (const summary of ['x', null]) await customer(agency, { summary }, ana.id);
  for (const identifierValue of ['other', ana.contacts[0].identifierValue])
    await customer(agency, { contacts: [{ identifierType: 'web', identifierValue }] }, ana.id);
  expect(await findDrift(service, agency)).toEqual([]);
});
