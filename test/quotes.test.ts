import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { OrganizationScope } from '../src/db/index.ts';
import { eraseCustomer } from '../src/person/erase.ts';
import { mergeCustomer } from '../src/person/merge.ts';
import { openQuote, quoteRecord } from '../src/quotes/repository.ts';
import { useDashboard } from './support/dashboard.ts';
import { countAtWork } from './support/databases.ts';
import { findAllDrift } from './support/drift.ts';
import { failed, rejected } from './support/faults.ts';
import { interrupted, overlap, type Work } from './support/races.ts';
import { customer, opportunity, quote } from './support/records.ts';
import { idsOf } from './support/service.ts';

const { service, dashboard } = await useDashboard();

test('the story of a quote: the dashboard writes it, an integration reads it, until it is archived', async () => {
  const agency = await service.agency();
  // Paths of the dashboard, below /dashboard/v1/organizations/{organizationId}.
  const { put, patch, post, delete: archive } = dashboard.of(agency);
  const ana = await customer(agency, { firstName: 'Ana' });
  const { id: opportunityId } = await opportunity(agency, { customerId: ana.id });

  // Create. A field that is not sent is null; the customer is that of the opportunity.
  const id = randomUUID();
  const fields = { opportunityId, title: 'Patagonia en familia', currency: 'USD' };
  const draft = { ...fields, status: 'draft', price: 3_650 };
  const created = await put(`/quotes/${id}`, draft);
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({
    ...draft,
    ...{ id, destination: null, customerId: ana.id, customerName: 'Ana', token: expect.any(String) },
    ...{ openCount: 0, firstOpenedAt: null, lastOpenedAt: null, publishedAt: null },
  });

  // Conflict: a customer cannot open a draft.
  expect(await post(`/quotes/${id}/opens`)).toMatchObject(failed(409, 'QUOTE_NOT_PUBLISHED'));

  // PATCH changes one field, clears another with null, and leaves the rest as it is. Then the customer opens the quote.
  await patch(`/quotes/${id}`, { status: 'published', price: null });
  await post(`/quotes/${id}/opens`);
  const { archivedAt: _, ...made } = created.body;
  const at = expect.any(String);
  const dates = { firstOpenedAt: at, lastOpenedAt: at, publishedAt: at, updatedAt: at };
  const opened = { ...made, ...dates, status: 'published', price: null, openCount: 1 };

  // List.
  const pagination = { limit: 25, offset: 0, total: 1 };
  expect((await agency.get('/v1/quotes')).body).toEqual({ data: [opened], pagination });

  // Archive: the quote is gone, with its attachments.
  const archived = { status: 200, body: { id, archivedAt: expect.any(String) } };
  expect(await archive(`/quotes/${id}`)).toMatchObject(archived);
  expect(await agency.get(`/v1/quotes/${id}/attachments`)).toMatchObject(failed(404, 'QUOTE_NOT_FOUND'));
  expect((await agency.get('/v1/quotes')).body.pagination.total).toBe(0);
});

test('a quote can be created with the token of an existing public link; the token finds it, and cannot be changed', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const { id: opportunityId } = await opportunity(agency);
  const path = `/quotes/${randomUUID()}`;
  const body = { opportunityId, title: 'Cartagena', status: 'published', token: 'aurora/1' };

  const { body: created } = await call.put(path, body);
  const page = `/quotes?token=${encodeURIComponent('aurora/1')}`;
  expect((await call.get(page)).body.data).toEqual([created]);

  // The public page knows the token alone, which no quote of another organization can have.
  expect((await dashboard.get(page)).body).toEqual({ ...created, organizationId: agency.id });
  const other = await service.agency();
  const theirs = { ...body, opportunityId: (await opportunity(other)).id };
  const putTheirs = (token: string) =>
    dashboard.of(other).put(`/quotes/${randomUUID()}`, { ...theirs, token });
  expect((await putTheirs('aurora/1')).status).toBe(400);
  // Of two organizations at the same time, one gets the token.
  for (let round = 0; round < 5; round += 1) {
    const token = randomUUID();
    const ours = call.put(`/quotes/${randomUUID()}`, { ...body, token });
    const both = await Promise.all([ours, putTheirs(token)]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 400]);
  }

  const fixed = rejected(['body.token', 'cannot be changed after it was first set']);
  for (const write of [call.put, call.patch])
    expect(await write(path, { ...body, token: 'aurora/2' })).toMatchObject(fixed);
  const taken = rejected(['body.token', 'is already the token of another quote']);
  expect(await call.put(`/quotes/${randomUUID()}`, body)).toMatchObject(taken);

  await call.delete(path);
  expect((await dashboard.get(page)).body.error.code).toBe('QUOTE_NOT_FOUND');
});

