import { describe, expect, test } from 'vitest';
import { createCustomer, customerStatements, updateCustomer } from '../src/customers/repository.ts';
import { type OrganizationScope, parseJson } from '../src/db/index.ts';
import { findDrift } from './support/drift.ts';
import { interrupted, overlap } from './support/races.ts';
import { conversation, customer } from './support/records.ts';
import { useService } from './support/service.ts';

const service = useService();

const contact = (identifierType: string, identifierValue: string) => ({ identifierType, identifierValue });
const web = (visitor: string) => contact('web', visitor);

test('the story of a customer: create, read, change, list, archive', async () => {
  const agency = await service.agency();

  // Create. A field that is not sent is null.
  const created = await agency.post('/v1/customers', {
    firstName: 'Ana',
    lastName: 'Peña',
    tags: ['vip'],
    contacts: [{ identifierType: 'whatsapp', identifierValue: '+52 55 1234 5678' }],
  });
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({
    id: expect.any(String),
    firstName: 'Ana',
    lastName: 'Peña',
    displayName: 'Ana Peña',
    city: null,
    country: null,
    preferredLanguage: null,
    summary: null,
    tags: ['vip'],
    contacts: [
      {
        id: expect.any(String),
        identifierType: 'whatsapp',
        identifierValue: '+525512345678',
        displayName: null,
        phoneNumber: '+525512345678',
      },
    ],
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  });

  // Read.
  const { id } = created.body;
  expect(await agency.get(`/v1/customers/${id}`)).toMatchObject({ status: 200, body: created.body });

  // PATCH changes one field, clears another with null, and leaves the rest as it is.
  const changed = await agency.patch(`/v1/customers/${id}`, { city: 'Puebla', lastName: null });
  const changes = { city: 'Puebla', lastName: null, displayName: 'Ana', updatedAt: expect.any(String) };
  expect(changed.status).toBe(200);
  expect(changed.body).toEqual({ ...created.body, ...changes });

  // Conflict: one person is one record, however the number is written.
  const sameContact = { contacts: [{ identifierType: 'whatsapp', identifierValue: '00525512345678' }] };
  const conflict = {
    code: 'CUSTOMER_CONTACT_CONFLICT',
    details: [{ path: 'body.contacts[0]', customerId: id }],
  };
  expect(await agency.post('/v1/customers', sameContact)).toMatchObject({
    status: 409,
    body: { error: conflict },
  });

  // List: most recently updated first. The total counts what the filter matches, on all pages.
  const { body: luis } = await agency.post('/v1/customers', { firstName: 'Luis', contacts: [web('luis')] });
  expect((await agency.get('/v1/customers?limit=1')).body).toEqual({
    data: [luis],
    pagination: { limit: 1, offset: 0, total: 2 },
  });

  // Another organization can have the same contact.
  const other = await service.agency();
  expect(await other.post('/v1/customers', sameContact)).toMatchObject({ status: 201 });

  // Archive: the customer is gone, and its contacts are free.
  const archived = { status: 200, body: { id, archived: true } };
  expect(await agency.delete(`/v1/customers/${id}`)).toMatchObject(archived);
  expect(await agency.get(`/v1/customers/${id}`)).toMatchObject({
    status: 404,
    body: { error: { code: 'CUSTOMER_NOT_FOUND' } },
  });
  expect((await agency.get('/v1/customers')).body).toMatchObject({ data: [luis], pagination: { total: 1 } });
  expect(await agency.post('/v1/customers', sameContact)).toMatchObject({ status: 201 });
});

describe('POST /v1/customers', () => {
  test('the same contact twice in one body is a validation error at the second, however it is written', async () => {
    const agency = await service.agency();
    const contacts = [
      contact('whatsapp', '+5215512345678'),
      web('a'),
      contact('whatsapp', '52 55 1234 5678'),
      web('a'),
    ];
    const details = [
      { path: 'body.contacts[2]', message: 'is the same contact as contacts[0]' },
      { path: 'body.contacts[3]', message: 'is the same contact as contacts[1]' },
    ];
    const response = await agency.post('/v1/customers', { contacts });
    expect(response).toMatchObject({ status: 400, body: { error: { details } } });
  });

  test('of simultaneous creates with the same contacts, in whatever order and spelling, one succeeds and the others name it', async () => {
    const agency = await service.agency();
    const visitors = Array.from({ length: 20 }, (_, index) => web(`visitor ${index}`));
    for (let round = 0; round < 10; round += 1) {
      const [first = [], second = []] = ['+52155', '+5255'].map((prefix) => [
        ...visitors.map(({ identifierValue }) => web(`${identifierValue}, round ${round}`)),
        contact('whatsapp', `${prefix}${12_345_600 + round}`),
      ]);
      const orders = [first, second, first.toReversed(), second.toReversed()];
      const responses = await Promise.all(
        [...orders, ...orders].map((contacts) => agency.post('/v1/customers', { contacts })),
      );
      const [created, ...conflicts] = responses.toSorted((a, b) => a.status - b.status);
      expect(created?.status).toBe(201);
      const details = first.map((_, index) => ({
        path: `body.contacts[${index}]`,
        customerId: created?.body.id,
      }));
      for (const { status, body } of conflicts) expect([status, body.error.details]).toEqual([409, details]);
    }
    expect((await agency.get('/v1/customers')).body.pagination.total).toBe(10);
    expect(await findDrift(service, agency)).toEqual([]);
  });
});

