import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadDemo } from '../../demo/load.ts';
import { operationsOf, PUBLIC } from '../../test/support/contract.ts';
import { conversation, customer, message } from '../../test/support/records.ts';
import { useService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';
import { engineFor, type Template } from './engine.ts';

/** The node in n8n's engine, against the demo agency. */

const service = await useService();
const apiKey = (await loadDemo(service)) ?? '';
const { origin: baseUrl } = await listen(service);
const n8n = engineFor({ apiKey, baseUrl: `${baseUrl}/` });
/** An id of each kind of record. */
const [ids = {}] = await service.query(`select
  (select id from products where archived_at is null limit 1) as "productId",
  (select id from customers where archived_at is null limit 1) as "customerId",
  (select id from opportunities where archived_at is null limit 1) as "opportunityId",
  (select id from conversations limit 1) as "conversationId",
  (select quote_id from quote_attachments limit 1) as "quoteId"`);

const lead = (identifierValue: unknown, identifierType = 'whatsapp') => ({
  values: [{ identifierType, identifierValue }],
});
/** The result of an operation that must not fail. */
async function succeed(...sent: Parameters<typeof n8n.operation>) {
  const { items, error } = await n8n.operation(...sent);
  expect(error?.description ?? error?.message, sent[0]).toBeUndefined();
  return items;
}
const failure = async (...sent: Parameters<typeof n8n.operation>) => (await n8n.operation(...sent)).error;

const OPERATIONS = operationsOf(PUBLIC).map(({ operation: { operationId } }, index) => ({
  operationId,
  index,
}));
test.each(OPERATIONS)('$operationId runs', async ({ operationId, index }) => {
  const body = { title: 'Oaxaca', contacts: lead(`+52 55 1234 ${1_000 + index}`) };
  const fields = operationId.startsWith('update') && { fields: body };
  const [item] = await succeed(operationId, { ...ids, ...body, ...fields });
  expect(item).toEqual(expect.objectContaining({ id: expect.any(String) }));
  if (operationId.startsWith('archive'))
    expect(await failure(operationId.replace('archive', 'get'), ids)).toMatchObject({ httpCode: '404' });
});

test('the credential accepts a key, and says that anything else is not one', async () => {
  expect((await n8n.test()).error).toBeUndefined();
  const { error } = await engineFor({ apiKey: 'x', baseUrl }).test();
  expect(error).toMatchObject({ httpCode: '401', description: expect.stringContaining('key') });
});

test('a list has as many items as its limit, or all, each once and in the order of the service', async () => {
  const filters = { createdSince: '1970-01-01' };
  const all = await succeed('listCustomers', { returnAll: true, filters });
  expect(all.length).toBeGreaterThan(250);
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  for (const limit of [1, 100, 101, 250])
    expect(await succeed('listCustomers', { limit })).toEqual(all.slice(0, limit));
});

test('a create of the same item, by a retried execution, creates one record', async () => {
  const send = (...names: string[]) =>
    succeed(
      'createCatalogProduct',
      { title: '={{ $json.name }}' },
      names.map((name) => ({ name })),
    );
  const [first, second] = await send('Oaxaca', 'Chiapas');
  expect([first?.title, second?.title]).toEqual(['Oaxaca', 'Chiapas']);
  expect(await send('Chiapas')).toMatchObject([{ id: second?.id }]);
});

test('a create sends text as text, lists as lists, and nothing for what has no value', async () => {
  const fields = {
    firstName: '={{ $json.name }}',
    tags: ['={{ $json.tags }}', 'x'],
    city: '={{ $json.city }}',
  };
  const item = { phone: 525_598_765_432, name: 'Ana {{ 1 + 1 }}', tags: ['a', 'b'] };
  expect(
    await succeed('createCustomer', { contacts: lead('={{ $json.phone }}'), fields }, [item]),
  ).toMatchObject([{ firstName: 'Ana {{ 1 + 1 }}', tags: ['a', 'b', 'x'], city: null }]);
});

test('the description of the error 404, 409 and 412 is what the service says', async () => {
  const contacts = lead('+52 55 4444 1234');
  const [created] = await succeed('createCustomer', { contacts });
  const customerId = created?.id;
  expect(await failure('getCustomer', { customerId: 'x' })).toMatchObject({
    httpCode: '404',
    description: expect.stringContaining('The customer "x" does not exist.'),
  });
  expect(await failure('createCustomer', { contacts, IdempotencyKey: 'another' })).toMatchObject({
    httpCode: '409',
    description: expect.stringContaining(String(customerId)),
    context: { data: { error: { code: 'CUSTOMER_CONTACT_CONFLICT' } } },
  });
  const change = { customerId, fields: { city: 'Lima' } };
  await succeed('updateCustomer', { ...change, IfMatch: created?.etag });
  // A condition whose expression has no result is not left out.
  for (const IfMatch of [created?.etag, '={{ $json.etag }}', '={{ null }}'])
    expect(await failure('updateCustomer', { ...change, IfMatch })).toMatchObject({
      httpCode: '412',
      description: 'The record has changed since you read it. Read it again and send its new ETag.',
    });
});

const template = (name: string): Template =>
  JSON.parse(readFileSync(new URL(`../../n8n/workflows/${name}.json`, import.meta.url), 'utf8'));

test('the workflow new-lead creates a customer, adds the next message to the same one, and fails for a number that is none', async () => {
  const form = (message: string, whatsapp = '+52 55 3333 1234') =>
    n8n.run(template('new-lead'), [{ name: 'Eva', whatsapp, message }]);
  const { 'Create the customer': created } = await form('Patagonia in May');
  expect(created?.items).toMatchObject([{ firstName: 'Eva', summary: 'Patagonia in May', tags: ['web'] }]);
  // Somebody else has the number as a telephone.
  await succeed('createCustomer', { contacts: lead('+52 55 3333 1234', 'telefono') });
  const { 'Add the message': added } = await form('Or in June');
  expect(added?.items).toMatchObject([
    { id: created?.items[0]?.id, summary: 'Patagonia in May\nOr in June' },
  ]);
  const { 'Add the message': lost } = await form('Or in July', 'ask me');
  expect(lost?.error).toMatchObject({ httpCode: '404' });
});

test('the workflow message-notes writes each new message once, and skips conversations without a customer', async () => {
  const agency = await service.agency();
  const { id: customerId } = await customer(agency);
  const [known, unknown] = [await conversation(agency, { customerId }), await conversation(agency)];
  await message(agency, known.id, { content: 'When do we leave?' });
  // Without a message: the steps have different numbers of items.
  await conversation(agency, { customerId });
  await message(agency, unknown.id, { content: 'Hello' });
  const own = engineFor({ apiKey: agency.key, baseUrl });
  for (let times = 0; times < 2; times += 1) {
    const { 'Add the message': added } = await own.run(template('message-notes'), [{}]);
    expect(added?.items).toMatchObject([
      { id: customerId, summary: expect.stringMatching(/^\S+: When do we leave\?$/) },
    ]);
  }
});
