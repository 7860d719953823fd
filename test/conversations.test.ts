import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { conversation, customer, message } from './support/records.ts';
import type { Agency } from './support/service.ts';

const { service, dashboard } = useDashboard();

type Thread = {
  id: string;
  rotated_from: string | null;
  continued_by: string | null;
  chain_id: string;
};

const threadsOf = (agency: Agency): Promise<Thread[]> =>
  service.query<Thread>(
    'select id, rotated_from, continued_by, chain_id from conversations where organization_id = $1 order by id',
    [agency.id],
  );

/** The chains as their threads, oldest first; fails on a fork, a circle or a label that is not true. */
async function chainsOf(agency: Agency): Promise<string[][]> {
  const threads = await threadsOf(agency);
  const byId = new Map(threads.map((thread) => [thread.id, thread]));
  const seen = new Set<string>();
  const chains = threads
    .filter(({ rotated_from }) => rotated_from === null)
    .map((first) => {
      const chain: string[] = [];
      for (let thread: Thread | undefined = first; thread; thread = byId.get(thread.continued_by ?? '')) {
        expect(seen.has(thread.id), 'a thread is in one place only').toBe(false);
        expect(thread.chain_id).toBe(first.id);
        expect(thread.rotated_from).toBe(chain.at(-1) ?? null);
        seen.add(thread.id);
        chain.push(thread.id);
      }
      return chain;
    });
  expect(seen.size, 'no thread is outside of every chain').toBe(threads.length);
  const undated = await service.query(
    `select id from conversations c where organization_id = $1 and continued_by is null
      and last_message_at is distinct from (
        select max(m.created_at) from whatsapp_messages m join conversations t
          on t.organization_id = m.organization_id and t.id = m.conversation_id
        where m.organization_id = c.organization_id and t.chain_id = c.chain_id)`,
    [agency.id],
  );
  expect(undated, 'the newest thread of a chain has the moment of its latest message').toEqual([]);
  const { body } = await agency.get('/v1/conversations?limit=100');
  expect(body.pagination.total).toBe(chains.length);
  expect(body.data.map(({ id }: { id: string }) => id).sort()).toEqual(
    chains.map((chain) => chain.at(-1)).sort(),
  );
  return chains;
}

async function threads(count: number) {
  const agency = await service.agency();
  const ids = Array.from({ length: count }, () => randomUUID()).sort();
  const call = dashboard.of(agency);
  const put = (id: string | undefined, rotatedFrom?: string | null) =>
    call.put(`/conversations/${id}`, { channel: 'whatsapp', contact: '+5215512345678', rotatedFrom });
  return { agency, ids, call, put };
}

const refusedRotation = (answer: { status: number; body: { error?: object } }) => {
  expect(answer.status).toBe(400);
  expect(answer.body.error).toMatchObject({
    code: 'VALIDATION_FAILED',
    details: [{ path: 'body.rotatedFrom', message: expect.any(String) }],
  });
};

