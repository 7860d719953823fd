import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { opportunity } from './support/records.ts';

const { service, dashboard } = useDashboard();

test('both writers of the temperature at the same moment lose nothing of each other', async () => {
  const agency = await service.agency();
  const path = `/opportunities/${(await opportunity(agency, { temperature: 'warm' })).id}`;
  const { patch, get } = dashboard.of(agency);
  await Promise.all([
    ...['cold', 'unknown', 'cold'].map((temperature) => patch(path, { temperature })),
    ...['hot', 'discarded', 'hot'].map((temperatureOverride) => patch(path, { temperatureOverride })),
  ]);
  const { agentTemperature, temperatureOverride } = (await get(path)).body;
  expect(['cold', 'unknown']).toContain(agentTemperature);
  expect(['hot', 'discarded']).toContain(temperatureOverride);
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
