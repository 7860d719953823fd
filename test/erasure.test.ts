import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { putConversation } from '../src/conversations/chains.repository.ts';
import { restoreCustomer } from '../src/customers/repository.ts';
import { parseJson, scopeTo } from '../src/db/index.ts';
import { opportunityRecord } from '../src/opportunities/repository.ts';
import { eraseCustomer } from '../src/person/erase.ts';
import { mergeCustomer } from '../src/person/merge.ts';
import { openQuote, quoteRecord } from '../src/quotes/repository.ts';
import { readDocument } from './support/contract.ts';
import { ownDashboard, TOKEN, useDashboard } from './support/dashboard.ts';
import { ownLog, ownPool } from './support/instance.ts';
import { operationsBy, populate, run } from './support/operations.ts';
import { overlap, type Work } from './support/races.ts';
import {
  attachment,
  contact,
  conversation,
  customer,
  message,
  opportunity,
  quote,
  web,
} from './support/records.ts';
import { type Agency, idsOf } from './support/service.ts';
import { listen } from './support/socket.ts';
import { hasWord, inDatabase, inFiles, postgresLog } from './support/words.ts';

const { logger, lines } = ownLog('trace');
const { service, dashboard } = await useDashboard({ logger }, { logger });

const { origin } = await listen(dashboard);

/** Every text of the person begins with this word, and ends with its place. */
const WORD = 'zqxolvidada';
const word = (place: string): string => `${WORD} ${place}`;

const email = (address: string) => contact('email', address);

/** The fields of a new customer that take any text. */
const { properties: ofCustomer = {} } =
  readDocument('openapi/openapi.json').components.schemas.CustomerCreate ?? {};
const TEXTS = Object.keys(ofCustomer).filter((field) => {
  const { type, format, enum: values } = ofCustomer[field] ?? {};
  return [type].flat().includes('string') && format === undefined && values === undefined;
});

/** A customer with a text of the person in every field, its own and those of its opportunities, conversations and quotes. */
async function createPerson(agency: Agency) {
  const contacts = [email(`${WORD}@example.com`), web(word('visitor')), contact('instagram', `${WORD}.a`)];
  const texts = Object.fromEntries(TEXTS.map((field) => [field, word(field)]));
  const person = { ...texts, preferredLanguage: 'es', tags: [word('tag')], contacts };
  const headers = { 'idempotency-key': 'the person' };
  const customerId: string = (await agency.post('/v1/customers', person, { headers })).body.id;
  const trip = { title: word('lead'), shortRef: word('reference'), destination: word('destination') };
  const dated = { checkInDate: `2027-01-15 ${WORD}`, budgetMax: 900 };
  const lead = await opportunity(agency, { ...trip, ...dated, customerId });
  const archivedLead = await opportunity(agency, { customerId, title: word('archived lead') });
  await dashboard.of(agency).delete(`/opportunities/${archivedLead.id}`);
  const chat = { contact: word('thread contact'), contactName: word('thread name') };
  const older = await conversation(agency, chat);
  const thread = await conversation(agency, { ...chat, customerId, rotatedFrom: older.id });
  const unclaimed = await conversation(agency, { channel: 'email', contact: `${WORD}@example.com` });
  const said = { content: word('message'), senderName: word('sender') };
  const delivery = { providerMessageId: word('provider'), templateName: word('template'), status: 'read' };
  for (const { id } of [older, thread]) await message(agency, id, { ...said, delivery });
  await message(agency, thread.id, { ...said, content: '', delivery });
  const mail = { externalId: word('external'), subject: word('subject') };
  await message(agency, unclaimed.id, { ...said, delivery: mail });
  const offered = { title: word('offer'), destination: word('offer destination'), price: 1_450 };
  const offer = await quote(agency, { ...offered, opportunityId: lead.id, status: 'published' });
  await dashboard.of(agency).post(`/quotes/${offer.id}/opens`, {});
  const file = { fileName: word('file'), kind: word('kind'), content: Buffer.from(word('bytes')) };
  await attachment(agency, service.storage, offer.id, file);
  return { customerId, lead, older, thread, offer };
}

