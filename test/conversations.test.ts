import { randomUUID } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { putConversation, updateConversation } from '../src/conversations/chains.repository.ts';
import { createCustomer, customerStatements } from '../src/customers/repository.ts';
import { newId, type Put } from '../src/db/index.ts';
import { opportunityRecord } from '../src/opportunities/repository.ts';
import { mergeCustomer } from '../src/person/merge.ts';
import { quoteRecord } from '../src/quotes/repository.ts';
import { useDashboard } from './support/dashboard.ts';
import { findAllDrift, findDrift } from './support/drift.ts';
import { rejected } from './support/faults.ts';
import { interrupted, overlap, type Work } from './support/races.ts';
import {
  contact,
  conversation,
  customer,
  member,
  message,
  opportunity,
  quote,
  stage,
  web,
} from './support/records.ts';
import { idsOf, type Reply } from './support/service.ts';

const { service, dashboard } = await useDashboard();

const NUMBER = '+5215512345678';
const CHAT = { channel: 'whatsapp', contact: NUMBER };
const FIXED = 'cannot be changed after it was first set';

const text = (content: string, createdAt?: string) => ({
  content,
  direction: 'inbound',
  messageType: 'text',
  ...(createdAt !== undefined && { createdAt }),
});

test('the story of a conversation: the dashboard writes it, an integration lists it and reads its transcript', async () => {
  const agency = await service.agency();
  // Paths of the dashboard, below /dashboard/v1/organizations/{organizationId}.
  const { put } = dashboard.of(agency);
  const putMessage = (thread: string, content: string, createdAt: string) =>
    put(`/conversations/${thread}/messages/${randomUUID()}`, text(content, createdAt));

  // Create. A field that is not sent is null.
  const id = randomUUID();
  const own = { contactName: 'Ana', activityState: 'waiting_for_agency' };
  expect((await put(`/conversations/${id}`, { ...CHAT, ...own })).status).toBe(201);
  await putMessage(id, '¿Tienen lugar en Oaxaca?', '2026-11-20T10:00:00Z');
  const none = { customerId: null, customerName: null, controlledBy: null, language: null };
  const conversation = { id, ...CHAT, ...own, ...none, lastMessageAt: '2026-11-20T10:00:00.000Z' };
  expect((await agency.get('/v1/conversations')).body).toMatchObject({
    data: [{ ...conversation, createdAt: expect.any(String) }],
    pagination: { limit: 25, offset: 0, total: 1 },
  });

  // Rotation: a new thread continues the conversation. The list shows the newest thread, the transcript joins both.
  const next = randomUUID();
  expect((await put(`/conversations/${next}`, { ...CHAT, rotatedFrom: id })).status).toBe(201);
  await putMessage(next, 'Sí, del 1 al 3', '2026-11-21T09:00:00Z');
  const rotated = { ...conversation, id: next, lastMessageAt: '2026-11-21T09:00:00.000Z' };
  const messages = [
    { ...text('¿Tienen lugar en Oaxaca?', conversation.lastMessageAt), conversationId: id, senderName: null },
    { ...text('Sí, del 1 al 3', rotated.lastMessageAt), conversationId: next, senderName: null },
  ];
  const transcript = { status: 200, body: { data: messages, total: 2 } };
  for (const thread of [id, next])
    expect(await agency.get(`/v1/conversations/${thread}/messages`)).toMatchObject(transcript);

  // A transcript has no offset: limit=1 returns the newest message.
  const newest = { data: messages.slice(1), total: 2 };
  expect((await agency.get(`/v1/conversations/${id}/messages?limit=1`)).body).toMatchObject(newest);

  // List: most recent message first. The total counts what the filter matches, on all pages.
  await put(`/conversations/${randomUUID()}`, { channel: 'instagram', contact: '@luis' });
  const pagination = { limit: 1, offset: 0, total: 2 };
  expect((await agency.get('/v1/conversations?limit=1')).body).toMatchObject({ data: [rotated], pagination });
});

/** Conversations of the agency without messages, and functions that write to them. */
async function newThreads(count: number) {
  const agency = await service.agency();
  const ids = Array.from({ length: count }, () => randomUUID()).sort();
  const call = dashboard.of(agency);
  const put = (id: string, more: object = {}) => call.put(`/conversations/${id}`, { ...CHAT, ...more });
  const patch = (id: string, body: object) => call.patch(`/conversations/${id}`, body);
  const putMessage = (id: string, message: string = randomUUID(), createdAt?: string) =>
    call.put(`/conversations/${id}/messages/${message}`, text('Hola', createdAt));
  await Promise.all(ids.map((id) => put(id)));
  return { agency, ids, put, patch, putMessage };
}

