import { z } from 'zod';
import { dateTime, id, page, pageQuery, textFilter } from '../http/fields.ts';

export const Opportunity = z
  .object({
    id: id(),
    title: z.string().nullable(),
    shortRef: z
      .string()
      .nullable()
      .describe("The agency's short reference for people.")
      .meta({ examples: ['OP-1042'] }),
    destination: z.string().nullable(),
    customerId: z.string().nullable(),
    customerName: z.string().nullable(),
    sellerMemberId: z.string().nullable(),
    sellerName: z.string().nullable(),
    budgetMin: z.number().nullable(),
    budgetMax: z.number().nullable(),
    budgetCurrency: z.string().nullable(),
    checkInDate: z.string().nullable(),
    nights: z.int32().nullable(),
    passengerCount: z.int32().nullable(),
    salesStage: z.string().meta({ examples: ['qualified'] }),
    stage: z
      .string()
      .nullable()
      .describe('Key of the pipeline column; agencies rename columns, so branch on this.')
      .meta({ examples: ['negotiation'] }),
    stageId: z.string().nullable().describe('Id of the pipeline column.'),
    temperature: z
      .string()
      .nullable()
      .describe(
        'hot, warm, cold, unknown or discarded; what a team member set goes before what the agent set.',
      )
      .meta({ examples: ['hot', 'warm', 'cold', 'unknown', 'discarded'] }),
    qualifiedAt: dateTime().nullable().describe('null: it never entered the pipeline.'),
    lastActivityAt: dateTime().nullable(),
    createdAt: dateTime(),
    updatedAt: dateTime(),
  })
  .meta({ id: 'Opportunity' });
export type Opportunity = z.infer<typeof Opportunity>;

export const OpportunityList = page(Opportunity).meta({ id: 'OpportunityList' });

export const OpportunityListQuery = z.object({
  ...pageQuery(),
  query: textFilter('Text in the title, short reference or destination, whatever its case and accents.'),
  salesStage: textFilter('Opportunities of exactly this sales stage.'),
  stageId: textFilter('Id of a pipeline column; only its opportunities are returned.'),
});

export const OpportunityParams = z.object({ opportunityId: z.string() });