/** A message from the number, in the conversation, with the word. */
const writes = (agency: Agency, { id }: { id: string }, place: string) =>
  message(agency, id, { content: word(place), senderName: word('sender') });

const erase = (agency: Agency, { id }: { id: string }) => dashboard.of(agency).post(`/customers/${id}/erase`);
const left = async (agency: Agency): Promise<string[]> =>
  Object.values(await dashboard.stored(agency))
    .flat()
    .map((row) => JSON.stringify(row))
    .filter(hasText);

const hasText = (text: string): boolean => hasWord(text, WORD);

/** Columns with text of the agency and its systems only. */
const OF_THE_AGENCY: Record<string, string> = {
  customers: 'preferred_language',
  conversations: 'channel activity_state controlled_by language',
  opportunities: 'budget_currency sales_stage temperature temperature_override',
  quotes: 'currency status token',
  quote_attachments: 'mime_type',
  whatsapp_messages: 'direction message_type delivery_status',
  channel_messages: 'direction message_type provider_name',
};

test('after an erasure no table, file, log line or response has text of the person, and another organization keeps everything', async () => {
  const [agency, other] = [await service.agency(), await service.agency()];
  const world = { service, dashboard, agency };
  const has = await populate(world, 'Neighbour');
  await populate({ service, agency: other }, 'Other');
  const neighbour = await dashboard.stored(other);
  lines.length = 0;
  const { customerId, lead, older, thread, offer } = await createPerson(agency);

  const before = await inDatabase(service, WORD);
  const texts = await service.query<{ table: string; column: string }>(
    `select table_name as table, column_name as column from information_schema.columns
     where table_schema = 'public' and table_name = any($1) and (data_type in ('text', 'json') or udt_name = '_text')`,
    [Object.keys(OF_THE_AGENCY)],
  );
  const withoutWord = texts.filter(
    ({ table, column }) =>
      !before.has(`${table}.${column}`) && !OF_THE_AGENCY[table]?.split(' ').includes(column),
  );
  expect(withoutWord, 'Let createPerson write a text into each').toEqual([]);
  expect(await inFiles(service.dataDir, WORD)).not.toEqual([]);

  const threads = { conversationId: thread.id, olderConversationId: older.id };
  const mine = { ...has, ...threads, customerId, opportunityId: lead.id, quoteId: offer.id };
  const reads = operationsBy('GET');
  /** The reads whose responses have a text of the person. */
  const readsWithText = async (ids: typeof has): Promise<string[]> => {
    const found: string[] = [];
    for (const name of reads) if (hasText((await run(world, name, ids)).text)) found.push(name);
    return found;
  };
  const ofPerson = /customers|opportunities|conversations|quotes/;
  expect(await readsWithText(mine), 'Each read returns a text of the person before the erasure').toEqual(
    // Neither sums nor the quote of somebody else's token.
    reads.filter((name) => ofPerson.test(name) && !/totals$|dashboard\/v1\/quotes$/.test(name)),
  );

  const { body: counts } = await erase(agency, { id: customerId });
  const erased = { contacts: 3, conversations: 3, messages: 4, opportunities: 2, quotes: 1, attachments: 1 };
  expect(counts).toMatchObject({ id: customerId, erased, sameContacts: [] });
  // What is no text of the person stays.
  const kept = { checkInDate: '2027-01-15', budgetMax: 900, salesStage: 'qualified', customerId };
  expect((await agency.get(`/v1/opportunities/${lead.id}`)).body).toMatchObject(kept);
  expect((await agency.get('/v1/quotes')).body.data).toContainEqual(
    expect.objectContaining({ id: offer.id, price: 1_450, openCount: 1, title: '' }),
  );

  const { data: messages } = (await dashboard.of(agency).get(`/conversations/${thread.id}/messages`)).body;
  const erasedMessage = { content: '', senderName: null, direction: 'inbound' };
  for (const message of messages)
    expect(message).toMatchObject({ ...erasedMessage, delivery: { status: 'read' } });

  expect([...(await inDatabase(service, WORD))]).toEqual([]);
  expect(await inFiles(service.dataDir, WORD)).toEqual([]);
  for (const ids of [has, mine]) expect(await readsWithText(ids)).toEqual([]);
  for (const list of ['customers', 'opportunities', 'conversations', 'quotes'])
    expect((await agency.get(`/v1/${list}?query=${WORD}`)).body.pagination.total, list).toBe(0);

  // Both APIs have logged.
  for (const route of ['/v1/customers', '/customers/:customerId/erase'])
    expect(JSON.stringify(lines)).toContain(`${route}"`);
  expect(hasText(JSON.stringify(lines))).toBe(false);
  expect(hasText((await postgresLog(service)) ?? '')).toBe(false);

  expect(await dashboard.stored(other)).toEqual(neighbour);
});