test('a message that is put while its conversation is created is counted, or its conversation is not found', async () => {
  const { agency, put, putMessage } = await newThreads(0);
  for (let round = 0; round < 250; round += 1) {
    const id = randomUUID();
    const creating = put(id);
    for (let status = 404; status === 404; ) ({ status } = await putMessage(id));
    await creating;
  }
  expect(await findDrift(service, agency)).toEqual([]);
});

test('rotatedFrom is written once, with the thread: another value is rejected, the same or none changes nothing', async () => {
  const { ids, put, patch } = await newThreads(2);
  const [first = '', other = ''] = ids;
  const id = randomUUID();
  const created = await put(id, { rotatedFrom: first });
  const fixed = rejected(['body.rotatedFrom', FIXED]);
  for (const rotatedFrom of [other, null, id]) {
    expect(await put(id, { rotatedFrom })).toMatchObject(fixed);
    expect(await patch(id, { rotatedFrom })).toMatchObject(fixed);
  }
  // Neither a fork, nor a circle, nor a chain that is written from its end.
  const isContinued = rejected(['body.rotatedFrom', 'is already continued by another thread']);
  expect(await put(randomUUID(), { rotatedFrom: first })).toMatchObject(isContinued);
  expect(await put(first, { rotatedFrom: id })).toMatchObject(fixed);
  const after = randomUUID();
  for (const rotatedFrom of [randomUUID(), after])
    expect((await put(after, { rotatedFrom })).status).toBe(400);
  for (const again of [{ rotatedFrom: first.toUpperCase() }, {}])
    expect(await put(id.toUpperCase(), again)).toMatchObject({ status: 200, body: created.body });
  expect((await patch(first, { rotatedFrom: null })).status).toBe(200);
  expect((await put(first, { rotatedFrom: null })).status).toBe(200);
});

test('a next thread that is written while messages arrive has the timestamp of the latest one', async () => {
  const { agency, ids, put, putMessage } = await newThreads(1);
  const [first = ''] = ids;
  const [one, two] = [randomUUID(), randomUUID()];
  const write =
    (createdAt: string): Work =>
    (scope) =>
      message({ ...agency, scope }, first, { createdAt });
  const rotate =
    (id: string, rotatedFrom: string): Work =>
    (scope) =>
      conversation({ ...agency, scope }, { rotatedFrom }, id);
  await overlap(service, agency, write('2026-10-01T10:00:00Z'), rotate(one, first));
  expect(await findDrift(service, agency)).toEqual([]);
  await overlap(service, agency, rotate(two, one), write('2026-10-02T10:00:00Z'));
  expect(await findDrift(service, agency)).toEqual([]);
  await putMessage(one, randomUUID(), '2026-10-03T10:00:00Z');
  expect((await put(two)).body.lastMessageAt).toBe('2026-10-03T10:00:00.000Z');
  expect(await findDrift(service, agency)).toEqual([]);
});

test.each([
  ['a new opportunity', 'a new name of its seller'],
  ['a new opportunity', 'a merge into its customer'],
  ['a new conversation', 'a merge into its customer'],
  ['a new conversation', 'a new customer with its contact'],
  ['a conversation', 'a new customer with its contact'],
  ['a conversation', 'a new message'],
  ['a new quote', 'a new customer of its opportunity'],
])('a PUT of %s that waits for %s returns what the next GET returns', async (what, change) => {
  const agency = await service.agency();
  const [{ id: sellerMemberId }, { id: customerId }] = [await member(agency), await customer(agency)];
  const eva = await customer(agency, { firstName: 'Eva' });
  const lead = await opportunity(agency, { customerId });
  const stored = await conversation(agency, { channel: 'web', contact: 'eva' });
  const id = what === 'a conversation' ? stored.id : randomUUID();
  const kind = what.slice(what.lastIndexOf(' ') + 1);
  const named = change === 'a merge into its customer' && { customerId };
  const puts: Record<string, (...of: Parameters<Work>) => Promise<Put<unknown>>> = {
    opportunity: (scope) => opportunityRecord.put(scope, id, { customerId, sellerMemberId, salesStage: '' }),
    conversation: (scope) => putConversation(scope, id, { channel: 'web', contact: 'ana', ...named }),
    quote: (scope) => quoteRecord.put(scope, id, { opportunityId: lead.id, title: '', status: 'draft' }),
  };
  const ana = { firstName: 'Ana', tags: [], contacts: [web('ana')] };
  const changes: Record<string, Work> = {
    'a new name of its seller': (scope) => member({ ...agency, scope }, { name: 'Paz' }, sellerMemberId),
    'a merge into its customer': (scope) => mergeCustomer(scope, customerId, { from: eva.id }),
    'a new customer with its contact': (scope) => createCustomer(scope, customerStatements, ana),
    'a new message': (scope) => message({ ...agency, scope }, stored.id),
    'a new customer of its opportunity': (scope) =>
      opportunity({ ...agency, scope }, { customerId: eva.id }, lead.id),
  };
  const first: Work = async (scope) => changes[change]?.(scope);
  const written = await overlap(service, agency, first, async (scope) => puts[kind]?.(scope));
  const path = `/${kind.replace(/y$/, 'ie')}s/${id}`;
  expect(String(written?.body)).toBe((await dashboard.of(agency).get(path)).text);
});

