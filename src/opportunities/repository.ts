import { type Placeholder, sql } from 'drizzle-orm';
import { survivorOf } from '../customers/repository.ts';
import {
  activeCustomers,
  activeMembers,
  activeOpportunities,
  activeStages,
  byId,
  changeFilters,
  columnsOf,
  contains,
  customerName,
  customers,
  defineGet,
  defineList,
  defineRecord,
  equals,
  type Json,
  jsonList,
  matching,
  named,
  nameOfParts,
  newestFirst,
  type OrganizationScope,
  opportunities,
  pipelineStages,
  reportedTemperature,
  searchableOpportunities,
  statementsBySet,
  teamMembers,
  unprepared,
  valuesOf,
  viewOf,
} from '../db/index.ts';
import {
  Opportunity,
  OpportunityListQuery,
  OpportunityPut,
  OpportunityRecord,
  type OpportunityTotal,
  type OpportunityTotalsQuery,
  type OpportunityUpdate,
} from './schema.ts';

/** Names are those of the current records, archived or not. */
const derived = {
  customerName: named(customerName, customers, opportunities.customerId),
  sellerName: named(teamMembers.name, teamMembers, opportunities.sellerMemberId),
  stage: named(pipelineStages.key, pipelineStages, opportunities.stageId),
  temperature: reportedTemperature(opportunities),
};

export const opportunityView = viewOf(activeOpportunities, Opportunity, derived);

const filters = {
  ...changeFilters(activeOpportunities),
  ...byId('customerId', opportunities.customerId, survivorOf),
  ...byId('sellerMemberId', opportunities.sellerMemberId),
  ...byId('stageId', opportunities.stageId),
  query: contains(activeOpportunities.searchedText, searchableOpportunities.search),
  salesStage: equals(opportunities.salesStage),
  temperature: { where: ($: Placeholder) => sql`${reportedTemperature(opportunities)} = ${$}` },
};

const opportunityLists = {
  query: OpportunityListQuery,
  order: newestFirst(opportunities, opportunities.updatedAt),
  filters,
};

export const listOpportunities = defineList('opportunities.list', opportunityView, opportunityLists);

/** @throws OPPORTUNITY_NOT_FOUND */
export const getOpportunity = defineGet('opportunities.get', opportunityView);

export const opportunityRecordView = viewOf(activeOpportunities, OpportunityRecord, {
  ...derived,
  agentTemperature: opportunities.temperature,
});

const defined = defineRecord(opportunityRecordView, {
  lists: opportunityLists,
  columns: columnsOf(OpportunityPut.omit({ agentTemperature: true }), opportunities),
  references: { customerId: activeCustomers, sellerMemberId: activeMembers, stageId: activeStages },
});

const { stageId, budgetCurrency, budgetMin, budgetMax } = opportunities;

const sumStatement = statementsBySet(
  (entries) =>
    unprepared(
      nameOfParts(['opportunities.summary', ...entries]),
      () => sql<{ body: Json<OpportunityTotal> }>`
    select row_to_json(item) as body from (
      select stage_id as "stageId", sum(amount)::integer as count, concat('[', string_agg(
        (select row_to_json(sums) from (select currency as "budgetCurrency", least as "budgetMin", most as "budgetMax") sums)::text,
        ',' order by currency) filter (where least is not null or most is not null), ']')::json as budgets
      from (
        select ${stageId} as stage_id, ${budgetCurrency} as currency, count(*) as amount,
          trim_scale(sum(${budgetMin})) as least, trim_scale(sum(${budgetMax})) as most
        from ${opportunities} where ${matching(activeOpportunities, filters, entries).where}
        group by ${stageId}, ${budgetCurrency}) summed
      group by stage_id order by stage_id) item`,
    ),
  [[]],
);

/** One row for each stage, with the sums of each currency. */
export async function sumOpportunities(
  scope: OrganizationScope,
  query: OpportunityTotalsQuery,
): Promise<Json<{ data: OpportunityTotal[] }>> {
  const values = valuesOf(filters, query);
  const rows = await scope.read(sumStatement(Object.keys(values)), values);
  const sums = rows.map(({ body }) => body);
  return jsonList(sums, ']}');
}

/** `agentTemperature` wins over `temperature` if both are sent. */
const withTemperature = <Input extends OpportunityUpdate>({ agentTemperature, ...input }: Input) =>
  agentTemperature === undefined ? input : { ...input, temperature: agentTemperature };

export const opportunityRecord = {
  ...defined,
  put: (scope: OrganizationScope, id: string, input: OpportunityPut) =>
    defined.put(scope, id, withTemperature(input)),
  update: (scope: OrganizationScope, id: string, input: OpportunityUpdate) =>
    defined.update(scope, id, withTemperature(input)),
};
