import { EXAMPLE_ID } from '../src/contract/fields.ts';
import type { OpportunityPut } from '../src/opportunities/schema.ts';
import type { QuotePut } from '../src/quotes/schema.ts';
import type { DemoCustomer } from './customers.ts';
import type { DemoProduct } from './products.ts';
import { at, calendarDate, daysAgo, idOf, plusDays, plusMinutes, randomOf } from './random.ts';
import { type DemoMember, type DemoStage, sellersOf } from './team.ts';
import type { Language } from './themes.ts';

export type Agency = {
  products: readonly DemoProduct[];
  customers: readonly DemoCustomer[];
  team: readonly DemoMember[];
  stages: readonly DemoStage[];
};

export type DemoOpportunity = {
  id: string;
  customer: DemoCustomer;
  product: DemoProduct;
  seller: DemoMember;
  /** Key of the pipeline column; undefined for a lead that never entered the pipeline. */
  stage: string | undefined;
  since: Date;
  travellers: number;
  checkIn: Date;
  /** For all travellers; null for a custom trip. */
  price: number | null;
  input: Omit<OpportunityPut, 'agentTemperature'>;
};

const OPPORTUNITIES = 180;

/** The won sale in the examples of the OpenAPI document. */
const EXAMPLE = 4;

/** The distribution of sales over the pipeline; a dash is a lead outside it. */
const funnel = [
  'new',
  '-',
  'contacted',
  'quoted',
  'won',
  'contacted',
  'quoted',
  'negotiation',
  'lost',
  'new',
  'won',
  'quoted',
];

/** The agent's temperature of a lead, by its stage. */
const temperatures = {
  '-': ['unknown', 'discarded', 'cold', null],
  new: ['warm', 'cold', 'unknown'],
  contacted: ['warm', 'warm', 'cold', 'hot'],
  quoted: ['hot', 'warm', 'warm'],
  negotiation: ['hot'],
  won: ['hot'],
  lost: ['cold', 'discarded'],
} as const;

const titles: Record<Language, (product: string, travellers: number) => string> = {
  es: (product, travellers) => `${product} · ${travellers} ${travellers === 1 ? 'viajero' : 'viajeros'}`,
  pt: (product, travellers) => `${product} · ${travellers} ${travellers === 1 ? 'viajante' : 'viajantes'}`,
  en: (product, travellers) => `${product} · ${travellers} ${travellers === 1 ? 'traveller' : 'travellers'}`,
};

const inSteps = (amount: number, factor: number): number => {
  const step = amount > 100_000 ? 1_000 : amount > 5_000 ? 50 : 10;
  return Math.round((amount * factor) / step) * step;
};

function opportunityOf({ products, customers, team, stages }: Agency, index: number): DemoOpportunity {
  const random = randomOf(`opportunity ${index}`);
  // Only customers who had already written.
  const customer = at(customers, random.int(0, 239 + Math.floor(index * 0.88)));
  const { language } = customer;
  const product = random.pick(
    products.filter(
      ({ language: spoken, input }) =>
        spoken === language && input.status === 'active' && input.type !== 'experience',
    ),
  );
  const seller = random.pick(sellersOf(team, language));
  const place = at(funnel, index);
  const stage = stages.find(({ input }) => input.key === place);
  const since = daysAgo(230 - index * 1.25);
  const { pricingMode, fromPrice, currency } = product.input;
  const travellers = pricingMode === 'per_group' ? random.int(5, 8) : random.pick([1, 2, 2, 2, 3, 4, 4, 5]);
  const price = fromPrice == null ? null : pricingMode === 'per_person' ? fromPrice * travellers : fromPrice;
  const closed = place === 'won' || place === 'lost';
  const checkIn = plusDays(closed ? since : daysAgo(0), random.int(40, 320));
  const active = plusDays(since, random.int(2, 5));
  const isVague = place === '-';
  return {
    id: index === EXAMPLE ? EXAMPLE_ID : idOf(`opportunity ${index}`, since),
    customer,
    product,
    seller,
    stage: stage?.input.key,
    since,
    travellers,
    checkIn,
    price,
    input: {
      title: isVague && index % 24 === 1 ? null : titles[language](product.input.title, travellers),
      shortRef: `OP-${1001 + index}`,
      destination: at(product.stops, 0),
      customerId: customer.id,
      sellerMemberId: isVague ? null : seller.id,
      budgetMin: price && !isVague ? inSteps(price, 0.85) : null,
      budgetMax: price && !isVague ? inSteps(price, random.pick([1.1, 1.25, 1.4])) : null,
      budgetCurrency: price && !isVague ? (currency ?? null) : null,
      checkInDate: isVague ? null : calendarDate(checkIn),
      nights: product.days && product.days - 1,
      passengerCount: isVague ? null : travellers,
      salesStage: stage?.salesStage ?? 'lead',
      stageId: stage?.id ?? null,
      temperature: random.pick(temperatures[place as keyof typeof temperatures]),
      temperatureOverride:
        index % 5 === 2 && !closed
          ? at(['hot', 'warm', 'cold', 'unknown', 'discarded'], Math.floor(index / 5))
          : null,
      qualifiedAt: stage ? plusMinutes(since, random.int(20, 2_000)).toISOString() : null,
      lastActivityAt: active.toISOString(),
    },
  };
}

