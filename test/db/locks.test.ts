import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { expect, test } from 'vitest';
import {
  productRecordStatements,
  productStatements,
  updateCatalogProduct,
} from '../../src/catalog/repository.ts';
import { newId, type OrganizationScope } from '../../src/db/index.ts';
import { eraseCustomer } from '../../src/person/erase.ts';
import { mergeCustomer } from '../../src/person/merge.ts';
import { useDashboard } from '../support/dashboard.ts';
import { administer, countAtWork, hold } from '../support/databases.ts';
import { findAllDrift } from '../support/drift.ts';
import { interrupted, overlap } from '../support/races.ts';
import {
  attachment,
  contact,
  conversation,
  customer,
  message,
  opportunity,
  product,
  quote,
  stage,
} from '../support/records.ts';
import type { Agency, Reply } from '../support/service.ts';

/** The order of locks of src/db/README.md: simultaneous writes wait for each other, and never in a circle. */

const { service, dashboard } = await useDashboard();

const ANY = { headers: { 'if-match': '*' } };
const phoneOf = (round: number): string => `+5255${10_000_000 + round}`;
const whatsapp = (round: number) => contact('whatsapp', phoneOf(round));

const DELIVERY = { providerMessageId: 'wamid' };

const heldContacts = async ({ id }: Agency): Promise<number> => {
  const text = `select from pg_locks where locktype = 'advisory' and granted and classid = hashtext($1)::oid`;
  return (await service.query(text, [id])).length;
};

/** Of the customers and threads. */
const PHONES = { low: phoneOf(1), high: phoneOf(2) };
/** In the order of their locks; the first one is of the customer `high`. */
const CONTACTS = { one: `whatsapp ${phoneOf(4)}`, two: `whatsapp ${phoneOf(3)}` };
/** In another order. */
const LISTED = [whatsapp(3), whatsapp(4)];

/** The ids of two records, of which the one with the larger id is older. */
function pair(): { low: string; high: string } {
  const [low = '', high = ''] = [newId(), newId()].sort();
  return { low, high };
}

/**
 * Two records of each table, all of the customer `low`; three messages of one provider id, of which that of the older thread has the
 * smallest id; and what locks each.
 */
async function lockable(agency: Agency) {
  const [customers, threads, leads, quotes] = [pair(), pair(), pair(), pair()];
  const [old = '', one = '', two = ''] = [newId(), newId(), newId()].sort();
  const customerId = customers.low;
  for (const age of ['high', 'low'] as const) {
    const keys = [`whatsapp ${PHONES[age]}`, ...(age === 'high' ? [CONTACTS.one] : [])];
    const insert = 'insert into customers (organization_id, id, contact_keys) values ($1, $2, $3)';
    await service.query(insert, [agency.id, customers[age], keys]);
  }
  for (const age of ['high', 'low'] as const) {
    const rotatedFrom = age === 'low' ? threads.high : null;
    await conversation(agency, { contact: PHONES[age], customerId, rotatedFrom }, threads[age]);
    await opportunity(agency, { customerId }, leads[age]);
    await quote(agency, { opportunityId: leads[age] }, quotes[age]);
  }
  for (const id of [old, one, two])
    await message(agency, id === old ? threads.high : threads.low, { delivery: DELIVERY }, id);
  const stageId = (await stage(agency)).id;
  const fileId = (await attachment(agency, service.storage, quotes.low)).stored.id;
  const row = (table: string, ids: Record<string, string>) =>
    Object.entries(ids).map(([which, id]) => {
      // Whoever names a customer locks its row for key share, which conflicts with `for update` only.
      const strength = table === 'customers' ? 'update' : 'no key update';
      const lock = `select from ${table} where organization_id = '${agency.id}' and id = '${id}' for ${strength}`;
      return [`${table} ${which}`, { take: lock, tryToTake: `${lock} skip locked` }] as const;
    });
  const advisory = Object.entries(CONTACTS).map(([which, key]) => {
    const lock = `hashtext('${agency.id}'), hashtext('${key}') % 1024`;
    const tryToTake = `select from pg_try_advisory_xact_lock(${lock}) as is_free where is_free`;
    return [`contact ${which}`, { take: `select pg_advisory_xact_lock(${lock})`, tryToTake }] as const;
  });
  const locks = new Map<string, { take: string; tryToTake: string }>([
    ...row('customers', customers),
    ...row('conversations', threads),
    ...row('opportunities', leads),
    ...row('quotes', quotes),
    ...row('whatsapp_messages', { old, one, two }),
    ...row('pipeline_stages', { id: stageId }),
    ...row('quote_attachments', { id: fileId }),
    ...advisory,
  ]);
  const isTaken = async (client: pg.Client, name: string): Promise<boolean> =>
    (await client.query(locks.get(name)?.tryToTake ?? '')).rowCount === 0;
  const take = (client: pg.Client, name: string) => client.query(locks.get(name)?.take ?? '');
  const call = dashboard.of(agency);
  const target = { agency, call, customers, threads, leads, quotes, messages: { one, two }, stageId, fileId };
  return { target, isTaken, names: [...locks.keys()], take };
}
type Target = Awaited<ReturnType<typeof lockable>>['target'];

