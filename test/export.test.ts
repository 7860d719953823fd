import { expect, test } from 'vitest';
import { TOKEN, useDashboard } from './support/dashboard.ts';
import {
  attachment,
  contact,
  conversation,
  customer,
  message,
  opportunity,
  quote,
} from './support/records.ts';
import { idsOf } from './support/service.ts';
import { listen } from './support/socket.ts';

const { service, dashboard } = useDashboard();

const CONTACT = contact('email', 'ana@example.com');

test('an export has every record of the customer, archived ones and conversations by contact too', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const ana = await customer(agency, { firstName: 'Ana', contacts: [CONTACT] });
  // The dashboard chooses the id, and can choose the lowest.
  const lowest = '00000000-0000-0000-0000-000000000000';
  const sale = { customerId: ana.id, title: 'Cartagena', temperature: 'hot' };
  const lead = await opportunity(agency, sale, lowest);
  const past = await opportunity(agency, { customerId: ana.id, title: 'Oaxaca' });
  await call.delete(`/opportunities/${past.id}`);
  const offer = await quote(agency, { opportunityId: lead.id, title: 'Seis noches' });
  const another = await quote(agency, { opportunityId: lead.id, title: 'Siete noches' });
  const { stored } = await attachment(agency, service.storage, offer.id);
  await call.delete(`/quotes/${offer.id}`);
  const older = await conversation(agency);
  const newer = await conversation(agency, { customerId: ana.id, rotatedFrom: older.id });
  const mail = await conversation(agency, { channel: 'email', contact: 'ANA@example.com' });
  await message(agency, older.id, { content: '¿Tienen "salidas"?', senderName: 'Ana' });
  await message(agency, mail.id, { content: 'Adjunto\nmi pasaporte' });

  const { status, body, headers } = await call.get(`/customers/${ana.id}/export`);
  expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
  const byId = (list: { id: string }[]) => list.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const read = async (path: string) => (await call.get(path)).body;
  const archived = { archivedAt: expect.any(String), updatedAt: expect.any(String) };
  const threadOf = async ({ id }: { id: string }) => {
    const { lastMessage: _, ...thread } = await read(`/conversations/${id}`);
    return thread;
  };
  const messagesOf = async ({ id }: { id: string }) => (await read(`/conversations/${id}/messages`)).data;
  expect(body).toEqual({
    exportedAt: expect.any(String),
    customer: await read(`/customers/${ana.id}`),
    mergedCustomers: [],
    opportunities: byId([
      { ...(await read(`/opportunities/${lead.id}`)), archivedAt: null },
      { ...past, agentTemperature: null, temperatureOverride: null, ...archived },
    ]),
    quotes: byId([
      { ...offer, ...archived, attachments: [{ ...stored, url: expect.stringMatching(/^http/) }] },
      { ...another, archivedAt: null, attachments: [] },
    ]),
    conversations: byId([
      { ...(await threadOf(older)), messages: await messagesOf(older) },
      { ...(await threadOf(newer)), messages: [] },
      { ...(await threadOf(mail)), messages: await messagesOf(mail) },
    ]),
    sameContacts: [],
  });

  await agency.delete(`/v1/customers/${ana.id}`);
  const afterwards = await read(`/customers/${ana.id.toUpperCase()}/export`);
  expect(afterwards).toMatchObject({ customer: { id: ana.id, contacts: [CONTACT] }, mergedCustomers: [] });
  expect(afterwards.conversations).toEqual(body.conversations);
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
  const { messages } = body.conversations.find((conversation: { id: string }) => conversation.id === id);
  for (const [list, count] of [
    [body.opportunities, 201],
    [body.conversations, 201],
    [messages, 1_000],
  ]) {
    expect(list).toHaveLength(count);
    expect(new Set(idsOf({ body: { data: list } })).size).toBe(count);
  }
  const contents = messages.map(({ content }: { content: string }) => Number(content));
  expect(contents).toEqual(contents.toSorted((one: number, other: number) => one - other));
});

test('an export that the database interrupts is not complete JSON, and its connection is closed', async () => {
  const agency = await service.agency();
  const { id: customerId } = await customer(agency);
  const thread = await conversation(agency, { customerId });
  await message(agency, thread.id, { content: 'Hola' });
  const { port } = await listen(dashboard);
  const path = `/dashboard/v1/organizations/${agency.id}/customers/${customerId}/export`;
  const get = () =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
  expect(await (await get()).json()).toMatchObject({ customer: { id: customerId } });
  await service.query('alter table whatsapp_messages rename to away');
  const broken = await get()
    .then((response) => response.text())
    .catch(() => 'closed');
  await service.query('alter table away rename to whatsapp_messages');
  expect(broken).toBe('closed');
});
