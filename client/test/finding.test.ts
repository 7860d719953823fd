import { describe, expect, test } from 'vitest';
import { conversation, customer, message } from '../../test/support/records.ts';
import { useClient } from './start.ts';

const client = useClient();

/** A client, and the queries that it sends. */
async function start(before: () => Promise<unknown> = async () => undefined) {
  const asked: URLSearchParams[] = [];
  const { agency, crm } = await client.start({
    fetch: async (url, init) => {
      asked.push(new URL(String(url)).searchParams);
      await before();
      return fetch(url, init);
    },
  });
  return { agency, crm, asked };
}

const contact = (identifierType: string, identifierValue: string) => ({ identifierType, identifierValue });
const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

test('whoever has a contact is found by any spelling of it, and told apart by the channel', async () => {
  const { agency, crm } = await start();
  const [phone, chat] = [
    await customer(agency, { contacts: [contact('telefono', '+525512345678')] }),
    await customer(agency, { contacts: [contact('whatsapp', '+525512345678')] }),
  ];
  const number = '+52 1 55 1234 5678';
  expect(await crm.customers.withContact(number)).toEqual([chat, phone]);
  expect(await crm.customers.withContact(number, { contactType: 'telefono' })).toEqual([phone]);
  expect(await crm.customers.withContact('5512345')).toEqual([]);
});

test('byIds asks for a hundred at a time, and what is archived does not come', async () => {
  const { agency, crm, asked } = await start();
  const made = await Promise.all(Array.from({ length: 120 }, () => customer(agency)));
  await agency.delete(`/v1/customers/${made[0]?.id}`);
  const ids = idsOf(made);
  const found = await crm.customers.byIds([...ids, ...ids]);
  expect(idsOf(found).sort()).toEqual(ids.slice(1).sort());
  expect(asked.map((query) => query.get('ids')?.split(',').length)).toEqual([100, 20]);
  expect(await crm.customers.byIds([])).toEqual([]);
  expect(asked).toHaveLength(2);
});

describe('changes', () => {
  test('are everything at first, and then what was written since, with an overlap', async () => {
    const { crm, asked } = await start();
    expect(await crm.products.changes()).toEqual({ rows: [], since: undefined });
    const [first, second] = [
      await crm.products.create({ title: 'One' }),
      await crm.products.create({ title: 'Two' }),
    ];
    asked.length = 0;
    const all = await crm.products.changes();
    expect(all).toEqual({ rows: [second, first], since: second.updatedAt });

    const changed = await crm.products.update(first.id, { title: 'Changed' });
    const next = await crm.products.changes(all.since, { overlap: 0 });
    expect(next).toEqual({ rows: [changed, second], since: changed.updatedAt });
    expect(await crm.products.changes('2999-01-01T00:00:00.000Z')).toEqual({
      rows: [],
      since: '2999-01-01T00:00:00.000Z',
    });
    expect(asked.map((query) => query.get('updatedSince'))).toEqual([
      null,
      null,
      second.updatedAt,
      '2998-12-31T23:59:00.000Z',
    ]);
  });

  test('of conversations go on from when the service answered', async () => {
    const { agency, crm } = await start();
    const { id } = await conversation(agency);
    const { rows, since = '' } = await crm.conversations.changes();
    expect(idsOf(rows)).toEqual([id]);
    expect(since).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/);
    expect(idsOf((await crm.conversations.changes(since)).rows)).toEqual([id]);
  });
});

describe('the messages of a conversation', () => {
  test.each([0, 200, 201])('come the newest first, all of %i', async (count) => {
    const { agency, crm, asked } = await start();
    const { id } = await conversation(agency);
    const sent: string[] = [];
    for (let at = 0; at < count; at += 1) {
      const createdAt = new Date(Date.UTC(2026, 0, 1) + at * 1_000).toISOString();
      sent.push((await message(agency, id, { content: `message ${at}`, createdAt })).id);
    }
    const seen: string[] = [];
    for await (const one of crm.conversations.messages(id)) seen.push(one.id);
    expect(seen).toEqual(sent.toReversed());
    expect(asked).toHaveLength(Math.floor(count / 200) + 1);
  });

  test('are asked for as far as they are taken', async () => {
    const { agency, crm, asked } = await start();
    const { id } = await conversation(agency);
    for (const content of ['One', 'Two']) await message(agency, id, { content });
    for await (const { content } of crm.conversations.messages(id)) {
      expect(content).toBe('Two');
      break;
    }
    expect(asked).toHaveLength(1);
  });
});
