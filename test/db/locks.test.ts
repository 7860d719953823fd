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
import { type Caller, useDashboard } from '../support/dashboard.ts';
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

const patch = (agency: Agency, { id }: { id: string }, ...contacts: object[]) =>
  agency.patch(`/v1/customers/${id}`, { contacts });
const create = (agency: Agency, ...contacts: object[]) => agency.post('/v1/customers', { contacts });

const heldContacts = async ({ id }: Agency): Promise<number> => {
  const text = `select from pg_locks where locktype = 'advisory' and granted and classid = hashtext($1)::oid`;
  return (await service.query(text, [id])).length;
};

type Lock = { take: string; tryToTake: string };

/** Of the customers and threads. */
const PHONES: Record<string, string> = { low: phoneOf(1), high: phoneOf(2) };
/** In the order of their locks; the first one is of the customer `high`. */
const CONTACTS = [`whatsapp ${phoneOf(4)}`, `whatsapp ${phoneOf(3)}`];
/** In another order. */
const LISTED = [whatsapp(3), whatsapp(4)];

/**
 * Two records of each table, of which the one with the larger id is older, all of the customer `low`; three messages of one provider id,
 * of which that of the older thread has the smallest id; and what locks each.
 */
async function lockable(agency: Agency) {
  const ids: Record<string, string> = {};
  for (const table of ['customers', 'conversations', 'opportunities', 'quotes'])
    for (const [index, id] of [newId(), newId()].sort().entries())
      ids[`${table} ${['low', 'high'][index]}`] = id;
  for (const [index, id] of [newId(), newId(), newId()].sort().entries())
    ids[`whatsapp_messages ${['high', 'low 1', 'low 2'][index]}`] = id;
  const idOf = (name: string): string => ids[name] ?? '';
  const customerId = idOf('customers low');
  for (const each of ['high', 'low']) {
    const keys = [`whatsapp ${PHONES[each]}`, ...(each === 'high' ? CONTACTS.slice(0, 1) : [])];
    await service.query('insert into customers (organization_id, id, contact_keys) values ($1, $2, $3)', [
      agency.id,
      idOf(`customers ${each}`),
      keys,
    ]);
  }
  for (const age of ['high', 'low']) {
    const rotatedFrom = age === 'low' ? idOf('conversations high') : null;
    await conversation(
      agency,
      { contact: PHONES[age], customerId, rotatedFrom },
      idOf(`conversations ${age}`),
    );
    const { id } = await opportunity(agency, { customerId }, idOf(`opportunities ${age}`));
    await quote(agency, { opportunityId: id }, idOf(`quotes ${age}`));
  }
  for (const [name, id] of Object.entries(ids).filter(([name]) => name.startsWith('whatsapp_messages'))) {
    const thread = idOf(name.replace(/^\w+ (\w+).*/, 'conversations $1'));
    await message(agency, thread, { delivery: { providerMessageId: 'wamid' } }, id);
  }
  ids.pipeline_stages = (await stage(agency)).id;
  ids.quote_attachments = (await attachment(agency, service.storage, idOf('quotes low'))).stored.id;
  // Whoever names a customer locks its row for key share, which conflicts with `for update` only.
  const row = ([name, id]: [string, string]): [string, Lock] => {
    const strength = name.startsWith('customers') ? 'update' : 'no key update';
    const lock = `select from ${name.split(' ')[0]} where organization_id = '${agency.id}' and id = '${id}' for ${strength}`;
    return [name, { take: lock, tryToTake: `${lock} skip locked` }];
  };
  const advisory = (key: string): [string, Lock] => {
    const lock = `hashtext('${agency.id}'), hashtext('${key}') % 1024`;
    const tryToTake = `select from pg_try_advisory_xact_lock(${lock}) as is_free where is_free`;
    return [key, { take: `select pg_advisory_xact_lock(${lock})`, tryToTake }];
  };
  const locks = Object.fromEntries([...Object.entries(ids).map(row), ...CONTACTS.map(advisory)]);
  const isTaken = async (client: pg.Client, name: string): Promise<boolean> =>
    (await client.query(locks[name]?.tryToTake ?? '')).rowCount === 0;
  const take = (client: pg.Client, name: string) => client.query(locks[name]?.take ?? '');
  return { idOf, isTaken, names: Object.keys(locks), take };
}

/** The first thread of a chain before the others. */
const ROOTED = ['conversations high', 'conversations low', 'opportunities low', 'opportunities high'];

const MESSAGES = ['low 1', 'low 2', 'high'].map((name) => `whatsapp_messages ${name}`);

const MESSAGE = { content: 'Otra vez', direction: 'inbound', messageType: 'text' };

