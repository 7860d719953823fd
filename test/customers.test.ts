import { describe, expect, test } from 'vitest';
import { createCustomer, updateCustomer } from '../src/customers/repository.ts';
import { inTransaction, type OrganizationScope } from '../src/db/pool/scope.ts';
import { parseJson } from '../src/db/sql/json.ts';
import { countAtWork } from './support/databases.ts';
import { findDrift } from './support/drift.ts';
import { conversation } from './support/records.ts';
import { type Agency, type Reply, useService } from './support/service.ts';

const service = useService();

const CUSTOMERS = '/v1/customers';

type Contact = { identifierType: string; identifierValue: string };
const contact = (identifierType: string, identifierValue: string): Contact => ({
  identifierType,
  identifierValue,
});
const web = (value: string): Contact => contact('web', value);

const create = async (agency: Agency, body: object) => (await agency.post(CUSTOMERS, body)).body;

const statuses = (answers: Reply[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

test('a customer from its creation to its archive, as an integration sees it', async () => {
  const agency = await service.agency();
  const other = await service.agency();

  const created = await agency.post(CUSTOMERS, {
    firstName: 'Ana',
    lastName: 'Peña',
    tags: ['vip'],
    contacts: [
      { identifierType: 'whatsapp', identifierValue: '+52 55 1234 5678' },
      { identifierType: 'email', identifierValue: 'ana@example.com' },
    ],
  });
  const ana = {
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
      {
        id: expect.any(String),
        identifierType: 'email',
        identifierValue: 'ana@example.com',
        displayName: null,
        phoneNumber: null,
      },
    ],
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  };
  expect(created).toMatchObject({ status: 201, body: ana });
  const url = `${CUSTOMERS}/${created.body.id}`;
  expect(await agency.get(url)).toMatchObject({ status: 200, body: created.body });

  // A PATCH changes one field, and null clears another.
  const patched = await agency.patch(url, { city: 'Puebla', lastName: null });
  const changed = {
    ...created.body,
    city: 'Puebla',
    lastName: null,
    displayName: 'Ana',
    updatedAt: expect.any(String),
  };
  expect(patched).toMatchObject({ status: 200, body: changed });
  expect(patched.body.updatedAt > created.body.updatedAt).toBe(true);

  // One person is one record: the same address, written otherwise, belongs to her already.
  const twin = await agency.post(CUSTOMERS, {
    contacts: [{ identifierType: 'email', identifierValue: 'ANA@example.com' }],
  });
  expect(twin).toMatchObject({
    status: 409,
    body: {
      error: {
        code: 'CUSTOMER_CONTACT_CONFLICT',
        details: [{ path: 'body.contacts[0]', customerId: created.body.id }],
      },
    },
  });

  const { body: luis } = await agency.post(CUSTOMERS, { firstName: 'Luis', contacts: [web('luis')] });
  expect((await agency.get(`${CUSTOMERS}?limit=1`)).body).toEqual({
    data: [luis],
    pagination: { limit: 1, offset: 0, total: 2 },
  });
  expect((await agency.get(`${CUSTOMERS}?tag=vip`)).body).toEqual({
    data: [patched.body],
    pagination: { limit: 25, offset: 0, total: 1 },
  });

  // Another organization sees nothing of her, and may have a customer with the same contact.
  expect((await other.get(CUSTOMERS)).body.pagination.total).toBe(0);
  expect((await other.get(url)).status).toBe(404);
  expect((await other.patch(url, { city: 'Lima' })).status).toBe(404);
  const same = { contacts: [{ identifierType: 'email', identifierValue: 'ana@example.com' }] };
  expect((await other.post(CUSTOMERS, same)).status).toBe(201);

  expect(await agency.delete(url)).toMatchObject({
    status: 200,
    body: { id: created.body.id, archived: true },
  });
  expect(await agency.get(url)).toMatchObject({
    status: 404,
    body: { error: { code: 'CUSTOMER_NOT_FOUND' } },
  });
  expect((await agency.delete(url)).status).toBe(404);
  expect((await agency.get(CUSTOMERS)).body).toMatchObject({ data: [luis], pagination: { total: 1 } });
  // Her contacts are free again.
  expect((await agency.post(CUSTOMERS, same)).status).toBe(201);
});

describe('createCustomer', () => {
  test('a contact that is twice in one body is a validation error of the second, however it is written', async () => {
    const agency = await service.agency();
    const { status, body } = await agency.post(CUSTOMERS, {
      contacts: [
        contact('whatsapp', '+5215512345678'),
        web('a'),
        contact('whatsapp', '52 55 1234 5678'),
        web('a'),
      ],
    });
    expect(status).toBe(400);
    expect(body.error.details).toEqual([
      { path: 'body.contacts[2]', message: 'is the same contact as contacts[0]' },
      { path: 'body.contacts[3]', message: 'is the same contact as contacts[1]' },
    ]);
    expect((await agency.get(CUSTOMERS)).body.pagination.total).toBe(0);
  });

  test('of simultaneous creates with the same contacts, in whatever order and spelling, one wins and the others name it', async () => {
    const agency = await service.agency();
    for (let round = 0; round < 10; round += 1) {
      const number = 12_345_600 + round;
      const others = Array.from({ length: 20 }, (_, index) => web(`${round}-${index}`));
      const lists = ['+52155', '+5255'].map((start) => [...others, contact('whatsapp', `${start}${number}`)]);
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) => {
          const contacts = lists[index % 2];
          return agency.post(CUSTOMERS, { contacts: index % 4 < 2 ? contacts : contacts?.toReversed() });
        }),
      );
      expect(statuses(answers)).toEqual({ 201: 1, 409: 7 });
      const winner = answers.find(({ status }) => status === 201)?.body.id;
      for (const { body } of answers.filter(({ status }) => status === 409))
        expect(body.error.details).toEqual(
          Array.from({ length: 21 }, (_, at) => ({ path: `body.contacts[${at}]`, customerId: winner })),
        );
    }
    expect((await agency.get(CUSTOMERS)).body.pagination.total).toBe(10);
    expect(await findDrift(service, agency)).toEqual([]);
  });
});

