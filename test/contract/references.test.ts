import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type Caller, useDashboard } from '../support/dashboard.ts';
import { type Has, populate } from '../support/operations.ts';
import type { Agency } from '../support/service.ts';

const { service, dashboard } = useDashboard();

type Reference = {
  record: string;
  field: string;
  body: (has: Has) => Record<string, unknown>;
  target: keyof Has;
  archive: (agency: Agency, call: Caller, id: string) => Promise<{ status: number }>;
};

const byDashboard =
  (path: string): Reference['archive'] =>
  (_agency, call, id) =>
    call.delete(`${path}/${id}`);
const customer: Pick<Reference, 'target' | 'archive'> = {
  target: 'customerId',
  archive: (agency, _call, id) => agency.delete(`/v1/customers/${id}`),
};

const opportunity = () => ({ salesStage: 'new' });
const quote = (has: Has) => ({ opportunityId: has.opportunityId, title: 'Oaxaca', status: 'draft' });
const conversation = () => ({ channel: 'web', contact: 'visitor' });

const REFERENCES: Reference[] = [
  { record: '/opportunities', field: 'customerId', body: opportunity, ...customer },
  {
    record: '/opportunities',
    field: 'sellerMemberId',
    body: opportunity,
    target: 'teamMemberId',
    archive: byDashboard('/team-members'),
  },
  {
    record: '/opportunities',
    field: 'stageId',
    body: opportunity,
    target: 'pipelineStageId',
    archive: byDashboard('/pipeline-stages'),
  },
  {
    record: '/quotes',
    field: 'opportunityId',
    body: quote,
    target: 'opportunityId',
    archive: byDashboard('/opportunities'),
  },
  { record: '/quotes', field: 'customerId', body: quote, ...customer },
  { record: '/conversations', field: 'customerId', body: conversation, ...customer },
];

async function furnished() {
  const agency = await service.agency();
  return { agency, has: await populate({ service, agency }), call: dashboard.of(agency) };
}

describe.each(REFERENCES)('$field of $record', ({ record, field, body, target, archive }) => {
  const refused = (answer: { status: number; body: { error?: { code: string; details: unknown } } }) => {
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({
      code: 'VALIDATION_FAILED',
      details: [{ path: `body.${field}`, message: expect.any(String) }],
    });
  };

  test("refuses an id that nobody has, and another organization's", async () => {
    const { agency, has, call } = await furnished();
    const theirs = await populate({ service, agency: await service.agency() });
    const before = await dashboard.stored(agency);
    for (const id of [randomUUID(), theirs[target]]) {
      refused(await call.put(`${record}/${randomUUID()}`, { ...body(has), [field]: id }));
    }
    expect(await dashboard.stored(agency)).toEqual(before);
  });

  test('refuses an archived record as new, and keeps one that is archived later', async () => {
    const { agency, has, call } = await furnished();
    const others = await populate({ service, agency }, 'Lima', 1);
    const id = randomUUID();
    const referring = { ...body(has), [field]: has[target] };
    expect((await call.put(`${record}/${id}`, referring)).status).toBe(201);
    expect((await archive(agency, call, has[target])).status).toBe(200);

    for (const change of [call.put, call.patch]) {
      const kept = await change(`${record}/${id}`, { ...referring, destination: 'Lima', contactName: 'Ana' });
      expect([kept.status, kept.body[field]]).toEqual([200, has[target]]);
    }
    const other = randomUUID();
    refused(await call.put(`${record}/${other}`, referring));
    await call.put(`${record}/${other}`, { ...body(others), [field]: others[target] });
    refused(await call.patch(`${record}/${other}`, { [field]: has[target] }));
  });
});

test('every reference that is refused is named', async () => {
  const { has, call } = await furnished();
  const { status, body } = await call.put(`/opportunities/${randomUUID()}`, {
    salesStage: 'new',
    customerId: randomUUID(),
    sellerMemberId: has.pipelineStageId,
    stageId: has.teamMemberId,
  });
  expect(status).toBe(400);
  expect(body.error.details.map(({ path }: { path: string }) => path)).toEqual([
    'body.customerId',
    'body.sellerMemberId',
    'body.stageId',
  ]);
});

test('a reference that a record gave up cannot be taken again once its target is archived', async () => {
  const { agency, has, call } = await furnished();
  const id = randomUUID();
  await call.put(`/opportunities/${id}`, { salesStage: 'new', customerId: has.customerId });
  await agency.delete(`/v1/customers/${has.customerId}`);
  expect((await call.put(`/opportunities/${id}`, { salesStage: 'new' })).status).toBe(200);
  const again = await call.put(`/opportunities/${id}`, { salesStage: 'new', customerId: has.customerId });
  expect(again.status).toBe(400);
});

describe('customerId of a quote', () => {
  test("left out, is the opportunity's, even when that customer is archived", async () => {
    const { agency, has, call } = await furnished();
    await agency.delete(`/v1/customers/${has.customerId}`);
    const { status, body } = await call.put(`/quotes/${randomUUID()}`, {
      opportunityId: has.opportunityId,
      title: 'Oaxaca',
      status: 'draft',
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({ customerId: has.customerId, customerName: 'Ana Oaxaca' });
  });

  test('sent as null, is null', async () => {
    const { has, call } = await furnished();
    const { body } = await call.put(`/quotes/${randomUUID()}`, {
      opportunityId: has.opportunityId,
      title: 'Oaxaca',
      status: 'draft',
      customerId: null,
    });
    expect(body).toMatchObject({ customerId: null, customerName: null });
  });
});

test('text that is no id finds nothing, whatever id a record has', async () => {
  const { agency, call } = await furnished();
  const nil = '00000000-0000-0000-0000-000000000000';
  await call.put(`/pipeline-stages/${nil}`, { key: 'nil', name: 'Nil' });
  await call.put(`/opportunities/${randomUUID()}`, { ...opportunity(), stageId: nil });
  const total = async (stageId: string) =>
    (await agency.get(`/v1/opportunities?stageId=${stageId}`)).body.pagination.total;
  expect([await total(nil), await total('nil'), await total(`${nil}0`)]).toEqual([1, 0, 0]);
});