test('an earlier opening comes first; none can be more than 24 hours ahead, or null', async () => {
  const agency = await service.agency();
  const { id } = await quote(agency, { status: 'published' });
  const open = (body: object) => dashboard.of(agency).post(`/quotes/${id}/opens`, body);
  const { lastOpenedAt } = (await open({})).body;
  const openedAt = '2026-11-20T10:00:00.000Z';
  const second = { openCount: 2, firstOpenedAt: openedAt, lastOpenedAt };
  expect((await open({ openedAt })).body).toMatchObject(second);
  const ahead = { openedAt: new Date(Date.now() + 25 * 3_600_000).toISOString() };
  const error = rejected(['body.openedAt', 'must be at most 24 hours in the future']);
  expect(await open(ahead)).toMatchObject(error);
  const headers = { 'content-type': 'application/json' };
  const none = await dashboard.of(agency).post(`/quotes/${id}/opens`, Buffer.from('null'), { headers });
  expect(none).toMatchObject(rejected(['body', 'must not be null']));
});

test('a quote can be created with its openings; a later PUT does not change them; the largest number of them stays', async () => {
  const agency = await service.agency();
  const at = '2026-11-20T10:00:00.000Z';
  const openings = { openCount: 2 ** 31 - 1, firstOpenedAt: at, lastOpenedAt: at };
  const created = await quote(agency, { status: 'published', ...openings });
  expect(created).toMatchObject(openings);
  const { opportunityId, id } = created;
  for (const later of [{}, { openCount: 9, firstOpenedAt: null, lastOpenedAt: null }])
    expect(await quote(agency, { opportunityId, status: 'published', ...later }, id)).toEqual(created);
  expect((await dashboard.of(agency).post(`/quotes/${id}/opens`)).body.openCount).toBe(openings.openCount);
});

