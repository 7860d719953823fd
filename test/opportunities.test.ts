import { expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { opportunity } from './support/records.ts';

const { service, dashboard } = useDashboard();

async function written() {
  const agency = await service.agency();
  const path = `/opportunities/${(await opportunity(agency, { temperature: 'warm' })).id}`;
  const { patch, get } = dashboard.of(agency);
  return {
    patch: (body: object) => patch(path, body),
    read: async () => (await get(path)).body,
    reported: async () => (await agency.get(`/v1${path}`)).body.temperature,
  };
}

test('a manual override by a team member is the temperature that is reported, whatever the agent writes', async () => {
  const { patch, reported } = await written();
  await patch({ temperatureOverride: 'hot' });
  for (const temperature of ['cold', null, 'discarded']) {
    const { body } = await patch({ temperature });
    expect(body).toMatchObject({ temperatureOverride: 'hot', agentTemperature: temperature });
    expect(await reported()).toBe('hot');
  }
  await patch({ temperatureOverride: null });
  expect(await reported()).toBe('discarded');
});

test('both writers of the temperature at the same moment lose nothing of each other', async () => {
  const { patch, read } = await written();
  await Promise.all([
    ...['cold', 'unknown', 'cold'].map((temperature) => patch({ temperature })),
    ...['hot', 'discarded', 'hot'].map((temperatureOverride) => patch({ temperatureOverride })),
  ]);
  const { agentTemperature, temperatureOverride } = await read();
  expect(['cold', 'unknown']).toContain(agentTemperature);
  expect(['hot', 'discarded']).toContain(temperatureOverride);
});
