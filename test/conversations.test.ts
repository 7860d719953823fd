import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { findDrift } from './support/drift.ts';

/** Races of threads and messages. What follows from one write after another is the model's. */

const { service, dashboard } = useDashboard();

const text = (content: string, createdAt?: string) => ({
  content,
  direction: 'inbound',
  messageType: 'text',
  ...(createdAt !== undefined && { createdAt }),
});

test('a conversation and its transcript as the dashboard writes them and an integration reads them', async () => {
  const agency = await service.agency();
  const other = await service.agency();
  const { put } = dashboard.of(agency);
  const id = randomUUID();
  const write = (thread: string, content: string, createdAt: string) =>
    put(`/conversations/${thread}/messages/${randomUUID()}`, {
      ...text(content, createdAt),
      senderName: 'Ana',
    });

  const written = await put(`/conversations/${id}`, {
    channel: 'whatsapp',
    contact: '+5215512345678',
    contactName: 'Ana',
    activityState: 'waiting_for_agency',
  });
  expect(written.status).toBe(201);
  await write(id, '¿Tienen lugar en Oaxaca?', '2026-11-20T10:00:00Z');
  const conversation = {
    id,
    channel: 'whatsapp',
    contact: '+5215512345678',
    contactName: 'Ana',
    customerId: null,
    customerName: null,
    activityState: 'waiting_for_agency',
    controlledBy: null,
    language: null,
    lastMessageAt: '2026-11-20T10:00:00.000Z',
    createdAt: expect.any(String),
  };
  expect((await agency.get('/v1/conversations')).body).toEqual({
    data: [conversation],
    pagination: { limit: 25, offset: 0, total: 1 },
  });

  // A thread that continues another one: the list shows the newest, and the transcript joins both.
  const next = randomUUID();
  await put(`/conversations/${next}`, { channel: 'whatsapp', contact: '+5215512345678', rotatedFrom: id });
  await write(next, 'Sí, del 1 al 3', '2026-11-21T09:00:00Z');
  const { body: page } = await agency.get('/v1/conversations');
  expect(page).toMatchObject({
    data: [{ id: next, lastMessageAt: '2026-11-21T09:00:00.000Z' }],
    pagination: { total: 1 },
  });
  const message = { id: expect.any(String), direction: 'inbound', messageType: 'text', senderName: 'Ana' };
  const transcript = {
    data: [
      {
        ...message,
        conversationId: id,
        content: '¿Tienen lugar en Oaxaca?',
        createdAt: '2026-11-20T10:00:00.000Z',
      },
      { ...message, conversationId: next, content: 'Sí, del 1 al 3', createdAt: '2026-11-21T09:00:00.000Z' },
    ],
    total: 2,
  };
  for (const thread of [id, next])
    expect((await agency.get(`/v1/conversations/${thread}/messages`)).body).toEqual(transcript);
  expect((await agency.get(`/v1/conversations/${id}/messages?limit=1`)).body).toEqual({
    data: [transcript.data[1]],
    total: 2,
  });

  await put(`/conversations/${randomUUID()}`, { channel: 'instagram', contact: '@luis' });
  for (const filter of ['channel=whatsapp', 'query=ana'])
    expect((await agency.get(`/v1/conversations?${filter}`)).body, filter).toEqual({
      ...page,
      pagination: expect.objectContaining({ total: 1 }),
    });

  // Another organization sees nothing of it.
  expect((await other.get('/v1/conversations')).body.pagination.total).toBe(0);
  expect(await other.get(`/v1/conversations/${id}/messages`)).toMatchObject({
    status: 404,
    body: { error: { code: 'CONVERSATION_NOT_FOUND' } },
  });
});

async function threads(count: number) {
  const agency = await service.agency();
  const ids = Array.from({ length: count }, () => randomUUID()).sort();
  const call = dashboard.of(agency);
  const put = (id: string, more: object = {}) =>
    call.put(`/conversations/${id}`, { channel: 'whatsapp', contact: '+5215512345678', ...more });
  const say = (id: string, message: string = randomUUID(), createdAt?: string) =>
    call.put(`/conversations/${id}/messages/${message}`, text('Hola', createdAt));
  await Promise.all(ids.map((id) => put(id)));
  return { agency, ids, put, say };
}

/** Threads that stand outside of every chain, or say of their chain or messages what is not so. A fork makes the query fail. */
const NOT_TRUE = `
  with recursive chain as (
    select id, id as root from conversations where organization_id = $1 and rotated_from is null
    union all select c.id, root from conversations c join chain on c.organization_id = $1 and c.rotated_from = chain.id)
  select c.id from conversations c left join chain on chain.id = c.id where c.organization_id = $1 and (
    root is distinct from c.chain_id
    or c.continued_by is distinct from (
      select id from conversations next where next.organization_id = $1 and next.rotated_from = c.id)
    or c.message_count <> (
      select count(*) from whatsapp_messages m where m.organization_id = $1 and m.conversation_id = c.id)
    or c.last_message_at is distinct from (
      select max(m.created_at) from whatsapp_messages m join chain other on other.id = m.conversation_id
      where m.organization_id = $1 and other.root = chain.root and (c.continued_by is null or other.id = c.id)))`;