test('an erasure and an export leave another customer alone who shares an opportunity, a chain, a file and contacts with the archived person', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const [now, once] = [email('now@example.com'), email('once@example.com')];
  const hers = { senderName: 'Vecina', content: 'Vecina' };
  const eva = await customer(agency, { firstName: 'Vecina', contacts: [now] });
  const before = await conversation(agency, { channel: 'email', contact: 'now@example.com' });
  await message(agency, before.id, hers);
  await agency.patch(`/v1/customers/${eva.id}`, { contacts: [email('other@example.com')] });
  const ana = await customer(agency, { firstName: word('name'), contacts: [once] });
  // Each has a contact that the other had before.
  const handle = 'same@example.com';
  const hersAlone = contact('messenger', handle);
  await agency.patch(`/v1/customers/${ana.id}`, { contacts: [now, hersAlone] });
  await agency.patch(`/v1/customers/${eva.id}`, { contacts: [once] });
  const thread = { contactName: 'Vecina', customerId: null };
  const unclaimed = await conversation(agency, { ...thread, channel: 'email', contact: 'once@example.com' });
  await message(agency, unclaimed.id, hers);

  const lead = await opportunity(agency, { customerId: ana.id, title: word('lead') });
  const herLead = await opportunity(agency, { customerId: eva.id, title: 'Vecina' });
  const offer = await quote(agency, { opportunityId: herLead.id, title: 'Vecina' });
  await attachment(agency, service.storage, offer.id, { fileName: 'Vecina' });
  const mine = await quote(agency, { opportunityId: lead.id, title: word('offer') });
  await attachment(agency, service.storage, mine.id, { fileName: word('file') });
  await call.delete(`/quotes/${mine.id}`);
  const older = await conversation(agency, { customerId: ana.id, contactName: word('thread') });
  const newer = await conversation(agency, { ...thread, customerId: eva.id, rotatedFrom: older.id });
  await writes(agency, older, 'message');
  await message(agency, newer.id, hers);

  // Since Ana was archived, the other customer has her contact; in another channel it is somebody else.
  await agency.delete(`/v1/customers/${ana.id}`);
  await agency.patch(`/v1/customers/${eva.id}`, { contacts: [once, now, web(handle)] });
  for (const { identifierType: channel, identifierValue } of [now, web(handle)]) {
    const { id } = await conversation(agency, { ...thread, channel, contact: identifierValue });
    await message(agency, id, hers);
  }
  const chat = await conversation(agency, { channel: 'messenger', contact: handle, customerId: null });
  await writes(agency, chat, 'chat');

  /** Everything of the other customer. Whoever follows her chain hears of the erased messages in it. */
  const ofEva = async () =>
    Object.values(await dashboard.stored(agency))
      .flat()
      .map((row) => JSON.stringify({ ...(row as object), updated_at: null }))
      .filter((row) => hasWord(row, 'vecina'));
  const untouched = await ofEva();
  const exported = await call.get(`/customers/${ana.id}/export`);
  expect(hasWord(exported.text, 'vecina')).toBe(false);
  expect(exported.body).toMatchObject({
    opportunities: [{ id: lead.id }],
    quotes: [{ id: mine.id, attachments: [{ fileName: word('file') }] }],
    conversations: [{ id: older.id, messages: [{ content: word('message') }] }, { id: chat.id }],
  });
  const archivedAt = async () => (await call.get(`/customers/${ana.id}`)).body.archivedAt;
  const archived = await archivedAt();
  const erased = { conversations: 2, messages: 2, opportunities: 1, quotes: 1, attachments: 1 };
  expect(await erase(agency, ana)).toMatchObject({ status: 200, body: { erased } });
  expect(await archivedAt()).toBe(archived);
  expect(await ofEva()).toEqual(untouched);
  expect(await left(agency)).toEqual([]);
});

