import { z } from 'zod';
import {
  archivedAt,
  archivedFilter,
  changeQuery,
  createdOnce,
  currency,
  dateText,
  dateTime,
  field,
  id,
  idFilter,
  integer,
  name,
  nullableNumber,
  nullableText,
  oneOf,
  patchOf,
  pathId,
  price,
  text,
  textFilter,
  timestamp,
  uuid,
} from '../contract/fields.ts';
import { rejectedFields } from '../http/ignored-parameters.ts';

const temperature = () => oneOf(['hot', 'warm', 'cold', 'unknown', 'discarded']);

export const Opportunity = z
  .object({
    id: field(id(), 'Opaque, immutable identifier.'),
    title: nullableText('A short title for people.', 'Patagonia, familia Peña'),
    shortRef: nullableText("The agency's short reference, for people.", 'OP-1042'),
    destination: nullableText('Where the customer wants to go, as it was sent.', 'Bariloche'),
    customerId: field(id().nullable(), 'The customer of the lead; null if unknown.'),
    customerName: nullableText('The name of the customer, even if the customer is archived.', 'Ana Peña'),
    sellerMemberId: field(id().nullable(), 'The team member who sells; null if nobody is assigned.'),
    sellerName: nullableText('The name of the team member who sells.', 'Lucía Romero'),
    budgetMin: nullableNumber('The lower limit of the budget, in `budgetCurrency`.', 2500),
    budgetMax: nullableNumber('The upper limit of the budget, in `budgetCurrency`.', 4000),
    budgetCurrency: nullableText('The currency of the budget, three characters.', 'USD'),
    checkInDate: nullableText(
      'Text as the agency wrote it. A calendar date such as 2027-01-15 is recommended.',
      '2027-01-15',
    ),
    nights: field(z.int32().nullable(), 'The number of nights.', 7),
    passengerCount: field(z.int32().nullable(), 'The number of travellers.', 4),
    salesStage: field(
      z.string(),
      'A sales status that the dashboard writes; the agency chooses the values. It is independent of the pipeline column, `stage`. New values can appear.',
      'qualified',
    ),
    stage: nullableText(
      'The key of the pipeline column. Agencies rename columns, but the key stays: branch on it.',
      'negotiation',
    ),
    stageId: field(id().nullable(), 'The id of the pipeline column.'),
    temperature: field(
      temperature().nullable(),
      'The override of a team member takes precedence over the value of the agent.',
    ),
    qualifiedAt: field(
      dateTime().nullable(),
      'When it was qualified; null if it never entered the pipeline.',
    ),
    lastActivityAt: field(
      dateTime().nullable(),
      'The last activity that the dashboard recorded. Messages do not change it.',
    ),
    createdAt: field(dateTime(), 'When it was created.'),
    updatedAt: field(dateTime(), 'When it was last changed. The list has this order, newest first.'),
  })
  .meta({ id: 'Opportunity' });

export const OpportunityParams = z.object({ opportunityId: pathId('Id of the opportunity.') });

export const OpportunityListQuery = z
  .object({
    ...changeQuery(),
    customerId: idFilter('customers'),
    query: textFilter('Text in the title, short reference or destination, ignoring case and accents.'),
    salesStage: textFilter('Opportunities of exactly this sales stage.'),
    sellerMemberId: idFilter('team members'),
    stageId: idFilter('pipeline columns'),
    temperature: temperature()
      .optional()
      .describe(
        'Opportunities of this temperature. The override of a team member takes precedence over the value of the agent.',
      ),
  })
  .register(rejectedFields, {
    stage: 'is unknown (did you mean stageId? It takes the id of a pipeline column, not its key)',
  });

/** The schemas below belong to the dashboard API only. */

export const OpportunityRecordListQuery = OpportunityListQuery.extend({ archived: archivedFilter() });

export const OpportunityRecord = Opportunity.extend({
  temperatureOverride: field(
    temperature().nullable(),
    'The override of a team member; null if there is none.',
  ),
  agentTemperature: field(temperature().nullable(), 'The value of the agent.'),
  archivedAt: archivedAt(),
}).meta({ id: 'OpportunityRecord' });

export const OpportunityTotalsQuery = OpportunityListQuery.omit({ limit: true, offset: true });
export type OpportunityTotalsQuery = z.infer<typeof OpportunityTotalsQuery>;

const OpportunityTotal = z
  .object({
    stageId: field(id().nullable(), 'The column of the pipeline; null for opportunities in none.'),
    count: field(z.int32(), 'The number of opportunities.', 12),
    budgets: z
      .array(
        z.object({
          budgetCurrency: nullableText('The currency of the sums; null for budgets without one.', 'USD'),
          budgetMin: nullableNumber('The sum of the lower limits; null if there is none.', 30_000),
          budgetMax: nullableNumber('The sum of the upper limits; null if there is none.', 48_000),
        }),
      )
      .describe('The sums of each currency in which there is a budget.'),
  })
  .meta({ id: 'OpportunityTotal' });
export type OpportunityTotal = z.infer<typeof OpportunityTotal>;

export const OpportunityTotals = z
  .object({ data: z.array(OpportunityTotal).describe('One entry for each column that has opportunities.') })
  .meta({ id: 'OpportunityTotals' });

const count = () => integer().min(0, 'must be at least 0');

export const OpportunityPut = z
  .object({
    title: text({ max: 500 }).nullish(),
    shortRef: name().nullish(),
    destination: name().nullish(),
    customerId: uuid().nullish(),
    sellerMemberId: uuid().nullish(),
    budgetMin: price().nullish(),
    budgetMax: price().nullish(),
    budgetCurrency: currency().nullish().describe('Three-character currency code.'),
    checkInDate: dateText().nullish(),
    nights: count().nullish(),
    passengerCount: count().nullish(),
    salesStage: text({ min: 1, max: 255 }).meta({ examples: ['qualified'] }),
    stageId: uuid().nullish(),
    temperature: temperature().nullish().describe('The value of the agent.'),
    agentTemperature: temperature()
      .nullish()
      .describe(
        'The same as `temperature` here. If both are sent, this one takes precedence, so that you can send back a record as you have read it.',
      ),
    temperatureOverride: temperature()
      .nullish()
      .describe('The override of a team member. If it is not null, it is reported as `temperature`.'),
    qualifiedAt: timestamp()
      .nullish()
      .describe('Default: when `stageId` is first set. While it is set, null does not clear it.'),
    lastActivityAt: timestamp().nullish(),
    createdAt: createdOnce(),
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

export const OpportunityUpdate = patchOf(OpportunityPut).meta({
  id: 'OpportunityUpdate',
  examples: [{ temperatureOverride: 'hot' }],
});
export type OpportunityUpdate = z.infer<typeof OpportunityUpdate>;