describe('rotatedFrom', () => {
  test('joins threads to one chain, which /v1 lists as its newest thread and reads as one transcript', async () => {
    const { agency, ids, call, put } = await threads(3);
    const [a, b, c] = ids;
    await put(a);
    expect((await put(b, a)).status).toBe(201);
    expect((await put(c, b)).status).toBe(201);
    expect(await chainsOf(agency)).toEqual([[a, b, c]]);
    for (const [index, id] of ids.entries()) {
      await call.put(`/conversations/${id}/messages/${randomUUID()}`, {
        content: `message ${index}`,
        direction: 'inbound',
        messageType: 'text',
        createdAt: `2026-11-21T10:00:0${index}.000Z`,
      });
    }
    for (const id of ids) {
      const { body } = await agency.get(`/v1/conversations/${id}/messages`);
      expect(body.total).toBe(3);
      expect(body.data.map((message: { conversationId: string }) => message.conversationId)).toEqual(ids);
    }
  });

  test('refuses a fork, a circle, itself and a thread that is not there, changing nothing', async () => {
    const { agency, ids, put } = await threads(4);
    const [a, b, c, d] = ids;
    await put(a);
    await put(b, a);
    await put(c, b);
    const before = await dashboard.stored(agency);
    refusedRotation(await put(d, a));
    refusedRotation(await put(a, c));
    refusedRotation(await put(a, b));
    refusedRotation(await put(a, a));
    refusedRotation(await put(d, d));
    refusedRotation(await put(d, randomUUID()));
    expect(await dashboard.stored(agency)).toEqual(before);
  });

  test("refuses another organization's thread, which stays as it was", async () => {
    const ours = await threads(1);
    const theirs = await threads(1);
    await theirs.put(theirs.ids[0]);
    const before = await dashboard.stored(theirs.agency);
    refusedRotation(await ours.put(ours.ids[0], theirs.ids[0]));
    expect(await dashboard.stored(theirs.agency)).toEqual(before);
    expect(await threadsOf(ours.agency)).toEqual([]);
  });

  test('moves a thread with all that continue it to the end of another chain', async () => {
    const { agency, ids, put } = await threads(5);
    const [a, b, c, d, e] = ids;
    await put(a);
    await put(b, a);
    await put(c, b);
    await put(d);
    await put(e, d);
    expect(await chainsOf(agency)).toEqual([
      [a, b, c],
      [d, e],
    ]);
    expect((await put(b, e)).status).toBe(200);
    expect(await chainsOf(agency)).toEqual([[a], [d, e, b, c]]);
  });

  test('left out, lets a thread begin a chain of its own with all that continue it', async () => {
    const { agency, ids, put } = await threads(3);
    const [a, b, c] = ids;
    await put(a);
    await put(b, a);
    await put(c, b);
    expect((await put(b)).status).toBe(200);
    expect(await chainsOf(agency)).toEqual([[a], [b, c]]);
    expect((await put(b, a)).status).toBe(200);
    expect(await chainsOf(agency)).toEqual([[a, b, c]]);
  });

  test('puts the other fields in the same request, all or none', async () => {
    const { agency, ids, call, put } = await threads(2);
    const [a, b] = ids;
    await put(a);
    await put(b);
    const body = { channel: 'whatsapp', contact: '+5215512345678', contactName: 'Ana' };
    refusedRotation(await call.put(`/conversations/${b}`, { ...body, rotatedFrom: randomUUID() }));
    const [untouched] = await service.query('select contact_name from conversations where id = $1', [b]);
    expect(untouched).toEqual({ contact_name: null });
    const linked = await call.put(`/conversations/${b}`, { ...body, rotatedFrom: a });
    expect(linked.body.contactName).toBe('Ana');
    expect(await chainsOf(agency)).toEqual([[a, b]]);
  });

  test('of 30 threads that continue one at the same moment exactly one does', async () => {
    const { agency, ids, put } = await threads(31);
    const [first, ...others] = ids;
    await put(first);
    const answers = await Promise.all(others.map((id) => put(id, first)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) refusedRotation(answer);
    expect(await chainsOf(agency)).toHaveLength(1);
  });

  test('two threads that continue each other at the same moment close no circle', async () => {
    const { agency, ids, put } = await threads(2);
    const [a, b] = ids;
    for (let round = 0; round < 10; round += 1) {
      await put(a);
      await put(b);
      const answers = await Promise.all([put(a, b), put(b, a)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
      expect(await chainsOf(agency)).toHaveLength(1);
    }
  });

  test('chains stay lines however many requests link, unlink and write at once', async () => {
    const { agency, ids, call, put } = await threads(8);
    const neighbour = await threads(2);
    await neighbour.put(neighbour.ids[0]);
    await neighbour.put(neighbour.ids[1], neighbour.ids[0]);
    const before = await dashboard.stored(neighbour.agency);
    await Promise.all(ids.map((id) => put(id)));
    // Every thread to every other, in an order that mixes them, with messages in between.
    const pairs = ids.flatMap((to, x) => ids.map((from, y) => ({ to, from, order: (x * 5 + y * 3) % 7 })));
    const mixed = pairs.sort((one, other) => one.order - other.order);
    const write = ({ to, from, order }: (typeof pairs)[number]) => [
      put(to, order === 3 ? null : from),
      call.put(`/conversations/${to}/messages/${randomUUID()}`, {
        content: 'Hola',
        direction: 'inbound',
        messageType: 'text',
      }),
    ];
    // As many at once as wait for their turn with patience.
    const answers = [];
    for (let start = 0; start < mixed.length; start += 30)
      answers.push(...(await Promise.all(mixed.slice(start, start + 30).flatMap(write))));
    expect([...new Set(answers.map(({ status }) => status))].sort()).toEqual([200, 201, 400]);
    await chainsOf(agency);
    const counts = await service.query(
      `select c.id from conversations c where organization_id = $1 and message_count <> (
        select count(*) from whatsapp_messages m where m.organization_id = c.organization_id and m.conversation_id = c.id)`,
      [agency.id],
    );
    expect(counts).toEqual([]);
    expect(await dashboard.stored(neighbour.agency)).toEqual(before);
  });
});

describe('channel', () => {
  const message = { content: 'Hola', direction: 'inbound', messageType: 'text' };

  test('changes freely while there are no messages, and among the channels of one store after', async () => {
    const { ids, call } = await threads(1);
    const put = (channel: string) => call.put(`/conversations/${ids[0]}`, { channel, contact: 'ana' });
    await put('whatsapp');
    expect((await put('instagram')).status).toBe(200);
    await call.put(`/conversations/${ids[0]}/messages/${randomUUID()}`, message);
    expect((await put('messenger')).body.channel).toBe('messenger');
  });

  test.each([
    ['whatsapp', 'instagram'],
    ['instagram', 'whatsapp'],
  ])('refuses to move messages from the store of %s to that of %s', async (from, to) => {
    const { agency, ids, call } = await threads(1);
    const put = (channel: string) => call.put(`/conversations/${ids[0]}`, { channel, contact: 'ana' });
    await put(from);
    await call.put(`/conversations/${ids[0]}/messages/${randomUUID()}`, message);
    const before = await dashboard.stored(agency);
    const { status, body } = await put(to);
    expect(status).toBe(400);
    expect(body.error.details).toEqual([{ path: 'body.channel', message: expect.any(String) }]);
    expect(await dashboard.stored(agency)).toEqual(before);
  });

  test('racing with a first message leaves every message in the store of its channel', async () => {
    const { agency, ids, call } = await threads(20);
    await Promise.all(
      ids.map((id) => call.put(`/conversations/${id}`, { channel: 'whatsapp', contact: 'ana' })),
    );
    await Promise.all(
      ids.flatMap((id) => [
        call.put(`/conversations/${id}/messages/${randomUUID()}`, message),
        call.put(`/conversations/${id}`, { channel: 'web', contact: 'ana' }),
      ]),
    );
    const misplaced = await service.query(
      `select c.id from conversations c
        left join whatsapp_messages w on w.organization_id = c.organization_id and w.conversation_id = c.id
        left join channel_messages o on o.organization_id = c.organization_id and o.conversation_id = c.id
       where c.organization_id = $1 and ((c.channel = 'whatsapp') <> (w.id is not null) or (c.channel = 'web') <> (o.id is not null))`,
      [agency.id],
    );
    expect(misplaced).toEqual([]);
  });
});

const CONVERSATIONS = '/v1/conversations';

const contents = (body: { data: { content: string }[] }): string[] => body.data.map(({ content }) => content);
const transcript = (agency: Agency, id: string, query = '') =>
  agency.get(`${CONVERSATIONS}/${id}/messages${query}`);

/** The moment, that many minutes into the day. */
const minute = (count: number): string => new Date(Date.UTC(2026, 10, 1, 0, count)).toISOString();

/** A chain of rotated threads, oldest first, on the channels given. */
async function chain(agency: Agency, channels: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const channel of channels) {
    ids.push((await conversation(agency, { channel, rotatedFrom: ids.at(-1) ?? null })).id);
  }
  return ids;
}

describe('listConversations', () => {
  describe('a chain of rotated threads', () => {
    const link = (agency: Agency, id: string, rotatedFrom: string | null) =>
      conversation(agency, { rotatedFrom }, id);
    const listed = async (agency: Agency, query = '') => {
      const { body } = await agency.get(CONVERSATIONS + query);
      expect(body.pagination.total).toBe(body.data.length);
      return body.data.map(({ id, lastMessageAt }: { id: string; lastMessageAt: string }) => [
        id,
        lastMessageAt,
      ]);
    };

    test('keeps its place, most recent message first, when it is rotated', async () => {
      const agency = await service.agency();
      const [busy, other] = [await conversation(agency), await conversation(agency)];
      await message(agency, other.id, { createdAt: minute(1) });
      await message(agency, busy.id, { createdAt: minute(2) });
      const next = await conversation(agency, { rotatedFrom: busy.id });
      expect(next.lastMessageAt).toBe(minute(2));
      expect(await listed(agency)).toEqual([
        [next.id, minute(2)],
        [other.id, minute(1)],
      ]);
    });

    test('moves to the front by a message in any of its threads, and never back', async () => {
      const agency = await service.agency();
      const [first = '', second = '', newest = ''] = await chain(agency, ['whatsapp', 'web', 'whatsapp']);
      const other = await conversation(agency);
      await message(agency, other.id, { createdAt: minute(5) });
      for (const [index, id] of [first, second, newest].entries()) {
        await message(agency, id, { createdAt: minute(6 + index) });
        expect(await listed(agency)).toEqual([
          [newest, minute(6 + index)],
          [other.id, minute(5)],
        ]);
      }
      for (const id of [first, second, newest]) await message(agency, id, { createdAt: minute(1) });
      expect((await listed(agency))[0]).toEqual([newest, minute(8)]);
    });

    test('that is taken apart leaves each part with its own latest message', async () => {
      const agency = await service.agency();
      const [first = '', second = '', third = ''] = await chain(agency, ['whatsapp', 'web', 'whatsapp']);
      await message(agency, first, { createdAt: minute(9) });
      await message(agency, second, { createdAt: minute(3) });
      await conversation(agency, { channel: 'web', rotatedFrom: null }, second);
      expect(await listed(agency)).toEqual([
        [first, minute(9)],
        [third, minute(3)],
      ]);
      await link(agency, third, null);
      expect(await listed(agency)).toEqual([
        [first, minute(9)],
        [second, minute(3)],
        [third, null],
      ]);
      await link(agency, third, first);
      expect((await listed(agency))[0]).toEqual([third, minute(9)]);
    });

    test('is found by the customer, the contact and the name of any of its threads, once', async () => {
      const agency = await service.agency();
      const [ana, eva, nobody] = [await customer(agency), await customer(agency), await customer(agency)];
      const older = await conversation(agency, {
        customerId: ana.id,
        contact: '+5215511112222',
        contactName: 'Ana Peña',
      });
      const newest = await conversation(agency, {
        customerId: eva.id,
        contact: '+5215533334444',
        contactName: 'Eva',
        rotatedFrom: older.id,
      });
      await conversation(agency, { contact: 'otra' });
      for (const found of [`customerId=${ana.id}`, `customerId=${eva.id}`, 'query=ana%20pena', 'query=eva'])
        expect(await listed(agency, `?${found}`), found).toEqual([[newest.id, null]]);
      for (const number of ['11112222', '33334444'])
        expect(await listed(agency, `?query=${number}&customerId=${ana.id}`)).toEqual([[newest.id, null]]);
      expect(await listed(agency, `?customerId=${nobody.id}`)).toEqual([]);
      await conversation(agency, { contact: '+5215533334444', rotatedFrom: null }, newest.id);
      expect(await listed(agency, `?customerId=${ana.id}`)).toEqual([[older.id, null]]);
      expect(await listed(agency, '?query=11112222')).toEqual([[older.id, null]]);
    });
  });
});

describe('getConversationTranscript', () => {
  test('has fifty messages when no limit is asked for', async () => {
    const agency = await service.agency();
    const { id } = await conversation(agency);
    await Promise.all(
      Array.from({ length: 55 }, (_, index) =>
        message(agency, id, { content: `${index}`, createdAt: minute(index) }),
      ),
    );
    const { body } = await transcript(agency, id);
    expect(contents(body)).toEqual(Array.from({ length: 50 }, (_, index) => `${index + 5}`));
    expect(body.total).toBe(55);
  });

  test('messages of one moment keep one order, that of their ids', async () => {
    const agency = await service.agency();
    const { id } = await conversation(agency);
    for (const content of ['a', 'b', 'c', 'd']) await message(agency, id, { content, createdAt: minute(1) });
    expect(contents((await transcript(agency, id)).body)).toEqual(['a', 'b', 'c', 'd']);
    expect(contents((await transcript(agency, id, '?limit=2')).body)).toEqual(['c', 'd']);
  });

  test('joins rotated threads over both stores, by the id of any of them', async () => {
    const agency = await service.agency();
    const ids = await chain(agency, ['whatsapp', 'instagram', 'whatsapp', 'web']);
    const order = [0, 1, 3, 2, 0, 3, 1];
    const written: unknown[] = [];
    for (const [index, thread] of order.entries())
      written.push(
        await message(agency, ids[thread] ?? '', { content: `${index}`, createdAt: minute(index) }),
      );
    const [first, ...others] = await Promise.all(ids.map((id) => transcript(agency, id)));
    expect(first?.body).toEqual({ data: written, total: 7 });
    for (const { body } of others) expect(body).toEqual(first?.body);
    const stores = await service.query<{ name: string; count: string }>(
      `select 'whatsapp' as name, count(*) from whatsapp_messages where organization_id = $1
        union all select 'channel', count(*) from channel_messages where organization_id = $1`,
      [agency.id],
    );
    expect(stores).toEqual([
      { name: 'whatsapp', count: '3' },
      { name: 'channel', count: '4' },
    ]);
  });

  test('the limit is of the joined transcript, not of each thread', async () => {
    const agency = await service.agency();
    const ids = await chain(agency, ['whatsapp', 'whatsapp', 'web']);
    for (let index = 0; index < 9; index += 1) {
      await message(agency, ids[index % 3] ?? '', { content: `${index}`, createdAt: minute(index) });
    }
    const { body } = await transcript(agency, ids[1] ?? '', '?limit=4');
    expect(contents(body)).toEqual(['5', '6', '7', '8']);
    expect(body.total).toBe(9);
  });
});

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
    cleared: {
      provider_message_id: null,
      delivery_status: null,
      delivery_status_at: null,
      template_name: null,
    },
    misplaced: { subject: 'Cotización' },
  },
  {
    channel: 'email',
    table: 'channel_messages',
    delivery: { providerName: 'postal', externalId: 'x-1', subject: 'Cotización' },
    kept: { provider_name: 'postal', external_id: 'x-1', subject: 'Cotización' },
    cleared: { provider_name: null, external_id: null, subject: null },
    misplaced: { templateName: 'welcome' },
  },
];