test('a file that arrives at a quote of an erased person is erased by the next call, which moves updatedAt', async () => {
  const agency = await service.agency();
  const { customerId, offer } = await createPerson(agency);
  await erase(agency, { id: customerId });
  await attachment(agency, service.storage, offer.id);
  const read = async () => (await dashboard.of(agency).get(`/quotes/${offer.id}`)).body;
  const before = await read();
  await erase(agency, { id: customerId });
  expect((await read()).updatedAt > before.updatedAt).toBe(true);
});

test('what arrives in the conversations of an erased person is erased by the next call, and updatedSince sees both', async () => {
  const agency = await service.agency();
  const contact = email(`${WORD}@example.com`);
  // The number wrote before it was a customer.
  const first = { channel: 'email', contact: contact.identifierValue, contactName: word('name') };
  const chat = await conversation(agency, first);
  await writes(agency, chat, 'before');
  const ana = await customer(agency, { contacts: [contact] });
  const chain = await conversation(agency, { ...first, customerId: null });
  const other = await conversation(agency, { ...first, contact: 'a@example.com', rotatedFrom: chain.id });
  expect(await erase(agency, ana)).toMatchObject({ body: { erased: { messages: 1 } } });
  expect(await left(agency)).toEqual([]);

  for (const { id } of [chat, chain]) await writes(agency, { id }, 'after');
  await dashboard.of(agency).put(`/conversations/${chat.id}`, first);
  const [{ now } = { now: '' }] = await service.query<{ now: string }>(
    `select to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now`,
  );
  const again = await erase(agency, ana);
  expect(again).toMatchObject({ status: 200, body: { erased: { messages: 1 } } });
  expect(await left(agency)).toEqual([]);
  const changed = await agency.get(`/v1/conversations?updatedSince=${now}`);
  expect(idsOf(changed).sort()).toEqual([chat.id, other.id].sort());

  const threads = async () => (await dashboard.stored(agency)).conversations;
  const unchanged = await threads();
  await erase(agency, ana);
  expect(await threads()).toEqual(unchanged);
});

test('an erasure and a merge have a time limit of their own, above that of a statement, and their connection waits longer', async () => {
  const agency = await service.agency();
  const { customerId } = await createPerson(agency);
  const { id: from } = await customer(agency);
  await service.query(
    `create function sleep() returns trigger language plpgsql as 'begin perform pg_sleep(0.7); return new; end';
     create trigger slow before insert on erasures for each row when (new.customer_id = '${customerId}') execute function sleep();
     create trigger slow before update on customers for each row when (old.id = '${from}') execute function sleep()`,
  );
  const db = ownPool(service, { statementTimeout: 500 });
  await mergeCustomer(scopeTo(db, agency.id), customerId, { from });
  await eraseCustomer(scopeTo(db, agency.id), customerId);
  expect(await left(agency)).toEqual([]);
  await service.query('drop function sleep cascade');
  expect(dashboard.app.server.timeout).toBeGreaterThan(60_000);
});

