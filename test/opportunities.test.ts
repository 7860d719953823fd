import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { parseJson, scopeTo } from '../src/db/index.ts';
import { pipelineStageRecord } from '../src/pipeline-stages/repository.ts';
import { useDashboard } from './support/dashboard.ts';
import { failed, rejected } from './support/faults.ts';
import { poolWith } from './support/instance.ts';
import { customer, member, opportunity, stage } from './support/records.ts';
import { idsOf } from './support/service.ts';

const { service, dashboard } = await useDashboard();

test('the story of an opportunity: the dashboard writes it, an integration reads it, until it is archived', async () => {
  const agency = await service.agency();
  // Paths of the dashboard, below /dashboard/v1/organizations/{organizationId}.
  const { put, patch, delete: archive } = dashboard.of(agency);
  const ana = await customer(agency, { firstName: 'Ana', lastName: 'Peña' });
  const stageId = randomUUID();
  await put(`/pipeline-stages/${stageId}`, { key: 'negotiation', name: 'Negociación' });

  // Create. A field that is not sent is null.
  const id = randomUUID();
  const sent = {
    title: 'Patagonia, familia Peña',
    destination: 'Bariloche',
    customerId: ana.id,
    budgetMax: 4_000,
    budgetCurrency: 'USD',
    salesStage: 'qualified',
    stageId,
    temperature: 'warm',
  };
  expect((await put(`/opportunities/${id}`, sent)).status).toBe(201);

  // Read.
  const read = await agency.get(`/v1/opportunities/${id}`);
  expect(read.body).toMatchObject({
    ...sent,
    ...{ id, customerName: 'Ana Peña', stage: 'negotiation', qualifiedAt: expect.any(String) },
    ...{ shortRef: null, sellerName: null, budgetMin: null, nights: null, lastActivityAt: null },
  });

  // PATCH changes one field, clears another with null, and leaves the rest as it is. A team member's override takes
  // precedence over the agent's temperature.
  await patch(`/opportunities/${id}`, { temperatureOverride: 'hot', destination: null });
  const agent = { agentTemperature: 'cold' };
  expect((await patch(`/opportunities/${id}`, agent)).body).toMatchObject(agent);
  const changed = { ...read.body, temperature: 'hot', destination: null, updatedAt: expect.any(String) };
  expect((await agency.get(`/v1/opportunities/${id}`)).body).toEqual(changed);

  // Archive: the opportunity is gone.
  const archived = { status: 200, body: { id, archivedAt: expect.any(String) } };
  expect(await archive(`/opportunities/${id}`)).toMatchObject(archived);
  expect(await agency.get(`/v1/opportunities/${id}`)).toMatchObject(failed(404, 'OPPORTUNITY_NOT_FOUND'));
  expect((await agency.get('/v1/opportunities')).body.pagination.total).toBe(0);
});

test('a reference is to an active record, or stays as it is; its name is shown when it is archived too', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const [ana, lead] = [await customer(agency, { firstName: 'Ana' }), await opportunity(agency)];
  const [{ id: stageId }, { id: sellerMemberId }] = [await stage(agency), await member(agency)];
  const chat = { channel: 'web', contact: 'a' };
  const [sale, offer] = [{ salesStage: 'new' }, { title: 'x', status: 'draft' }];
  const cases = [
    ['opportunities', 'customerId', ana.id, `/customers/${ana.id}`, sale],
    ['opportunities', 'stageId', stageId, `/pipeline-stages/${stageId}`, sale],
    ['opportunities', 'sellerMemberId', sellerMemberId, `/team-members/${sellerMemberId}`, sale],
    ['conversations', 'customerId', ana.id, `/customers/${ana.id}`, chat],
    ['quotes', 'opportunityId', lead.id, `/opportunities/${lead.id}`, offer],
  ] as const;
  for (const [path, field, id, referenced, body] of cases) {
    const [one, other] = [`/${path}/${randomUUID()}`, `/${path}/${randomUUID()}`];
    expect((await call.put(one, { ...body, [field]: id })).status).toBe(201);
    const needed = path === 'quotes' && { opportunityId: id };
    expect((await call.put(other, { ...body, ...needed })).status).toBe(201);
    const { body: before } = await call.get(one);
    await call.delete(referenced);
    for (const write of [call.put, call.patch])
      expect((await write(one, { ...body, [field]: id })).body, field).toEqual(before);
    const replies = [await call.put(`/${path}/${randomUUID()}`, { ...body, [field]: id })];
    if (path !== 'quotes') replies.push(await call.patch(other, { [field]: id }));
    for (const reply of replies) expect(reply).toMatchObject(rejected(`body.${field}`));
    await call.post(`${referenced}/restore`);
  }
});

