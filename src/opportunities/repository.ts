import { sql } from 'drizzle-orm';
import { customerName } from '../customers/repository.ts';
import { idOrNone, isId } from '../db/ids.ts';
import { type Fields, isoTime, type Json, jsonRows } from '../db/json.ts';
import { defineList, newestFirst, searchFilter } from '../db/list.ts';
import { liveTotal } from '../db/live-count.ts';
import { customers, opportunities, pipelineStages, teamMembers } from '../db/schema/index.ts';
import type { OrganizationScope } from '../db/scope.ts';
import { lookup } from '../db/statement.ts';
import { notFound } from '../errors.ts';
import type { Opportunity } from './schema.ts';

export const opportunityFields: Fields<Opportunity> = {
  id: opportunities.id,
  title: opportunities.title,
  shortRef: opportunities.shortRef,
  destination: opportunities.destination,
  customerId: opportunities.customerId,
  customerName: customerName,
  sellerMemberId: opportunities.sellerMemberId,
  sellerName: teamMembers.name,
  budgetMin: opportunities.budgetMin,
  budgetMax: opportunities.budgetMax,
  budgetCurrency: opportunities.budgetCurrency,
  checkInDate: opportunities.checkInDate,
  nights: opportunities.nights,
  passengerCount: opportunities.passengerCount,
  salesStage: opportunities.salesStage,
  stage: pipelineStages.key,
  stageId: opportunities.stageId,
  temperature: sql`coalesce(${opportunities.temperatureOverride}, ${opportunities.temperature})`,
  qualifiedAt: isoTime(opportunities.qualifiedAt),
  lastActivityAt: isoTime(opportunities.lastActivityAt),
  createdAt: isoTime(opportunities.createdAt),
  updatedAt: isoTime(opportunities.updatedAt),
};

/** Names come from the records themselves, archived ones too. */
export const opportunityJoins = sql`
  left join ${customers} on ${customers.organizationId} = ${opportunities.organizationId} and ${customers.id} = ${opportunities.customerId}
  left join ${teamMembers} on ${teamMembers.organizationId} = ${opportunities.organizationId} and ${teamMembers.id} = ${opportunities.sellerMemberId}
  left join ${pipelineStages} on ${pipelineStages.organizationId} = ${opportunities.organizationId} and ${pipelineStages.id} = ${opportunities.stageId}`;

const liveOpportunity = sql`${opportunities.archivedAt} is null`;

const list = defineList<Opportunity, 'query' | 'salesStage' | 'stageId'>({
  name: 'list_opportunities',
  table: opportunities,
  fields: opportunityFields,
  joins: opportunityJoins,
  visible: liveOpportunity,
  order: [newestFirst(opportunities.updatedAt), newestFirst(opportunities.id)],
  filters: {
    query: searchFilter(opportunities.search),
    salesStage: sql`${opportunities.salesStage} = ${sql.placeholder('salesStage')}`,
    stageId: sql`${opportunities.stageId} = ${sql.placeholder('stageId')}`,
  },
  plannedFor: ['query'],
  total: liveTotal('opportunities'),
});

export const listOpportunities: typeof list = (scope, query) =>
  list(scope, { ...query, stageId: idOrNone(query.stageId) });

const getStatement = lookup<Opportunity, { organizationId: string; id: string }>(
  'get_opportunity',
  jsonRows(
    opportunityFields,
    sql`from ${opportunities} ${opportunityJoins}
      where ${opportunities.organizationId} = ${sql.placeholder('organizationId')}
        and ${opportunities.id} = ${sql.placeholder('id')} and ${liveOpportunity}`,
  ),
);

/** @throws OPPORTUNITY_NOT_FOUND */
export async function getOpportunity(
  { db, organizationId }: OrganizationScope,
  id: string,
): Promise<Json<Opportunity>> {
  const [row] = isId(id) ? await db.read(getStatement, { organizationId, id }) : [];
  if (!row) throw notFound('OPPORTUNITY_NOT_FOUND', 'opportunity', id);
  return row.body;
}
