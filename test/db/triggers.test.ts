import { getTableColumns, getTableName, is } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import pg from 'pg';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import * as schema from '../../src/db/schema/index.ts';
import { newId } from '../../src/db/sql/ids.ts';
import { type Caller, useDashboard } from '../support/dashboard.ts';
import { administer, withoutTriggers } from '../support/databases.ts';
import { copyRecord, findDrift, hidden, mendCount } from '../support/drift.ts';
import { archiveOf, LISTS, populate, readList } from '../support/operations.ts';
import { conversation, customer, message, opportunity, product, quote } from '../support/records.ts';
import type { Agency } from '../support/service.ts';

/** What PostgreSQL keeps of records by itself, whoever writes them: the service, a job or psql. */

const { service, dashboard } = useDashboard();

const tables = Object.values(schema).filter((table) => is(table, PgTable));
const namesOf = (found: typeof tables): string[] => found.map((table) => getTableName(table)).sort();

/** The tables of records that can be changed. */
const CHANGED = namesOf(tables.filter((table) => 'updatedAt' in getTableColumns(table)));

describe.each(CHANGED)('an update of %s', (table) => {
  let agency: Agency;
  beforeAll(async () => {
    agency = await service.agency();
    await populate({ service, agency });
  });

  const run = (update: string) =>
    service.query<{ updated: Date }>(`${update} where organization_id = $1 returning updated_at as updated`, [
      agency.id,
    ]);
  const stored = () =>
    service.query(`select xmin::text, ctid::text, t as row from ${table} t where organization_id = $1`, [
      agency.id,
    ]);

  test('that changes nothing is dropped, JSON and lists included', async () => {
    const columns = await service.query<{ name: string }>(
      `select column_name as name from information_schema.columns where table_name = $1`,
      [table],
    );
    const before = await stored();
    expect(before.length).toBeGreaterThan(0);
    expect(columns.length).toBeGreaterThan(5);
    expect(await run(`update ${table} set ${columns.map(({ name }) => `${name} = ${name}`)}`)).toEqual([]);
    expect(await stored()).toEqual(before);
  });

  test('moves updated_at, whatever it says of it itself', async () => {
    const before = await run(`update ${table} set created_at = '2001-01-01'`);
    const after = await run(`update ${table} set updated_at = '2000-01-01'`);
    expect(before.length).toBeGreaterThan(0);
    for (const [index, { updated }] of after.entries())
      expect(updated.getTime()).toBeGreaterThan(before[index]?.updated.getTime() ?? Number.NaN);
  });

  test('moves updated_at by a millisecond where the same transaction, or a clock that was ahead, has moved it there', async () => {
    const twice = await administer(service.ownerUrl, async (client) => {
      const answers = await client.query<{ updated: Date }>(
        `begin;
         update ${table} set created_at = '2002-01-01' where organization_id = '${agency.id}' returning updated_at as updated;
         update ${table} set created_at = '2003-01-01' where organization_id = '${agency.id}' returning updated_at as updated;
         commit`,
      );
      return (answers as unknown as (typeof answers)[]).slice(1, 3).map(({ rows }) => rows);
    });
    const [first = [], second = []] = twice;
    expect(first.length).toBeGreaterThan(0);
    expect(second.map(({ updated }) => updated.getTime())).toEqual(
      first.map(({ updated }) => updated.getTime() + 1),
    );

    await withoutTriggers(service.ownerUrl, (client) =>
      client.query(`update ${table} set updated_at = '2099-01-01T00:00:00Z' where organization_id = $1`, [
        agency.id,
      ]),
    );
    for (const milliseconds of [1, 2])
      for (const { updated } of await run(`update ${table} set created_at = '200${milliseconds}-02-02'`))
        expect(updated.getTime()).toBe(Date.parse('2099-01-01T00:00:00Z') + milliseconds);
  });
});

const COUNTED = Object.entries(LISTS)
  .filter(([, { resource }]) => resource.isCounted)
  .map(([name, list]) => ({ name, list, table: getTableName(list.resource.table) }));

