import { describe, expect, test } from 'vitest';
import { archiveOpportunity } from '../../src/dashboard/opportunities/repository.ts';
import { archivePipelineStage } from '../../src/dashboard/pipeline-stages/repository.ts';
import { archiveQuote } from '../../src/dashboard/quotes/repository.ts';
import { archiveTeamMember } from '../../src/dashboard/team-members/repository.ts';
import { attachment, conversation, customer, member, opportunity, quote, stage } from '../support/records.ts';
import { type Agency, useService } from '../support/service.ts';

const service = useService();

const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

type Archivable = {
  list: string;
  make: (agency: Agency) => Promise<{ id: string }>;
  archive: (agency: Agency, id: string) => Promise<unknown>;
  /** Filters that match what `make` makes. */
  filters: string[];
  /** Operations on one record, each with its body. */
  byId: [method: string, suffix: string, body?: object][];
};

const RESOURCES: Archivable[] = [
  {
    list: '/v1/catalog/products',
    make: async (agency) =>
      (
        await agency.post('/v1/catalog/products', {
          title: 'Igual',
          budgetTier: 'mid',
          externalReferenceCode: 'IGUAL',
          variants: [{ label: 'x' }],
        })
      ).body,
    archive: (agency, id) => agency.delete(`/v1/catalog/products/${id}`),
    filters: [
      'query=igual',
      'status=active',
      'type=package',
      'budgetTier=mid',
      'externalReferenceCode=IGUAL',
    ],
    byId: [
      ['GET', ''],
      ['PATCH', '', { title: 'Otro' }],
      ['PATCH', '', {}],
      ['DELETE', ''],
    ],
  },
  {
    list: '/v1/customers',
    make: (agency) => customer(agency, { firstName: 'Igual', tags: ['igual'] }),
    archive: (agency, id) => agency.delete(`/v1/customers/${id}`),
    filters: ['query=igual', 'tag=igual', 'query=visitor'],
    byId: [
      ['GET', ''],
      ['PATCH', '', { firstName: 'Otra' }],
      ['PATCH', '', { contacts: [{ identifierType: 'web', identifierValue: 'otra' }] }],
      ['PATCH', '', {}],
      ['DELETE', ''],
    ],
  },
  {
    list: '/v1/opportunities',
    make: (agency) => opportunity(agency, { title: 'Igual', temperature: 'hot' }),
    archive: ({ scope }, id) => archiveOpportunity(scope, id),
    filters: ['query=igual', 'salesStage=qualified', 'temperature=hot'],
    byId: [['GET', '']],
  },
  {
    list: '/v1/quotes',
    make: (agency) => quote(agency, { title: 'Igual' }),
    archive: ({ scope }, id) => archiveQuote(scope, id),
    filters: ['query=igual', 'status=draft'],
    byId: [['GET', '/attachments']],
  },
  {
    list: '/v1/team',
    make: (agency) => member(agency),
    archive: ({ scope }, id) => archiveTeamMember(scope, id),
    filters: [],
    byId: [],
  },
];

describe.each(RESOURCES)('an archived record of $list', ({ list, make, archive, filters, byId }) => {
  test('is in no list and no total, whatever the filter', async () => {
    const agency = await service.agency();
    const [gone, stays] = [await make(agency), await make(agency)];
    for (const filter of ['', ...filters]) {
      const { body } = await agency.get(`${list}?${filter}`);
      expect(body.pagination.total, `${filter} before`).toBe(2);
    }
    await archive(agency, gone.id);
    for (const filter of ['', 'limit=1', ...filters]) {
      const { body } = await agency.get(`${list}?${filter}`);
      expect(body.data, filter).toEqual([stays]);
      expect(body.pagination.total, filter).toBe(1);
    }
    expect((await agency.get(`${list}?offset=1`)).body).toEqual({
      data: [],
      pagination: { limit: 25, offset: 1, total: 1 },
    });
  });

  test('answers every operation like a record that never was', async () => {
    const agency = await service.agency();
    const { id } = await make(agency);
    await archive(agency, id);
    for (const [method, suffix, body] of byId) {
      const ask = (of: string) => agency.request(method, `${list}/${of}${suffix}`, body ? { body } : {});
      const [archived, missing] = [await ask(id), await ask(UNKNOWN)];
      expect(archived.status, method).toBe(404);
      expect(archived.text.replace(id, UNKNOWN)).toBe(missing.text);
    }
  });
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
    await archiveTeamMember(agency.scope, lucia.id);
    await archivePipelineStage(agency.scope, column.id);
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
    await archiveOpportunity(agency.scope, offer.opportunityId);
    expect((await agency.get(`/v1/quotes?opportunityId=${offer.opportunityId}`)).body.data).toEqual([offer]);
    expect((await agency.get(`/v1/quotes/${offer.id}/attachments`)).body.data).toHaveLength(1);
  });
});

test('a record that comes back is in every list and total again', async () => {
  const agency = await service.agency();
  const deal = await opportunity(agency, { title: 'Igual' });
  await archiveOpportunity(agency.scope, deal.id);
  await opportunity(agency, { title: 'Igual' }, deal.id);
  for (const filter of ['', 'query=igual', 'salesStage=qualified']) {
    const { body } = await agency.get(`/v1/opportunities?${filter}`);
    expect(body.pagination.total).toBe(1);
    expect(body.data[0].id).toBe(deal.id);
  }
});
