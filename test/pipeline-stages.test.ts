import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { opportunity } from './support/records.ts';

const { service, dashboard } = useDashboard();

async function pipeline() {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const put = (key: string, name: string, id = randomUUID()) =>
    call.put(`/pipeline-stages/${id}`, { key, name });
  return { agency, call, put };
}

test('a stage may be renamed at any time; its key is the stable value, and is written once', async () => {
  const { agency, call, put } = await pipeline();
  const { id } = (await put('negotiation', 'Negociación')).body;
  const deal = await opportunity(agency, { stageId: id });
  await call.patch(`/pipeline-stages/${id}`, { name: 'Cerrando', position: 7 });
  await put('negotiation', 'En conversación', id);
  const others = [
    await put('lost', 'Perdido', id),
    await call.patch(`/pipeline-stages/${id}`, { key: 'lost' }),
  ];
  for (const { status, body } of others)
    expect([status, body.error.details]).toEqual([
      400,
      [{ path: 'body.key', message: 'is written once, and cannot be changed' }],
    ]);
  expect((await agency.get(`/v1/opportunities/${deal.id}`)).body).toEqual(deal);
  expect(deal.stage).toBe('negotiation');
});

test('no two live stages of an organization have one key: of simultaneous ones one wins', async () => {
  const { call, put } = await pipeline();
  const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => put('won', `Ganado ${index}`)));
  const [created, ...refused] = answers.sort((a, b) => a.status - b.status);
  expect(created?.status).toBe(201);
  for (const { status, body } of refused)
    expect([status, body.error.code]).toEqual([409, 'PIPELINE_STAGE_KEY_TAKEN']);
  expect((await call.get('/pipeline-stages')).body.pagination.total).toBe(1);
  expect((await put('Won', 'Other letters are another key')).status).toBe(201);
  expect((await (await pipeline()).put('won', 'Ganado')).status).toBe(201);
});

test('an archived stage frees its key, and comes back only while nobody else has it', async () => {
  const { call, put } = await pipeline();
  const { body: old } = await put('won', 'Ganado');
  await call.delete(`/pipeline-stages/${old.id}`);
  const { status, body: next } = await put('won', 'Ganado otra vez');
  expect(status).toBe(201);
  expect((await put('won', 'Ganado', old.id)).body.error.code).toBe('PIPELINE_STAGE_KEY_TAKEN');
  await call.delete(`/pipeline-stages/${next.id}`);
  expect((await put('won', 'Ganado', old.id)).status).toBe(200);
});
