import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { hashKey } from '../../src/api-keys/api-key.ts';
import { accessError } from '../../src/api-keys/authentication.ts';
import { findKey } from '../../src/api-keys/repository.ts';
import type { ApiKeyCreate } from '../../src/api-keys/schema.ts';
import { resourceNames } from '../../src/contract/resources.ts';
import { operationsOf, PUBLIC } from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import { failed } from '../support/faults.ts';
import { contact, conversation, customer, product, web } from '../support/records.ts';

const { service, dashboard } = await useDashboard({}, { requestsPerMinute: 1_000 });
const operations = operationsOf(PUBLIC);

const belongsTo = (resource: string, path: string) => path.startsWith(`/v1/${resource}`);

const LIMITED: [
  settings: Partial<ApiKeyCreate>,
  code: string,
  isAllowed: (method: string, path: string) => boolean,
][] = [
  [{ access: 'read' }, 'KEY_READ_ONLY', (method) => method === 'GET'],
  [{ access: 'create' }, 'KEY_CREATE_ONLY', (method) => method === 'POST'],
  ...resourceNames.map((resource): (typeof LIMITED)[number] => [
    { resources: [resource] },
    'KEY_RESOURCE_NOT_ALLOWED',
    (_method, path) => belongsTo(resource, path),
  ]),
];

test.each(LIMITED)(
  'a key with %j is allowed exactly its operations; any other is 403 %s and writes nothing',
  async (settings, code, isAllowed) => {
    const agency = await service.agency();
    const [ana, sold] = [await customer(agency), await product(agency)];
    const ids: Record<string, string> = { customerId: ana.id, productId: sold.id };
    const { key } = await agency.issueKey(settings);
    const before = await dashboard.stored(agency);
    for (const { method, path } of operations) {
      expect(
        resourceNames.filter((resource) => belongsTo(resource, path)),
        path,
      ).toHaveLength(1);
      const url = path.replace(/\{(\w+)\}/, (_, name) => ids[name] ?? randomUUID());
      const isRead = method === 'GET';
      const body = isRead ? undefined : 'not JSON';
      const response = await agency.request(method, url, { key, body });
      if (isAllowed(method, path)) {
        const { status, text } = await agency.request(method, url, { body });
        expect([response.status, response.text]).toEqual([status, text]);
      } else {
        expect(response).toMatchObject({ ...failed(403, code), headers: { 'x-ratelimit-limit': '1000' } });
        const valid = { title: 'x', contacts: [] };
        if (!isRead)
          expect(await agency.request(method, url, { key, body: valid })).toMatchObject(failed(403, code));
      }
      const head = { method: 'HEAD', url, headers: { 'x-api-key': key } } as const;
      if (isRead) expect((await service.app.inject(head)).statusCode).toBe(response.status);
    }
    expect(await dashboard.stored(agency)).toEqual(before);
  },
);

test('no key is allowed what a route does not say that it needs', async () => {
  const { key } = await service.agency();
  const known = await findKey(service.db, hashKey(key));
  expect(accessError(known, { access: 'write', resource: 'team' })).toBeUndefined();
  for (const needs of [{}, { resource: 'team' }] as const)
    expect(accessError(known, needs)).toMatchObject({ code: 'KEY_RESOURCE_NOT_ALLOWED' });
  const limited = known && { ...known, resources: ['team' as const] };
  for (const [key, access] of [
    [limited, 'write'],
    [undefined, 'read'],
  ] as const)
    expect(accessError(key, { access })).toMatchObject({ code: 'KEY_RESOURCE_NOT_ALLOWED' });
});

test('a key that only creates learns nothing that others wrote about the person, also by a replay, and not who has a contact', async () => {
  const agency = await service.agency();
  const sent = [contact('whatsapp', '+51987654321')];
  await conversation(agency, { contact: '+51987654321', contactName: 'Ana' });
  const { key } = await agency.issueKey({ access: 'create' });
  const create = (options: object, lead = 'lead 1') =>
    agency.post('/v1/customers', { contacts: sent }, { ...options, headers: { 'idempotency-key': lead } });
  const found = [];
  for (const options of [{ key }, {}, { key }]) {
    const { status, body } = await create(options);
    found.push([status, body.contacts[0].displayName, body.summary, body.contacts.length]);
    const contacts = [...sent, web('another contact')];
    await agency.patch(`/v1/customers/${body.id}`, { summary: 'owes us money', contacts });
  }
  expect(found).toEqual([
    [201, null, null, 1],
    [201, 'Ana', 'owes us money', 2],
    [201, null, null, 1],
  ]);
  const message = 'A contact can belong to one customer only: another customer has it.';
  const error = { code: 'CUSTOMER_CONTACT_CONFLICT', message };
  expect((await create({ key }, 'lead 2')).body).toEqual({ error });
  expect((await agency.post('/v1/customers', { contacts: sent }, { key })).body).toEqual({ error });
});
