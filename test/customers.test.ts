import { expect, test } from 'vitest';
import { createCustomer, customerStatements } from '../src/customers/repository.ts';
import { findDrift } from './support/drift.ts';
import { failed, rejected } from './support/faults.ts';
import { overlap, type Work } from './support/races.ts';
import { contact, conversation, customer, web } from './support/records.ts';
import { useService } from './support/service.ts';

const service = await useService();

test('the story of a customer: create, read, change, list, archive', async () => {
  const agency = await service.agency();

  // Create. A field that is not sent is null.
  const number = '+525512345678';
  const own = { firstName: 'Ana', lastName: 'Peña', tags: ['vip'] };
  const contacts = [contact('whatsapp', '+52 55 1234 5678')];
  const created = await agency.post('/v1/customers', { ...own, contacts });
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({
    ...own,
    ...{ displayName: 'Ana Peña', city: null, country: null, preferredLanguage: null, summary: null },
    contacts: [
      { ...contact('whatsapp', number), id: expect.any(String), displayName: null, phoneNumber: number },
    ],
  });

  // Read.
  const { id } = created.body;
  expect((await agency.get(`/v1/customers/${id}`)).body).toEqual(created.body);

  // PATCH changes one field, clears another with null, and leaves the rest as it is.
  const changed = await agency.patch(`/v1/customers/${id}`, { city: 'Puebla', lastName: null });
  const changes = { city: 'Puebla', lastName: null, displayName: 'Ana', updatedAt: expect.any(String) };
  expect(changed.status).toBe(200);
  expect(changed.body).toEqual({ ...created.body, ...changes });

  // Conflict: one person is one record, however the number is written, but on another channel it is another contact.
  const onPhone = { firstName: 'Luis', contacts: [contact('telefono', number)] };
  const { body: luis } = await agency.post('/v1/customers', onPhone);
  const sameContact = { contacts: [contact('whatsapp', '00525512345678')] };
  const conflict = failed(409, 'CUSTOMER_CONTACT_CONFLICT', [{ path: 'body.contacts[0]', customerId: id }]);
  expect(await agency.post('/v1/customers', sameContact)).toMatchObject(conflict);

  // List: most recently updated first. The total counts what the filter matches, on all pages.
  const pagination = { limit: 1, offset: 0, total: 2 };
  expect((await agency.get('/v1/customers?limit=1')).body).toEqual({ data: [luis], pagination });

  // Another organization can have the same contact.
  const other = await service.agency();
  expect(await other.post('/v1/customers', sameContact)).toMatchObject({ status: 201 });

  // Archive: the customer is gone, and its contacts are free.
  const archived = { status: 200, body: { id, archived: true } };
  expect(await agency.delete(`/v1/customers/${id}`)).toMatchObject(archived);
  expect(await agency.get(`/v1/customers/${id}`)).toMatchObject(failed(404, 'CUSTOMER_NOT_FOUND'));
  expect((await agency.get('/v1/customers')).body).toMatchObject({ data: [luis], pagination: { total: 1 } });
  expect(await agency.post('/v1/customers', sameContact)).toMatchObject({ status: 201 });
});

test('the same contact twice in one body is a validation error at the second, however it is written', async () => {
  const agency = await service.agency();
  const contacts = [contact('whatsapp', '+5215512345678'), web('a')];
  const again = [contact('whatsapp', '52 55 1234 5678'), web('a')];
  const error = rejected(
    ['body.contacts[2]', 'is the same contact as contacts[0]'],
    ['body.contacts[3]', 'is the same contact as contacts[1]'],
  );
  const response = await agency.post('/v1/customers', { contacts: [...contacts, ...again] });
  expect(response).toMatchObject(error);
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
    const create = (contacts: object[]) => agency.post('/v1/customers', { contacts });
    const responses = await Promise.all([...orders, ...orders].map(create));
    const [created, ...conflicts] = responses.toSorted((a, b) => a.status - b.status);
    expect(created?.status).toBe(201);
    const details = first.map((_, at) => ({ path: `body.contacts[${at}]`, customerId: created?.body.id }));
    for (const { status, body } of conflicts) expect([status, body.error.details]).toEqual([409, details]);
  }
  expect(await findDrift(service, agency)).toEqual([]);
});

test('contacts of a PATCH is the whole list in its order; a contact that stays keeps its id and name, in another spelling too', async () => {
  const agency = await service.agency();
  await conversation(agency, { contact: '+525512345678', contactName: 'Ana' });
  const ana = await customer(agency, { contacts: [contact('whatsapp', '+525512345678'), web('a')] });
  const [number, visitor] = ana.contacts;
  expect(number.displayName).toBe('Ana');
  const patch = async (...contacts: object[]) =>
    (await agency.patch(`/v1/customers/${ana.id}`, { contacts })).body.contacts;
  const others = await patch(web('b'), web('a'), contact('whatsapp', '+52 (55) 1234-5678'));
  expect(others).toEqual([{ ...visitor, id: expect.any(String), identifierValue: 'b' }, visitor, number]);
  const { text } = await agency.get(`/v1/customers/${ana.id}`);
  await patch(web('b'), web('a'), contact('whatsapp', '52-55-1234-5678'));
  expect((await agency.get(`/v1/customers/${ana.id}`)).text).toBe(text);
  expect(await patch(contact('messenger', 'a'))).toMatchObject([{ identifierType: 'messenger' }]);
  const [again] = await patch(web('a'));
  expect(again.id).not.toBe(visitor.id);
});

test.each(['customer', 'conversation'])(
  'a contact gets the name of a conversation that is written at the same time, and the conversation the customer, the %s first',
  async (first) => {
    const agency = await service.agency();
    const contacts = [contact('whatsapp', '+525512345678')];
    const create: Work = (scope) => createCustomer(scope, customerStatements, { tags: [], contacts });
    const write: Work = (scope) => conversation({ ...agency, scope }, { contactName: 'Ana' });
    await (first === 'customer'
      ? overlap(service, agency, create, write)
      : overlap(service, agency, write, create));
    const { body } = await agency.get('/v1/customers');
    expect(body.data[0].contacts[0].displayName).toBe('Ana');
    expect((await agency.get('/v1/conversations')).body.data[0].customerId).toBe(body.data[0].id);
  },
);

test('a name of blanks is no name to show', async () => {
  const created = await customer(await service.agency(), { firstName: '  ', lastName: ' ' });
  expect(created).toMatchObject({ firstName: '  ', displayName: null });
});