test('an archived pipeline stage or team member leaves its key or account to others; a key cannot be changed, and a member has no role and is assignable unless sent otherwise', async () => {
  const { put, patch, delete: archive } = dashboard.of(await service.agency());
  const account = { name: 'Lucía', email: 'lucia@example.com', userId: 'user_81' };
  for (const [path, body, preset] of [
    ['/pipeline-stages', { name: 'Ganado', key: 'won' }, { position: 0 }],
    ['/team-members', account, { roles: [], isAssignable: true }],
  ] as const) {
    const [one, other] = [`${path}/${randomUUID()}`, `${path}/${randomUUID()}`];
    expect((await put(one, body)).body).toMatchObject({ ...body, ...preset });
    expect((await put(other, body)).status).toBe(409);
    await archive(one);
    expect((await put(other, body)).status).toBe(201);
  }
  const stage = `/pipeline-stages/${randomUUID()}`;
  await put(stage, { name: 'Nuevo', key: 'new' });
  const fixed = rejected(['body.key', 'cannot be changed after it was first set']);
  for (const write of [put, patch])
    expect(await write(stage, { name: 'Nuevo', key: 'old' })).toMatchObject(fixed);
});

test("a board's heads are one request: the number and the budgets of each column, with the filters of the list", async () => {
  const agency = await service.agency();
  const [column, { id: sellerMemberId }] = [await stage(agency), await member(agency)];
  const make = (fields: object) => opportunity(agency, { stageId: column.id, ...fields });
  await make({ budgetMin: 10, budgetMax: 20.5, budgetCurrency: 'USD', sellerMemberId });
  await make({ budgetMax: 0.5, budgetCurrency: 'USD' });
  await make({ budgetMin: 5, budgetCurrency: 'EUR' });
  await make({ stageId: null });
  const { id } = await make({});
  await dashboard.of(agency).delete(`/opportunities/${id}`);
  const totals = async (query = '') =>
    (await dashboard.of(agency).get(`/opportunities/totals${query}`)).body.data;
  const eur = { budgetCurrency: 'EUR', budgetMin: 5, budgetMax: null };
  const usd = { budgetCurrency: 'USD', budgetMin: 10, budgetMax: 21 };
  expect(await totals()).toEqual([
    { stageId: column.id, count: 3, budgets: [eur, usd] },
    { stageId: null, count: 1, budgets: [] },
  ]);
  expect(await totals(`?sellerMemberId=${sellerMemberId}`)).toMatchObject([{ count: 1 }]);
  // 20.5 and 0.5 are 21, not 21.0.
  expect((await dashboard.of(agency).get('/opportunities/totals')).text).toContain('"budgetMax":21}');
});

test('a stage that is set for the first time sets qualifiedAt where it was not sent, and nothing moves it later', async () => {
  const agency = await service.agency();
  const { put, patch } = dashboard.of(agency);
  const [one, other] = [await stage(agency), await stage(agency)];
  const body = { salesStage: 'new' };
  const path = `/opportunities/${randomUUID()}`;
  expect((await put(path, body)).body.qualifiedAt).toBeNull();
  const { qualifiedAt } = (await patch(path, { stageId: one.id })).body;
  expect(qualifiedAt).toEqual(expect.any(String));
  for (const again of [
    await patch(path, { stageId: other.id }),
    await put(path, { ...body, stageId: one.id }),
    await put(path, { ...body, stageId: one.id }),
    await patch(path, { qualifiedAt: null }),
  ])
    expect(again.body).toMatchObject({ qualifiedAt });
  const sent = { ...body, stageId: one.id, qualifiedAt: '2026-01-01T10:00:00.000Z' };
  expect((await put(`/opportunities/${randomUUID()}`, sent)).body).toMatchObject(sent);
});

test('pipeline stages of one position are listed by id, whole and page by page', async () => {
  const agency = await service.agency();
  const ids = [1, 2, 3, 4].map((n) => `01936f5e-0000-7000-8000-00000000000${n}`);
  for (const index of [3, 0, 2, 1]) await stage(agency, {}, ids[index]);
  // The order of an index would hide that of the list.
  const scope = scopeTo(poolWith(service, 'enable_indexscan=off', 'enable_bitmapscan=off'), agency.id);
  const read = async (limit: number, offset = 0) =>
    idsOf({ body: parseJson(await pipelineStageRecord.list(scope, { limit, offset })) });
  expect(await read(100)).toEqual(ids);
  expect((await Promise.all([0, 1, 2, 3].map((n) => read(1, n)))).flat()).toEqual(ids);
});
