import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { conversation } from './support/records.ts';
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

const refusedRotation = ({ status, body }: { status: number; body: { error?: object } }) =>
  expect([status, body.error]).toMatchObject([
    400,
    { code: 'VALIDATION_FAILED', details: [{ path: 'body.rotatedFrom' }] },
  ]);

describe('rotatedFrom', () => {
  test("refuses a fork, a circle, itself, nobody and another organization's thread, changing nothing", async () => {
    const [{ agency, ids, call, put }, theirs] = [await threads(4), await threads(1)];
    const [a, b, c, d] = ids;
    await put(a);
    await put(b, a);
    await put(c, b);
    await theirs.put(theirs.ids[0]);
    const before = [await dashboard.stored(agency), await dashboard.stored(theirs.agency)];
    for (const [id, rotatedFrom] of [
      [d, a],
      [a, c],
      [a, b],
      [a, a],
      [d, d],
      [d, randomUUID()],
      [d, theirs.ids[0]],
    ]) {
      refusedRotation(await put(id, rotatedFrom));
      const body = { channel: 'web', contact: 'ana', contactName: 'Ana', rotatedFrom };
      refusedRotation(await call.put(`/conversations/${id}`, body));
    }
    expect([await dashboard.stored(agency), await dashboard.stored(theirs.agency)]).toEqual(before);
  });

  test('moves a thread with all that continue it to the end of another chain; left out, it begins its own', async () => {
    const { agency, ids, put } = await threads(5);
    const [a, b, c, d, e] = ids;
    for (const [id, rotatedFrom] of [[a], [b, a], [c, b], [d], [e, d]]) await put(id, rotatedFrom);
    expect((await put(b, e)).status).toBe(200);
    expect(await chainsOf(agency)).toEqual([[a], [d, e, b, c]]);
    expect((await put(b)).status).toBe(200);
    expect(await chainsOf(agency)).toEqual([[a], [b, c], [d, e]]);
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

const text = (content: string, createdAt?: string) => ({
  content,
  direction: 'inbound',
  messageType: 'text',
  ...(createdAt !== undefined && { createdAt }),
});

test('a change of channel that races with a first message leaves every message in the store of its channel', async () => {
  const { agency, ids, call } = await threads(20);
  await Promise.all(
    ids.map((id) => call.put(`/conversations/${id}`, { channel: 'whatsapp', contact: 'ana' })),
  );
  await Promise.all(
    ids.flatMap((id) => [
      call.put(`/conversations/${id}/messages/${randomUUID()}`, text('Hola')),
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

/** `count` messages, a second apart. */
const batch = (count: number, from = Date.parse('2026-11-21T10:00:00Z')) =>
  Array.from({ length: count }, (_, index) => ({
    id: randomUUID(),
    ...text(`message ${index}`, new Date(from + index * 1_000).toISOString()),
  }));

test('a transcript joins rotated threads over both stores: the newest of all, oldest first, by the id of any', async () => {
  const agency = await service.agency();
  const ids: string[] = [];
  for (const channel of ['whatsapp', 'instagram', 'whatsapp', 'web'])
    ids.push((await conversation(agency, { channel, rotatedFrom: ids.at(-1) ?? null })).id);
  const data = batch(55);
  for (const [place, id] of ids.entries())
    await dashboard
      .of(agency)
      .post(`/conversations/${id}/messages`, { data: data.filter((_, index) => index % 4 === place) });
  for (const id of ids)
    for (const [query, count] of [
      ['', 50],
      ['?limit=4', 4],
    ] as const) {
      const { body } = await agency.get(`/v1/conversations/${id}/messages${query}`);
      expect(body.data.map((message: { id: string }) => message.id)).toEqual(
        data.slice(-count).map((message) => message.id),
      );
      expect(body.data[0].conversationId).toBe(ids[(55 - count) % 4]);
      expect(body.total).toBe(55);
    }
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
    const state = async () => {
      const [row] = await service.query<{ message_count: number; last_message_at: Date | null }>(
        'select message_count, last_message_at from conversations where organization_id = $1 and id = $2',
        [agency.id, id],
      );
      return { count: row?.message_count, last: row?.last_message_at?.toISOString() ?? null };
    };
    return { agency, call, state, path: `/conversations/${id}/messages` };
  }

  test('keep what is said of their delivery, without a moment are of now, and change nothing when sent again', async () => {
    const { agency, call, path, state } = await conversation();
    const message = `${path}/${randomUUID()}`;
    const [{ now } = { now: new Date() }] = await service.query<{ now: Date }>('select now()');
    const sent = { ...text('Hola'), senderName: 'Ana', delivery };
    const created = await call.put(message, sent);
    expect(created.status).toBe(201);
    expect(Date.parse(created.body.createdAt)).toBeGreaterThanOrEqual(now.getTime());
    const row = async () =>
      (await service.query(`select * from ${table} where organization_id = $1`, [agency.id]))[0];
    expect(await row()).toMatchObject(kept);
    const before = await dashboard.stored(agency);
    const again = await call.put(message, sent);
    expect([again.status, again.body]).toEqual([200, created.body]);
    expect(await dashboard.stored(agency)).toEqual(before);
    expect(await state()).toEqual({ count: 1, last: created.body.createdAt });
    const replaced = await call.put(message, text('Buenas'));
    expect(replaced.body).toEqual({ ...created.body, content: 'Buenas', senderName: null });
    const cleared = Object.fromEntries(Object.keys(kept).map((column) => [column, null]));
    expect(await row()).toMatchObject({ ...cleared, content: 'Buenas' });
  });

  test('are imported 500 at once, all or none; the same import again changes nothing', async () => {
    const { agency, call, path, state } = await conversation();
    const data = batch(500);
    expect((await call.post(path, { data: [...data.slice(1), { ...data[0], content: null }] })).status).toBe(
      400,
    );
    expect(await state()).toEqual({ count: 0, last: null });
    expect((await call.post(path, { data })).body).toEqual({ inserted: 500, updated: 0 });
    expect(await state()).toEqual({ count: 500, last: data[499]?.createdAt });
    const stored = await dashboard.stored(agency);
    expect((await call.post(path, { data })).body).toEqual({ inserted: 0, updated: 500 });
    expect(await dashboard.stored(agency)).toEqual(stored);
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