test('a conversation keeps its customer when its contact changes, unless another customer has the contact', async () => {
  const { agency, ids, put, patch } = await newThreads(1);
  const [id = ''] = ids;
  const ana = await customer(agency);
  const eva = await customer(agency, { contacts: [contact('whatsapp', '+5215512345670')] });
  const customerOf = async (reply: Promise<Reply>) => (await reply).body.customerId;
  await put(id, { customerId: ana.id });
  expect(await customerOf(put(id))).toBe(ana.id);
  // A number becomes a linked id.
  for (const contact of ['123456789012345@lid', 'MX.123', '+5215512345679'])
    for (const write of [put, patch]) expect(await customerOf(write(id, { contact }))).toBe(ana.id);
  await put(id, { contact: '+5215512345670', customerId: ana.id });
  expect(await customerOf(patch(id, { contact: '+52 55 1234 5670' }))).toBe(ana.id);
  for (const write of [patch, put]) {
    await put(id, { customerId: ana.id });
    expect(await customerOf(write(id, { contact: '+5215512345670' }))).toBe(eva.id);
  }
});

test('a change of channel that races with a first message leaves every message in the store of its channel', async () => {
  const { agency, ids, put, putMessage } = await newThreads(20);
  await Promise.all(ids.flatMap((id) => [putMessage(id), put(id, { channel: 'web' })]));
  const misplaced = await service.query(
    `select c.id from conversations c
      left join whatsapp_messages w on w.organization_id = c.organization_id and w.conversation_id = c.id
      left join channel_messages o on o.organization_id = c.organization_id and o.conversation_id = c.id
     where c.organization_id = $1 and ((c.channel = 'whatsapp') <> (w.id is not null) or (c.channel = 'web') <> (o.id is not null))`,
    [agency.id],
  );
  expect(misplaced).toEqual([]);
});

const importOf = (content: string) => ({ id: randomUUID(), ...text(content) });

async function newConversation(channel: string) {
  const agency = await service.agency();
  const path = `/conversations/${randomUUID()}`;
  const call = dashboard.of(agency);
  await call.put(path, { ...CHAT, channel });
  return { agency, call, path };
}