describe('updateCustomer', () => {
  test('that waited for a change of the contacts returns what the next GET returns, ETag included', async () => {
    const agency = await service.agency();
    const { id } = await create(agency, { contacts: [web('start')] });
    for (let round = 0; round < 10; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          agency.patch(
            `${CUSTOMERS}/${id}`,
            n % 2
              ? { city: `${round} ${n}` }
              : { contacts: [web(`${round} ${n}`), web('start'), web(`${n}`)] },
          ),
        ),
      );
      expect(statuses(answers)).toEqual({ 200: 8 });
      // Whoever wrote last has the record as it stays, a whole list of contacts. No two answers of one version differ.
      const last = answers.toSorted((a, b) => (a.body.updatedAt < b.body.updatedAt ? 1 : -1))[0];
      const read = await agency.get(`${CUSTOMERS}/${id}`);
      expect(read.text).toBe(last?.text);
      expect(read.headers.etag).toBe(last?.headers.etag);
      expect(new Set(answers.map(({ body }) => body.updatedAt)).size).toBe(8);
    }
  });

  test('that is archived while contacts are being added releases all of them', async () => {
    const agency = await service.agency();
    for (let round = 0; round < 10; round += 1) {
      const { id } = await create(agency, { contacts: [web(`first-${round}`)] });
      const added = Array.from({ length: 5 }, (_, index) => [
        web(`${round}-${index}`),
        web(`first-${round}`),
      ]);
      const [archived, ...patched] = await Promise.all([
        agency.delete(`${CUSTOMERS}/${id}`),
        ...added.map((contacts) => agency.patch(`${CUSTOMERS}/${id}`, { contacts })),
      ]);
      expect(archived.status).toBe(200);
      for (const { status } of patched) expect([200, 404]).toContain(status);
      const { status } = await agency.post(CUSTOMERS, {
        contacts: [...added.flat(), web(`first-${round}`)].filter(
          ({ identifierValue }, index, all) =>
            all.findIndex((other) => other.identifierValue === identifierValue) === index,
        ),
      });
      expect(status).toBe(201);
    }
    expect((await agency.get(CUSTOMERS)).body.pagination.total).toBe(10);
    expect(await findDrift(service, agency)).toEqual([]);
  });
});

describe('a contact that another customer has', () => {
  test.each(['POST', 'PATCH'])(
    'and loses before a %s has asked for the owner is claimed after all',
    async (method) => {
      const agency = await service.agency();
      const owner = await create(agency, { contacts: [web('a')] });
      const other = await create(agency, { contacts: [web('b')] });
      const { db } = agency.scope;
      const scope: OrganizationScope = {
        ...agency.scope,
        db: {
          ...db,
          read: async (statement, values) => {
            if (statement.name === 'customers.contact_owners')
              await agency.delete(`${CUSTOMERS}/${owner.id}`);
            return db.read(statement, values);
          },
        },
      };
      const body = { contacts: [{ identifierType: 'web' as const, identifierValue: 'a' }] };
      const written =
        method === 'POST'
          ? await createCustomer(scope, { ...body, tags: [] })
          : await updateCustomer(scope, other.id, { ...body, city: 'Lima' });
      expect(parseJson(written)).toMatchObject({ ...body, city: method === 'POST' ? null : 'Lima' });
      expect((await agency.post(CUSTOMERS, body)).status).toBe(409);
      expect(await findDrift(service, agency)).toEqual([]);
    },
  );
});

describe('the displayName of a contact', () => {
  const NUMBER = '+525512345678';
  const say = (agency: Agency, contactName: string | null, fields: object = {}, id?: string) =>
    conversation(agency, { channel: 'whatsapp', contact: NUMBER, contactName, ...fields }, id);

  test.each(['customer', 'conversation'])(
    'is that of a conversation that is written at the same moment, the %s first',
    async (name) => {
      const agency = await service.agency();
      const writes: ((scope: OrganizationScope) => Promise<unknown>)[] = [
        (scope) =>
          createCustomer(scope, {
            tags: [],
            contacts: [{ identifierType: 'whatsapp', identifierValue: NUMBER }],
          }),
        (scope) => say({ ...agency, scope }, 'Ana'),
      ];
      const [first, second] = name === 'customer' ? writes : writes.toReversed();
      let isDone = false;
      const both = inTransaction(agency.scope, async (within) => {
        await first?.(within);
        const other = second?.(agency.scope).then(() => {
          isDone = true;
        });
        const isWaiting = async () => (await countAtWork(service.ownerUrl, 'Lock')) > 0;
        await expect.poll(async () => isDone || isWaiting()).toBe(true);
        return { other };
      });
      await (await both).other;
      const { body } = await agency.get(CUSTOMERS);
      expect(body.data[0].contacts[0].displayName).toBe('Ana');
    },
  );
});
