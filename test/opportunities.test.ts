import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { customer } from './support/records.ts';

const { service, dashboard } = useDashboard();

test('an opportunity as the dashboard writes it and an integration reads it, until it is archived', async () => {
  const agency = await service.agency();
  const other = await service.agency();
  const { put, patch, delete: archive } = dashboard.of(agency);
  const ana = await customer(agency, { firstName: 'Ana', lastName: 'Peña' });
  const id = randomUUID();
  const stageId = randomUUID();
  await put(`/pipeline-stages/${stageId}`, { key: 'negotiation', name: 'Negociación' });

  const written = await put(`/opportunities/${id}`, {
    title: 'Patagonia, familia Peña',
    destination: 'Bariloche',
    customerId: ana.id,
    budgetMax: 4_000,
    budgetCurrency: 'USD',
    salesStage: 'qualified',
    stageId,
    temperature: 'warm',
  });
  expect(written.status).toBe(201);

  const url = `/v1/opportunities/${id}`;
  const read = await agency.get(url);
  expect(read.body).toEqual({
    id,
    title: 'Patagonia, familia Peña',
    shortRef: null,
    destination: 'Bariloche',
    customerId: ana.id,
    customerName: 'Ana Peña',
    sellerMemberId: null,
    sellerName: null,
    budgetMin: null,
    budgetMax: 4_000,
    budgetCurrency: 'USD',
    checkInDate: null,
    nights: null,
    passengerCount: null,
    salesStage: 'qualified',
    stage: 'negotiation',
    stageId,
    temperature: 'warm',
    qualifiedAt: null,
    lastActivityAt: null,
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  });

  // A team member's override takes precedence over the agent's value; null clears a field.
  await patch(`/opportunities/${id}`, { temperatureOverride: 'hot', destination: null });
  const changed = { ...read.body, temperature: 'hot', destination: null, updatedAt: expect.any(String) };
  expect((await agency.get(url)).body).toEqual(changed);

  // A reference has to lead to a record of this organization; otherwise nothing changes.
  const elsewhere = await customer(other);
  expect(await patch(`/opportunities/${id}`, { customerId: elsewhere.id })).toMatchObject({
    status: 400,
    body: { error: { code: 'VALIDATION_FAILED', details: [{ path: 'body.customerId' }] } },
  });

  await put(`/opportunities/${randomUUID()}`, { title: 'Cusco', salesStage: 'new' });
  expect((await agency.get('/v1/opportunities?limit=1')).body.pagination).toEqual({
    limit: 1,
    offset: 0,
    total: 2,
  });
  for (const filter of [
    'salesStage=qualified',
    `stageId=${stageId}`,
    'query=patagonia',
    `customerId=${ana.id}`,
  ])
    expect((await agency.get(`/v1/opportunities?${filter}`)).body, filter).toEqual({
      data: [changed],
      pagination: { limit: 25, offset: 0, total: 1 },
    });

  // An integration only reads, and another organization does not even do that.
  expect((await agency.patch(url, { title: 'x' })).status).toBe(404);
  expect((await other.get(url)).status).toBe(404);
  expect((await other.get('/v1/opportunities')).body.pagination.total).toBe(0);

  expect(await archive(`/opportunities/${id}`)).toMatchObject({
    status: 200,
    body: { id, archivedAt: expect.any(String) },
  });
  expect(await agency.get(url)).toMatchObject({
    status: 404,
    body: { error: { code: 'OPPORTUNITY_NOT_FOUND' } },
  });
  expect((await agency.get('/v1/opportunities')).body.pagination.total).toBe(1);
});

test('no two live stages of an organization have one key: of simultaneous ones one wins', async () => {
  const { get, put } = dashboard.of(await service.agency());
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => put(`/pipeline-stages/${randomUUID()}`, { key: 'won', name: 'Ganado' })),
  );
  const [created, ...refused] = answers.sort((a, b) => a.status - b.status);
  expect(created?.status).toBe(201);
  for (const { body } of refused) expect(body.error.code).toBe('PIPELINE_STAGE_KEY_TAKEN');
  expect((await get('/pipeline-stages')).body.pagination.total).toBe(1);
});
