import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadDemo } from '../../demo/load.ts';
import { operationsOf, PUBLIC } from '../../test/support/contract.ts';
import { conversation, message } from '../../test/support/records.ts';
import { type Service, startService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';
import { engineFor, type Template } from './engine.ts';

/** The node in n8n's engine, against the demo agency. */

let service: Service;
let baseUrl: string;
let n8n: ReturnType<typeof engineFor>;
/** An id of each kind of record. */
const ids: Record<string, unknown> = {};
const accountOf = (apiKey: string) => ({ apiKey, baseUrl });
beforeAll(async () => {
  service = await startService();
  const key = (await loadDemo(service)) ?? '';
  baseUrl = (await listen(service)).origin;
  n8n = engineFor({ apiKey: key, baseUrl: `${baseUrl}/` });
  const [first] = await service.query(`select
    (select id from products where archived_at is null limit 1) as "productId",
    (select id from customers where archived_at is null limit 1) as "customerId",
    (select id from opportunities where archived_at is null limit 1) as "opportunityId",
    (select id from conversations limit 1) as "conversationId",
    (select quote_id from quote_attachments limit 1) as "quoteId"`);
  Object.assign(ids, first);
});
afterAll(() => service.close());

const lead = (value: unknown) => ({ values: [{ identifierType: 'whatsapp', identifierValue: value }] });
/** The result of an operation that must not fail. */
async function succeed(...sent: Parameters<typeof n8n.operation>) {
  const { items, error } = await n8n.operation(...sent);
  expect(error?.description ?? error?.message, sent[0]).toBeUndefined();
  return items;
}
const problemOf = async (...sent: Parameters<typeof n8n.operation>) => {
  const { items, error } = await n8n.operation(...sent);
  expect(items).toEqual([]);
  return error;
};

const OPERATIONS = operationsOf(PUBLIC).map(({ operation }, index) => ({
  operationId: operation.operationId,
  number: `+52 55 1234 ${1_000 + index}`,
}));
test.each(OPERATIONS)('$operationId runs', async ({ operationId, number }) => {
  const body = { title: 'Oaxaca', contacts: lead(number) };
  const [item] = await succeed(operationId, {
    ...ids,
    ...body,
    ...(operationId.startsWith('update') && { fields: body }),
  });
  expect(item).toEqual(expect.objectContaining({ id: expect.any(String) }));
  if (!operationId.startsWith('archive')) return;
  expect((await problemOf(operationId.replace('archive', 'get'), ids))?.httpCode).toBe('404');
});

test('the credential accepts a key, and says that anything else is not one', async () => {
  expect((await n8n.test()).error).toBeUndefined();
  const { error } = await engineFor(accountOf('x')).test();
  expect(error).toMatchObject({ httpCode: '401', description: expect.stringContaining('key') });
});

describe('a list', () => {
  test.each([1, 100, 101, 250])('of %i items has as many, each once', async (limit) => {
    const items = await succeed('listCustomers', { limit });
    expect(new Set(items.map(({ id }) => id)).size).toBe(limit);
  });

  test('returns all, in the order of the service', async () => {
    const items = await succeed('listCustomers', {
      returnAll: true,
      filters: { createdSince: '1970-01-01' },
    });
    expect(items.length).toBeGreaterThan(200);
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
    expect(items.slice(0, 250)).toEqual(await succeed('listCustomers', { limit: 250 }));
  });
});

describe('a create', () => {
  test('of the same item, by a retried execution, creates one record', async () => {
    const send = (title: string, items: Record<string, unknown>[]) =>
      succeed('createCatalogProduct', { title }, items);
    const [first, second] = await send('={{ $json.name }}', [{ name: 'Oaxaca' }, { name: 'Chiapas' }]);
    expect([first?.title, second?.title]).toEqual(['Oaxaca', 'Chiapas']);
    const [again] = await send('={{ $json.name }}', [{ name: 'Chiapas' }]);
    expect(again?.id).toBe(second?.id);
  });

  test('sends text as text, lists as lists, and nothing for what has no value', async () => {
    const fields = {
      firstName: '={{ $json.name }}',
      tags: ['={{ $json.tags }}', 'x'],
      city: '={{ $json.city }}',
    };
    const [customer] = await succeed('createCustomer', { contacts: lead('={{ $json.phone }}'), fields }, [
      { phone: 525_598_765_432, name: 'Ana {{ 1 + 1 }}', tags: ['a', 'b'] },
    ]);
    expect(customer).toMatchObject({ firstName: 'Ana {{ 1 + 1 }}', tags: ['a', 'b', 'x'], city: null });
  });
});

describe('the description of the error', () => {
  test('404, 409 and 412 is what the service says', async () => {
    const contacts = lead('+52 55 4444 1234');
    const [made] = await succeed('createCustomer', { contacts });
    const customerId = made?.id;
    expect(await problemOf('getCustomer', { customerId: 'x' })).toMatchObject({
      httpCode: '404',
      description: expect.stringContaining('The customer "x" does not exist.'),
    });
    expect(await problemOf('createCustomer', { contacts, IdempotencyKey: 'another' })).toMatchObject({
      httpCode: '409',
      description: expect.stringContaining(String(customerId)),
      context: { data: { error: { code: 'CUSTOMER_CONTACT_CONFLICT' } } },
    });
    const change = { customerId, fields: { city: 'Lima' }, IfMatch: made?.etag };
    await succeed('updateCustomer', change);
    expect(await problemOf('updateCustomer', { ...change, fields: { city: 'Cali' } })).toMatchObject({
      httpCode: '412',
      description: 'The record has changed since you read it. Read it again and send its new ETag.',
    });
    // A condition whose expression has no result is not left out.
    for (const IfMatch of ['={{ $json.etag }}', '={{ null }}'])
      expect(await problemOf('updateCustomer', { ...change, IfMatch })).toMatchObject({ httpCode: '412' });
  });
});

describe('the workflow', () => {
  const template = (name: string): Template =>
    JSON.parse(readFileSync(new URL(`../../n8n/workflows/${name}.json`, import.meta.url), 'utf8'));

  test('new-lead creates a customer, and adds the next message to the same one', async () => {
    const form = (text: string) =>
      n8n.run(template('new-lead'), [{ name: 'Eva', whatsapp: '+52 55 3333 1234', message: text }]);
    const { 'Create the customer': created } = await form('Patagonia in May');
    expect(created?.items).toMatchObject([{ firstName: 'Eva', summary: 'Patagonia in May', tags: ['web'] }]);
    const { 'Add the message': added } = await form('Or in June');
    expect(added?.items).toMatchObject([
      { id: created?.items[0]?.id, summary: 'Patagonia in May\nOr in June' },
    ]);
  });

  test('message-notes writes each new message once, and skips conversations without a customer', async () => {
    const agency = await service.agency();
    const { body: customer } = await agency.post('/v1/customers', {
      contacts: [{ identifierType: 'whatsapp', identifierValue: '+52 55 2222 1234' }],
    });
    const { id } = await conversation(agency, { customerId: customer.id });
    await message(agency, String(id), { content: 'When do we leave?' });
    const unknown = await conversation(agency);
    await message(agency, String(unknown.id), { content: 'Hello' });
    const own = engineFor(accountOf(agency.key));
    for (let times = 0; times < 2; times += 1) {
      const { 'Add the message': added } = await own.run(template('message-notes'), [{}]);
      expect(added?.items).toMatchObject([
        { id: customer.id, summary: expect.stringMatching(/^\S+: When do we leave\?$/) },
      ]);
    }
  });
});