// Messages of WhatsApp have a store of their own.
const READ = { status: 'read', statusAt: '2026-11-21T10:00:01.000Z' };
describe.each<[channel: string, delivery: object]>([
  ['whatsapp', { providerMessageId: 'wamid.1', ...READ, templateName: 'welcome' }],
  ['email', { providerName: 'postal', externalId: 'x-1', subject: 'Cotización' }],
])('messages of %s', (channel, delivery) => {
  const none = Object.fromEntries(Object.keys(delivery).map((field) => [field, null]));

  test('a message without createdAt gets the current time; sent again, it changes nothing; replaced, it has no old delivery', async () => {
    const { agency, call, path } = await newConversation(channel);
    const message = `${path}/messages/${randomUUID()}`;
    const [{ now } = { now: new Date() }] = await service.query<{ now: Date }>('select now()');
    const created = await call.put(message, { ...text('Hola'), delivery });
    expect(created.body).toMatchObject({ content: 'Hola', delivery });
    expect(Date.parse(created.body.createdAt)).toBeGreaterThanOrEqual(now.getTime());
    const before = await dashboard.stored(agency);
    expect((await call.put(message, { ...text('Hola'), delivery })).body).toEqual(created.body);
    expect(await dashboard.stored(agency)).toEqual(before);
    const replaced = (await call.put(message, text('Buenas'))).body;
    expect(replaced).toMatchObject({ content: 'Buenas', delivery: none });
  });

  test('a PATCH changes single fields, of the delivery too, null clears it; fields of the other store, and a change to its channel, are rejected', async () => {
    const { call, path } = await newConversation(channel);
    const message = `${path}/messages/${randomUUID()}`;
    const { body: sent } = await call.put(message, { ...text('Hola'), senderName: 'Ana', delivery });
    const patches: { [field: string]: unknown; delivery?: object }[] = [
      ...Object.keys(delivery).map((field) => ({
        delivery: { [field]: field === 'statusAt' ? '2026-11-22T10:00:00.000Z' : 'other' },
      })),
      ...[{ content: 'Buenas' }, { direction: 'outbound' }, { messageType: 'image' }, { senderName: null }],
      { createdAt: '2026-11-20T10:00:00.000Z' },
    ];
    let corrected = sent;
    for (const patch of patches) {
      corrected = { ...corrected, ...patch, delivery: { ...corrected.delivery, ...patch.delivery } };
      expect((await call.patch(message, patch)).body).toEqual(corrected);
    }
    const cleared = { ...corrected, delivery: { ...sent.delivery, ...none } };
    expect((await call.patch(message, { delivery: null })).body).toEqual(cleared);
    const foreign = channel === 'whatsapp' ? 'subject' : 'templateName';
    const error = rejected([`body.delivery.${foreign}`, "is not a field of this conversation's channel"]);
    for (const write of [call.put, call.patch])
      expect(await write(message, { ...text('Hola'), delivery: { [foreign]: 'x' } })).toMatchObject(error);
    const other = { channel: channel === 'whatsapp' ? 'web' : 'whatsapp' };
    expect(await call.patch(path, other)).toMatchObject(rejected('body.channel'));
    const empty = await newConversation(channel);
    expect((await empty.call.patch(empty.path, other)).body).toMatchObject(other);
  });
});

test('an import counts what it inserts and what it updates; it rejects a message that is more than 24 hours ahead, and one that it has already, in any case of its id', async () => {
  const { call, path } = await newConversation('web');
  const [message, ...others] = [importOf('one'), importOf('two'), importOf('three')];
  for (const [data, counts] of [
    [[message], { inserted: 1, updated: 0 }],
    [[...others, message], { inserted: 2, updated: 1 }],
  ] as const)
    expect((await call.post(`${path}/messages`, { data })).body).toEqual(counts);
  const createdAt = new Date(Date.now() + 25 * 3_600_000).toISOString();
  const repeated = { ...message, id: message?.id.toUpperCase() };
  const ahead = { ...message, id: randomUUID(), createdAt };
  for (const [second, field, error] of [
    [ahead, 'createdAt', 'must be at most 24 hours in the future'],
    [repeated, 'id', 'is the same message as data[0]'],
  ] as const) {
    const response = await call.post(`${path}/messages`, { data: [message, second] });
    expect(response).toMatchObject(rejected([`body.data[1].${field}`, error]));
  }
});

test.each(['web', 'whatsapp'])(
  'messages of one import and one timestamp keep their order on %s',
  async (channel) => {
    const { agency, call, path } = await newConversation(channel);
    const ids = [1, 2, 3]
      .map(() => randomUUID())
      .sort()
      .reverse();
    const createdAt = '2026-10-01T10:00:00.000Z';
    await call.post(`${path}/messages`, { data: ids.map((id) => ({ ...importOf('Hola'), id, createdAt })) });
    expect(idsOf(await call.get(`${path}/messages`))).toEqual(ids);
    // A message of another conversation with the same id has its own timestamp.
    const { id } = await conversation(agency, { channel });
    expect((await message(agency, id, {}, ids[0])).createdAt > createdAt).toBe(true);
    await conversation(agency, { channel, rotatedFrom: path.slice(-36) });
    expect((await call.get(path)).body.lastMessageAt).toBe(createdAt);
  },
);