/** States the locks that a write takes, in its order. Whoever waits for a lock has those before it and no other. */
function takes(what: string, list: string, write: (target: Target) => Promise<unknown>): void {
  const order = list.split(', ');
  test(`${what} takes its locks in the order of src/db/README.md, and no others`, async () => {
    for (const [place, held] of order.entries()) {
      const { target, isTaken, names, take } = await lockable(await service.agency());
      await administer(service.ownerUrl, async (client) => {
        await client.query('begin');
        await take(client, held);
        const written = write(target);
        await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
        const taken: string[] = [];
        for (const name of names) if (name !== held && (await isTaken(client, name))) taken.push(name);
        await client.query('commit');
        await written;
        // Quotes of several opportunities, which are locked, are written in any order.
        const isFixed = (name: string) => !/^quotes.*quotes/.test(`${held}, ${name}`);
        const before = order.slice(0, place).filter(isFixed);
        expect(new Set(taken.filter(isFixed)), `while it waits for ${held}`).toEqual(new Set(before));
      });
    }
    const { target, names, take } = await lockable(await service.agency());
    await administer(service.ownerUrl, async (client) => {
      await client.query('begin');
      for (const name of names) if (!order.includes(name)) await take(client, name);
      let isDone = false;
      const written = write(target).then(() => {
        isDone = true;
      });
      await expect.poll(async () => isDone || (await countAtWork(service.ownerUrl, 'Lock')) > 0).toBe(true);
      expect(isDone, 'it waits for another lock').toBe(true);
      await client.query('commit');
      await written;
    });
  });
}

/** The first thread of a chain before the others. */
const CHAIN = 'conversations high, conversations low';
const TIES = `${CHAIN}, opportunities low, opportunities high`;
const TWO_MESSAGES = 'whatsapp_messages one, whatsapp_messages two';
const MESSAGES = `${TWO_MESSAGES}, whatsapp_messages old`;
const FILE = 'quote_attachments id';

takes('a merge', `${TIES}, customers low, customers high, quotes low, quotes high`, ({ agency, customers }) =>
  mergeCustomer(agency.scope, customers.high, { from: customers.low }),
);
takes(
  'an erasure',
  `${TIES}, customers low, ${MESSAGES}, quotes low, quotes high, ${FILE}`,
  ({ agency, customers }) => eraseCustomer(agency.scope, customers.low),
);
takes('a thread that gets a customer', 'conversations low, customers high', ({ call, threads, customers }) =>
  call.patch(`/conversations/${threads.low}`, { customerId: customers.high }),
);
takes('a message, which locks the first thread of the chain before its own,', CHAIN, ({ agency, threads }) =>
  message(agency, threads.low),
);
takes('an import, in the order of ids,', `${CHAIN}, ${TWO_MESSAGES}`, ({ call, threads, messages }) => {
  const text = { content: 'Otra vez', direction: 'inbound', messageType: 'text' };
  const data = [messages.two, messages.one].map((id) => ({ ...text, id }));
  return call.post(`/conversations/${threads.low}/messages`, { data });
});
takes('a correction', `${CHAIN}, whatsapp_messages one`, ({ call, threads, messages }) =>
  call.patch(`/conversations/${threads.low}/messages/${messages.one}`, { content: 'Corregido' }),
);
takes('a report with If-Match', `conversations high, ${MESSAGES}, conversations low`, ({ call }) =>
  call.patch(`/deliveries/${DELIVERY.providerMessageId}`, { status: 'read' }, ANY),
);
takes('a next thread', `${CHAIN}, customers low`, ({ agency, threads }) =>
  conversation(agency, { contact: PHONES.low, rotatedFrom: threads.low }),
);
takes('a PUT of a next thread with If-Match', `${CHAIN}, customers low`, ({ call, threads }) => {
  const thread = { channel: 'whatsapp', contact: PHONES.low, rotatedFrom: threads.high };
  return call.put(`/conversations/${threads.low}`, thread, ANY);
});
takes('a customer', 'contact one, contact two', ({ agency }) =>
  agency.post('/v1/customers', { contacts: LISTED }),
);
takes('a customer that gets contacts', 'customers low, contact one, contact two', ({ agency, customers }) =>
  agency.patch(`/v1/customers/${customers.low}`, { contacts: LISTED }),
);
takes('an archive of a customer with contacts', 'customers high', ({ agency, customers }) =>
  agency.delete(`/v1/customers/${customers.high}`),
);
takes('an opportunity', 'opportunities high, customers high, quotes high', ({ agency, customers, leads }) =>
  opportunity(agency, { customerId: customers.high }, leads.high),
);
takes(
  'a stage of an opportunity, with If-Match,',
  'pipeline_stages id, opportunities low',
  ({ call, leads, stageId }) => call.patch(`/opportunities/${leads.low}`, { stageId }, ANY),
);
takes('a new quote', 'opportunities high, customers low', ({ agency, leads }) =>
  quote(agency, { opportunityId: leads.high }),
);
takes('an attachment', `quotes low, ${FILE}`, ({ call, quotes, fileId }) =>
  call.delete(`/quotes/${quotes.low}/attachments/${fileId}`),
);
for (const method of ['put', 'patch'] as const) {
  const move =
    (fields = {}, options = {}) =>
    ({ call, leads, quotes }: Target) => {
      const moved = { title: 'Oaxaca', status: 'draft', opportunityId: leads.high, ...fields };
      return call[method](`/quotes/${quotes.low}`, moved, options);
    };
  const [what, order] = [`a ${method} that moves a quote`, 'opportunities high, quotes low'];
  takes(what, order, move());
  takes(`${what}, and is rejected,`, order, move({ token: 'x' }));
  takes(`${what} with If-Match`, `opportunities low, ${order}`, move({}, ANY));
}

