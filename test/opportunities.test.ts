import { describe, expect, test } from 'vitest';
import { archiveOpportunity } from '../src/dashboard/opportunities/repository.ts';
import { customer, member, opportunity, stage } from './support/records.ts';
import { useService } from './support/service.ts';

const service = useService();

const OPPORTUNITIES = '/v1/opportunities';
const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

const EMPTY = {
  title: null,
  shortRef: null,
  destination: null,
  customerId: null,
  customerName: null,
  sellerMemberId: null,
  sellerName: null,
  budgetMin: null,
  budgetMax: null,
  budgetCurrency: null,
  checkInDate: null,
  nights: null,
  passengerCount: null,
  salesStage: 'qualified',
  stage: null,
  stageId: null,
  temperature: null,
  qualifiedAt: null,
  lastActivityAt: null,
};

const idsOf = (body: { data: { id: string }[] }): string[] => body.data.map(({ id }) => id);

describe('getOpportunity', () => {
  test('of one with nothing but a sales stage has every field, null', async () => {
    const agency = await service.agency();
    const { id } = await opportunity(agency);
    const { status, body } = await agency.get(`${OPPORTUNITIES}/${id}`);
    expect(status).toBe(200);
    expect(body).toEqual({ ...EMPTY, id, createdAt: expect.any(String), updatedAt: body.createdAt });
  });

  test('shows every field, with the names of customer and seller and the key of the stage', async () => {
    const agency = await service.agency();
    const ana = await customer(agency, { firstName: 'Ana', lastName: 'Peña' });
    const lucia = await member(agency, { name: 'Lucía Romero' });
    const column = await stage(agency, { key: 'negotiation', name: 'Negociación' });
    const fields = {
      title: 'Patagonia, familia Peña',
      shortRef: 'OP-1042',
      destination: 'Bariloche',
      customerId: ana.id,
      sellerMemberId: lucia.id,
      budgetMin: 2500.5,
      budgetMax: 4000,
      budgetCurrency: 'USD',
      checkInDate: '2027-01-15',
      nights: 7,
      passengerCount: 4,
      salesStage: 'proposal',
      stageId: column.id,
      temperature: 'warm',
      qualifiedAt: '2026-11-01T10:00:00.123Z',
      lastActivityAt: '2026-11-20T10:00:00.000Z',
    };
    const { id } = await opportunity(agency, fields);
    const { body } = await agency.get(`${OPPORTUNITIES}/${id}`);
    expect(body).toEqual({
      ...fields,
      id,
      customerName: 'Ana Peña',
      sellerName: 'Lucía Romero',
      stage: 'negotiation',
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await agency.get(OPPORTUNITIES)).body).toEqual({
      data: [body],
      pagination: { limit: 25, offset: 0, total: 1 },
    });
  });

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

  test('an unknown or archived opportunity is 404', async () => {
    const agency = await service.agency();
    const { id } = await opportunity(agency);
    await archiveOpportunity(agency.scope, id);
    for (const gone of [id, UNKNOWN, 'x']) {
      const { status, body } = await agency.get(`${OPPORTUNITIES}/${gone}`);
      expect(status).toBe(404);
      expect(body).toEqual({
        error: { code: 'OPPORTUNITY_NOT_FOUND', message: `The opportunity "${gone}" does not exist.` },
      });
    }
  });
});

