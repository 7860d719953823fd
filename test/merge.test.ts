import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { findDrift } from './support/drift.ts';
import { customer, opportunity } from './support/records.ts';
import type { Agency } from './support/service.ts';

/** Two customers who are one person become one customer. The model compares the merged record. */

const { service, dashboard } = useDashboard();

type Customer = { id: string };
const merge = (agency: Agency, into: Customer, from: Customer) =>
  dashboard.of(agency).post(`/customers/${into.id}/merge`, { from: from.id });

test('a merged customer is not found, and the error names the customer of the last merge', async () => {
  const agency = await service.agency();
  const [first, second, last] = [await customer(agency), await customer(agency), await customer(agency)];
  await merge(agency, second, first);
  await merge(agency, last, second);
  const notFound = { code: 'CUSTOMER_NOT_FOUND', message: expect.stringContaining(last.id) };
  for (const { id } of [first, second])
    for (const response of [
      await agency.get(`/v1/customers/${id}`),
      await agency.patch(`/v1/customers/${id}`, { city: 'Lima' }),
      await agency.delete(`/v1/customers/${id}`),
    ])
      expect(response).toMatchObject({ status: 404, body: { error: notFound } });
  expect((await merge(agency, last, first)).status).toBe(200);
  expect((await merge(agency, second, first)).status).toBe(404);
});

const contacts = Array.from({ length: 50 }, () => ({
  identifierType: 'web',
  identifierValue: randomUUID(),
}));
const tags = Array.from({ length: 100 }, (_, index) => `tag ${index}`);
const summary = '🌴'.repeat(49_998);

test.each([
  ['contacts', { contacts }, {}, { contacts: contacts.slice(1) }],
  ['tags', { tags }, { tags: ['another'] }, { tags: tags.slice(1) }],
  ['summary', { summary }, { summary: 'b' }, { summary: summary.slice(2) }],
])(
  'a merge that would exceed the limit of %s is rejected and changes nothing',
  async (name, full, more, less) => {
    const agency = await service.agency();
    const [into, from] = [await customer(agency, full), await customer(agency, more)];
    await opportunity(agency, { customerId: from.id });
    const before = await dashboard.stored(agency);
    const details = [{ path: 'body.from', message: expect.stringContaining(name) }];
    expect(await merge(agency, into, from)).toMatchObject({ status: 400, body: { error: { details } } });
    expect(await dashboard.stored(agency)).toEqual(before);
    await agency.patch(`/v1/customers/${into.id}`, less);
    expect((await merge(agency, into, from)).status).toBe(200);
  },
);

test.each(['into', 'from'] as const)(
  'merged customers are exported and erased as one person, by the id of %s',
  async (name) => {
    const agency = await service.agency();
    const call = dashboard.of(agency);
    const into = await customer(agency, { firstName: 'Olvidada', summary: 'olvidada' });
    const from = await customer(agency, { firstName: 'olvidada', city: 'olvidada', tags: ['olvidada'] });
    const lead = await opportunity(agency, { customerId: from.id, title: 'olvidada' });
    await merge(agency, into, from);
    const [{ id }, other] = name === 'into' ? [into, from] : [from, into];
    expect((await call.get(`/customers/${id}/export`)).body).toMatchObject({
      customer: { id },
      mergedCustomers: [{ id: other.id }],
      opportunities: [{ id: lead.id, title: 'olvidada' }],
    });

    const erased = await call.post(`/customers/${id}/erase`);
    expect(erased).toMatchObject({ status: 200, body: { erased: { contacts: 2, opportunities: 1 } } });
    expect(JSON.stringify(await dashboard.stored(agency)).toLowerCase()).not.toContain('olvidada');
    for (const each of [into, from]) {
      const path = `/customers/${each.id}`;
      expect((await call.get(path)).body).toMatchObject({ erasedAt: expect.any(String) });
      const again = { id: each.id, erased: erased.body.erased };
      expect((await call.post(`${path}/erase`)).body).toMatchObject(again);
    }
    expect(await findDrift(service, agency)).toEqual([]);
  },
);
