import { describe, expect, test } from 'vitest';
import { contact, conversation, customer, message } from '../../test/support/records.ts';
import { useClient } from './start.ts';

const client = await useClient();
async function start() {
  const queries: URLSearchParams[] = [];
  const { agency, crm } = await client.start({
    fetch: (url, init) => {
      queries.push(new URL(String(url)).searchParams);
      return fetch(url, init);
    },
  });
  return { agency, crm, queries };
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

test('withContact finds customers by any spelling of a contact, and distinguishes channels', async () => {
  const { agency, crm } = await start();
  const phone = await customer(agency, { contacts: [contact('telefono', '+525512345678')] });
  const chat = await customer(agency, { contacts: [contact('whatsapp', '+525512345678')] });
  const number = '+52 1 55 1234 5678';
  expect(await crm.customers.withContact(number)).toEqual([chat, phone]);
  expect(await crm.customers.withContact(number, { contactType: 'telefono' })).toEqual([phone]);
  expect(await crm.customers.withContact('5512345')).toEqual([]);
});

test('byIds requests a hundred at a time, and returns no archived records', async () => {
  const { agency, crm, queries } = await start();
  const ids = idsOf(await Promise.all(Array.from({ length: 120 }, () => customer(agency))));
  await agency.delete(`/v1/customers/${ids[0]}`);
  const found = await crm.customers.byIds([...ids, ...ids]);
  expect(idsOf(found).sort()).toEqual(ids.slice(1).sort());
  expect(queries.map((query) => query.get('ids')?.split(',').length)).toEqual([100, 20]);
  expect(await crm.customers.byIds([])).toEqual([]);
  expect(queries).toHaveLength(2);
});

describe('changes', () => {
  test('are all rows at first, and then the rows written since, with an overlap', async () => {
    const { crm, queries } = await start();
    expect(await crm.products.changes()).toEqual({ rows: [], since: undefined });
    const first = await crm.products.create({ title: 'One' });
    const second = await crm.products.create({ title: 'Two' });
    const all = await crm.products.changes();
    expect(all).toEqual({ rows: [second, first], since: second.updatedAt });

    const changed = await crm.products.update(first.id, { title: 'Changed' });
    const next = await crm.products.changes(all.since, { overlap: 0 });
    expect(next).toEqual({ rows: [changed, second], since: changed.updatedAt });
    const since = '2999-01-01T00:00:00.000Z';
    expect(await crm.products.changes(since)).toEqual({ rows: [], since });
    const sent = queries.slice(-2).map((query) => query.get('updatedSince'));
    expect(sent).toEqual([second.updatedAt, '2998-12-31T23:59:00.000Z']);
  });

  test('of conversations continue from the time of the last response', async () => {
    const { agency, crm } = await start();
    const { id } = await conversation(agency);
    const { rows, since = '' } = await crm.conversations.changes();
    expect(idsOf(rows)).toEqual([id]);
    expect(since).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/);
    expect(idsOf((await crm.conversations.changes(since)).rows)).toEqual([id]);
  });
});

test.each([0, 200, 201])(
  'the messages of a conversation come newest first, all of %i, and are requested only as far as they are read',
  async (count) => {
    const { agency, crm, queries } = await start();
    const { id } = await conversation(agency);
    const ids: string[] = [];
    for (let at = 0; at < count; at += 1) ids.push((await message(agency, id)).id);
    const messages = await Array.fromAsync(crm.conversations.messages(id));
    expect(idsOf(messages)).toEqual(ids.toReversed());
    expect(queries.splice(0)).toHaveLength(Math.floor(count / 200) + 1);
    for await (const _ of crm.conversations.messages(id)) break;
    expect(queries).toHaveLength(1);
  },
);