test('a chat that comes before its customer gets it by a create, a PATCH, a restore and a merge; null that was sent stays until the next PUT without the field', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const create = async (name: string) => (await agency.post('/v1/customers', { contacts: [web(name)] })).body;
  const [ana, into, twin] = [await create('ana'), await create('into'), await create('twin')];
  const eva = await create('eva');
  const shelved = await create('restore');
  for (const { id } of [twin, shelved]) await agency.delete(`/v1/customers/${id}`);
  const claims: Record<string, () => Promise<Reply>> = {
    create: () => agency.post('/v1/customers', { contacts: [web('create')] }),
    PATCH: () => agency.patch(`/v1/customers/${ana.id}`, { contacts: [web('ana'), web('PATCH')] }),
    restore: () => call.post(`/customers/${shelved.id}/restore`),
    twin: () => call.post(`/customers/${into.id}/merge`, { from: twin.id }),
  };
  for (const [contact, claim] of Object.entries(claims)) {
    const path = `/conversations/${randomUUID()}`;
    const chat = { channel: 'web', contact };
    expect((await call.put(path, chat)).body.customerId).toBeNull();
    const { body: ofEva } = await call.put(`/conversations/${randomUUID()}`, { ...chat, customerId: eva.id });
    const { id: customerId } = (await claim()).body;
    expect((await call.get(`/conversations/${ofEva.id}`)).body.customerId).toBe(eva.id);
    expect((await call.get(path)).body).toMatchObject({ customerId });
    expect((await agency.get(`/v1/conversations?customerId=${customerId}`)).body.pagination.total).toBe(1);
    for (const write of [call.put, call.patch])
      expect((await write(path, { ...chat, customerId: null })).body.customerId).toBeNull();
    expect((await call.patch(path, { language: 'es' })).body.customerId).toBeNull();
    const unlinked = await call.put(`/conversations/${randomUUID()}`, { ...chat, customerId: null });
    expect(unlinked.body.customerId).toBeNull();
    expect((await findAllDrift(service, agency)).map(({ value }) => value)).toEqual([customerId, customerId]);
    for (const { id } of [(await call.get(path)).body, unlinked.body])
      expect((await call.put(`/conversations/${id}`, chat)).body).toMatchObject({ customerId });
  }
  expect(await findAllDrift(service, agency)).toEqual([]);
});
const namesOf = ({ body }: Reply) =>
  body.contacts.map(({ displayName }: { displayName: string }) => displayName);

test('the chat of an archived customer stays its own; restored, its contacts have the names of their latest conversations', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const ana = await customer(agency, { contacts: [web('one'), web('two'), web('three')] });
  const chat = (contact: string, contactName: string, id?: string) =>
    conversation(agency, { channel: 'web', contact, contactName }, id);
  const [one, two] = [await chat('one', 'Ana'), await chat('two', 'Ana')];
  await chat('three', 'Ana');
  const sms = { channel: 'sms', contact: '5512' };
  const other = await conversation(agency, { ...sms, customerId: ana.id });
  await agency.delete(`/v1/customers/${ana.id}`);
  expect((await conversation(agency, sms, other.id)).customerId).toBe(ana.id);
  // The first chat goes on, the second is renamed, and the third contact has a new chat.
  expect((await chat('one', 'Ana', one.id)).customerId).toBe(ana.id);
  await chat('two', 'Ana Sofía', two.id);
  await chat('three', 'Ana Peña');
  const restored = await call.post(`/customers/${ana.id}/restore`);
  expect(namesOf(restored)).toEqual(['Ana', 'Ana Sofía', 'Ana Peña']);
  expect((await agency.get(`/v1/conversations?customerId=${ana.id}`)).body.pagination.total).toBe(5);
});

test('a contact has the name of its latest conversation that has one, and none of another channel', async () => {
  const agency = await service.agency();
  const chat = { channel: 'web', contact: 'a' };
  for (const contactName of ['Ana', 'Ana Peña', null]) await conversation(agency, { ...chat, contactName });
  await conversation(agency, { channel: 'messenger', contact: 'a', contactName: 'Eva' });
  const named = async ({ id }: { id: string }) => namesOf(await agency.get(`/v1/customers/${id}`));
  const ana = await customer(agency, { contacts: [web('a')] });
  expect(await named(ana)).toEqual(['Ana Peña']);
  const other = await conversation(agency, { ...chat, channel: 'instagram', contactName: 'Otra' });
  expect(other.customerId).toBeNull();
  const { id } = await conversation(agency, { ...chat, contactName: 'Ana Sofía' });
  expect(await named(ana)).toEqual(['Ana Sofía']);
  await conversation(agency, { ...chat, contactName: 'Ana S.' }, id);
  expect(await named(ana)).toEqual(['Ana S.']);
  // Without the name, it is that of the conversation before.
  await conversation(agency, { ...chat, contactName: null }, id);
  expect(await named(ana)).toEqual(['Ana Peña']);
  const others = [contact('messenger', 'a'), contact('instagram', 'b')];
  expect(await named(await customer(agency, { contacts: others }))).toEqual(['Eva', null]);
  await conversation(agency, { ...chat, contactName: 'Ana' });
  expect(await named(ana)).toEqual(['Ana']);
});