/** The agency's 180 opportunities, oldest first. */
export const demoOpportunities = (agency: Agency): DemoOpportunity[] =>
  Array.from({ length: OPPORTUNITIES }, (_, index) => opportunityOf(agency, index));

export type DemoQuote = {
  id: string;
  opportunity: DemoOpportunity;
  since: Date;
  input: QuotePut;
  /** When the customer opened it, oldest first. */
  opens: Date[];
  attachments: { id: string; kind: 'itinerary' | 'terms' | 'voucher' }[];
};

const quoteTitles: Record<Language, string> = { es: 'Cotización', pt: 'Orçamento', en: 'Quote' };

function quoteOf(opportunity: DemoOpportunity, version: number, status: QuotePut['status']): DemoQuote {
  const { product, customer, price, stage, since } = opportunity;
  const name = `quote ${opportunity.input.shortRef} ${version}`;
  const random = randomOf(name);
  const made = plusMinutes(plusDays(since, version * 2), random.int(60, 600));
  const published = status === 'draft' ? null : plusMinutes(made, random.int(10, 300));
  const seen = published && stage !== 'quoted' ? random.int(1, 3) : published ? random.int(0, 2) : 0;
  const isCurrent = status === 'published';
  const kinds = (['itinerary', 'terms', 'voucher'] as const).filter(
    (kind) =>
      (kind === 'itinerary' && random.chance(isCurrent ? 0.9 : 0.1)) ||
      (kind === 'terms' && isCurrent && stage === 'negotiation') ||
      (kind === 'voucher' && isCurrent && stage === 'won' && random.chance(0.5)),
  );
  return {
    id: opportunity.id === EXAMPLE_ID ? EXAMPLE_ID : idOf(name, made),
    opportunity,
    since: made,
    input: {
      opportunityId: opportunity.id,
      title: `${quoteTitles[customer.language]}: ${product.input.title}${version > 1 ? ` (v${version})` : ''}`,
      status,
      destination: product.stops.join(', '),
      price: price && inSteps(price, version > 1 ? 0.95 : 1),
      currency: price ? (product.input.currency ?? null) : null,
      publishedAt: published?.toISOString() ?? null,
    },
    opens: published
      ? Array.from({ length: seen }, (_, index) =>
          plusMinutes(published, 25 + index * random.int(300, 2_000)),
        )
      : [],
    attachments: kinds.map((kind) => ({ id: idOf(`${kind} of ${name}`, made), kind })),
  };
}

/** The quotes of an opportunity by its stage: drafts, then the published one, then its replacement. */
function quotesOf(opportunity: DemoOpportunity, index: number): DemoQuote[] {
  switch (opportunity.stage) {
    case 'contacted':
      return index % 2 === 0 ? [quoteOf(opportunity, 1, 'draft')] : [];
    case 'quoted':
      return [quoteOf(opportunity, 1, 'published')];
    case 'negotiation':
      return [
        quoteOf(opportunity, 1, 'disabled'),
        quoteOf(opportunity, 2, 'published'),
        quoteOf(opportunity, 3, 'draft'),
      ];
    case 'won':
      return [quoteOf(opportunity, 1, 'published')];
    case 'lost':
      return [quoteOf(opportunity, 1, 'disabled')];
    default:
      return [];
  }
}

export const demoQuotes = (opportunities: readonly DemoOpportunity[]): DemoQuote[] =>
  opportunities.flatMap(quotesOf);