test('what waits for an erasure is rejected: a restore of the customer, an opening of a quote, and an opportunity that names the customer; a chat with its contact has no customer', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency);
  const lead = await opportunity(agency, { customerId: id });
  const offer = await quote(agency, { opportunityId: lead.id, status: 'published' });
  const [archived, named] = [await customer(agency), await customer(agency)];
  const spoken = await customer(agency, { contacts: [web('chat')] });
  const putLead: Work = (scope) =>
    opportunityRecord.put(scope, randomUUID(), { salesStage: 'new', customerId: named.id });
  const putChat: Work = async (scope) =>
    parseJson((await putConversation(scope, randomUUID(), { channel: 'web', contact: 'chat' })).body);
  await agency.delete(`/v1/customers/${archived.id}`);
  const waiting: [erased: string, result: object, write: Work][] = [
    [archived.id, { code: 'CUSTOMER_ERASED' }, (scope) => restoreCustomer(scope, archived.id)],
    [id, { code: 'QUOTE_NOT_PUBLISHED' }, (scope) => openQuote(scope, offer.id, new Date().toISOString())],
    [named.id, { code: 'VALIDATION_FAILED' }, putLead],
    [spoken.id, { customerId: null }, putChat],
  ];
  for (const [customerId, expected, write] of waiting) {
    const eraseFirst: Work = (scope) => eraseCustomer(scope, customerId);
    const result = await overlap(service, agency, eraseFirst, (scope) =>
      write(scope).catch((error) => error),
    );
    expect(result).toMatchObject(expected);
  }
  expect((await agency.get(`/v1/customers/${archived.id}`)).status).toBe(404);
});

test('a PATCH and a restore that waited for an erasure return the record as the next GET does, without the name', async () => {
  const agency = await service.agency();
  for (const [record, make, body] of [
    [opportunityRecord, opportunity, { nights: 3 }],
    [quoteRecord, quote, { price: 3 }],
  ] as const)
    for (const isRestore of [false, true]) {
      const { id: customerId } = await customer(agency, { firstName: 'Ana' });
      const { id } = await make(agency, { customerId });
      if (isRestore) await record.archive(agency.scope, id);
      const write: Work = (scope) => (isRestore ? record.restore(scope, id) : record.update(scope, id, body));
      const response = await overlap(service, agency, (scope) => eraseCustomer(scope, customerId), write);
      const stored = await record.get(agency.scope, id);
      expect(JSON.parse(String(stored)).customerName).toBeNull();
      expect(String(response)).toBe(String(stored));
    }
});

test('an erasure that waited for a merge erases the customer that the person became', async () => {
  const agency = await service.agency();
  const [ana, eva] = [await customer(agency), await customer(agency, { firstName: word('name') })];
  const merge: Work = (scope) => mergeCustomer(scope, eva.id, { from: ana.id });
  await overlap(service, agency, merge, (scope) => eraseCustomer(scope, ana.id));
  expect(await left(agency)).toEqual([]);
});

test('an erasure that waited for a conversation which the person gets erases it too', async () => {
  const agency = await service.agency();
  const ana = await customer(agency);
  const { id } = await conversation(agency);
  const chat = { contactName: word('name'), customerId: ana.id };
  const write: Work = (scope) => conversation({ ...agency, scope }, chat, id);
  await overlap(service, agency, write, (scope) => eraseCustomer(scope, ana.id));
  expect(await left(agency)).toEqual([]);
});

