import { z } from 'zod';
import * as f from '../contract/fields.ts';

const temperature = () => z.enum(['hot', 'warm', 'cold', 'unknown', 'discarded']);

export const Opportunity = f.object('Opportunity', {
  id: f.recordId(),
  title: f.nullableText('A short title for people.', 'Patagonia, familia Peña'),
  shortRef: f.nullableText("The agency's short reference, for people.", 'OP-1042'),
  destination: f.nullableText('Where the customer wants to go, as it was sent.', 'Bariloche'),
  customerId: f.nullableId('The customer of the lead; null if unknown.'),
  customerName: f.nullableText('The name of the customer, even if the customer is archived.', 'Ana Peña'),
  sellerMemberId: f.nullableId('The team member who sells; null if nobody is assigned.'),
  sellerName: f.nullableText('The name of the team member who sells.', 'Lucía Romero'),
  budgetMin: f.nullableNumber('The lower limit of the budget, in `budgetCurrency`.', 2500),
  budgetMax: f.nullableNumber('The upper limit of the budget, in `budgetCurrency`.', 4000),
  budgetCurrency: f.nullableText('The currency of the budget, three characters.', 'USD'),
  checkInDate: f.nullableText(
    'Text as the agency wrote it. A calendar date such as 2027-01-15 is recommended.',
    '2027-01-15',
  ),
  nights: f.field(z.int32().nullable(), 'The number of nights.', 7),
  passengerCount: f.field(z.int32().nullable(), 'The number of travellers.', 4),
  salesStage: f.string(
    'A sales status that the dashboard writes; the agency chooses the values. It is independent of the pipeline column, `stage`. New values can appear.',
    'qualified',
  ),
  stage: f.nullableText(
    'The key of the pipeline column. Agencies rename columns, but the key stays: branch on it.',
    'negotiation',
  ),
  stageId: f.nullableId('The id of the pipeline column.'),
  temperature: temperature()
    .nullable()
    .describe('The override of a team member takes precedence over the value of the agent.'),
  qualifiedAt: f.nullableDateTime('When it was qualified; null if it never entered the pipeline.'),
  lastActivityAt: f.nullableDateTime(
    'The last activity that the dashboard recorded. Messages do not change it.',
  ),
  createdAt: f.createdAt(),
  updatedAt: f.updatedAt(),
});

export const OpportunityParams = z.object({ opportunityId: f.pathId('Id of the opportunity.') });

export const OpportunityListQuery = z.object({
  ...f.changeQuery(),
  customerId: f.idFilter('customers'),
  query: f.textFilter('Text in the title, short reference or destination, ignoring case and accents.'),
  salesStage: f.textFilter('Opportunities of exactly this sales stage.', 255),
  sellerMemberId: f.idFilter('team members'),
  stageId: f.idFilter('pipeline columns'),
  temperature: f.field(
    temperature().optional(),
    'Opportunities of this temperature. The override of a team member takes precedence over the value of the agent.',
  ),
});

/** The schemas below belong to the dashboard API only. */

export const OpportunityRecordListQuery = OpportunityListQuery.extend({ archived: f.archivedFilter() });

export const OpportunityRecord = Opportunity.extend({
  temperatureOverride: temperature()
    .nullable()
    .describe('The override of a team member; null if there is none.'),
  agentTemperature: temperature().nullable().describe('The value of the agent.'),
  archivedAt: f.archivedAt(),
}).meta({ id: 'OpportunityRecord' });

export const OpportunityTotalsQuery = OpportunityListQuery.omit({ limit: true, offset: true });
export type OpportunityTotalsQuery = z.infer<typeof OpportunityTotalsQuery>;

const OpportunityTotal = f.object('OpportunityTotal', {
  stageId: f.nullableId('The column of the pipeline; null for opportunities in none.'),
  count: f.field(z.int32(), 'The number of opportunities.', 12),
  budgets: z
    .array(
      z.object({
        budgetCurrency: f.nullableText('The currency of the sums; null for budgets without one.', 'USD'),
        budgetMin: f.nullableNumber('The sum of the lower limits; null if there is none.', 30_000),
        budgetMax: f.nullableNumber('The sum of the upper limits; null if there is none.', 48_000),
      }),
    )
    .describe('The sums of each currency in which there is a budget.'),
});
export type OpportunityTotal = z.infer<typeof OpportunityTotal>;

export const OpportunityTotals = f.object('OpportunityTotals', {
  data: z.array(OpportunityTotal).describe('One entry for each column that has opportunities.'),
});

export const OpportunityPut = f
  .objectLike(Opportunity.shape, {
    title: f.text({ max: 500 }).nullish(),
    shortRef: f.name().nullish(),
    destination: f.name().nullish(),
    customerId: f.uuid().nullish(),
    sellerMemberId: f.uuid().nullish(),
    budgetMin: f.price().nullish(),
    budgetMax: f.price().nullish(),
    budgetCurrency: f.currency().nullish().describe('Three-character currency code.'),
    checkInDate: f.dateText().nullish(),
    nights: f.naturalNumber().nullish(),
    passengerCount: f.naturalNumber().nullish(),
    salesStage: f.text({ min: 1, max: 255 }).meta({ examples: ['qualified'] }),
    stageId: f.uuid().nullish(),
    temperature: temperature().nullish().describe('The value of the agent.'),
    agentTemperature: f.field(
      temperature().nullish(),
      'The same as `temperature` here. If both are sent, this one takes precedence, so that you can send back a record as you have read it.',
    ),
    temperatureOverride: temperature()
      .nullish()
      .describe('The override of a team member. If it is not null, it is reported as `temperature`.'),
    qualifiedAt: f
      .timestamp()
      .nullish()
      .describe('Default: when `stageId` is first set. While it is set, null does not clear it.'),
    lastActivityAt: f.timestamp().nullish(),
    createdAt: f.createdOnce(),
  })
  .meta({
    id: 'OpportunityPut',
    examples: [
      {
        title: 'Luna de miel en Cartagena',
        shortRef: 'OP-1042',
        destination: 'Cartagena',
        salesStage: 'qualified',
        temperature: 'warm',
        budgetMax: 3200,
        budgetCurrency: 'USD',
        checkInDate: '2027-01-15',
        nights: 6,
        passengerCount: 2,
      },
    ],
  });
export type OpportunityPut = z.infer<typeof OpportunityPut>;

export const OpportunityUpdate = f.patchOf(OpportunityPut).meta({
  id: 'OpportunityUpdate',
  examples: [{ temperatureOverride: 'hot' }],
});
export type OpportunityUpdate = z.infer<typeof OpportunityUpdate>;
