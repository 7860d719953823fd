import { describe, expect, test } from 'vitest';
import { customer, opportunity } from './support/records.ts';
import { useService } from './support/service.ts';

const service = useService();

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

  test.each(['hot', 'warm', 'cold', 'unknown', 'discarded', null])(
    'reports the temperature that the agent set, %s, while nobody overrides it',
    async (temperature) => {
      const agency = await service.agency();
      const { id } = await opportunity(agency, { temperature });
      expect((await agency.get(`${OPPORTUNITIES}/${id}`)).body.temperature).toBe(temperature);
    },
  );

  test('reports the temperature that a team member set before what the agent sets', async () => {
    const agency = await service.agency();
    const { id } = await opportunity(agency, { temperature: 'hot', temperatureOverride: 'discarded' });
    const temperature = async () => (await agency.get(`${OPPORTUNITIES}/${id}`)).body.temperature;
    expect(await temperature()).toBe('discarded');
    await opportunity(agency, { temperature: 'cold', temperatureOverride: 'discarded' }, id);
    expect(await temperature()).toBe('discarded');
    await opportunity(agency, { temperature: 'cold', temperatureOverride: null }, id);
    expect(await temperature()).toBe('cold');
  });
});

describe('listOpportunities', () => {
  test('temperature is the one that is reported, and no value but those of the list', async () => {
    const agency = await service.agency();
    const { id } = await opportunity(agency, { temperature: 'cold', temperatureOverride: 'hot' });
    const listed = async (temperature: string) =>
      idsOf((await agency.get(`${OPPORTUNITIES}?temperature=${temperature}`)).body);
    expect([await listed('hot'), await listed('cold')]).toEqual([[id], []]);
    await opportunity(agency, { temperature: 'cold', temperatureOverride: null }, id);
    expect([await listed('hot'), await listed('cold')]).toEqual([[], [id]]);
    const { status, body } = await agency.get(`${OPPORTUNITIES}?temperature=lukewarm`);
    expect(status).toBe(400);
    expect(body.error.details).toEqual([
      { path: 'query.temperature', message: 'must be one of hot, warm, cold, unknown, discarded' },
    ]);
  });
});