describe.each(COUNTED)('$table', ({ name, list, table }) => {
  const { by, as } = hidden(table);

  test('that SQL inserts, archives, restores and deletes are counted and searched like others, of their organization alone', async () => {
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
  });

  test('of sixteen writers at once are all counted, and those that were given up are not', async () => {
    const agency = await service.agency();
    const { id: model } = await list.make(agency);
    let visible = 1;
    const write = (writer: number) =>
      administer(service.ownerUrl, async (client) => {
        for (let round = 0; round < 10; round += 1) {
          const key = [agency.id, newId()];
          const isGivenUp = round % 5 === writer % 5;
          await client.query('begin');
          await client.query(copyRecord(table), [...key, model]);
          await client.query(isGivenUp ? 'rollback' : 'commit');
          const where = 'where organization_id = $1 and id = $2';
          if (round % 3 === 0) await client.query(`update ${table} set ${by} = ${as} ${where}`, key);
          if (round % 4 === 0) await client.query(`delete from ${table} ${where}`, key);
          if (!isGivenUp && round % 3 > 0 && round % 4 > 0) visible += 1;
        }
      });
    await Promise.all(Array.from({ length: 16 }, (_, writer) => write(writer)));
    const { body } = await readList({ service, dashboard, agency }, name);
    expect(body.pagination.total).toBe(visible);
    expect(await findDrift(service, agency)).toEqual([]);
  });
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

test('a chain of threads is counted and found once, by its newest, however it is linked', async () => {
  const agency = await service.agency();
  const [a, b, c] = [newId(), newId(), newId()];
  const put = (id: string, rotatedFrom: string | null) =>
    conversation(agency, { contactName: `Eva ${id}`, rotatedFrom }, id);
  const shown = async () => {
    const lists = [await agency.get('/v1/conversations'), await agency.get('/v1/conversations?query=eva')];
    expect(lists[1]?.body).toEqual(lists[0]?.body);
    expect(lists[0]?.body.pagination.total).toBe(lists[0]?.body.data.length);
    expect(await findDrift(service, agency)).toEqual([]);
    return lists[0]?.body.data.map(({ id }: { id: string }) => id).sort();
  };
  await put(a, null);
  await put(b, a);
  await put(c, b);
  expect(await shown()).toEqual([c]);
  await put(b, null);
  expect(await shown()).toEqual([a, c].sort());
  await put(a, c);
  expect(await shown()).toEqual([a]);
  await service.query('delete from conversations where organization_id = $1 and id = $2', [agency.id, a]);
  await service.query('update conversations set continued_by = null where organization_id = $1 and id = $2', [
    agency.id,
    c,
  ]);
  expect(await shown()).toEqual([c]);
});

describe('a write touches', () => {
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

  async function touched(agency: Agency, write: () => Promise<unknown>): Promise<string[]> {
    const before = await versions(agency);
    await write();
    const after = await versions(agency);
    return [...after.keys()].filter((table) => after.get(table) !== before.get(table));
  }

  const CONTACTS = [
    { identifierType: 'whatsapp', identifierValue: '+525512345678' },
    { identifierType: 'email', identifierValue: 'ana@example.com' },
  ];
  const PRODUCT = { title: 'Oaxaca', operator: 'Andes', destinations: ['Mitla'] };
  const CUSTOMER = { firstName: 'Ana', city: 'Lima', summary: 'x'.repeat(50_000), contacts: CONTACTS };
  const OPPORTUNITY = { title: 'Viaje', salesStage: 'new' };
  const CONVERSATION = { contactName: 'Ana', activityState: 'open' };
  const QUOTE = { title: 'Oferta', status: 'published', price: 100 };

  type Is = { agency: Agency; call: Caller; id: string };
  const patch =
    (body: object) =>
    async ({ agency, id }: Is) => {
      expect((await agency.patch(`/v1/customers/${id}`, body)).status).toBe(200);
    };
  const patchProduct =
    (body: object) =>
    async ({ agency, id }: Is) => {
      expect((await agency.patch(`/v1/catalog/products/${id}`, body)).status).toBe(200);
    };

  type Case = [what: string, write: (is: Is) => Promise<unknown>, tables: string[]];

  const walk = (make: (agency: Agency) => Promise<{ id: string }>, cases: Case[]) =>
    test.each(cases)('%s', async (_what, write, wanted) => {
      const agency = await service.agency();
      const { id } = await make(agency);
      const neighbour = await service.agency();
      await make(neighbour);
      const before = await versions(neighbour);
      const is = { agency, call: dashboard.of(agency), id };
      expect(await touched(agency, () => write(is))).toEqual(wanted);
      expect(await versions(neighbour)).toEqual(before);
      expect(await findDrift(service, agency, neighbour)).toEqual([]);
    });

  describe('of a customer', () => {
    const whole = ['customer_contact_keys', 'customers', 'live_counts', 'searchable_customers'];
    walk(
      (agency) => customer(agency, CUSTOMER),
      [
        ['its row alone, with the city', patch({ city: 'Quito' }), ['customers']],
        ['nothing, with what is stored', patch(CUSTOMER), []],
        ['nothing, with the contacts as they are', patch({ contacts: CONTACTS }), []],
        [
          'the search row too, with the name',
          patch({ firstName: 'Eva' }),
          ['customers', 'searchable_customers'],
        ],
        [
          'the search row too, with the summary',
          patch({ summary: 'x' }),
          ['customers', 'searchable_customers'],
        ],
        [
          'the search row too, with the tags',
          patch({ tags: ['vip'] }),
          ['customers', 'searchable_customers'],
        ],
        [
          'no contact key, with contacts in another order and spelling',
          patch({
            contacts: [
              { identifierType: 'email', identifierValue: 'ANA@example.com' },
              { identifierType: 'whatsapp', identifierValue: '+52 1 55 1234 5678' },
            ],
          }),
          ['customers', 'searchable_customers'],
        ],
        [
          'the contact keys, with another contact',
          patch({ contacts: [{ identifierType: 'web', identifierValue: 'x' }] }),
          ['customer_contact_keys', 'customers', 'searchable_customers'],
        ],
        [
          'all that follows from it, when it is archived',
          ({ agency, id }) => agency.delete(`/v1/customers/${id}`),
          whole,
        ],
        ['all that follows from it, when it is created', ({ agency }) => customer(agency), whole],
      ],
    );
  });

  describe('of a product', () => {
    const searched = ['products', 'searchable_products'];
    const whole = ['live_counts', 'products', 'searchable_products'];
    walk(
      (agency) => product(agency, PRODUCT),
      [
        ['its row alone, with the operator', patchProduct({ operator: 'Sur' }), ['products']],
        ['nothing, with what is stored', patchProduct({ title: 'Oaxaca', operator: 'Andes' }), []],
        ['its row alone, with conditions', patchProduct({ specialConditions: 'x' }), ['products']],
        [
          'its row alone, with media',
          ({ call, id }) => call.patch(`/catalog/products/${id}`, { gallery: ['1.jpg'] }),
          ['products'],
        ],
        ['the search row too, with the title', patchProduct({ title: 'Puebla' }), searched],
        ['the search row too, with a description', patchProduct({ description: 'x' }), searched],
        ['the search row too, with the status', patchProduct({ status: 'paused' }), searched],
        ['the search row too, with the type', patchProduct({ type: 'custom' }), searched],
        [
          'all that follows from it, when it is archived',
          ({ agency, id }) => agency.delete(`/v1/catalog/products/${id}`),
          whole,
        ],
        ['all that follows from it, when it is created', ({ agency }) => product(agency), whole],
      ],
    );
  });

  describe('of an opportunity', () => {
    walk(
      (agency) => opportunity(agency, OPPORTUNITY),
      [
        ['nothing, with what is stored', ({ agency, id }) => opportunity(agency, OPPORTUNITY, id), []],
        [
          'its row alone, with the stage',
          ({ agency, id }) => opportunity(agency, { ...OPPORTUNITY, salesStage: 'won' }, id),
          ['opportunities'],
        ],
        [
          'the search row too, with the title',
          ({ agency, id }) => opportunity(agency, { ...OPPORTUNITY, title: 'Otro' }, id),
          ['opportunities', 'searchable_opportunities'],
        ],
      ],
    );
  });

  describe('of a conversation', () => {
    walk(
      (agency) => conversation(agency, CONVERSATION),
      [
        ['nothing, with what is stored', ({ agency, id }) => conversation(agency, CONVERSATION, id), []],
        [
          'its row alone, with the state',
          ({ agency, id }) => conversation(agency, { ...CONVERSATION, activityState: 'closed' }, id),
          ['conversations'],
        ],
        [
          'its row, with a message',
          ({ agency, id }) => message(agency, id),
          ['conversations', 'whatsapp_messages'],
        ],
        [
          'the search row too, with the name',
          ({ agency, id }) => conversation(agency, { ...CONVERSATION, contactName: 'Eva' }, id),
          ['conversations', 'searchable_conversations'],
        ],
      ],
    );
  });

  describe('of a quote', () => {
    /** Puts the quote as it is, but for these. */
    const put =
      (fields: object) =>
      async ({ agency, id }: Is) => {
        const { opportunityId } = (await agency.get('/v1/quotes')).body.data[0];
        await quote(agency, { ...QUOTE, opportunityId, ...fields }, id);
      };
    walk(
      (agency) => quote(agency, QUOTE),
      [
        ['its row alone, when it is opened', ({ call, id }) => call.post(`/quotes/${id}/opens`), ['quotes']],
        ['nothing, with what is stored', put({}), []],
        ['its row alone, with the price', put({ price: 200 }), ['quotes']],
        ['the search row too, with the title', put({ title: 'Otra' }), ['quotes', 'searchable_quotes']],
      ],
    );
  });
});

test('a title that clients change to and fro at once is found as it is in the end', async () => {
  const agency = await service.agency();
  const { id } = await product(agency, { title: 'a' });
  for (let round = 0; round < 20; round += 1) {
    await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        agency.patch(`/v1/catalog/products/${id}`, { title: n % 2 ? 'a' : 'b' }),
      ),
    );
    expect(await findDrift(service, agency)).toEqual([]);
  }
});