test('an export and an erasure name the other customers with one of the contacts, until they are erased too', async () => {
  const agency = await service.agency();
  const contacts = [email('twin@example.com'), email('alone@example.com')];
  const twin = await customer(agency, { contacts });
  await agency.delete(`/v1/customers/${twin.id}`);
  const ana = await customer(agency, { contacts: contacts.slice(0, 1) });
  await customer(agency, { contacts: [web('twin@example.com')] });
  const sameContacts = async ({ id }: { id: string }) =>
    (await dashboard.of(agency).get(`/customers/${id}/export`)).body.sameContacts;
  expect([await sameContacts(ana), await sameContacts(twin)]).toEqual([[twin.id], [ana.id]]);
  for (const _ of [1, 2]) expect((await erase(agency, ana)).body.sameContacts).toEqual([twin.id]);
  expect((await erase(agency, twin)).body.sameContacts).toEqual([]);
  expect((await erase(agency, ana)).body.sameContacts).toEqual([]);
});

test('an erasure is complete if the storage fails to delete its files, and waits for all of them at once', async () => {
  const agency = await service.agency();
  const { customerId, offer } = await createPerson(agency);
  await attachment(agency, service.storage, offer.id);
  const begun: number[] = [];
  const remove = vi.fn(async () => {
    await pause(10);
    begun.push(remove.mock.calls.length);
    throw new Error('The storage fails.');
  });
  const { of } = await ownDashboard(service, { storage: { ...service.storage, remove } });
  const erased = await of(agency).post(`/customers/${customerId}/erase`);
  expect(erased).toMatchObject({ status: 200, body: { erased: { attachments: 2 } } });
  expect(begun).toEqual([2, 2]);
  expect(await left(agency)).toEqual([]);
});

test('an export has every record of the customer as the dashboard reads it, archived ones and conversations by contact too', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const contacts = [email('ana@example.com')];
  const ana = await customer(agency, { firstName: 'Ana', contacts });
  // The dashboard chooses the id, and can choose the lowest.
  const lead = await opportunity(agency, { customerId: ana.id }, '00000000-0000-0000-0000-000000000000');
  const past = await opportunity(agency, { customerId: ana.id });
  const ofLead = { opportunityId: lead.id };
  const [offer, another] = [await quote(agency, ofLead), await quote(agency, ofLead)];
  const { stored } = await attachment(agency, service.storage, offer.id);
  for (const path of [`/opportunities/${past.id}`, `/quotes/${offer.id}`]) await call.delete(path);
  const older = await conversation(agency);
  const newer = await conversation(agency, { customerId: ana.id, rotatedFrom: older.id });
  const mail = await conversation(agency, { channel: 'email', contact: 'ANA@example.com' });
  await message(agency, older.id, { content: '¿Tienen "salidas"?', senderName: 'Ana' });
  await message(agency, mail.id, { content: 'Adjunto\nmi pasaporte' });

  const { status, body, headers } = await call.get(`/customers/${ana.id}/export`);
  expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
  const read = async (path: string) => (await call.get(path)).body;
  const all = (kind: string, records: { id: string }[]) =>
    Promise.all(
      records
        .map(({ id }) => id)
        .sort()
        .map((id) => read(`/${kind}/${id}`)),
    );
  const ofQuote = new Map([[offer.id, [{ ...stored, url: expect.stringMatching(/^http/) }]]]);
  const ofThread = new Map<string, unknown[]>();
  for (const { id } of [older, mail]) ofThread.set(id, (await read(`/conversations/${id}/messages`)).data);
  expect(body).toEqual({
    exportedAt: expect.any(String),
    customer: await read(`/customers/${ana.id}`),
    mergedCustomers: [],
    opportunities: await all('opportunities', [lead, past]),
    quotes: (await all('quotes', [offer, another])).map((one) => ({
      ...one,
      attachments: ofQuote.get(one.id) ?? [],
    })),
    conversations: (await all('conversations', [older, newer, mail])).map(({ lastMessage, ...each }) => ({
      ...each,
      messages: ofThread.get(each.id) ?? [],
    })),
    sameContacts: [],
  });

  await agency.delete(`/v1/customers/${ana.id}`);
  const afterwards = await read(`/customers/${ana.id.toUpperCase()}/export`);
  const { conversations, mergedCustomers } = body;
  expect(afterwards).toMatchObject({ customer: { id: ana.id, contacts }, mergedCustomers, conversations });
});