/** The locks that a write takes, in its order. */
const ORDERS: [
  string,
  string[],
  (agency: Agency, idOf: (name: string) => string, call: Caller) => Promise<unknown>,
][] = [
  [
    'a merge',
    [...ROOTED, 'customers low', 'customers high', 'quotes low', 'quotes high'],
    ({ scope }, idOf) => mergeCustomer(scope, idOf('customers high'), { from: idOf('customers low') }),
  ],
  [
    'an erasure',
    [...ROOTED, 'customers low', ...MESSAGES, 'quotes low', 'quotes high', 'quote_attachments'],
    ({ scope }, idOf) => eraseCustomer(scope, idOf('customers low')),
  ],
  [
    'a thread that gets a customer',
    ['conversations low', 'customers high'],
    (_, idOf, call) =>
      call.patch(`/conversations/${idOf('conversations low')}`, { customerId: idOf('customers high') }),
  ],
  [
    'a message of the newest thread, which locks the first one of the chain before it',
    ['conversations high', 'conversations low'],
    (agency, idOf) => message(agency, idOf('conversations low')),
  ],
  [
    'an import, in the order of ids,',
    ['conversations high', 'conversations low', ...MESSAGES.slice(0, 2)],
    (_, idOf, call) => {
      const data = MESSAGES.map((name) => ({ ...MESSAGE, id: idOf(name) })).slice(0, 2);
      return call.post(`/conversations/${idOf('conversations low')}/messages`, { data: data.toReversed() });
    },
  ],
  [
    'a correction',
    ['conversations high', 'conversations low', 'whatsapp_messages low 1'],
    (_, idOf, call) => {
      const path = `/conversations/${idOf('conversations low')}/messages/${idOf('whatsapp_messages low 1')}`;
      return call.patch(path, { content: 'Corregido' });
    },
  ],
  [
    'a report with If-Match',
    ['conversations high', ...MESSAGES, 'conversations low'],
    (_agency, _idOf, call) => call.patch('/deliveries/wamid', { status: 'read' }, ANY),
  ],
  [
    'a next thread',
    ['conversations high', 'conversations low', 'customers low'],
    (agency, idOf) => conversation(agency, { contact: PHONES.low, rotatedFrom: idOf('conversations low') }),
  ],
  ['a customer', CONTACTS, (agency) => create(agency, ...LISTED)],
  [
    'a customer that gets contacts',
    ['customers low', ...CONTACTS],
    (agency, idOf) => patch(agency, { id: idOf('customers low') }, ...LISTED),
  ],
  [
    'an archive of a customer with contacts',
    ['customers high'],
    (agency, idOf) => agency.delete(`/v1/customers/${idOf('customers high')}`),
  ],
  [
    'an opportunity',
    ['opportunities high', 'customers high', 'quotes high'],
    (agency, idOf) => opportunity(agency, { customerId: idOf('customers high') }, idOf('opportunities high')),
  ],
  [
    'an opportunity with If-Match that gets a stage',
    ['pipeline_stages', 'opportunities low'],
    (_, idOf, call) =>
      call.patch(`/opportunities/${idOf('opportunities low')}`, { stageId: idOf('pipeline_stages') }, ANY),
  ],
  ...(['put', 'patch'] as const).flatMap((method) =>
    (
      [
        ['moves a quote', ['opportunities high', 'quotes low']],
        ['moves a quote, and is rejected', ['opportunities high', 'quotes low'], { token: 'x' }],
        ['moves a quote with If-Match', ['opportunities low', 'opportunities high', 'quotes low'], {}, ANY],
      ] as const
    ).map(([what, order, fields, options]): (typeof ORDERS)[number] => [
      `a ${method} that ${what}`,
      [...order],
      (_, idOf, call) => {
        const moved = { title: 'Oaxaca', status: 'draft', opportunityId: idOf('opportunities high') };
        return call[method](`/quotes/${idOf('quotes low')}`, { ...moved, ...fields }, options);
      },
    ]),
  ),
  [
    'a PUT of a next thread with If-Match',
    ['conversations high', 'conversations low', 'customers low'],
    (_, idOf, call) => {
      const thread = { channel: 'whatsapp', contact: PHONES.low, rotatedFrom: idOf('conversations high') };
      return call.put(`/conversations/${idOf('conversations low')}`, thread, ANY);
    },
  ],
  [
    'a new quote',
    ['opportunities high', 'customers low'],
    (agency, idOf) => quote(agency, { opportunityId: idOf('opportunities high') }),
  ],
  [
    'an attachment',
    ['quotes low', 'quote_attachments'],
    (_, idOf, call) => call.delete(`/quotes/${idOf('quotes low')}/attachments/${idOf('quote_attachments')}`),
  ],
];

// Whoever waits for a lock has those before it and no other.
test.each(ORDERS)(
  '%s takes its locks in the order of src/db/README.md, and no others',
  async (_name, order, write) => {
    for (const [place, held] of order.entries()) {
      const agency = await service.agency();
      const { idOf, isTaken, names, take } = await lockable(agency);
      await administer(service.ownerUrl, async (client) => {
        await client.query('begin');
        await take(client, held);
        const written = write(agency, idOf, dashboard.of(agency));
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
    const agency = await service.agency();
    const { idOf, names, take } = await lockable(agency);
    await administer(service.ownerUrl, async (client) => {
      await client.query('begin');
      for (const name of names) if (!order.includes(name)) await take(client, name);
      let isDone = false;
      const written = write(agency, idOf, dashboard.of(agency)).then(() => {
        isDone = true;
      });
      await expect.poll(async () => isDone || (await countAtWork(service.ownerUrl, 'Lock')) > 0).toBe(true);
      expect(isDone, 'it waits for another lock').toBe(true);
      await client.query('commit');
      await written;
    });
  },
);

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
