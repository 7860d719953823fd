import { z } from 'zod';
import { dateTime, id, oneOf, page, pageQuery, textFilter } from '../http/fields.ts';
import { refusals } from '../http/ignored-parameters.ts';

export const temperature = () => oneOf(['hot', 'warm', 'cold', 'unknown', 'discarded']);

export const Opportunity = z
  .object({
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
    temperature: temperature().nullable().describe('What a team member set goes before what the agent set.'),
    qualifiedAt: dateTime().nullable().describe('null: it never entered the pipeline.'),
    lastActivityAt: dateTime().nullable(),
    createdAt: dateTime(),
    updatedAt: dateTime(),
  })
  .meta({ id: 'Opportunity' });
export type Opportunity = z.infer<typeof Opportunity>;

export const OpportunityList = page(Opportunity).meta({ id: 'OpportunityList' });

export const OpportunityListQuery = z
  .object({
    ...pageQuery(),
    query: textFilter('Text in the title, short reference or destination, whatever its case and accents.'),
    salesStage: textFilter('Opportunities of exactly this sales stage.'),
    stageId: textFilter('Id of a pipeline column; only its opportunities are returned.'),
  })
  .register(refusals, {
    stage: 'is not a known name (did you mean stageId? It takes the id of a pipeline column, not its key)',
  });

export const OpportunityParams = z.object({ opportunityId: id().describe('Id of the opportunity.') });