test("a quote's customer is always its opportunity's, also beside a write of either; a body cannot name one", async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const [ana, eva] = [await customer(agency), await customer(agency)];
  // Another organization has the same ids.
  const neighbour = await service.agency();
  const [{ id: leadId }, { id: otherId }] = [await opportunity(neighbour), await opportunity(neighbour)];
  await quote(neighbour, { opportunityId: leadId });
  const lead = await opportunity(agency, {}, leadId);
  const other = await opportunity(agency, { customerId: eva.id }, otherId);
  const id = randomUUID();
  const path = `/quotes/${id}`;
  const body = { opportunityId: lead.id, title: 'Cartagena', status: 'draft' };
  const created = await call.put(path, { ...body, customerId: eva.id });
  expect([created.status, created.body.customerId]).toEqual([201, null]);
  expect(created.headers['x-ignored-parameters']).toBe('body.customerId');
  expect((await call.patch(path, { customerId: eva.id })).body).toEqual(created.body);

  const read = async () => (await call.get(path)).body;
  for (const customerId of [ana.id, null, ana.id, eva.id]) {
    const before = await read();
    await call.patch(`/opportunities/${lead.id}`, { customerId });
    const { customerId: followed, updatedAt } = await read();
    expect([followed, updatedAt > before.updatedAt]).toEqual([customerId, true]);
    for (const sent of [ana.id, eva.id, 'null'])
      expect(idsOf(await agency.get(`/v1/quotes?customerId=${sent}`))).toEqual(
        sent === String(customerId) ? [id] : [],
      );
  }
  // Archived, it follows too.
  await call.delete(path);
  await call.patch(`/opportunities/${lead.id}`, { customerId: ana.id });
  expect((await call.post(`${path}/restore`)).body.customerId).toBe(ana.id);
  // Moved to another opportunity, by PATCH and by PUT.
  expect((await call.patch(path, { opportunityId: other.id })).body.customerId).toBe(eva.id);
  expect((await call.put(path, body)).body.customerId).toBe(ana.id);

  // The opportunity goes to the other customer, and one more quote is written.
  const move: Work = (scope) => opportunity({ ...agency, scope }, { customerId: eva.id }, lead.id);
  const add: Work = (scope) => quote({ ...agency, scope }, { opportunityId: lead.id });
  await overlap(service, agency, move, add);
  await call.patch(`/opportunities/${lead.id}`, { customerId: ana.id });
  await overlap(service, agency, add, move);
  expect(await findAllDrift(service, agency)).toEqual([]);
});

test('a quote that waited for an erasure or a merge of its new customer is returned as the next GET returns it', async () => {
  const agency = await service.agency();
  const writes = ['new', 'put', 'patch'] as const;
  const firsts = [
    (scope: OrganizationScope, id: string) => eraseCustomer(scope, id),
    async (scope: OrganizationScope, id: string) =>
      mergeCustomer(scope, id, { from: (await customer(agency, { firstName: 'Ana', lastName: 'Ruiz' })).id }),
  ];
  for (const first of firsts)
    for (const write of writes) {
      const { id: customerId } = await customer(agency, { firstName: 'Ana' });
      const { id: opportunityId } = await opportunity(agency, { customerId });
      const { id } = write === 'new' ? { id: randomUUID() } : await quote(agency);
      const moved = { opportunityId, title: 'Cartagena', status: 'draft' as const };
      const { put, update } = quoteRecord;
      const second: Work = async (scope) =>
        write === 'patch' ? update(scope, id, moved) : (await put(scope, id, moved)).body;
      const response = await overlap(service, agency, (scope) => first(scope, customerId), second);
      expect(String(response)).toBe(String(await quoteRecord.get(agency.scope, id)));
    }
});

test('an opening of an archived quote that is restored meanwhile is never one of a quote that is not published', async () => {
  const agency = await service.agency();
  const { id } = await quote(agency, { status: 'published' });
  await quoteRecord.archive(agency.scope, id);
  let restored: Promise<unknown> | undefined;
  const { scope } = interrupted(agency.scope, 'quotes.get_record', () => {
    restored = quoteRecord.restore(agency.scope, id);
    const waits = expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
    return Promise.race([restored, waits]);
  });
  await expect(openQuote(scope, id)).rejects.toMatchObject({ code: 'QUOTE_NOT_FOUND' });
  await restored;
});

test('what was published keeps its date; a published quote of an erased customer counts no openings', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const { id: opportunityId } = await opportunity(agency, { customerId: (await customer(agency)).id });
  const { id, publishedAt, customerId } = await quote(agency, { opportunityId, status: 'published' });
  const path = `/quotes/${id}`;
  for (const status of ['disabled', 'published']) {
    const { body } = await call.patch(path, { status, publishedAt: null });
    expect(body).toMatchObject({ status, publishedAt });
  }
  await call.post(`/customers/${customerId}/erase`);
  expect(await call.post(`${path}/opens`)).toMatchObject(failed(409, 'QUOTE_NOT_PUBLISHED'));
  expect((await agency.get('/v1/quotes')).body.data[0]).toMatchObject({ status: 'published', openCount: 0 });
});
