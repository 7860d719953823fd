import { describe, expect, test } from 'vitest';
import { opportunityRecord } from '../../src/opportunities/repository.ts';
import { pipelineStageRecord } from '../../src/pipeline-stages/repository.ts';
import { teamMemberRecord } from '../../src/team/repository.ts';
import { useDashboard } from '../support/dashboard.ts';
import { findDrift } from '../support/drift.ts';
import {
  archiveOf,
  filterValues,
  LISTS,
  OPERATIONS,
  operationsBy,
  populate,
  readList,
  requestOf,
  run,
  send,
} from '../support/operations.ts';
import { attachment, conversation, customer, member, opportunity, quote, stage } from '../support/records.ts';

const { service, dashboard } = useDashboard();
const newWorld = async () => ({ service, dashboard, agency: await service.agency() });

const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

/** They read, bring back or erase archived records, too. */
const OF_ARCHIVED = /^PUT |\/(restore|export|erase)$|^GET \/dashboard.*\/customers\//;

const archivable = Object.entries(LISTS).filter(([, { archive }]) => archive !== undefined);

describe.each(archivable)('an archived record of %s', (name, list) => {
  test('is in no list and no total, whatever the filter', async () => {
    const world = await newWorld();
    const [text] = Object.keys(list.searched);
    const filters = await filterValues(world.agency, list);
    const fields = {
      ...Object.fromEntries(filters.map(({ field, written }) => [field, written[0]])),
      ...(text && { [text]: 'Igual' }),
    };
    const gone = await list.make(world.agency, fields);
    const stays = await list.make(world.agency, fields);
    const sent = filters.map((filter) => new URLSearchParams({ [filter.name]: filter.sent }).toString());
    const queries = ['', ...sent, ...(text ? ['query=igual'] : [])];
    for (const query of queries)
      expect((await readList(world, name, query)).body.pagination.total, `${query} before`).toBe(2);
    expect((await archiveOf(world, list, gone.id)).status).toBe(200);
    for (const query of ['limit=1', ...queries]) {
      const { body } = await readList(world, name, query);
      expect(body.data, query).toEqual([stays]);
      expect(body.pagination.total, query).toBe(1);
    }
    expect((await readList(world, name, 'offset=1')).body).toEqual({
      data: [],
      pagination: { limit: 25, offset: 1, total: 1 },
    });
  });

  test('answers every operation like a record that never was, and stays as it is', async () => {
    const world = await newWorld();
    const has = await populate(world);
    const { id } = await list.make(world.agency);
    await archiveOf(world, list, id);
    const before = await dashboard.stored(world.agency);
    const [idName = ''] = /\w+(?=\}$)/.exec(list.archive ?? '') ?? [];
    const ofRecord = Object.keys(OPERATIONS).filter((each) => each.includes(`{${idName}}`));
    expect(ofRecord.length).toBeGreaterThan(2);
    for (const operation of ofRecord.filter((each) => !OF_ARCHIVED.test(each))) {
      const ask = async (of: string, bodies: object = {}) =>
        send(world, { ...(await requestOf(operation, has, { [idName]: of })), ...bodies });
      for (const bodies of operation.startsWith('PATCH') ? [{}, { body: {} }] : [{}]) {
        const [archived, missing] = [await ask(id, bodies), await ask(UNKNOWN, bodies)];
        expect(archived.status, operation).toBe(404);
        expect(archived.text.replace(id, UNKNOWN)).toBe(missing.text);
      }
    }
    expect(await dashboard.stored(world.agency)).toEqual(before);
  });
});

/** To end a key or to close an organization a second time has the first answer. */
const ONCE = operationsBy('DELETE').filter((name) => !/\{(apiKeyId|organizationId)\}$/.test(name));

test.each(ONCE)('of 20 simultaneous %s exactly one is done, and counts', async (name) => {
  const world = await newWorld();
  const has = await populate(world);
  const answers = await Promise.all(Array.from({ length: 20 }, () => run(world, name, has)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(404)]);
  expect(await findDrift(service, world.agency)).toEqual([]);
});

describe('other records still show the name and id of one that is archived', () => {
  test('of a customer: its opportunities, conversations and quotes', async () => {
    const agency = await service.agency();
    const ana = await customer(agency, { firstName: 'Ana', lastName: 'Peña' });
    const deal = await opportunity(agency, { customerId: ana.id });
    await conversation(agency, { customerId: ana.id });
    await quote(agency, { opportunityId: deal.id });
    await agency.delete(`/v1/customers/${ana.id}`);
    const named = { customerId: ana.id, customerName: 'Ana Peña' };
    expect((await agency.get(`/v1/opportunities/${deal.id}`)).body).toMatchObject(named);
    for (const list of ['opportunities', 'conversations', 'quotes']) {
      expect((await agency.get(`/v1/${list}`)).body.data, list).toMatchObject([named]);
    }
  });

  test('of a seller and of a stage: its opportunities', async () => {
    const agency = await service.agency();
    const [lucia, column] = [await member(agency), await stage(agency, { key: 'negotiation' })];
    const { id } = await opportunity(agency, { sellerMemberId: lucia.id, stageId: column.id });
    await teamMemberRecord.archive(agency.scope, lucia.id);
    await pipelineStageRecord.archive(agency.scope, column.id);
    const { body } = await agency.get(`/v1/opportunities/${id}`);
    expect(body).toMatchObject({
      sellerMemberId: lucia.id,
      sellerName: 'Lucía Romero',
      stageId: column.id,
      stage: 'negotiation',
    });
    expect((await agency.get(`/v1/opportunities?stageId=${column.id}`)).body.data).toEqual([body]);
  });

  test('of an opportunity: its quotes and their attachments', async () => {
    const agency = await service.agency();
    const offer = await quote(agency);
    await attachment(agency, service.storage, offer.id);
    await opportunityRecord.archive(agency.scope, offer.opportunityId);
    expect((await agency.get(`/v1/quotes?opportunityId=${offer.opportunityId}`)).body.data).toEqual([offer]);
    expect((await agency.get(`/v1/quotes/${offer.id}/attachments`)).body.data).toHaveLength(1);
  });
});

test('a record that comes back is in every list and total again', async () => {
  const agency = await service.agency();
  const deal = await opportunity(agency, { title: 'Igual' });
  await opportunityRecord.archive(agency.scope, deal.id);
  await opportunity(agency, { title: 'Igual' }, deal.id);
  for (const filter of ['', 'query=igual', 'salesStage=qualified']) {
    const { body } = await agency.get(`/v1/opportunities?${filter}`);
    expect(body.pagination.total).toBe(1);
    expect(body.data[0].id).toBe(deal.id);
  }
});