test('chains stay lines however many requests link, unlink and write at once', async () => {
  const { agency, ids, put, say } = await threads(8);
  // Every thread to every other, in an order that mixes them, with messages in between.
  const pairs = ids.flatMap((to, x) => ids.map((from, y) => ({ to, from, order: (x * 5 + y * 3) % 7 })));
  const mixed = pairs.sort((one, other) => one.order - other.order);
  // The second message of a thread is corrected again and again, to earlier and later timestamps.
  const write = ({ to, from, order }: (typeof pairs)[number]) => [
    put(to, { rotatedFrom: order === 3 ? null : from }),
    say(to, randomUUID(), '2023-06-01T00:00:00Z'),
    say(to, to, `202${order}-01-01T00:00:00Z`),
  ];
  // As many at once as wait for their turn within the timeout.
  const answers = [];
  for (let start = 0; start < mixed.length; start += 20)
    answers.push(...(await Promise.all(mixed.slice(start, start + 20).flatMap(write))));
  expect([...new Set(answers.map(({ status }) => status))].sort()).toEqual([200, 201, 400]);
  expect(await service.query(NOT_TRUE, [agency.id])).toEqual([]);
  expect(await findDrift(service, agency)).toEqual([]);
});

test('a change of channel that races with a first message leaves every message in the store of its channel', async () => {
  const { agency, ids, put, say } = await threads(20);
  await Promise.all(ids.flatMap((id) => [say(id), put(id, { channel: 'web' })]));
  const misplaced = await service.query(
    `select c.id from conversations c
      left join whatsapp_messages w on w.organization_id = c.organization_id and w.conversation_id = c.id
      left join channel_messages o on o.organization_id = c.organization_id and o.conversation_id = c.id
     where c.organization_id = $1 and ((c.channel = 'whatsapp') <> (w.id is not null) or (c.channel = 'web') <> (o.id is not null))`,
    [agency.id],
  );
  expect(misplaced).toEqual([]);
});

/** `count` messages, a second apart. */
const batch = (count: number, from = Date.parse('2026-11-21T10:00:00Z')) =>
  Array.from({ length: count }, (_, index) => ({
    id: randomUUID(),
    ...text(`message ${index}`, new Date(from + index * 1_000).toISOString()),
  }));

const STORES = [
  {
    channel: 'whatsapp',
    table: 'whatsapp_messages',
    delivery: {
      providerMessageId: 'wamid.1',
      status: 'read',
      statusAt: '2026-11-21T10:00:01.000Z',
      templateName: 'welcome',
    },
    kept: {
      provider_message_id: 'wamid.1',
      delivery_status: 'read',
      delivery_status_at: new Date('2026-11-21T10:00:01.000Z'),
      template_name: 'welcome',
    },
  },
  {
    channel: 'email',
    table: 'channel_messages',
    delivery: { providerName: 'postal', externalId: 'x-1', subject: 'Cotización' },
    kept: { provider_name: 'postal', external_id: 'x-1', subject: 'Cotización' },
  },
];

describe.each(STORES)('messages of $channel', ({ channel, table, delivery, kept }) => {
  async function conversation() {
    const agency = await service.agency();
    const id = randomUUID();
    const call = dashboard.of(agency);
    await call.put(`/conversations/${id}`, { channel, contact: 'ana' });
    return { agency, call, path: `/conversations/${id}` };
  }

  test('keep their delivery report, get the current time if they have none, and change nothing when sent again', async () => {
    const { agency, call, path } = await conversation();
    const message = `${path}/messages/${randomUUID()}`;
    const [{ now } = { now: new Date() }] = await service.query<{ now: Date }>('select now()');
    const sent = { ...text('Hola'), delivery };
    const created = await call.put(message, sent);
    expect(Date.parse(created.body.createdAt)).toBeGreaterThanOrEqual(now.getTime());
    const rows = () => service.query(`select * from ${table} where organization_id = $1`, [agency.id]);
    expect(await rows()).toMatchObject([kept]);
    const before = await dashboard.stored(agency);
    expect((await call.put(message, sent)).body).toEqual(created.body);
    expect(await dashboard.stored(agency)).toEqual(before);
    await call.put(message, text('Buenas'));
    expect(await rows()).toMatchObject([
      Object.fromEntries(Object.keys(kept).map((column) => [column, null])),
    ]);
  });

  test('that 20 simultaneous imports share are counted once each', async () => {
    const { agency, call, path } = await conversation();
    const data = batch(100);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        call.post(`${path}/messages`, { data: data.slice(index * 4, index * 4 + 24) }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    const sum = (counted: 'inserted' | 'updated') =>
      answers.reduce((count, { body }) => count + body[counted], 0);
    expect([sum('inserted'), sum('updated')]).toEqual([100, 20 * 24 - 100]);
    const counts = 'select message_count as count, last_message_at as last from conversations';
    expect(await service.query(`${counts} where organization_id = $1`, [agency.id])).toEqual([
      { count: 100, last: new Date(String(data[99]?.createdAt)) },
    ]);
  });
});

test('a message is at most a day ahead', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const path = `/conversations/${randomUUID()}`;
  await call.put(path, { channel: 'whatsapp', contact: '+5215512345678' });
  const ahead = new Date(Date.now() + 25 * 3_600_000).toISOString();
  const { body } = await call.post(`${path}/messages`, {
    data: [{ ...text('Hola', ahead), id: randomUUID() }],
  });
  expect(body.error.details).toEqual([
    { path: 'body.data[0].createdAt', message: 'must be at most 24 hours in the future' },
  ]);
});

test('an import has each message once, whatever the case of its id', async () => {
  const agency = await service.agency();
  const id = randomUUID();
  const call = dashboard.of(agency);
  await call.put(`/conversations/${id}`, { channel: 'web', contact: 'ana' });
  const [one] = batch(1);
  const data = [one, { ...one, id: one?.id.toUpperCase() }];
  const { status, body } = await call.post(`/conversations/${id}/messages`, { data });
  expect([status, body.error.details]).toEqual([
    400,
    [{ path: 'body.data[1].id', message: 'is the same message as data[0]' }],
  ]);
});