describe('PATCH /v1/customers/{customerId}', () => {
  test('contacts is the whole list in its order; a contact that stays keeps its id and name, in another spelling too', async () => {
    const agency = await service.agency();
    const chat = { channel: 'whatsapp', contact: '+525512345678' };
    await conversation(agency, { ...chat, contactName: 'Ana' });
    const ana = await customer(agency, { contacts: [contact('whatsapp', '+525512345678'), web('a')] });
    const [number, visitor] = ana.contacts;
    expect(number.displayName).toBe('Ana');
    const patch = async (...contacts: object[]) =>
      (await agency.patch(`/v1/customers/${ana.id}`, { contacts })).body.contacts;
    const others = await patch(web('b'), web('a'), contact('whatsapp', '+52 (55) 1234-5678'));
    expect(others).toEqual([{ ...visitor, id: expect.any(String), identifierValue: 'b' }, visitor, number]);
    expect(await patch(contact('messenger', 'a'))).toMatchObject([{ identifierType: 'messenger' }]);
    const [again] = await patch(web('a'));
    expect(again.id).not.toBe(visitor.id);
  });

  test('eight at once are applied one after another; the last response is what the next GET returns, ETag included', async () => {
    const agency = await service.agency();
    const { id } = await customer(agency, { contacts: [web('first')] });
    for (let round = 0; round < 10; round += 1) {
      const responses = await Promise.all(
        Array.from({ length: 8 }, (_, n) => {
          const contacts = [web(`${round} ${n}`), web('first'), web(`${n}`)];
          return agency.patch(`/v1/customers/${id}`, n % 2 ? { city: `${round} ${n}` } : { contacts });
        }),
      );
      for (const { status } of responses) expect(status).toBe(200);
      const versions = responses.map(({ body }) => body.updatedAt).sort();
      expect(new Set(versions).size).toBe(8);
      const last = responses.find(({ body }) => body.updatedAt === versions.at(-1));
      const read = await agency.get(`/v1/customers/${id}`);
      expect([read.text, read.headers.etag]).toEqual([last?.text, last?.headers.etag]);
    }
  });

  test('contacts that are added while the customer is archived are free afterwards', async () => {
    const agency = await service.agency();
    for (let round = 0; round < 10; round += 1) {
      const first = web(`first ${round}`);
      const added = Array.from({ length: 5 }, (_, index) => web(`added ${round} ${index}`));
      const { id } = await customer(agency, { contacts: [first] });
      const [archived, ...patched] = await Promise.all([
        agency.delete(`/v1/customers/${id}`),
        ...added.map((contact) => agency.patch(`/v1/customers/${id}`, { contacts: [contact, first] })),
      ]);
      expect(archived.status).toBe(200);
      for (const { status } of patched) expect([200, 404]).toContain(status);
      const contacts = [first, ...added];
      expect(await agency.post('/v1/customers', { contacts })).toMatchObject({ status: 201 });
    }
    expect((await agency.get('/v1/customers')).body.pagination.total).toBe(10);
    expect(await findDrift(service, agency)).toEqual([]);
  });
});

test.each(['create', 'update'])(
  'a %s that met a conflict succeeds if the other customer loses the contact before it is named',
  async (operation) => {
    const agency = await service.agency();
    const owner = await customer(agency, { contacts: [web('a')] });
    const other = await customer(agency, { contacts: [web('b')] });
    const { scope } = interrupted(agency.scope, 'customers.contact_owners', () =>
      agency.delete(`/v1/customers/${owner.id}`),
    );
    const contacts = [{ identifierType: 'web' as const, identifierValue: 'a' }];
    const written =
      operation === 'create'
        ? await createCustomer(scope, customerStatements, { contacts, tags: [] })
        : await updateCustomer(scope, customerStatements, other.id, { contacts, city: 'Lima' });
    expect(parseJson(written)).toMatchObject({ contacts, city: operation === 'create' ? null : 'Lima' });
    expect(await agency.post('/v1/customers', { contacts })).toMatchObject({ status: 409 });
    expect(await findDrift(service, agency)).toEqual([]);
  },
);

test.each(['customer', 'conversation'])(
  'a contact gets the name of a conversation that is written at the same time, and the conversation the customer, the %s first',
  async (first) => {
    const agency = await service.agency();
    const number = '+525512345678';
    const writeCustomer = (scope: OrganizationScope): Promise<unknown> =>
      createCustomer(scope, customerStatements, {
        tags: [],
        contacts: [{ identifierType: 'whatsapp', identifierValue: number }],
      });
    const writeConversation = (scope: OrganizationScope): Promise<unknown> =>
      conversation({ ...agency, scope }, { channel: 'whatsapp', contact: number, contactName: 'Ana' });
    const [writeFirst, writeSecond] =
      first === 'customer' ? [writeCustomer, writeConversation] : [writeConversation, writeCustomer];
    await overlap(service, agency, writeFirst, writeSecond);
    const { body } = await agency.get('/v1/customers');
    expect(body.data[0].contacts[0].displayName).toBe('Ana');
    expect((await agency.get('/v1/conversations')).body.data[0].customerId).toBe(body.data[0].id);
  },
);

test('a name of blanks is no name to show, and a tag has at least one character', async () => {
  const agency = await service.agency();
  const blank = {
    firstName: '  ',
    lastName: ' ',
    contacts: [{ identifierType: 'web', identifierValue: 'b' }],
  };
  const created = (await agency.post('/v1/customers', blank)).body;
  expect(created).toMatchObject({ firstName: '  ', displayName: null });
  const { status, body } = await agency.patch(`/v1/customers/${created.id}`, { tags: ['vip', ''] });
  expect(status).toBe(400);
  expect(body.error.details).toEqual([{ path: 'body.tags[1]', message: 'must have at least 1 character' }]);
});
