import { z } from 'zod';
import { currency, dateText, integer, moment, name, price, text, uuid } from '../../fields.ts';
import { temperature } from '../../opportunities/schema.ts';

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
    temperatureOverride: temperature()
      .nullish()
      .describe('As a team member set it; reported in its place where it is not null.'),
    qualifiedAt: moment().nullish(),
    lastActivityAt: moment().nullish(),
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