describe('listOpportunities', () => {
  test('shows the most recently updated first, and of one moment the highest id first', async () => {
    const agency = await service.agency();
    const ids: string[] = [];
    for (let index = 0; index < 4; index += 1) ids.push((await opportunity(agency)).id);
    await service.query(`update opportunities set updated_at = '2026-01-01' where id = any($1)`, [
      ids.slice(1),
    ]);
    await service.query(`update opportunities set updated_at = '2025-01-01' where id = $1`, [ids[0]]);
    expect(idsOf((await agency.get(OPPORTUNITIES)).body)).toEqual(ids.toReversed());
  });

  test('salesStage and stageId match exactly, and total counts what they left', async () => {
    const agency = await service.agency();
    const [first, second] = [await stage(agency, { key: 'a' }), await stage(agency, { key: 'b' })];
    const one = await opportunity(agency, { salesStage: 'qualified', stageId: first.id });
    const two = await opportunity(agency, { salesStage: 'Qualified', stageId: second.id });
    const three = await opportunity(agency, { salesStage: 'lost', stageId: second.id });
    for (const [filter, expected] of [
      ['salesStage=qualified', [one]],
      ['salesStage=Qualified', [two]],
      ['salesStage=qual', []],
      [`stageId=${second.id}`, [three, two]],
      [`stageId=${second.id.toUpperCase()}`, [three, two]],
      [`stageId=${second.id}&salesStage=lost`, [three]],
      ['stageId=b', []],
      [`stageId=${UNKNOWN}`, []],
    ] as const) {
      const { status, body } = await agency.get(`${OPPORTUNITIES}?${filter}`);
      expect(status).toBe(200);
      expect(idsOf(body), filter).toEqual(expected.map(({ id }) => id));
      expect(body.pagination.total).toBe(expected.length);
    }
  });

  test('customerId, sellerMemberId and temperature match exactly, alone and with others', async () => {
    const agency = await service.agency();
    const [ana, eva] = [await customer(agency), await customer(agency)];
    const [lucia, pedro] = [await member(agency), await member(agency)];
    const [customerId, sellerMemberId] = [ana.id, lucia.id];
    const one = await opportunity(agency, { customerId, sellerMemberId, temperature: 'hot' });
    const two = await opportunity(agency, { customerId, temperature: 'cold', title: 'Patagonia' });
    const three = await opportunity(agency, { customerId: eva.id, sellerMemberId, title: 'Patagonia' });
    const other = await service.agency();
    const foreign = await customer(other);
    const foreignMember = await member(other);
    await opportunity(other, {
      customerId: foreign.id,
      sellerMemberId: foreignMember.id,
      temperature: 'hot',
    });
    for (const [filter, expected] of [
      [`customerId=${customerId}`, [two, one]],
      [`customerId=${customerId.toUpperCase()}`, [two, one]],
      [`customerId=${customerId}&query=patagonia`, [two]],
      [`customerId=${customerId}&sellerMemberId=${sellerMemberId}&temperature=hot`, [one]],
      [`sellerMemberId=${sellerMemberId}`, [three, one]],
      [`sellerMemberId=${sellerMemberId}&query=patagonia`, [three]],
      [`sellerMemberId=${pedro.id}`, []],
      ['temperature=hot', [one]],
      ['temperature=hot&query=patagonia', []],
      ['temperature=cold&query=patagonia&salesStage=qualified', [two]],
      ['temperature=unknown', []],
      [`customerId=${foreign.id}`, []],
      [`sellerMemberId=${foreignMember.id}`, []],
      [`customerId=${UNKNOWN}`, []],
      ['customerId=ana', []],
      ['sellerMemberId=lucia', []],
    ] as const) {
      const { status, body } = await agency.get(`${OPPORTUNITIES}?${filter}`);
      expect(status).toBe(200);
      expect(idsOf(body), filter).toEqual(expected.map(({ id }) => id));
      expect(body.pagination.total, filter).toBe(expected.length);
    }
  });

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

  test('query looks in title, short reference and destination, and nowhere else', async () => {
    const agency = await service.agency();
    const word = 'zanahoria';
    const ana = await customer(agency, { firstName: word });
    const one = await opportunity(agency, { title: `La ${word}` });
    const two = await opportunity(agency, { shortRef: `OP-${word}` });
    const three = await opportunity(agency, { destination: 'Zanahória' });
    await opportunity(agency, { customerId: ana.id, salesStage: word, checkInDate: word });
    const { body } = await agency.get(`${OPPORTUNITIES}?query=${word}`);
    expect(idsOf(body)).toEqual([three.id, two.id, one.id]);
    expect(body.pagination.total).toBe(3);
  });

  test('an archived opportunity is not listed or counted, with or without a filter', async () => {
    const agency = await service.agency();
    const gone = await opportunity(agency, { title: 'Igual' });
    const stays = await opportunity(agency, { title: 'Igual' });
    await archiveOpportunity(agency.scope, gone.id);
    for (const filter of ['', '?query=igual', '?salesStage=qualified']) {
      const { body } = await agency.get(OPPORTUNITIES + filter);
      expect(body).toEqual({ data: [stays], pagination: { limit: 25, offset: 0, total: 1 } });
    }
  });

  test('total follows every write of the dashboard', async () => {
    const agency = await service.agency();
    const made = await Promise.all(Array.from({ length: 12 }, () => opportunity(agency)));
    await Promise.all(made.slice(0, 5).map(({ id }) => archiveOpportunity(agency.scope, id)));
    await Promise.all(made.slice(0, 2).map(({ id }) => opportunity(agency, {}, id)));
    expect((await agency.get(OPPORTUNITIES)).body.pagination.total).toBe(9);
  });
});
