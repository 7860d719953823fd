import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { OrganizationScope } from '../src/db/index.ts';
import { opportunityRecord } from '../src/opportunities/repository.ts';
import { mergeCustomer } from '../src/person/merge.ts';
import { useDashboard } from './support/dashboard.ts';
import { countAtWork } from './support/databases.ts';
import { findAllDrift, findDrift } from './support/drift.ts';
import { failed, rejected } from './support/faults.ts';
import { overlap, type Work } from './support/races.ts';
import { conversation, customer, opportunity, quote, web } from './support/records.ts';
import type { Agency } from './support/service.ts';

/** Two customers who are one person become one customer. */

const { service, dashboard } = await useDashboard();

type Customer = { id: string };
const merge = (agency: Agency, into: Customer, from: Customer) =>
  dashboard.of(agency).post(`/customers/${into.id}/merge`, { from: from.id });

test('a merged customer is not found; the error names the customer of the last merge, and says to use its id while that is active', async () => {
  const agency = await service.agency();
  const [first, second, last] = [await customer(agency), await customer(agency), await customer(agency)];
  await merge(agency, second, first);
  await merge(agency, last, second);
  const { get } = dashboard.of(agency);
  for (const { id } of [second, last])
    expect((await get(`/customers?archived=true&mergedInto=${id}`)).body.pagination.total).toBe(2);
  const message = expect.stringContaining(`merged into customer ${last.id}. Use that id.`);
  const notFound = { code: 'CUSTOMER_NOT_FOUND', message };
  for (const { id } of [first, second])
    for (const response of [
      await agency.get(`/v1/customers/${id}`),
      await agency.patch(`/v1/customers/${id}`, { city: 'Lima' }),
      await agency.delete(`/v1/customers/${id}`),
    ])
      expect(response).toMatchObject({ status: 404, body: { error: notFound } });
  expect((await merge(agency, last, first)).status).toBe(200);
  expect((await merge(agency, second, first)).status).toBe(404);
  await agency.delete(`/v1/customers/${last.id}`);
  const { error } = (await agency.get(`/v1/customers/${first.id}`)).body;
  expect(error.message).toContain(`merged into customer ${last.id}. That customer is archived.`);
});

/** Writes of a record that names the customer. */
const WRITES: Record<string, (agency: Agency, customerId: string) => Promise<Customer>> = {
  opportunity: (agency, customerId) => opportunity(agency, { customerId }),
  conversation: (agency, customerId) => conversation(agency, { customerId, contact: '+525599990000' }),
  'conversation with its contact': (agency) => conversation(agency, { channel: 'web', contact: 'from' }),
  'conversation that gets its contact': async (agency) => {
    const { id } = await conversation(agency, { customerId: (await customer(agency)).id });
    return conversation(agency, { channel: 'web', contact: 'from' }, id);
  },
  quote: (agency, customerId) => quote(agency, { customerId }),
  'record that changes hands': async (agency, customerId) => {
    const { id } = await opportunity(agency, { customerId: null });
    return opportunity(agency, { customerId }, id);
  },
};

// Two names of one person: the id of an earlier merge is taken for the customer of the last one.
const ORDERS = ['the write first', 'the merge first', 'the merge first, the id of an earlier one'];

describe.each(Object.entries(WRITES))('a %s beside a merge is of the survivor', (_name, write) => {
  test.each(ORDERS)('%s', async (order) => {
    const agency = await service.agency();
    const first = await customer(agency);
    const from = await customer(agency, { contacts: [web('from')] });
    const into = await customer(agency);
    await merge(agency, from, first);
    const { id } = order.endsWith('earlier one') ? first : from;
    let written: Customer | undefined;
    const works = [
      (scope: OrganizationScope) => mergeCustomer(scope, into.id, { from: from.id }),
      async (scope: OrganizationScope) => {
        written = await write({ ...agency, scope }, id);
      },
    ] as const;
    const isMergedFirst = order.startsWith('the merge');
    const [one, other] = isMergedFirst ? works : works.toReversed();
    await overlap<unknown>(service, agency, one, other);
    if (isMergedFirst) expect(written).toMatchObject({ customerId: into.id });
    expect(await findAllDrift(service, agency)).toEqual([]);
  });
});

test('a contact has the name that a conversation of somebody else gives it beside a merge', async () => {
  const agency = await service.agency();
  const [into, from] = [await customer(agency), await customer(agency, { contacts: [web('from')] })];
  const chat = { channel: 'web', contact: 'from', customerId: (await customer(agency)).id };
  const { id } = await conversation(agency, chat);
  const rename: Work = (scope) => conversation({ ...agency, scope }, { ...chat, contactName: 'Ana' }, id);
  await overlap(service, agency, (scope) => mergeCustomer(scope, into.id, { from: from.id }), rename);
  expect(await findAllDrift(service, agency)).toEqual([]);
});