const text = (content: string, createdAt?: string) => ({
  content,
  direction: 'inbound',
  messageType: 'text',
  ...(createdAt !== undefined && { createdAt }),
});

/** `count` messages, a second apart. */
const batch = (count: number, from = Date.parse('2026-11-21T10:00:00Z')) =>
  Array.from({ length: count }, (_, index) => ({
    id: randomUUID(),
    ...text(`message ${index}`, new Date(from + index * 1_000).toISOString()),
  }));

describe.each(STORES)('messages of $channel', ({ channel, table, delivery, kept, cleared, misplaced }) => {
  async function conversation() {
    const agency = await service.agency();
    const id = randomUUID();
    const call = dashboard.of(agency);
    await call.put(`/conversations/${id}`, { channel, contact: 'ana' });
    const state = async () => {
      const [row] = await service.query<{ message_count: number; last_message_at: Date | null }>(
        'select message_count, last_message_at from conversations where organization_id = $1 and id = $2',
        [agency.id, id],
      );
      return { count: row?.message_count, last: row?.last_message_at?.toISOString() ?? null };
    };
    return { agency, id, call, state, path: `/conversations/${id}/messages` };
  }

  test('PUT creates, replaces and, sent again, changes nothing', async () => {
    const { agency, id, call, path, state } = await conversation();
    const neighbour = await conversation();
    const untouched = await dashboard.stored(neighbour.agency);
    const message = randomUUID();
    const sent = {
      ...text('Hola', '2026-11-21T10:00:00.000Z'),
      senderName: 'Ana',
      delivery,
    };
    const created = await call.put(`${path}/${message}`, sent);
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      id: message,
      conversationId: id,
      content: 'Hola',
      createdAt: '2026-11-21T10:00:00.000Z',
      direction: 'inbound',
      messageType: 'text',
      senderName: 'Ana',
    });
    const [row] = await service.query(`select * from ${table} where id = $1`, [message]);
    expect(row).toMatchObject(kept);
    expect(await state()).toEqual({ count: 1, last: '2026-11-21T10:00:00.000Z' });

    const before = await dashboard.stored(agency);
    const again = await call.put(`${path}/${message}`, sent);
    expect(again.status).toBe(200);
    expect(again.body).toEqual(created.body);
    expect(await dashboard.stored(agency)).toEqual(before);

    const replaced = await call.put(`${path}/${message}`, text('Buenas'));
    expect(replaced.status).toBe(200);
    expect(replaced.body).toEqual({ ...created.body, content: 'Buenas', senderName: null });
    const [after] = await service.query(`select * from ${table} where id = $1`, [message]);
    expect(after).toMatchObject(cleared);
    expect(await state()).toEqual({ count: 1, last: '2026-11-21T10:00:00.000Z' });
    expect(await dashboard.stored(neighbour.agency)).toEqual(untouched);
  });

  test('move lastMessageAt forward and never back, and /v1 shows it', async () => {
    const { agency, id, call, path, state } = await conversation();
    await call.put(`${path}/${randomUUID()}`, text('newer', '2026-11-21T10:00:00.000Z'));
    await call.put(`${path}/${randomUUID()}`, text('older', '2026-11-20T10:00:00+02:00'));
    expect(await state()).toEqual({ count: 2, last: '2026-11-21T10:00:00.000Z' });
    const { body } = await agency.get('/v1/conversations');
    expect(body.data).toMatchObject([{ id, lastMessageAt: '2026-11-21T10:00:00.000Z' }]);
  });

  test('without a moment are of now, and keep that moment when they are sent again', async () => {
    const { call, path } = await conversation();
    const id = randomUUID();
    const [{ now: before } = { now: new Date(0) }] = await service.query<{ now: Date }>('select now()');
    const first = await call.put(`${path}/${id}`, text('Hola'));
    expect(Date.parse(first.body.createdAt)).toBeGreaterThanOrEqual(before.getTime());
    expect((await call.put(`${path}/${id}`, text('Hola'))).body).toEqual(first.body);
  });

  test('are imported 500 at once; the same import again changes nothing', async () => {
    const { agency, id, call, path, state } = await conversation();
    const data = batch(500);
    const first = await call.post(path, { data });
    expect(first).toMatchObject({ status: 200, body: { inserted: 500, updated: 0 } });
    expect(await state()).toEqual({ count: 500, last: data[499]?.createdAt });
    const stored = await dashboard.stored(agency);
    expect((await call.post(path, { data })).body).toEqual({ inserted: 0, updated: 500 });
    expect(await dashboard.stored(agency)).toEqual(stored);

    const mixed = [...data.slice(0, 3).map((message) => ({ ...message, content: 'edited' })), ...batch(2)];
    expect((await call.post(path, { data: mixed })).body).toEqual({ inserted: 2, updated: 3 });
    expect((await state()).count).toBe(502);
    const { body } = await agency.get(`/v1/conversations/${id}/messages?limit=200`);
    expect(body.total).toBe(502);
    expect(body.data).toHaveLength(200);
  });

  test('are imported all or none', async () => {
    const { agency, call, path } = await conversation();
    const before = await dashboard.stored(agency);
    const data = [...batch(3), { ...batch(1)[0], content: null }];
    expect((await call.post(path, { data })).status).toBe(400);
    const wrongStore = [...batch(3), { ...batch(1)[0], delivery: misplaced }];
    expect((await call.post(path, { data: wrongStore })).status).toBe(400);
    expect(await dashboard.stored(agency)).toEqual(before);
  });

  test('imported by 20 requests at once, with messages in common, are counted once each', async () => {
    const { call, path, state } = await conversation();
    const data = batch(100);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        call.post(path, { data: data.slice(index * 4, index * 4 + 24) }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    const inserted = answers.reduce((sum, { body }) => sum + body.inserted, 0);
    const updated = answers.reduce((sum, { body }) => sum + body.updated, 0);
    expect(inserted).toBe(100);
    expect(inserted + updated).toBe(20 * 24);
    expect(await state()).toEqual({ count: 100, last: data[99]?.createdAt });
  });

  test('of 50 simultaneous PUTs of one message exactly one creates it', async () => {
    const { call, path, state } = await conversation();
    const id = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        call.put(`${path}/${id}`, { ...text(`body ${index}`), senderName: `sender ${index}` }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(49).fill(200), 201]);
    expect((await state()).count).toBe(1);
    const [row] = await service.query<{ content: string; sender_name: string }>(
      `select content, sender_name from ${table} where id = $1`,
      [id],
    );
    expect(row?.sender_name).toBe(row?.content.replace('body', 'sender'));
  });

  test('refuse delivery fields that their store has no place for, naming each', async () => {
    const { agency, call, path } = await conversation();
    const before = await dashboard.stored(agency);
    const [field] = Object.keys(misplaced);
    const put = await call.put(`${path}/${randomUUID()}`, { ...text('Hola'), delivery: misplaced });
    expect(put.status).toBe(400);
    expect(put.body.error.details).toEqual([{ path: `body.delivery.${field}`, message: expect.any(String) }]);
    const [one, other] = batch(2);
    const imported = await call.post(path, { data: [one, { ...other, delivery: misplaced }] });
    expect(imported.body.error.details).toEqual([
      { path: `body.data[1].delivery.${field}`, message: expect.any(String) },
    ]);
    expect(await dashboard.stored(agency)).toEqual(before);
  });
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

test('a moment may have any offset', async () => {
  const agency = await service.agency();
  const path = `/conversations/${randomUUID()}`;
  const call = dashboard.of(agency);
  await call.put(path, { channel: 'web', contact: 'ana' });
  const sent = { ...text('Hola'), createdAt: '2026-11-21T23:30:00.1239+23:30' };
  const { body } = await call.put(`${path}/messages/${randomUUID()}`, sent);
  expect(body.createdAt).toBe('2026-11-21T00:00:00.123Z');
});
