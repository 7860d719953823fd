import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { findDrift } from './support/drift.ts';
import { customer, opportunity } from './support/records.ts';
import type { Agency } from './support/service.ts';

/** Two customers of one person become one. What it makes of both is the model's. */

const { service, dashboard } = useDashboard();

const web = (identifierValue: string) => ({ identifierType: 'web', identifierValue });
const path = ({ id }: { id: string }): string => `/v1/customers/${id}`;
const merge = (agency: Agency, into: { id: string }, from: { id: string }) =>
  dashboard.of(agency).post(`/customers/${into.id}/merge`, { from: from.id });
const erase = (agency: Agency, { id }: { id: string }) => dashboard.of(agency).post(`/customers/${id}/erase`);

describe('a merge', () => {
  test('makes the 404 of every customer that was merged before name the last one', async () => {
    const agency = await service.agency();
    const [first, second, last] = [await customer(agency), await customer(agency), await customer(agency)];
    await merge(agency, second, first);
    await merge(agency, last, second);
    for (const gone of [first, second])
      for (const reply of [
        await agency.get(path(gone)),
        await agency.patch(path(gone), { city: 'Lima' }),
        await agency.delete(path(gone)),
      ]) {
        expect(reply).toMatchObject({ status: 404, body: { error: { code: 'CUSTOMER_NOT_FOUND' } } });
        expect(reply.body.error.message).toContain(last.id);
      }
    expect((await merge(agency, last, first)).status).toBe(200);
    expect((await merge(agency, second, first)).status).toBe(404);
  });

  const contacts = Array.from({ length: 50 }, () => web(randomUUID()));
  const tags = Array.from({ length: 100 }, (_, n) => `a ${n}`);
  const summary = '🌴'.repeat(49_998);
  test.each([
    ['contacts', { contacts }, {}, { contacts: contacts.slice(1) }],
    ['tags', { tags }, { tags: ['b'] }, { tags: tags.slice(1) }],
    ['summary', { summary }, { summary: 'b' }, { summary: summary.slice(2) }],
  ])('that would exceed the bound of %s is rejected and changes nothing', async (name, full, more, less) => {
    const agency = await service.agency();
    const [ana, twin] = [await customer(agency, full), await customer(agency, more)];
    await opportunity(agency, { customerId: twin.id });
    const before = await dashboard.stored(agency);
    const { status, body } = await merge(agency, ana, twin);
    expect([status, body.error.details]).toEqual([
      400,
      [{ path: 'body.from', message: expect.stringContaining(name) }],
    ]);
    expect(await dashboard.stored(agency)).toEqual(before);
    await agency.patch(path(ana), less);
    expect((await merge(agency, ana, twin)).status).toBe(200);
  });

  test('is erased and exported as one person, by the id of either', async () => {
    const agency = await service.agency();
    const call = dashboard.of(agency);
    for (const asked of ['into', 'from'] as const) {
      const into = await customer(agency, { firstName: 'Olvidada', summary: 'olvidada' });
      const from = await customer(agency, { firstName: 'olvidada', city: 'olvidada', tags: ['olvidada'] });
      const lead = await opportunity(agency, { customerId: from.id, title: 'olvidada' });
      await merge(agency, into, from);
      const ids = { into: into.id, from: from.id };
      const { body: all } = await call.get(`/customers/${ids[asked]}/export`);
      expect(all.customer.id).toBe(ids[asked]);
      expect(all.mergedCustomers.map(({ id }: { id: string }) => id)).toEqual([
        asked === 'into' ? from.id : into.id,
      ]);
      expect(all.opportunities).toMatchObject([{ id: lead.id, title: 'olvidada' }]);

      const erased = await erase(agency, { id: ids[asked] });
      expect(erased).toMatchObject({ status: 200, body: { erased: { contacts: 2, opportunities: 1 } } });
      expect(JSON.stringify(await dashboard.stored(agency)).toLowerCase()).not.toContain('olvidada');
      for (const id of Object.values(ids)) {
        expect((await call.get(`/customers/${id}`)).body).toMatchObject({ erasedAt: expect.any(String) });
        expect((await erase(agency, { id })).body).toMatchObject({ id, erased: erased.body.erased });
      }
    }
    expect(await findDrift(service, agency)).toEqual([]);
  });
});