test('a contact has no name once its conversation has none, has another contact, or was erased; a restored one neither', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const contacts = ['a', 'e', 'n'].map(web);
  const owner = await customer(agency, { contacts });
  const path = `/v1/customers/${owner.id}`;
  let friend: { id: string };
  const chatWith = async (contact: string) =>
    (await conversation(agency, { channel: 'web', contact, contactName: 'Ana', customerId: friend.id })).id;
  for (const isArchived of [false, true]) {
    friend = await customer(agency);
    const [noName, before, after] = await Promise.all(['n', 'a', 'a', 'e'].map(chatWith));
    expect(namesOf(await agency.get(path))).toEqual(['Ana', 'Ana', 'Ana']);
    if (isArchived) await agency.delete(path);
    await call.patch(`/conversations/${noName}`, { contactName: null });
    // The key of the next contact is before that of this one, and after it.
    await call.patch(`/conversations/${before}`, { contact: '9' });
    await call.patch(`/conversations/${after}`, { contact: 'z' });
    await call.post(`/customers/${friend.id}/erase`);
    if (isArchived) await call.post(`/customers/${owner.id}/restore`);
    expect(namesOf(await agency.get(path))).toEqual([null, null, null]);
    expect(await findAllDrift(service, agency)).toEqual([]);
  }
  const { id } = await conversation(agency, { channel: 'web', contact: 'a', contactName: 'Ana' });
  await agency.delete(path);
  await call.patch(`/conversations/${id}`, { contactName: 'Eva' });
  expect(namesOf(await call.get(`/customers/${owner.id}`))).toEqual(['Eva', null, null]);
});

test('an inbox shows the newest message of each chain, and who handles it', async () => {
  const agency = await service.agency();
  const { get, patch } = dashboard.of(agency);
  const older = await conversation(agency, { controlledBy: 'agent' });
  const newer = await conversation(agency, { rotatedFrom: older.id, channel: 'web', controlledBy: 'lucia' });
  const empty = await conversation(agency, { controlledBy: 'lucia' });
  const long = `¿Tienen ${'salidas '.repeat(40)}?`;
  await message(agency, newer.id, { content: 'Hola', createdAt: '2026-10-01T10:00:00Z' });
  const last = await message(agency, older.id, { content: long, createdAt: '2026-10-01T11:00:00Z' });
  const shown = text(long.slice(0, 200), last.createdAt);
  const inbox = async (query = '') => (await get(`/conversations${query}`)).body.data;
  const none = { id: empty.id, lastMessage: null };
  expect(await inbox()).toMatchObject([{ id: newer.id, lastMessage: shown }, none]);
  expect(await inbox('?controlledBy=agent')).toEqual([]);
  expect(await inbox('?controlledBy=lucia')).toHaveLength(2);
  // A correction of one field is seen in the inbox.
  await patch(`/conversations/${older.id}/messages/${last.id}`, { content: 'Corregido' });
  const corrected = { id: newer.id, lastMessage: { ...shown, content: 'Corregido' } };
  expect((await inbox())[0]).toMatchObject(corrected);
  expect((await get(`/conversations/${older.id}`)).body.lastMessage.content).toBe('Corregido');
});

test('of messages with one timestamp in two threads of a chain, the one that arrived last is the newest in inbox and transcript', async () => {
  const agency = await service.agency();
  for (const isOlderLast of [true, false]) {
    const older = await conversation(agency, {});
    const newer = await conversation(agency, { rotatedFrom: older.id });
    const [first, last] = isOlderLast ? [newer, older] : [older, newer];
    // The later it arrived, the smaller is its id.
    const ids = [1, 2, 3, 4].map(() => randomUUID()).sort();
    for (const [index, { id }] of [first, last, first, last].entries())
      await message(agency, id, { content: `${index}`, createdAt: '2026-10-01T10:00:00Z' }, ids.pop());
    const { data } = (await agency.get(`/v1/conversations/${older.id}/messages`)).body;
    expect(data.map(({ content }: { content: string }) => content)).toEqual(['0', '1', '2', '3']);
    const page = await agency.get(`/v1/conversations/${older.id}/messages?limit=1`);
    expect(page.body.data).toMatchObject([{ content: '3' }]);
    const { body } = await dashboard.of(agency).get(`/conversations/${newer.id}`);
    expect(body.lastMessage.content).toBe('3');
  }
});

