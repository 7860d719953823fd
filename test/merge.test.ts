import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { findDrift } from './support/drift.ts';
import { conversation, customer, opportunity, quote } from './support/records.ts';
import type { Agency } from './support/service.ts';

/** An archived customer comes back, and two customers of one person become one. */

const { service, dashboard } = useDashboard();

const web = (identifierValue: string) => ({ identifierType: 'web', identifierValue });
const path = ({ id }: { id: string }): string => `/v1/customers/${id}`;
const archive = (agency: Agency, record: { id: string }) => agency.delete(path(record));
const restore = (agency: Agency, { id }: { id: string }) =>
  dashboard.of(agency).post(`/customers/${id}/restore`);
const merge = (agency: Agency, into: { id: string }, from: { id: string }) =>
  dashboard.of(agency).post(`/customers/${into.id}/merge`, { from: from.id });
const erase = (agency: Agency, { id }: { id: string }) => dashboard.of(agency).post(`/customers/${id}/erase`);

describe('an archived customer', () => {
  test('is listed, read and restored in the dashboard, with its contacts', async () => {
    const agency = await service.agency();
    const call = dashboard.of(agency);
    const fields = { firstName: 'Ana', tags: ['vip'], contacts: [web('Ana'), web('ana 2')] };
    const ana = await customer(agency, fields);
    const luis = await customer(agency, { firstName: 'Luis' });
    await archive(agency, ana);
    await archive(agency, luis);

    const list = async (query = '') =>
      (await call.get(`/customers?archived=true${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await list()).toEqual([luis.id, ana.id]);
    for (const query of [
      '&query=ANA',
      '&tag=vip',
      '&contact=Ana',
      '&contact=ana%202&contactType=web',
      `&ids=${ana.id}`,
    ])
      expect(await list(query), query).toEqual([ana.id]);
    for (const query of ['&query=eva', '&tag=x', '&contact=nobody', '&contact=Ana&contactType=email'])
      expect(await list(query), query).toEqual([]);
    const { body } = await call.get('/customers?archived=true&limit=1&offset=1');
    const { updatedAt: _, ...shown } = ana;
    expect(body).toEqual({
      data: [
        {
          ...shown,
          updatedAt: expect.any(String),
          archivedAt: expect.any(String),
          mergedInto: null,
          erasedAt: null,
        },
      ],
      pagination: { limit: 1, offset: 1, total: 2 },
    });
    expect((await call.get(`/customers/${ana.id}`)).body).toMatchObject({
      archivedAt: body.data[0].archivedAt,
      mergedInto: null,
    });

    const restored = await restore(agency, ana);
    expect(restored).toMatchObject({ status: 200, body: { ...shown, contacts: ana.contacts } });
    expect(restored.body.updatedAt > ana.updatedAt).toBe(true);
    expect((await agency.get(path(ana))).text).toBe(restored.text);
    expect((await agency.post('/v1/customers', { contacts: [web('Ana')] })).status).toBe(409);
    expect((await agency.get('/v1/customers?query=ana')).body.data).toEqual([restored.body]);
    expect(await list()).toEqual([luis.id]);
    expect(await restore(agency, ana)).toMatchObject({
      status: 409,
      body: { error: { code: 'CUSTOMER_NOT_ARCHIVED' } },
    });
    expect((await restore(agency, { id: randomUUID() })).status).toBe(404);
    expect(await findDrift(service, agency)).toEqual([]);
  });

  test('whose contact another customer has is not restored; the error names that customer', async () => {
    const agency = await service.agency();
    const ana = await customer(agency, { contacts: [web('own'), web('shared')] });
    await archive(agency, ana);
    const owner = await customer(agency, { contacts: [web('shared')] });
    expect(await restore(agency, ana)).toMatchObject({
      status: 409,
      body: {
        error: {
          code: 'CUSTOMER_CONTACT_CONFLICT',
          details: [{ path: 'contacts[1]', customerId: owner.id }],
        },
      },
    });
    expect((await agency.get(path(ana))).status).toBe(404);
    await customer(agency, { contacts: [web('own')] });
    expect(await findDrift(service, agency)).toEqual([]);
  });

  test('that was erased or merged is not restored', async () => {
    const agency = await service.agency();
    const [erased, into, from] = [await customer(agency), await customer(agency), await customer(agency)];
    await erase(agency, erased);
    expect(await restore(agency, erased)).toMatchObject({
      status: 409,
      body: { error: { code: 'CUSTOMER_ERASED' } },
    });
    await merge(agency, into, from);
    expect(await restore(agency, from)).toMatchObject({
      status: 409,
      body: { error: { code: 'CUSTOMER_MERGED' } },
    });
  });
});

describe('a merge', () => {
  test('makes one customer of two, and moves all that the other had', async () => {
    const agency = await service.agency();
    const ana = await customer(agency, {
      firstName: 'Ana',
      summary: 'Viaja en enero.',
      tags: ['vip', 'playa'],
      contacts: [web('ana')],
    });
    const twin = await customer(agency, {
      firstName: 'Anita',
      lastName: 'Peña',
      city: 'Puebla',
      summary: 'Dos niños.',
      tags: ['playa', 'familia'],
      contacts: [web('anita'), { identifierType: 'whatsapp', identifierValue: '+525512345678' }],
    });
    const other = await customer(agency);
    const customerId = twin.id;
    const lead = await opportunity(agency, { customerId });
    const offer = await quote(agency, { opportunityId: lead.id, customerId });
    const thread = await conversation(agency, { customerId, contactName: 'Ana P.' });
    const foreign = await opportunity(agency, { customerId: other.id });
    const { body: named } = await agency.get(path(twin));

    const merged = await merge(agency, ana, twin);
    expect(merged).toMatchObject({
      status: 200,
      body: {
        id: ana.id,
        firstName: 'Ana',
        lastName: 'Peña',
        city: 'Puebla',
        country: null,
        summary: 'Viaja en enero.\n\nDos niños.',
        tags: ['vip', 'playa', 'familia'],
        contacts: [...ana.contacts, ...named.contacts],
        createdAt: ana.createdAt,
      },
    });
    expect(named.contacts[1].displayName).toBe('Ana P.');
    expect(merged.body.updatedAt > ana.updatedAt).toBe(true);
    expect((await agency.get(path(ana))).text).toBe(merged.text);

    for (const [record, at] of [
      [lead, `/v1/opportunities/${lead.id}`],
      [offer, '/v1/quotes'],
      [thread, '/v1/conversations'],
    ]) {
      const { body } = await agency.get(at);
      const moved = body.data?.[0] ?? body;
      expect(moved).toMatchObject({ id: record.id, customerId: ana.id, customerName: 'Ana Peña' });
      if (record.updatedAt) expect(moved.updatedAt > record.updatedAt).toBe(true);
    }
    expect((await agency.get(`/v1/opportunities/${foreign.id}`)).body).toEqual(foreign);
    expect(
      (await agency.get('/v1/conversations?updatedSince=' + merged.body.updatedAt)).body.pagination.total,
    ).toBe(1);

    const gone = await agency.get(path(twin));
    expect(gone).toMatchObject({ status: 404, body: { error: { code: 'CUSTOMER_NOT_FOUND' } } });
    expect(gone.body.error.message).toContain(ana.id);
    expect((await dashboard.of(agency).get(`/customers/${twin.id}`)).body).toMatchObject({
      archivedAt: expect.any(String),
      mergedInto: ana.id,
    });
    expect((await agency.post('/v1/customers', { contacts: [web('anita')] })).body.error.details).toEqual([
      { path: 'body.contacts[0]', customerId: ana.id },
    ]);
    for (const query of ['anita', 'dos ninos', '5512345678'])
      expect((await agency.get(`/v1/customers?query=${query}`)).body.data).toEqual([merged.body]);

    const again = await merge(agency, ana, twin);
    expect([again.status, again.text]).toEqual([200, merged.text]);
    expect(await findDrift(service, agency)).toEqual([]);
  });

  test('of a merged customer leads every earlier one to the last', async () => {
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

  test('with itself, or with a customer that is not active, is rejected and changes nothing', async () => {
    const agency = await service.agency();
    const stranger = await customer(await service.agency());
    const [ana, archived] = [await customer(agency), await customer(agency)];
    await archive(agency, archived);
    const before = await dashboard.stored(agency);
    for (const from of [ana, archived, stranger, { id: randomUUID() }])
      expect(await merge(agency, ana, from)).toMatchObject({
        status: 400,
        body: { error: { details: [{ path: 'body.from' }] } },
      });
    for (const into of [archived, stranger]) expect((await merge(agency, into, ana)).status).toBe(404);
    expect(await dashboard.stored(agency)).toEqual(before);
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
