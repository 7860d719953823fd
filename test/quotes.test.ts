import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { OrganizationScope } from '../src/db/index.ts';
import { useDashboard } from './support/dashboard.ts';
import { findAllDrift } from './support/drift.ts';
import { overlap } from './support/races.ts';
import { attachment, customer, opportunity, quote } from './support/records.ts';

const { service, dashboard } = useDashboard();

test('the story of a quote: the dashboard writes it, an integration reads it, until it is archived', async () => {
  const agency = await service.agency();
  // Paths of the dashboard, below /dashboard/v1/organizations/{organizationId}.
  const { put, patch, post, delete: archive } = dashboard.of(agency);
  const ana = await customer(agency, { firstName: 'Ana' });
  const { id: opportunityId } = await opportunity(agency, { customerId: ana.id });

  // Create. A field that is not sent is null; the customer is that of the opportunity.
  const id = randomUUID();
  const title = 'Patagonia en familia';
  const draft = { opportunityId, title, status: 'draft', price: 3_650, currency: 'USD' };
  const created = await put(`/quotes/${id}`, draft);
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({
    id,
    opportunityId,
    title: 'Patagonia en familia',
    status: 'draft',
    destination: null,
    customerId: ana.id,
    customerName: 'Ana',
    price: 3_650,
    currency: 'USD',
    token: expect.any(String),
    openCount: 0,
    firstOpenedAt: null,
    lastOpenedAt: null,
    publishedAt: null,
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  });

  // Conflict: a customer cannot open a draft.
  expect(await post(`/quotes/${id}/opens`)).toMatchObject({
    status: 409,
    body: { error: { code: 'QUOTE_NOT_PUBLISHED' } },
  });

  // PATCH changes one field, clears another with null, and leaves the rest as it is. Then the customer opens the quote.
  await patch(`/quotes/${id}`, { status: 'published', price: null });
  await post(`/quotes/${id}/opens`);
  const { archivedAt: _, ...made } = created.body;
  const opened = {
    ...made,
    status: 'published',
    price: null,
    openCount: 1,
    firstOpenedAt: expect.any(String),
    lastOpenedAt: expect.any(String),
    publishedAt: expect.any(String),
    updatedAt: expect.any(String),
  };

  // List: most recently updated first. The total counts what the filter matches, on all pages.
  const newer = await quote(agency);
  expect((await agency.get('/v1/quotes?limit=1')).body).toEqual({
    data: [newer],
    pagination: { limit: 1, offset: 0, total: 2 },
  });
  expect((await agency.get('/v1/quotes')).body.data).toEqual([newer, opened]);

  // Attachments: each has a signed, short-lived download URL.
  const { stored } = await attachment(agency, service.storage, id, { fileName: 'itinerario.pdf' });
  expect((await agency.get(`/v1/quotes/${id}/attachments`)).body).toMatchObject({
    data: [
      {
        id: stored.id,
        fileName: 'itinerario.pdf',
        kind: 'itinerary',
        mimeType: 'application/pdf',
        sizeBytes: 2_000,
        url: expect.stringMatching(/^http:.*\/files\//),
      },
    ],
  });

  const notFound = { status: 404, body: { error: { code: 'QUOTE_NOT_FOUND' } } };
  // Archive: the quote is gone, with its attachments.
  const archived = { status: 200, body: { id, archivedAt: expect.any(String) } };
  expect(await archive(`/quotes/${id}`)).toMatchObject(archived);
  expect(await agency.get(`/v1/quotes/${id}/attachments`)).toMatchObject(notFound);
  expect((await agency.get('/v1/quotes')).body).toMatchObject({ data: [newer], pagination: { total: 1 } });
});

test('a quote can be created with the token of an existing public link; the token finds it, and cannot be changed', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const { id: opportunityId } = await opportunity(agency);
  const path = `/quotes/${randomUUID()}`;
  const body = { opportunityId, title: 'Cartagena', status: 'published', token: 'aurora/1' };

  // Of simultaneous requests one creates the quote.
  const responses = await Promise.all(Array.from({ length: 20 }, () => call.put(path, body)));
  expect(responses.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
  const { data } = (await call.get(`/quotes?token=${encodeURIComponent('aurora/1')}`)).body;
  expect(data).toEqual([responses[0]?.body]);

  // The public page knows the token alone, which no quote of another organization can have.
  const page = await dashboard.get(`/quotes?token=${encodeURIComponent('aurora/1')}`);
  expect(page.body).toEqual({ ...responses[0]?.body, organizationId: agency.id });
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

  const otherToken = { ...body, token: 'aurora/2' };
  for (const [response, message] of [
    [await call.put(path, otherToken), 'cannot be changed after it was first set'],
    [await call.patch(path, { token: 'aurora/2' }), 'cannot be changed after it was first set'],
    [await call.put(`/quotes/${randomUUID()}`, body), 'is already the token of another quote'],
  ] as const)
    expect(response).toMatchObject({
      status: 400,
      body: { error: { details: [{ path: 'body.token', message }] } },
    });

  await call.delete(path);
  const gone = await dashboard.get(`/quotes?token=${encodeURIComponent('aurora/1')}`);
  expect(gone.body.error.code).toBe('QUOTE_NOT_FOUND');
});

test('an opening without a timestamp is of now, an earlier one comes first, and none can be more than 24 hours ahead', async () => {
  const agency = await service.agency();
  const { id } = await quote(agency, { status: 'published' });
  const open = (body?: object) =>
    dashboard
      .of(agency)
      .post(`/quotes/${id}/opens`, body, { headers: { 'content-type': 'application/json' } });
  const [{ now: before } = { now: new Date() }] = await service.query<{ now: Date }>('select now()');
  const first = (await open()).body;
  const now = first.lastOpenedAt;
  expect(first).toMatchObject({ openCount: 1, firstOpenedAt: now });
  // The database's clock, whatever the service's is.
  expect(Math.abs(Date.parse(now) - before.getTime())).toBeLessThan(30 * 60_000);
  const openedAt = '2026-11-20T10:00:00.000Z';
  expect((await open({ openedAt })).body).toMatchObject({
    openCount: 2,
    firstOpenedAt: openedAt,
    lastOpenedAt: now,
  });
  const message = 'must be at most 24 hours in the future';
  expect(await open({ openedAt: new Date(Date.now() + 25 * 3_600_000).toISOString() })).toMatchObject({
    status: 400,
    body: { error: { details: [{ path: 'body.openedAt', message }] } },
  });
});

test('a quote can be created with its openings; a later PUT does not change them', async () => {
  const { put } = dashboard.of(await service.agency());
  const [path, lead] = [`/quotes/${randomUUID()}`, `/opportunities/${randomUUID()}`];
  const { body: opportunity } = await put(lead, { salesStage: 'new' });
  const at = '2026-11-20T10:00:00.000Z';
  const openings = { openCount: 3, firstOpenedAt: at, lastOpenedAt: at };
  const body = { title: 'Cartagena', status: 'published', opportunityId: opportunity.id };
  const { body: created } = await put(path, { ...body, ...openings });
  expect(created).toMatchObject(openings);
  const later = { openCount: 9, firstOpenedAt: null, lastOpenedAt: null };
  for (const sent of [body, { ...body, ...later }]) expect((await put(path, sent)).body).toEqual(created);
});

test("a quote's customer is always its opportunity's, also beside a write of either; a body cannot name one", async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const [ana, eva] = [await customer(agency), await customer(agency)];
  const [lead, other] = [await opportunity(agency), await opportunity(agency, { customerId: eva.id })];
  const path = `/quotes/${randomUUID()}`;
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
    for (const sent of [ana.id, eva.id, 'null']) {
      const { data } = (await agency.get(`/v1/quotes?customerId=${sent}`)).body;
      expect(data.map(({ id }: { id: string }) => `/quotes/${id}`)).toEqual(
        sent === String(customerId) ? [path] : [],
      );
    }
  }
  // Archived, it follows too.
  await call.delete(path);
  await call.patch(`/opportunities/${lead.id}`, { customerId: ana.id });
  expect((await call.post(`${path}/restore`)).body.customerId).toBe(ana.id);
  // Moved to another opportunity, by PATCH and by PUT.
  expect((await call.patch(path, { opportunityId: other.id })).body.customerId).toBe(eva.id);
  expect((await call.put(path, body)).body.customerId).toBe(ana.id);

  // The opportunity goes to the other customer, and one more quote is written.
  const move = (scope: OrganizationScope) =>
    opportunity({ ...agency, scope }, { customerId: eva.id }, lead.id);
  await overlap(service, agency, move, (scope) => quote({ ...agency, scope }, { opportunityId: lead.id }));
  await call.patch(`/opportunities/${lead.id}`, { customerId: ana.id });
  await overlap(service, agency, (scope) => quote({ ...agency, scope }, { opportunityId: lead.id }), move);
  expect(await findAllDrift(service, agency)).toEqual([]);
});

test('what was published keeps its date; a published quote of an erased customer counts no openings', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const { id: opportunityId } = await opportunity(agency, { customerId: (await customer(agency)).id });
  const { id, publishedAt, customerId } = await quote(agency, { opportunityId, status: 'published' });
  const path = `/quotes/${id}`;
  for (const status of ['disabled', 'published'])
    expect((await call.patch(path, { status, publishedAt: null })).body).toMatchObject({
      status,
      publishedAt,
    });
  await call.post(`/customers/${customerId}/erase`);
  expect(await call.post(`${path}/opens`)).toMatchObject({
    status: 409,
    body: { error: { code: 'QUOTE_NOT_PUBLISHED' } },
  });
  expect((await agency.get('/v1/quotes')).body.data[0]).toMatchObject({ status: 'published', openCount: 0 });
});