test('the id of a merged customer is accepted in PUT and PATCH while the survivor is active, and stays good where it is stored', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const [from, into] = [await customer(agency), await customer(agency)];
  await merge(agency, into, from);
  const lead = await opportunity(agency, { customerId: from.id });
  const path = `/opportunities/${lead.id}`;
  await call.patch(path, { customerId: null });
  const patched = await call.patch(path, { customerId: from.id });
  expect(patched.body.customerId).toBe(into.id);
  expect((await call.patch(path, { customerId: from.id })).body).toEqual(patched.body);
  await agency.delete(`/v1/customers/${into.id}`);
  expect((await call.patch(path, { customerId: from.id })).body).toMatchObject({ customerId: into.id });
  const other = await opportunity(agency);
  const named = await call.patch(`/opportunities/${other.id}`, { customerId: from.id });
  expect(named).toMatchObject(rejected('body.customerId'));
});

test.each(['put', 'update'] as const)(
  'the id of a customer that was merged into a new one while a %s waited is accepted',
  async (method) => {
    const agency = await service.agency();
    const [lead, from] = [await opportunity(agency), await customer(agency)];
    const write = async (scope: OrganizationScope, fields: object) =>
      opportunityRecord[method](scope, lead.id, { salesStage: 'qualified', ...fields });
    let into = '';
    const [written] = await agency.scope.transaction(async (within) => {
      await write(within, { nights: 3 });
      const waiting = write(agency.scope, { customerId: from.id });
      await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
      const survivor = await customer(agency);
      await merge(agency, survivor, from);
      into = survivor.id;
      return [waiting];
    });
    await written;
    expect((await dashboard.of(agency).get(`/opportunities/${lead.id}`)).body.customerId).toBe(into);
  },
);

test('the survivor keeps its fields, and gets those that it lacks, the tags, the contacts and a second summary', async () => {
  const agency = await service.agency();
  const mine = { firstName: 'Ana', summary: 'a', tags: ['x', 'y'] };
  const into = await customer(agency, { ...mine, contacts: [web('a')] });
  const other = { firstName: 'Eva', lastName: 'Gil', city: 'Lima', summary: 'b', tags: ['y', 'z', 'a'] };
  const from = await customer(agency, { ...other, contacts: [web('b'), web('c')] });
  const { body } = await merge(agency, into, from);
  const names = { firstName: 'Ana', lastName: 'Gil', displayName: 'Ana Gil' };
  const rest = { city: 'Lima', country: null, summary: 'a\n\nb', tags: ['x', 'y', 'z', 'a'] };
  const contacts = [...into.contacts, ...from.contacts];
  expect(body).toMatchObject({ id: into.id, ...names, ...rest, contacts });
  const found = await agency.get(`/v1/customers?query=${from.contacts[1].identifierValue}`);
  expect(found.body.data).toHaveLength(1);
  const kept = { firstName: 'Eva', mergedInto: into.id, archivedAt: expect.any(String) };
  expect((await dashboard.of(agency).get(`/customers/${from.id}`)).body).toMatchObject(kept);
});

