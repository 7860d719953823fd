import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { issueApiKey } from '../../src/api-keys/repository.ts';
import { parseJson } from '../../src/db/index.ts';
import { operationsOf, PUBLIC } from '../../test/support/contract.ts';
import { conversation, message } from '../../test/support/records.ts';
import { startService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';
import { useDemo } from './demo.ts';
import { engineFor, type Template } from './engine.ts';

/** The node in n8n's engine, against the demo agency. */

type Input = {
  name: string;
  type?: string;
  default?: unknown;
  description?: string;
  options?: Input[];
  displayOptions?: { show: { operation?: string[] } };
};
const read = (path: string) =>
  JSON.parse(readFileSync(new URL(`../../n8n/${path}`, import.meta.url), 'utf8'));
const inputs: Input[] = read('properties.json');
const collectionOf = (operation: string, name: string): Input[] =>
  inputs.find((one) => one.name === name && one.displayOptions?.show.operation?.includes(operation))
    ?.options ?? [];

const demo = useDemo();
const { ids } = demo;
let n8n: ReturnType<typeof engineFor>;
const accountOf = (apiKey: string) => ({ apiKey, baseUrl: demo.baseUrl });
beforeAll(() => {
  n8n = engineFor({ apiKey: demo.key, baseUrl: `${demo.baseUrl}/` });
});

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

describe('the credential', () => {
  const RIGHTS: Partial<Parameters<typeof issueApiKey>[1]>[] = [
    {},
    { access: 'create' },
    { resources: ['customers'] },
  ];
  test.each(RIGHTS)('accepts a key with %j', async (rights) => {
    const { scope } = await demo.service.agency();
    const { key } = parseJson(await issueApiKey(scope, { name: 'n8n', ...rights }));
    const { error } = await engineFor(accountOf(key)).test();
    expect(error).toBeUndefined();
  });

  test('rejects what is not a key, and says so', async () => {
    const { error } = await engineFor(accountOf('x')).test();
    expect(error).toMatchObject({ httpCode: '401', description: expect.stringContaining('key') });
  });
});

describe('a list', () => {
  test.each([1, 100, 101, 250])('of %i items has as many, each once', async (limit) => {
    const items = await succeed('listCustomers', { limit });
    expect(new Set(items.map(({ id }) => id)).size).toBe(limit);
  });

  test('returns all, in the order of the service', async () => {
    const [found] = await demo.service.query(
      'select count(*)::int as total from customers where archived_at is null',
    );
    const items = await succeed('listCustomers', {
      returnAll: true,
      filters: { createdSince: '1970-01-01' },
    });
    expect(items.length).toBeGreaterThan(200);
    const neighbours = Number(found?.total) - items.length;
    expect(neighbours).toBeGreaterThanOrEqual(0);
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
    expect(items.slice(0, 250)).toEqual(await succeed('listCustomers', { limit: 250 }));
  });

  test('of a long transcript returns the newest, or all, oldest first', async () => {
    const agency = await demo.service.agency();
    const { id } = await conversation(agency);
    for (let index = 0; index < 401; index += 1) await message(agency, String(id), { content: `${index}` });
    const own = engineFor(accountOf(agency.key));
    const contents = async (more: object) =>
      (await own.operation('getConversationTranscript', { conversationId: id, ...more })).items.map(
        ({ content }) => content,
      );
    const all = Array.from({ length: 401 }, (_, index) => `${index}`);
    expect(await contents({ returnAll: true })).toEqual(all);
    expect(await contents({ limit: 3 })).toEqual(all.slice(-3));
  });

  test('takes one id, several, and several as a list', async () => {
    const [a, b] = (await succeed('listQuotes', { limit: 2 })).map(({ id }) => id);
    for (const ids of [`${a},${b}`, `={{ ["${a}", "${b}"] }}`])
      expect((await succeed('listQuotes', { filters: { ids } })).map(({ id }) => id).sort()).toEqual(
        [a, b].sort(),
      );
  });

  test('takes a date as n8n writes it, in the time zone of the workflow', async () => {
    const [{ createdAt, id } = {}] = await succeed('listQuotes', { limit: 1 });
    const local = `={{ DateTime.fromISO("${createdAt}").toFormat("yyyy-MM-dd'T'HH:mm:ss.SSS") }}`;
    for (const createdSince of [
      createdAt,
      local,
      `={{ DateTime.fromISO("${createdAt}") }}`,
      `={{ new Date("${createdAt}") }}`,
    ])
      expect(
        await succeed('listQuotes', { filters: { createdSince, ids: id } }),
        String(createdSince),
      ).toHaveLength(1);
  });

  const FILTERS = operationsOf(PUBLIC).flatMap(({ operation: { operationId } }) =>
    collectionOf(operationId, 'filters').map(({ name }) => ({ operationId, name })),
  );
  test.each(FILTERS)(
    '$operationId never takes an empty $name for no filter',
    async ({ operationId, name }) => {
      for (const value of ['', '={{ undefined }}', '={{ null }}', '={{ $json.missing }}'])
        expect(await problemOf(operationId, { ...ids, filters: { [name]: value } })).toMatchObject({
          httpCode: '400',
        });
    },
  );
});

describe('a create', () => {
  test('of the same item, by a retried execution, creates one record', async () => {
    const send = (title: string, items: Record<string, unknown>[]) =>
      succeed('createCatalogProduct', { title }, items);
    const [first, second] = await send('={{ $json.name }}', [{ name: 'Oaxaca' }, { name: 'Chiapas' }]);
    expect([first?.title, second?.title]).toEqual(['Oaxaca', 'Chiapas']);
    const [again] = await send('={{ $json.name }}', [{ name: 'Chiapas' }]);
    expect(again?.id).toBe(second?.id);
    const [edited] = await send('={{ $json.name }} y más', [{ name: 'Chiapas' }]);
    expect(edited?.id).not.toBe(second?.id);
    const own = await succeed('createCatalogProduct', { title: 'Chiapas', IdempotencyKey: '' }, [
      { name: 'Chiapas' },
    ]);
    expect(own[0]?.id).not.toBe(second?.id);
  });

  test('sends text as text, lists as lists, and nothing for what has no value', async () => {
    const [customer] = await succeed(
      'createCustomer',
      {
        contacts: lead('={{ $json.phone }}'),
        fields: {
          firstName: '={{ $json.name }}',
          tags: ['={{ $json.tags }}', 'x'],
          city: '={{ $json.city }}',
        },
      },
      [{ phone: 525_598_765_432, name: 'Ana {{ 1 + 1 }}', tags: ['a', 'b'] }],
    );
    expect(customer).toMatchObject({ firstName: 'Ana {{ 1 + 1 }}', tags: ['a', 'b', 'x'], city: null });
    const variants = '=[{ "label": {{ JSON.stringify($json.name) }} }]';
    const [product] = await succeed('createCatalogProduct', { title: 'x', fields: { variants } }, [
      { name: 'a "b"' },
    ]);
    expect(product).toMatchObject({ variants: [{ label: 'a "b"' }] });
  });
});

const NULLABLE = ['updateCustomer', 'updateCatalogProduct'].flatMap((operationId) =>
  collectionOf(operationId, 'fields')
    .filter(({ description }) => description?.includes('sets null'))
    .map((input) => ({ operationId, ...input })),
);

describe('an update', () => {
  /** A value that each field can have. */
  function sampleOf({ name, type, default: preset }: Input): unknown {
    if (name === 'currency') return 'USD';
    return { number: 5, options: preset, string: Array.isArray(preset) ? ['x'] : 'text' }[String(type)];
  }

  test.each(NULLABLE)('$operationId sets, keeps and clears $name', async ({ operationId, ...field }) => {
    const body = { title: 'x', contacts: lead('+52 55 7777 1234') };
    const [made] = await succeed(operationId.replace('update', 'create'), body);
    async function change(value: unknown): Promise<unknown> {
      const fields = { [field.name]: value };
      const [item] = await succeed(operationId, { productId: made?.id, customerId: made?.id, fields });
      return item?.[field.name];
    }
    const sample = sampleOf(field);
    expect(await change(sample)).toEqual(sample);
    expect(await change('={{ $json.missing }}')).toEqual(sample);
    // A list is never null, but empty.
    const nothing = Array.isArray(sample) ? [] : null;
    expect(await change('={{ null }}')).toEqual(nothing);
    expect(await change(sample)).toEqual(sample);
    expect(await change(nothing ?? '')).toEqual(nothing);
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

  test('an unknown field is not ignored', async () => {
    const fields = { variants: '[{ "label": "x", "prize": 1 }]' };
    expect(await problemOf('createCatalogProduct', { title: 'x', fields })).toMatchObject({
      httpCode: '400',
      description: expect.stringContaining('body.variants[0].prize is unknown'),
    });
  });

  test('429 says when to try again', async () => {
    const limited = await startService({ beside: demo.service, requestsPerMinute: 2 });
    const { key } = await limited.agency();
    const own = engineFor({ apiKey: key, baseUrl: (await listen(limited)).origin });
    const { error } = await own.operation('listTeamMembers', {}, [{}, {}, {}]);
    expect(error).toMatchObject({ httpCode: '429', description: expect.stringMatching(/requests/) });
    await limited.close();
  });
});

describe('the workflow', () => {
  const template = (name: string): Template => read(`workflows/${name}.json`);

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
    const agency = await demo.service.agency();
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