/** The time of the database, after all writes before. */
async function timeNow(): Promise<string> {
  const text = `select to_json(clock_timestamp()) #>> '{}' as now from pg_sleep(0.002)`;
  const [row] = await service.query<{ now: string }>(text);
  return String(row?.now);
}

test('updatedSince sees a chain when an older thread changes, gets a customer by its contact or a merge, or a delivery is reported', async () => {
  const agency = await service.agency();
  const { patch, post } = dashboard.of(agency);
  const older = await conversation(agency, { contact: NUMBER });
  await message(agency, older.id, { delivery: { providerMessageId: 'wamid.2' } });
  const newer = await conversation(agency, { channel: 'web', contact: 'visitor', rotatedFrom: older.id });
  const contacts = [contact('whatsapp', NUMBER)];
  let ana = '';
  for (const [change, isSeen] of [
    [() => patch(`/conversations/${older.id}`, { language: 'en' }), true],
    [() => agency.post('/v1/customers', { contacts }), true],
    [async () => post(`/customers/${(await customer(agency)).id}/merge`, { from: ana }), true],
    [() => patch('/deliveries/wamid.2', { status: 'read' }), true],
    [() => patch('/deliveries/wamid.2', { status: 'read' }), false],
  ] as const) {
    const now = await timeNow();
    const { status, body } = await change();
    expect(status).toBeLessThan(300);
    ana ||= body.contacts ? body.id : '';
    const found = await agency.get(`/v1/conversations?updatedSince=${encodeURIComponent(now)}`);
    expect(idsOf(found)).toEqual(isSeen ? [newer.id] : []);
  }
});

test('updatedSince sees a chain when an older thread changes while another thread continues the chain', async () => {
  const agency = await service.agency();
  const chat = { channel: 'web', contact: 'visitor' };
  const first = await conversation(agency, chat);
  const older = await conversation(agency, { ...chat, rotatedFrom: first.id });
  const newest = await conversation(agency, { ...chat, rotatedFrom: older.id });
  const id = newId();
  const since = await overlap(
    service,
    agency,
    (scope) => putConversation(scope, id, { ...chat, rotatedFrom: newest.id }),
    async (scope) => {
      const now = await timeNow();
      await updateConversation(scope, older.id, { language: 'pt' });
      return now;
    },
  );
  const found = await agency.get(`/v1/conversations?updatedSince=${encodeURIComponent(since)}`);
  expect(idsOf(found)).toEqual([id]);
});

/** Each status is further than those before it. */
const FURTHER = ['queued', 'sent', 'delivered', 'read', 'played', 'failed', 'unheard', 'warned'];

test('a delivery is reported by the id of the provider: the latest counts, of one second the further status, in whatever order they arrive and several at once', async () => {
  const agency = await service.agency();
  const { patch, get } = dashboard.of(agency);
  const chat = await conversation(agency);
  const sent = await message(agency, chat.id, {
    delivery: { providerMessageId: 'wamid.1', templateName: 'x' },
  });
  const at = (second: number) => `2026-10-01T10:00:0${second}.000Z`;
  const report = (status: string, statusAt?: string) => patch('/deliveries/wamid.1', { status, statusAt });
  const reset = () =>
    patch(`/conversations/${chat.id}/messages/${sent.id}`, { delivery: { status: null, statusAt: null } });
  expect((await report('read', at(2))).body).toMatchObject({ id: sent.id, delivery: { templateName: 'x' } });
  expect((await get(`/conversations/${chat.id}/messages`)).body.data[0].delivery.status).toBe('read');
  for (const [index, one] of FURTHER.entries())
    for (const [place, other] of FURTHER.entries()) {
      await reset();
      await report(one, at(1));
      const { delivery } = (await report(other, at(1))).body;
      expect(delivery).toMatchObject({ status: FURTHER[Math.max(index, place)], statusAt: at(1) });
    }
  // A later one counts, whatever it says; one without a timestamp comes before those with one.
  await report('sent', at(2));
  for (const earlier of [await report('failed', at(1)), await report('failed')])
    expect(earlier.body.delivery).toMatchObject({ status: 'sent', statusAt: at(2) });
  const reports = await Promise.all(FURTHER.map((status, second) => report(status, at(second))));
  expect(reports.map(({ status }) => status)).toEqual(FURTHER.map(() => 200));
  expect((await patch('/deliveries/wamid.1', {})).body.delivery.status).toBe('warned');
  // The first report without a timestamp has that of its arrival.
  await reset();
  for (const status of ['delivered', 'read', 'sent']) await report(status);
  expect((await patch('/deliveries/wamid.1', {})).body.delivery.status).toBe('read');
  // Of two messages with this id and one timestamp, the response has the one that arrived last.
  const again = { createdAt: sent.createdAt, delivery: { providerMessageId: 'wamid.1' } };
  const { id } = await message(agency, chat.id, again, 'ffffffff-0000-4000-8000-000000000001');
  expect((await patch('/deliveries/wamid.1', {})).body.id).toBe(id);
});

