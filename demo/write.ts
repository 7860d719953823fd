import { keyOnChannel } from '../rules/contact-key.ts';
import { productView } from '../src/catalog/repository.ts';
import {
  type CatalogProductCreate,
  CatalogProductDashboardUpdate,
  CatalogProductUpdate,
} from '../src/catalog/schema.ts';
import { variantOf } from '../src/catalog/variants.ts';
import { randomBase62 } from '../src/contract/base62.ts';
import { putConversation, threadView } from '../src/conversations/chains.repository.ts';
import { putMessages } from '../src/conversations/messages.repository.ts';
import { contactColumns } from '../src/customers/contacts.repository.ts';
import { customerView } from '../src/customers/repository.ts';
import { type CustomerCreate, CustomerUpdate } from '../src/customers/schema.ts';
import {
  columnsOf,
  conversations,
  customers,
  defineCreate,
  type OrganizationScope,
  opportunities,
  products,
  quotes,
  teamMembers,
} from '../src/db/index.ts';
import { opportunityView } from '../src/opportunities/repository.ts';
import { OpportunityPut } from '../src/opportunities/schema.ts';
import { quoteView } from '../src/quotes/repository.ts';
import { QuotePut } from '../src/quotes/schema.ts';
import { memberView } from '../src/team/repository.ts';
import { TeamMemberPut } from '../src/team/schema.ts';
import type { DemoConversation } from './conversations.ts';

/**
 * Writes records with a past. The service dates its writes now, so these are inserted with their timestamps; triggers
 * maintain derived data as always.
 */

type Past = { createdAt: string; updatedAt: string };

export const past = (made: Date, changed: Date): Past => ({
  createdAt: made.toISOString(),
  updatedAt: changed.toISOString(),
});

export const writeMember = defineCreate(
  memberView,
  {
    ...columnsOf(TeamMemberPut, teamMembers),
    createdAt: teamMembers.createdAt,
    updatedAt: teamMembers.updatedAt,
  },
  'demo.team_members',
);

const insertProduct = defineCreate(
  productView,
  {
    ...columnsOf(CatalogProductUpdate, products),
    ...columnsOf(CatalogProductDashboardUpdate, products),
    createdAt: products.createdAt,
    updatedAt: products.updatedAt,
  },
  'demo.products',
);

export const writeProduct = (
  scope: OrganizationScope,
  id: string,
  { variants, ...product }: CatalogProductCreate & Omit<CatalogProductDashboardUpdate, 'variants'> & Past,
) => insertProduct(scope, id, { ...product, variants: variants.map(variantOf) });

const insertCustomer = defineCreate(
  customerView,
  {
    ...columnsOf(CustomerUpdate.omit({ contacts: true }), customers),
    contacts: customers.contacts,
    contactKeys: customers.contactKeys,
    contactSearch: customers.contactSearch,
    createdAt: customers.createdAt,
    updatedAt: customers.updatedAt,
  },
  'demo.customers',
);

export function writeCustomer(
  scope: OrganizationScope,
  id: string,
  { contacts: inputs, ...customer }: CustomerCreate,
  names: ReadonlyMap<string, string>,
  moments: Past,
) {
  const { contacts, contactKeys, contactSearch } = contactColumns(inputs);
  const named = contacts.map((contact, index) => ({
    ...contact,
    displayName: names.get(contactKeys[index] ?? '') ?? null,
  }));
  return insertCustomer(scope, id, { ...customer, contacts: named, contactKeys, contactSearch, ...moments });
}

export const writeOpportunity = defineCreate(
  opportunityView,
  {
    ...columnsOf(OpportunityPut.omit({ agentTemperature: true }), opportunities),
    createdAt: opportunities.createdAt,
    updatedAt: opportunities.updatedAt,
  },
  'demo.opportunities',
);

const insertQuote = defineCreate(
  quoteView,
  {
    ...columnsOf(QuotePut, quotes),
    token: quotes.token,
    openCount: quotes.openCount,
    firstOpenedAt: quotes.firstOpenedAt,
    lastOpenedAt: quotes.lastOpenedAt,
    createdAt: quotes.createdAt,
    updatedAt: quotes.updatedAt,
  },
  'demo.quotes',
);

export const writeQuote = (
  scope: OrganizationScope,
  id: string,
  quote: QuotePut,
  opens: readonly Date[],
  moments: Past,
) =>
  insertQuote(scope, id, {
    ...quote,
    token: randomBase62(32),
    openCount: opens.length,
    firstOpenedAt: opens[0]?.toISOString(),
    lastOpenedAt: opens.at(-1)?.toISOString(),
    ...moments,
  });

const insertThread = defineCreate(
  threadView,
  {
    channel: conversations.channel,
    contact: conversations.contact,
    chainId: conversations.chainId,
    createdAt: conversations.createdAt,
  },
  'demo.conversations',
);

/** The service links, names and counts threads; the demo sets only their creation time. */
export async function writeConversations(
  scope: OrganizationScope,
  talks: readonly DemoConversation[],
): Promise<void> {
  for (const { id, since, input, messages } of talks) {
    const { channel, contact } = input;
    await insertThread(scope, id, { channel, contact, chainId: id, createdAt: since.toISOString() });
    await putConversation(scope, id, input);
    await putMessages(scope, id, messages);
  }
}

/** The contact names from conversations, by contact key, and when each customer's contacts were last written. */
export function toldBy(talks: readonly DemoConversation[]) {
  const names = new Map<string, string>();
  const spoken = new Map<string, Date[]>();
  for (const { input, messages } of talks) {
    const { channel, contact, contactName, customerId } = input;
    const key = keyOnChannel(channel, contact);
    if (key && contactName) names.set(`${channel} ${key}`, contactName);
    const moments = messages.flatMap(({ createdAt }) => (createdAt ? [new Date(createdAt)] : []));
    if (customerId) spoken.set(customerId, [...(spoken.get(customerId) ?? []), ...moments]);
  }
  return { names, spoken };
}
