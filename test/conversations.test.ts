import { describe, expect, test } from 'vitest';
import { conversation, customer, message } from './support/records.ts';
import { type Agency, useService } from './support/service.ts';

const service = useService();

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