test('a WhatsApp contact that belongs to nobody is named in the response, a group, newsletter or broadcast is not', async () => {
  const { put, patch } = dashboard.of(await service.agency());
  const ignored = { headers: { 'x-ignored-parameters': 'body.contact' } };
  const path = `/conversations/${randomUUID()}`;
  for (const contact of ['visitor', '12', 'ana@example.com']) {
    expect(await put(path, { ...CHAT, contact })).toMatchObject(ignored);
    expect(await patch(path, { contact })).toMatchObject(ignored);
    await patch(path, { channel: 'web' });
    expect(await patch(path, { channel: 'whatsapp' })).toMatchObject(ignored);
  }
  const group = '120363025246125486@g.us';
  const taken = [group, '120363025246125486@newsletter', 'status@broadcast', NUMBER];
  const chats = [...taken.map((contact) => ({ ...CHAT, contact })), { channel: 'web', contact: 'visitor' }];
  for (const chat of chats) {
    const { status, headers } = await put(`/conversations/${randomUUID()}`, chat);
    expect([status, headers['x-ignored-parameters']], chat.contact).toEqual([201, undefined]);
  }
});

test('a new thread has the name, state and customer of the one before it; an archived one only if nobody active has the contact', async () => {
  const agency = await service.agency();
  const contacts = [contact('whatsapp', NUMBER)];
  const next = (rotatedFrom: string, more: object = {}) =>
    conversation(agency, { ...CHAT, rotatedFrom, ...more });
  const [old, friend] = [await customer(agency, { contacts }), await customer(agency)];
  const own = { contactName: 'Ana', activityState: 'open', controlledBy: 'agent', language: 'es' };
  const first = await conversation(agency, { ...CHAT, ...own, customerId: old.id });
  await agency.delete(`/v1/customers/${old.id}`);
  const second = await next(first.id);
  expect(second).toMatchObject({ ...own, customerId: old.id });
  const active = await customer(agency, { contacts });
  const third = await next(second.id);
  expect(third.customerId).toBe(active.id);
  const fourth = await next(third.id, { customerId: friend.id });
  const fifth = await next(fourth.id);
  expect(fifth.customerId).toBe(friend.id);
  // Only when it is created: who takes the customer away keeps it away.
  for (const change of [{ customerId: null }, { contact: '+525587654321' }]) {
    const { body } = await dashboard.of(agency).patch(`/conversations/${fifth.id}`, change);
    expect(body.customerId).toBeNull();
  }
});

// On a cluster, the last part of the statement sees the written row.
test.skipIf(inject('workerUrls').length > 0)(
  'a PUT that waits for nobody is one statement, whatever it names',
  async () => {
    const agency = await service.agency();
    const { id: customerId } = await customer(agency, { contacts: [web('ana')] });
    const [{ id: stageId }, { id: sellerMemberId }] = [await stage(agency), await member(agency)];
    const { scope, ran } = interrupted(agency.scope, 'none', () => Promise.resolve());
    const caller = { ...agency, scope };
    await conversation(caller, { channel: 'web', contact: 'ana', contactName: 'Ana' });
    const { id: opportunityId } = await opportunity(caller, { customerId, stageId, sellerMemberId });
    await quote(caller, { opportunityId });
    expect(ran).toEqual(['conversations.put', 'opportunities.put', 'quotes.put']);
  },
);