test('an archived twin is merged: contacts that the survivor has are left out, one that a third has is a conflict', async () => {
  const agency = await service.agency();
  const twin = await customer(agency, { contacts: [web('own'), web('shared')], summary: 'gemela' });
  const lead = await opportunity(agency, { customerId: twin.id });
  const lost = await opportunity(agency, { customerId: twin.id });
  const offer = await quote(agency, { opportunityId: lost.id });
  await dashboard.of(agency).delete(`/quotes/${offer.id}`);
  await dashboard.of(agency).delete(`/opportunities/${lost.id}`);
  const { id: customerId } = await customer(agency);
  const named = { channel: 'web', contact: 'own', contactName: 'Ana', customerId };
  const { id } = await conversation(agency, named);
  await agency.delete(`/v1/customers/${twin.id}`);
  await dashboard.of(agency).patch(`/conversations/${id}`, { contact: 'another' });
  const into = await customer(agency, { contacts: [web('shared')] });
  const third = await customer(agency, { contacts: [web('own')] });
  const before = await dashboard.stored(agency);
  const conflict = { path: 'from.contacts[0]', customerId: third.id };
  const error = failed(409, 'CUSTOMER_CONTACT_CONFLICT', [conflict]);
  expect(await merge(agency, into, twin)).toMatchObject(error);
  expect(await dashboard.stored(agency)).toEqual(before);
  await agency.patch(`/v1/customers/${third.id}`, { contacts: [web('other')] });
  const archivedAt = async () => (await dashboard.of(agency).get(`/customers/${twin.id}`)).body.archivedAt;
  const archived = await archivedAt();
  const merged = await merge(agency, into, twin);
  expect(await archivedAt()).toBe(archived);
  const contacts = [into.contacts[0], { id: twin.contacts[0].id, displayName: null }];
  expect(merged.body).toMatchObject({ summary: 'gemela', contacts });
  const { opportunities, quotes } = await dashboard.stored(agency);
  const tied = [opportunities, quotes].flat().map((row) => row as { id: string; customer_id: string });
  expect(tied.map((row) => [row.id, row.customer_id]).sort()).toEqual(
    [lead, lost, offer].map(({ id }) => [id, into.id]).sort(),
  );
  expect((await merge(agency, into, twin)).text).toBe(merged.text);
  const itself = rejected(['body.from', 'must be another customer']);
  expect(await merge(agency, into, { id: into.id.toUpperCase() })).toMatchObject(itself);
  const isGone = rejected(['body.from', expect.stringMatching(/ that was neither merged nor erased$/)]);
  expect(await merge(agency, third, twin)).toMatchObject(isGone);
  for (const from of [into, third]) await dashboard.of(agency).post(`/customers/${from.id}/erase`);
  for (const from of [twin, third])
    expect(await merge(agency, await customer(agency), from)).toMatchObject(isGone);
  expect(await findDrift(service, agency)).toEqual([]);
});

const contacts = Array.from({ length: 50 }, () => web(randomUUID()));
const tags = Array.from({ length: 100 }, (_, index) => `tag ${index}`);
const long = tags.map((tag) => tag.padEnd(100, 'x'));
const full = contacts.slice(1).map(({ identifierValue }) => web(identifierValue.padEnd(320, 'x')));
const summary = 'á'.repeat(100) + 'x'.repeat(49_898);

test.each([
  ['contacts', { contacts }, {}, { contacts: contacts.slice(1) }],
  ['tags', { tags }, { tags: ['another'] }, { tags: tags.slice(1) }],
  ['summary', { summary }, { summary: 'b' }, { summary: summary.slice(2) }],
  ['bytes', { tags: long, contacts: full }, { summary: 'x'.repeat(40_000) }, { tags: [] }],
])(
  'a merge that would exceed the limit of %s is rejected and changes nothing',
  async (name, full, more, less) => {
    const agency = await service.agency();
    const [into, from] = [await customer(agency, full), await customer(agency, more)];
    await opportunity(agency, { customerId: from.id });
    const before = await dashboard.stored(agency);
    const error = rejected(['body.from', expect.stringContaining(name)]);
    expect(await merge(agency, into, from)).toMatchObject(error);
    expect(await dashboard.stored(agency)).toEqual(before);
    await agency.patch(`/v1/customers/${into.id}`, less);
    expect((await merge(agency, into, from)).status).toBe(200);
  },
);

test.each(['into', 'from'])(
  'merged customers are exported and erased as one person, by the id of %s',
  async (name) => {
    const agency = await service.agency();
    const call = dashboard.of(agency);
    const into = await customer(agency, { firstName: 'Olvidada', summary: 'olvidada' });
    const from = await customer(agency, { city: 'olvidada', tags: ['olvidada'] });
    const lead = await opportunity(agency, { customerId: from.id, title: 'olvidada' });
    await merge(agency, into, from);
    const [{ id }, other] = name === 'into' ? [into, from] : [from, into];
    expect((await call.get(`/customers/${id}/export`)).body).toMatchObject({
      customer: { id },
      mergedCustomers: [{ id: other.id }],
      opportunities: [{ id: lead.id, title: 'olvidada' }],
    });
    const { erased } = (await call.post(`/customers/${id}/erase`)).body;
    expect(erased).toMatchObject({ contacts: 2, opportunities: 1 });
    expect(JSON.stringify(await dashboard.stored(agency)).toLowerCase()).not.toContain('olvidada');
    for (const each of [into, from]) {
      expect((await call.get(`/customers/${each.id}`)).body.erasedAt).not.toBeNull();
      expect((await call.post(`/customers/${each.id}/erase`)).body).toMatchObject({ id: each.id, erased });
    }
    expect(await findDrift(service, agency)).toEqual([]);
  },
);