test('an export has every opportunity, conversation and message once, and messages in order, however many there are', async () => {
  const agency = await service.agency();
  const { id: customerId } = await customer(agency);
  const insert = (statement: string) => service.query(statement, [agency.id, customerId]);
  await insert(
    `insert into opportunities (organization_id, id, customer_id, sales_stage)
     select $1, gen_random_uuid(), $2, 'new' from generate_series(1, 201)`,
  );
  await insert(
    `insert into conversations (organization_id, id, chain_id, customer_id, channel, contact)
     select $1, id, id, $2, 'web', 'a' from (select gen_random_uuid() as id from generate_series(1, 200)) made`,
  );
  const { id } = await conversation(agency, { customerId });
  await service.query(
    `insert into whatsapp_messages (organization_id, conversation_id, id, arrival, content, direction, message_type, created_at)
     select $1, $2, gen_random_uuid(), number, number || repeat(' ', number % 40 * 1000), 'inbound', 'text', '2026-10-01'::timestamptz + number / 3 * interval '1 s'
     from generate_series(1, 1000) number`,
    [agency.id, id],
  );
  const { body } = await dashboard.of(agency).get(`/customers/${customerId}/export`);
  const { messages } = body.conversations.find((thread: { id: string }) => thread.id === id);
  for (const [data, count] of [
    [body.opportunities, 201],
    [body.conversations, 201],
    [messages, 1_000],
  ])
    expect([data.length, new Set(idsOf({ body: { data } })).size]).toEqual([count, count]);
  const contents = messages.map(({ content }: { content: string }) => Number(content));
  expect(contents).toEqual(contents.toSorted((one: number, other: number) => one - other));
});

test('an export that the database interrupts is not complete JSON, and its connection is closed', async () => {
  const agency = await service.agency();
  const { id: customerId } = await customer(agency);
  const thread = await conversation(agency, { customerId });
  await message(agency, thread.id, { content: 'Hola' });
  const url = `${origin}/dashboard/v1/organizations/${agency.id}/customers/${customerId}/export`;
  const get = () => fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } });
  expect(await (await get()).json()).toMatchObject({ customer: { id: customerId } });
  await service.query('alter table whatsapp_messages rename to away');
  const broken = await get()
    .then((response) => response.text())
    .catch(() => 'closed');
  await service.query('alter table away rename to whatsapp_messages');
  expect(broken).toBe('closed');
});

test('the list that docs/operating.md saves beside a backup has the ids of erased customers, and erases them again after a restore', async () => {
  const manual = readFileSync('docs/operating.md', 'utf8');
  const [, query = ''] = /-c '(select organization_id, customer_id from erasures [^']+)'/.exec(manual) ?? [];
  const [, script = ''] = /^node --input-type=module -e "\n([\s\S]+?)" <erased\.txt$/m.exec(manual) ?? [];
  const agency = await service.agency();
  const { customerId } = await createPerson(agency);
  await dashboard.of(agency).post(`/customers/${customerId}/erase`);
  expect(await service.query(query)).toContainEqual({ organization_id: agency.id, customer_id: customerId });

  // As in the backup.
  await service.query('delete from erasures where customer_id = $1', [customerId]);
  const restore = 'update customers set first_name = $2, archived_at = null where id = $1';
  await service.query(restore, [customerId, word('firstName')]);
  const args = ['--input-type=module', '-e', script.replace('http://localhost:3001', origin)];
  const running = promisify(execFile)(process.execPath, args, { env: { DASHBOARD_TOKEN: TOKEN } });
  running.child.stdin?.end(`${agency.id} ${customerId}\n${agency.id} ${randomUUID()}\n`);
  const { stdout } = await running;
  expect(stdout).toMatch(new RegExp(`^200 ${customerId}\\n404 `));
  expect(await left(agency)).toEqual([]);
});
