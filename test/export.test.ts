import { expect, test } from 'vitest';
import { TOKEN, useDashboard } from './support/dashboard.ts';
import { attachment, conversation, customer, message, opportunity, quote } from './support/records.ts';
import { listen } from './support/socket.ts';

const { service, dashboard } = useDashboard();

const CONTACT = { identifierType: 'email', identifierValue: 'ana@example.com' };

test('has all that is known of the person, archived records and threads that name nobody too, and nothing of a neighbour', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const ana = await customer(agency, { firstName: 'Ana', contacts: [CONTACT] });
  // Its owner makes its id, and may make the least that there is.
  const lead = await opportunity(
    agency,
    { customerId: ana.id, title: 'Cartagena', temperature: 'hot' },
    '00000000-0000-0000-0000-000000000000',
  );
  const past = await opportunity(agency, { customerId: ana.id, title: 'Oaxaca' });
  await call.delete(`/opportunities/${past.id}`);
  const offer = await quote(agency, { opportunityId: lead.id, title: 'Seis noches' });
  const nameless = await quote(agency, { opportunityId: lead.id, customerId: null, title: 'Siete noches' });
  const { stored } = await attachment(agency, service.storage, offer.id);
  await call.delete(`/quotes/${offer.id}`);
  const contact = '+525512345678';
  const older = await conversation(agency, { contact });
  const newer = await conversation(agency, { contact, customerId: ana.id, rotatedFrom: older.id });
  const mail = await conversation(agency, { channel: 'email', contact: 'ANA@example.com' });
  await message(agency, older.id, { content: '¿Tienen "salidas"?', senderName: 'Ana' });
  await message(agency, mail.id, { content: 'Adjunto\nmi pasaporte' });
  const saidIn = async ({ id }: { id: string }) =>
    (await call.get(`/conversations/${id}/messages`)).body.data;

  const eva = await customer(agency, { firstName: 'Eva' });
  const hers = await opportunity(agency, { customerId: eva.id, title: 'Vecina' });
  await quote(agency, { opportunityId: hers.id, title: 'Vecina' });
  const thread = await conversation(agency, { customerId: eva.id, contactName: 'Vecina' });
  await message(agency, thread.id, { content: 'Vecina' });

  const { status, body, text, headers } = await call.get(`/customers/${ana.id}/export`);
  expect(status).toBe(200);
  expect(headers['cache-control']).toBe('no-store');
  const byId = (list: { id: string }[]) => list.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const threads = await Promise.all(
    [older, newer, mail].map(async ({ id }) => (await call.get(`/conversations/${id}`)).body),
  );
  const gone = { archivedAt: expect.any(String), updatedAt: expect.any(String) };
  expect(body).toEqual({
    exportedAt: expect.any(String),
    customer: (await call.get(`/customers/${ana.id}`)).body,
    mergedCustomers: [],
    opportunities: byId([
      { ...(await call.get(`/opportunities/${lead.id}`)).body, archivedAt: null },
      { ...past, agentTemperature: null, temperatureOverride: null, ...gone },
    ]),
    quotes: byId([
      { ...offer, ...gone, attachments: [{ ...stored, url: expect.stringMatching(/^http/) }] },
      { ...nameless, archivedAt: null, attachments: [] },
    ]),
    conversations: byId([
      { ...threads[0], messages: await saidIn(older) },
      { ...threads[1], messages: [] },
      { ...threads[2], messages: await saidIn(mail) },
    ]),
  });
  expect(text).not.toContain('Vecina');

  await agency.delete(`/v1/customers/${ana.id}`);
  const archived = await call.get(`/customers/${ana.id}/export`);
  expect(archived.body).toMatchObject({ customer: { id: ana.id, contacts: [CONTACT] } });
  expect(archived.body.conversations).toEqual(body.conversations);
});

test('has every opportunity, thread and message, once and in order, however many pages they fill', async () => {
  const agency = await service.agency();
  const { id: customerId } = await customer(agency);
  const fill = (text: string, ...values: unknown[]) =>
    service.query(text, [agency.id, customerId, ...values]);
  await fill(
    `insert into opportunities (organization_id, id, customer_id, sales_stage)
     select $1, gen_random_uuid(), $2, 'new' from generate_series(1, 201)`,
  );
  await fill(
    `insert into conversations (organization_id, id, chain_id, customer_id, channel, contact)
     select $1, id, id, $2, 'web', 'a' from (select gen_random_uuid() as id from generate_series(1, 200)) made`,
  );
  const { id } = await conversation(agency, { customerId });
  await service.query(
    `insert into whatsapp_messages (organization_id, conversation_id, id, arrival, content, direction, message_type, created_at)
     select $1, $2, gen_random_uuid(), number, number::text, 'inbound', 'text', '2026-10-01'::timestamptz + number / 3 * interval '1 s'
     from generate_series(1, 1000) number`,
    [agency.id, id],
  );
  const { body } = await dashboard.of(agency).get(`/customers/${customerId}/export`);
  const idsOf = (list: { id: string }[]) => new Set(list.map((each) => each.id)).size;
  expect([body.opportunities.length, idsOf(body.opportunities)]).toEqual([201, 201]);
  expect([body.conversations.length, idsOf(body.conversations)]).toEqual([201, 201]);
  const { messages } = body.conversations.find((each: { id: string }) => each.id === id);
  expect([messages.length, idsOf(messages)]).toEqual([1_000, 1_000]);
  const contents = messages.map(({ content }: { content: string }) => Number(content));
  expect(contents).toEqual(contents.toSorted((one: number, other: number) => one - other));
});

test('an answer that the database broke off ends before its last bracket, and its connection is closed', async () => {
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
    .then((answer) => answer.text())
    .catch(() => 'closed');
  await service.query('alter table away rename to whatsapp_messages');
  expect(broken).toBe('closed');
});