const LOCK_THREAD = 'select from conversations where id = $1 for update';

test.each(['create', 'update', 'update with If-Match', 'restore'])(
  'the %s whose customer gets a locked conversation holds neither a contact nor a customer while it waits',
  async (operation) => {
    const agency = await service.agency();
    const body = { contacts: [whatsapp(1)] };
    const archived = await customer(agency, body);
    await agency.delete(`/v1/customers/${archived.id}`);
    const [ana, thread] = [await customer(agency), await conversation(agency, { contact: phoneOf(1) })];
    const update = (headers = {}) => agency.patch(`/v1/customers/${ana.id}`, body, { headers });
    const writes: Record<string, () => Promise<Reply>> = {
      create: () => agency.post('/v1/customers', body, { headers: { 'idempotency-key': 'a' } }),
      update: () => update(),
      'update with If-Match': () => update({ 'if-match': '*' }),
      restore: () => dashboard.of(agency).post(`/customers/${archived.id}/restore`),
    };
    const release = await hold(service.ownerUrl, LOCK_THREAD, [thread.id]);
    const reply = writes[operation]?.();
    await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
    expect(await heldContacts(agency)).toBe(0);
    const free = 'select from customers where organization_id = $1 for no key update skip locked';
    expect(await service.query(free, [agency.id])).toHaveLength(2);
    await release();
    expect((await reply)?.status).toBeLessThan(300);
    expect(await findAllDrift(service, agency)).toEqual([]);
  },
);

test('a merge that meets a locked conversation of a contact begins again', async () => {
  const agency = await service.agency();
  const [ana, eva] = [await customer(agency, { contacts: [whatsapp(1)] }), await customer(agency)];
  await agency.delete(`/v1/customers/${ana.id}`);
  const id = randomUUID();
  let released: Promise<void> | undefined;
  const { scope, ran } = interrupted(agency.scope, 'customers.merge', async () => {
    await conversation(agency, { contact: phoneOf(1) }, id);
    const release = await hold(service.ownerUrl, LOCK_THREAD, [id]);
    const isWaiting = () => ran.filter((name) => name === 'customers.merge').length;
    released = expect
      .poll(isWaiting)
      .toBe(2)
      .then(() => release());
  });
  await mergeCustomer(scope, eva.id, { from: ana.id });
  await released;
  expect(await findAllDrift(service, agency)).toEqual([]);
});

test.each([
  ['/v1', productStatements, productRecordStatements],
  ['the dashboard', productRecordStatements, productStatements],
])(
  'a PATCH of variants by %s waits for another one, and keeps what it wrote',
  async (_api, first, second) => {
    const agency = await service.agency();
    const { id, variants } = await product(agency, { variants: [{ label: 'Baja' }] });
    const patch = (statements: typeof first, fields: object) => (scope: OrganizationScope) =>
      updateCatalogProduct(scope, statements, id, { variants: [{ id: variants[0].id, ...fields }] });
    await overlap(service, agency, patch(first, { fromPrice: 300 }), patch(second, { capacityMax: 16 }));
    expect((await agency.get(`/v1/catalog/products/${id}`)).body.variants).toEqual([
      { ...variants[0], fromPrice: 300, capacityMax: 16 },
    ]);
  },
);
