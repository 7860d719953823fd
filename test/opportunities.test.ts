import { describe, expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { customer, opportunity } from './support/records.ts';

const { service, dashboard } = useDashboard();

const OPPORTUNITIES = '/v1/opportunities';

const idsOf = (body: { data: { id: string }[] }): string[] => body.data.map(({ id }) => id);

describe('getOpportunity', () => {
  test('of a customer without a name has its id and no name', async () => {
    const agency = await service.agency();
    const { id: customerId } = await customer(agency);
    const { id } = await opportunity(agency, { customerId });
    expect((await agency.get(`${OPPORTUNITIES}/${id}`)).body).toMatchObject({
      customerId,
      customerName: null,
    });
  });
});

describe('the temperature has two writers', () => {
  const written = async () => {
    const agency = await service.agency();
    const { id } = await opportunity(agency, { title: 'Luna de miel', temperature: 'warm' });
    const call = dashboard.of(agency);
    const path = `/opportunities/${id}`;
    return {
      path,
      call,
      read: async () => (await call.get(path)).body,
      reported: async () => (await agency.get(`/v1${path}`)).body.temperature,
    };
  };

  test('a manual override by a team member takes precedence, and no PATCH of the agent forgets it', async () => {
    const { path, call, read, reported } = await written();
    expect((await call.patch(path, { temperatureOverride: 'hot' })).status).toBe(200);
    for (const temperature of ['cold', null, 'discarded']) {
      const { body } = await call.patch(path, { temperature, lastActivityAt: '2026-11-20T10:00:00Z' });
      expect(body).toMatchObject({
        temperature: 'hot',
        temperatureOverride: 'hot',
        agentTemperature: temperature,
      });
      expect(body.title).toBe('Luna de miel');
      expect(await reported()).toBe('hot');
    }
    await call.patch(path, { temperatureOverride: null });
    expect(await read()).toMatchObject({ temperature: 'discarded', temperatureOverride: null });
    expect(await reported()).toBe('discarded');
  });

  test('both at the same moment lose nothing of each other', async () => {
    const { path, call, read } = await written();
    await Promise.all([
      ...['cold', 'unknown', 'cold'].map((temperature) => call.patch(path, { temperature })),
      ...['hot', 'warm', 'hot'].map((temperatureOverride) => call.patch(path, { temperatureOverride })),
    ]);
    const { agentTemperature, temperatureOverride } = await read();
    expect(['cold', 'unknown']).toContain(agentTemperature);
    expect(['hot', 'warm']).toContain(temperatureOverride);
  });

  test('an opportunity that was read can be sent back: the reported temperature is not taken for the agent’s', async () => {
    const { path, call, read } = await written();
    await call.patch(path, { temperatureOverride: 'hot' });
    const before = await read();
    expect(before).toMatchObject({ temperature: 'hot', agentTemperature: 'warm' });
    for (const answer of [await call.patch(path, before), await call.put(path, before)])
      expect(answer.body).toEqual(before);
  });
});

describe('listOpportunities', () => {
  test('temperature is the one that is reported', async () => {
    const agency = await service.agency();
    const { id } = await opportunity(agency, { temperature: 'cold', temperatureOverride: 'hot' });
    const listed = async (temperature: string) =>
      idsOf((await agency.get(`${OPPORTUNITIES}?temperature=${temperature}`)).body);
    expect([await listed('hot'), await listed('cold')]).toEqual([[id], []]);
    await opportunity(agency, { temperature: 'cold', temperatureOverride: null }, id);
    expect([await listed('hot'), await listed('cold')]).toEqual([[], [id]]);
  });
});
