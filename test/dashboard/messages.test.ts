import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { useDashboard } from './dashboard.ts';

const { service, dashboard } = useDashboard();

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
