import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
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

describe('the key of a stage is the stable value to branch on', () => {
  test('its name may change at any time, and moves nothing', async () => {
    const { agency, call, put } = await pipeline();
    const { body: stage } = await put('negotiation', 'Negociación');
    const { id } = await opportunity(agency, { stageId: stage.id });
    const read = async () => (await agency.get(`/v1/opportunities/${id}`)).body;
    const before = await read();
    expect(before).toMatchObject({ stage: 'negotiation', stageId: stage.id });
    for (const renamed of [
      await put('negotiation', 'En conversación', stage.id),
      await call.patch(`/pipeline-stages/${stage.id}`, { name: 'Cerrando', position: 7 }),
    ])
      expect([renamed.status, renamed.body.key]).toEqual([200, 'negotiation']);
    expect(await read()).toEqual(before);
  });

  test('it is written once: another one later is refused', async () => {
    const { agency, call, put } = await pipeline();
    const { body: stage } = await put('won', 'Ganado');
    const before = await dashboard.stored(agency);
    for (const refused of [
      await put('lost', 'Ganado', stage.id),
      await call.patch(`/pipeline-stages/${stage.id}`, { key: 'lost' }),
    ])
      expect([refused.status, refused.body.error.details]).toEqual([
        400,
        [{ path: 'body.key', message: 'is written once, and cannot be changed' }],
      ]);
    expect(await dashboard.stored(agency)).toEqual(before);
    await call.delete(`/pipeline-stages/${stage.id}`);
    expect((await put('lost', 'Ganado', stage.id)).status).toBe(400);
  });

  test('no two live stages of an organization have the same; of simultaneous ones one wins', async () => {
    const { agency, call, put } = await pipeline();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => put('won', `Ganado ${index}`)),
    );
    const [created, ...refused] = answers.sort((a, b) => a.status - b.status);
    expect(created?.status).toBe(201);
    for (const { status, body } of refused)
      expect([status, body.error.code]).toEqual([409, 'PIPELINE_STAGE_KEY_TAKEN']);
    expect((await call.get('/pipeline-stages')).body.pagination.total).toBe(1);
    expect((await put('Won', 'Other letters are another key')).status).toBe(201);
    const neighbour = await pipeline();
    expect((await neighbour.put('won', 'Ganado')).status).toBe(201);
    expect((await agency.get('/v1/opportunities')).status).toBe(200);
  });

  test('an archived stage frees its key, and comes back only while nobody else has it', async () => {
    const { call, put } = await pipeline();
    const [{ body: old }, path] = [await put('won', 'Ganado'), '/pipeline-stages'];
    await call.delete(`${path}/${old.id}`);
    const { status, body: next } = await put('won', 'Ganado otra vez');
    expect(status).toBe(201);
    const back = () => put('won', 'Ganado', old.id);
    const refused = await back();
    expect([refused.status, refused.body.error.code]).toEqual([409, 'PIPELINE_STAGE_KEY_TAKEN']);
    await call.delete(`${path}/${next.id}`);
    expect((await back()).status).toBe(200);
  });
});

test('the list has the columns from left to right', async () => {
  const { call } = await pipeline();
  const places = [2, 0, 1, 1];
  for (const [index, position] of places.entries())
    await call.put(`/pipeline-stages/${randomUUID()}`, { key: `k${index}`, name: `n${index}`, position });
  const { body } = await call.get('/pipeline-stages?limit=3');
  expect(body.data.map(({ position }: { position: number }) => position)).toEqual([0, 1, 1]);
  expect(body.pagination).toEqual({ limit: 3, offset: 0, total: 4 });
});
