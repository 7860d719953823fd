import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Agency } from '../support/service.ts';
import { useDashboard } from './dashboard.ts';

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
