import { z } from 'zod';
import { dateTime, described, id, oneOf, page, pageQuery, textFilter } from '../fields.ts';
import { refusals } from '../http/ignored-parameters.ts';

const MEANINGS = {
  id: 'Never changes; text without a meaning of its own.',
  title: 'What the lead is about, for people.',
  destination: 'Where the customer wants to go, as it was written.',
  customerId: 'The customer who asks; null while nobody is known.',
  customerName: 'The name of the customer, also of an archived one.',
  sellerMemberId: 'The team member who sells; null while nobody is assigned.',
  sellerName: 'The name of the team member who sells.',
  budgetMin: 'The least that the customer wants to spend, in `budgetCurrency`.',
  budgetMax: 'The most that the customer wants to spend, in `budgetCurrency`.',
  budgetCurrency: 'The currency of the budget, three characters.',
  nights: 'How many nights the trip takes.',
  passengerCount: 'How many people travel.',
  salesStage: 'How far the sale is. The agency chooses the values; new ones can appear.',
  lastActivityAt: 'When something last happened, such as a message.',
  createdAt: 'When it was created.',
  updatedAt: 'When it was last changed; the list is in this order, the newest first.',
};

export const temperature = () => oneOf(['hot', 'warm', 'cold', 'unknown', 'discarded']);

export const Opportunity = z
  .object(
    described(
      {
        id: id(),
        title: z
          .string()
          .nullable()
          .meta({ examples: ['Patagonia, familia Peña'] }),
        shortRef: z
          .string()
          .nullable()
          .describe("The agency's short reference for people.")
          .meta({ examples: ['OP-1042'] }),
        destination: z
          .string()
          .nullable()
          .meta({ examples: ['Bariloche'] }),
        customerId: id().nullable(),
        customerName: z
          .string()
          .nullable()
          .meta({ examples: ['Ana Peña'] }),
        sellerMemberId: id().nullable(),
        sellerName: z
          .string()
          .nullable()
          .meta({ examples: ['Lucía Romero'] }),
        budgetMin: z
          .number()
          .nullable()
          .meta({ examples: [2500] }),
        budgetMax: z
          .number()
          .nullable()
          .meta({ examples: [4000] }),
        budgetCurrency: z
          .string()
          .nullable()
          .meta({ examples: ['USD'] }),
        checkInDate: z
          .string()
          .nullable()
          .describe('Text as the agency wrote it; what we suggest is a calendar date such as 2027-01-15.')
          .meta({ examples: ['2027-01-15'] }),
        nights: z
          .int32()
          .nullable()
          .meta({ examples: [7] }),
        passengerCount: z
          .int32()
          .nullable()
          .meta({ examples: [4] }),
        salesStage: z.string().meta({ examples: ['qualified'] }),
        stage: z
          .string()
          .nullable()
          .describe('Key of the pipeline column; agencies rename columns, so branch on this.')
          .meta({ examples: ['negotiation'] }),
        stageId: id().nullable().describe('Id of the pipeline column.'),
        temperature: temperature()
          .nullable()
          .describe('What a team member set goes before what the agent set.'),
        qualifiedAt: dateTime().nullable().describe('null: it never entered the pipeline.'),
        lastActivityAt: dateTime().nullable(),
        createdAt: dateTime(),
        updatedAt: dateTime(),
      },
      MEANINGS,
    ),
  )
  .meta({ id: 'Opportunity' });
export type Opportunity = z.infer<typeof Opportunity>;

export const OpportunityList = page(Opportunity).meta({ id: 'OpportunityList' });

export const OpportunityListQuery = z
  .object({
    ...pageQuery(),
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

export const OpportunityParams = z.object({ opportunityId: id().describe('Id of the opportunity.') });
