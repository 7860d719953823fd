import { z } from 'zod';
import {
  changeQuery,
  currency,
  dateText,
  dateTime,
  id,
  integer,
  moment,
  name,
  oneOf,
  page,
  pathId,
  price,
  shown,
  text,
  textFilter,
  uuid,
} from '../contract/fields.ts';
import { createdOnce, patchOf } from '../dashboard/params.ts';
import { refusals } from '../http/ignored-parameters.ts';

const temperature = () => oneOf(['hot', 'warm', 'cold', 'unknown', 'discarded']);

export const Opportunity = z
  .object({
    id: shown(id(), 'Never changes; text without a meaning of its own.'),
    title: shown(z.string().nullable(), 'What the lead is about, for people.', 'Patagonia, familia Peña'),
    shortRef: shown(z.string().nullable(), "The agency's short reference for people.", 'OP-1042'),
    destination: shown(
      z.string().nullable(),
      'Where the customer wants to go, as it was written.',
      'Bariloche',
    ),
    customerId: shown(id().nullable(), 'The customer who asks; null while nobody is known.'),
    customerName: shown(
      z.string().nullable(),
      'The name of the customer, also of an archived one.',
      'Ana Peña',
    ),
    sellerMemberId: shown(id().nullable(), 'The team member who sells; null while nobody is assigned.'),
    sellerName: shown(z.string().nullable(), 'The name of the team member who sells.', 'Lucía Romero'),
    budgetMin: shown(
      z.number().nullable(),
      'The least that the customer wants to spend, in `budgetCurrency`.',
      2500,
    ),
    budgetMax: shown(
      z.number().nullable(),
      'The most that the customer wants to spend, in `budgetCurrency`.',
      4000,
    ),
    budgetCurrency: shown(z.string().nullable(), 'The currency of the budget, three characters.', 'USD'),
    checkInDate: shown(
      z.string().nullable(),
      'Text as the agency wrote it; what we suggest is a calendar date such as 2027-01-15.',
      '2027-01-15',
    ),
    nights: shown(z.int32().nullable(), 'How many nights the trip takes.', 7),
    passengerCount: shown(z.int32().nullable(), 'How many people travel.', 4),
    salesStage: shown(
      z.string(),
      'How far the sale is. The agency chooses the values; new ones can appear.',
      'qualified',
    ),
    stage: shown(
      z.string().nullable(),
      'Key of the pipeline column; agencies rename columns, so branch on this.',
      'negotiation',
    ),
    stageId: shown(id().nullable(), 'Id of the pipeline column.'),
    temperature: shown(temperature().nullable(), 'What a team member set goes before what the agent set.'),
    qualifiedAt: shown(dateTime().nullable(), 'null: it never entered the pipeline.'),
    lastActivityAt: shown(dateTime().nullable(), 'When something last happened, such as a message.'),
    createdAt: shown(dateTime(), 'When it was created.'),
    updatedAt: shown(dateTime(), 'When it was last changed; the list is in this order, the newest first.'),
  })
  .meta({ id: 'Opportunity' });
export type Opportunity = z.infer<typeof Opportunity>;

export const OpportunityList = page(Opportunity).meta({ id: 'OpportunityList' });

export const OpportunityListQuery = z
  .object({
    ...changeQuery(),
    customerId: textFilter('Opportunities of exactly this customer.'),
    query: textFilter('Text in the title, short reference or destination, whatever its case and accents.'),
    salesStage: textFilter('Opportunities of exactly this sales stage.'),
    sellerMemberId: textFilter('Opportunities that exactly this team member sells.'),
    stageId: textFilter('Id of a pipeline column; only its opportunities are returned.'),
    temperature: temperature()
      .optional()
      .describe('Opportunities of this temperature, as it is reported: what a team member set goes first.'),
  })
  .register(refusals, {
    stage: 'is not a known name (did you mean stageId? It takes the id of a pipeline column, not its key)',
  });

export const OpportunityParams = z.object({ opportunityId: pathId('Id of the opportunity.') });

/** From here on: what only the dashboard API has. */

export const OpportunityRecord = Opportunity.extend({
  temperatureOverride: shown(temperature().nullable(), 'As a team member set it; null while nobody did.'),
  agentTemperature: shown(temperature().nullable(), 'As the agent set it.'),
}).meta({ id: 'OpportunityRecord' });
export type OpportunityRecord = z.infer<typeof OpportunityRecord>;

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
    temperature: temperature().nullish().describe('As the agent sees it.'),
    agentTemperature: temperature()
      .nullish()
      .describe(
        'The same. Where both are sent this one counts, because answers have the reported one as `temperature`: so a record that was read can be sent back.',
      ),
    temperatureOverride: temperature()
      .nullish()
      .describe('As a team member set it; reported in its place where it is not null.'),
    qualifiedAt: moment().nullish(),
    lastActivityAt: moment().nullish(),
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