describe('a customer that SQL', () => {
  const contacts = [{ identifierType: 'web', identifierValue: 'x' }];
  test.each([
    ['archives', 'update customers set archived_at = now()'],
    ['deletes', 'delete from customers'],
  ])('%s has no contact any more: another may have it', async (_name, write) => {
    const agency = await service.agency();
    const [one, stays] = [await customer(agency, { contacts }), await customer(agency)];
    expect((await agency.post('/v1/customers', { contacts })).status).toBe(409);
    await service.query(`${write} where organization_id = $1 and id = $2`, [agency.id, one.id]);
    expect(await findDrift(service, agency)).toEqual([]);
    expect((await agency.get('/v1/customers')).body.data).toEqual([stays]);
    expect((await agency.post('/v1/customers', { contacts })).status).toBe(201);
    const [{ identifierType, identifierValue }] = stays.contacts;
    const kept = { contacts: [{ identifierType, identifierValue }] };
    expect((await agency.post('/v1/customers', kept)).status).toBe(409);
  });
});

describe('the query of operators', () => {
  test('tells what no trigger followed, and a count is mended beside writes', async () => {
    const agency = await service.agency();
    const ids = await Promise.all(
      ['Oaxaca', 'Puebla', 'Colima'].map(async (title) => (await product(agency, { title })).id),
    );
    const [changed = '', gone = '', archived = ''] = ids;
    const ana = await customer(agency);
    await withoutTriggers(service.ownerUrl, async (client) => {
      await client.query(`update products set title = 'Sonora' where id = $1`, [changed]);
      await client.query('delete from products where id = $1', [gone]);
      await client.query('update products set archived_at = now() where id = $1', [archived]);
      await client.query('delete from searchable_customers where id = $1', [ana.id]);
      await client.query('delete from customer_contact_keys where customer_id = $1', [ana.id]);
    });
    const found = await findDrift(service, agency);
    const count = {
      organization_id: agency.id,
      kept_in: 'live_counts',
      what: 'products',
      missing: '-2',
    };
    expect(found).toEqual([
      { ...count, kept_in: 'customer_contact_keys', what: ana.id, missing: '1' },
      count,
      { ...count, kept_in: 'searchable_customers', what: ana.id, missing: null },
      ...ids.sort().map((what) => ({ ...count, kept_in: 'searchable_products', what, missing: null })),
    ]);

    const creating = Promise.all(Array.from({ length: 50 }, () => product(agency)));
    await mendCount(service, count);
    await creating;
    expect((await agency.get('/v1/catalog/products')).body.pagination.total).toBe(51);
    expect((await findDrift(service, agency)).map(({ kept_in }) => kept_in)).not.toContain('live_counts');
    // What it says to do with the others.
    await service.query('delete from searchable_products where id = any($1)', [[gone, archived, changed]]);
    for (const title of ['Nueva', 'Sonora']) await agency.patch(`/v1/catalog/products/${changed}`, { title });
    for (const summary of ['x', null]) await agency.patch(`/v1/customers/${ana.id}`, { summary });
    for (const identifierValue of ['other', ana.contacts[0].identifierValue])
      await agency.patch(`/v1/customers/${ana.id}`, {
        contacts: [{ identifierType: 'web', identifierValue }],
      });
    expect(await findDrift(service, agency)).toEqual([]);
  });
});
