import { contactKey, phoneNumber } from '../rules/contact-key.ts';
import { EXAMPLE_ID } from '../src/contract/fields.ts';
import type { ConversationMessageImport, ConversationPut } from '../src/conversations/schema.ts';
import type { ContactInput } from '../src/customers/schema.ts';
import type { DemoCustomer } from './customers.ts';
import { names } from './people.ts';
import type { DemoProduct } from './products.ts';
import { at, daysAgo, daysBetween, idOf, plusDays, plusMinutes, type Random, randomOf } from './random.ts';
import type { Agency, DemoOpportunity } from './sales.ts';
import { type Script, scripts } from './scripts.ts';
import { type DemoMember, sellersOf } from './team.ts';
import { locales } from './themes.ts';

export type DemoConversation = {
  id: string;
  since: Date;
  input: ConversationPut;
  messages: ConversationMessageImport[];
};

const ASSISTANT = 'Lía';

const providers: Record<string, string> = { instagram: 'meta', messenger: 'meta', web: 'webchat' };

/** The account from which the customer writes. */
const chatOf = ({ input }: DemoCustomer): ContactInput | undefined =>
  input.contacts.find(({ identifierType }) =>
    ['whatsapp', 'instagram', 'messenger', 'web'].includes(identifierType),
  );

/** The channel's identifier of the account. */
const accountOf = ({ identifierType: type, identifierValue: value }: ContactInput): string =>
  phoneNumber(type, value) ?? contactKey(type, value) ?? value;

/** The parts of a conversation, by the stage of the sale and whether the travellers have returned. */
function partsOf(sale: DemoOpportunity | undefined): readonly Script['part'][] {
  switch (sale?.stage) {
    case 'quoted':
    case 'negotiation':
    case 'lost':
      return ['opening', 'sequel'];
    case 'won':
      return returnOf(sale) < daysAgo(0) ? ['opening', 'ending', 'return'] : ['opening', 'sequel', 'ending'];
    default:
      return ['opening'];
  }
}

const returnOf = ({ checkIn, product }: DemoOpportunity): Date => plusDays(checkIn, (product.days ?? 1) + 1);

type Line = {
  content: string;
  direction: string;
  messageType: string;
  by: 'traveller' | 'assistant' | 'team';
};

function linesOf(script: Script, words: Record<string, string>): Line[] {
  const filled = script.text.trim().replace(/\{(\w+)\}/g, (_, name: string) => words[name] ?? '');
  return filled.split('\n').map((line) => {
    const [, mark = '', kind = 'text', content = ''] = /^([<>=]) (?:\[(\w+)\] )?(.*)$/.exec(line) ?? [];
    const by = mark === '>' ? 'traveller' : mark === '<' ? 'assistant' : 'team';
    return { content, direction: mark === '>' ? 'inbound' : 'outbound', messageType: kind, by };
  });
}

/** The participants and the topic. */
type Talk = {
  name: string;
  random: Random;
  customer: DemoCustomer;
  account: ContactInput;
  sale: DemoOpportunity | undefined;
  product: DemoProduct;
  seller: DemoMember;
};

function talkOf(
  { products, team }: Agency,
  customer: DemoCustomer,
  account: ContactInput,
  sale: DemoOpportunity | undefined,
): Talk {
  const name = `conversation of ${customer.id}`;
  const random = randomOf(name);
  const offers = products.filter(
    ({ language, days, input }) => language === customer.language && days && input.type !== 'custom',
  );
  const product = sale?.product.input.fromPrice ? sale.product : random.pick(offers);
  const seller = sale?.seller ?? random.pick(sellersOf(team, customer.language));
  return { name, random, customer, account, sale, product, seller };
}

/** The values of the placeholders in the scripts. */
function wordsOf({ random, customer, sale, product, seller }: Talk): Record<string, string> {
  const locale = locales[customer.language];
  const { firstName } = customer.input;
  const checkIn = sale?.checkIn ?? daysAgo(-120);
  return {
    trip: product.input.title,
    place: at(product.stops, 0),
    price: `${product.input.currency} ${product.input.fromPrice?.toLocaleString(locale)}`,
    pax: String(Math.max(2, sale?.travellers ?? 2)),
    group: String(random.int(14, 26)),
    date: checkIn.toLocaleDateString(locale, { day: 'numeric', month: 'long', timeZone: 'UTC' }),
    hello: firstName ? `, ${firstName}` : '',
    seller: seller.input.name.split(' ')[0] ?? '',
  };
}

function deliveryOf({ account, product }: Talk, line: Line, id: string, timestamp: Date, isFirst: boolean) {
  const reference = id.replaceAll('-', '');
  const channel = account.identifierType;
  if (channel !== 'whatsapp') {
    // The page on which the web visitor wrote.
    const subject = channel === 'web' && isFirst ? `/viajes/${product.code.toLowerCase()}` : null;
    return { providerName: providers[channel] ?? null, externalId: `m_${reference}`, subject };
  }
  const sent = { providerMessageId: `wamid.${reference}` };
  if (line.direction === 'inbound') return sent;
  const templateName = line.messageType === 'template' ? 'retomar_viaje' : null;
  return { ...sent, status: 'read', statusAt: plusMinutes(timestamp, 1).toISOString(), templateName };
}

/** The lines as messages: the assistant replies at once, people later. */
function messagesOf(talk: Talk, part: Script['part'], lines: readonly Line[], start: Date) {
  const { name, random, customer, seller } = talk;
  const senders = {
    traveller: customer.input.firstName ?? null,
    assistant: ASSISTANT,
    team: seller.input.name,
  };
  let timestamp = start;
  return lines.map(({ by, ...line }, index): ConversationMessageImport => {
    timestamp = plusMinutes(timestamp, by === 'assistant' ? 0.1 : random.int(1, by === 'team' ? 25 : 9));
    const id = idOf(`${name} ${part} ${index}`, timestamp);
    const delivery = deliveryOf(talk, { by, ...line }, id, timestamp, index === 0);
    return { id, ...line, senderName: senders[by], createdAt: timestamp.toISOString(), delivery };
  });
}

type Exchange = { start: Date; lines: Line[]; messages: ConversationMessageImport[] };

/** The parts of the conversation with their messages, each some days after the previous one. */
function exchangesOf(talk: Talk): Exchange[] {
  const { random, customer, sale } = talk;
  const { country } = customer.input;
  const words = wordsOf(talk);
  const parts = partsOf(sale);
  const begun = sale?.since ?? customer.since;
  const days = Math.min(12, daysBetween(begun, daysAgo(0)) / parts.length);
  return parts.map((part, place) => {
    const fitting = scripts[customer.language].filter(
      (script) => script.part === part && (script.country ?? country) === country,
    );
    const start = part === 'return' && sale ? returnOf(sale) : plusMinutes(plusDays(begun, place * days), 30);
    const lines = linesOf(random.pick(fitting), words);
    return { start, lines, messages: messagesOf(talk, part, lines, start) };
  });
}

/** The state of the thread: closed if the sale is closed or another thread continues it; otherwise, who is to write next. */
function stateOf({ sale, seller }: Talk, lines: readonly Line[], isContinued: boolean) {
  if (isContinued || sale?.stage === 'won' || sale?.stage === 'lost') {
    return { activityState: 'closed', controlledBy: null };
  }
  return {
    activityState: lines.at(-1)?.direction === 'outbound' ? 'waiting_for_customer' : 'waiting_for_agency',
    controlledBy: lines.some(({ by }) => by === 'team') ? seller.id : 'agent',
  };
}

/** The threads of one conversation: one, or a chain of rotated threads, oldest first. */
function threadsOf(talk: Talk, index: number): DemoConversation[] {
  const { name, account, customer, random } = talk;
  const { firstName, preferredLanguage } = customer.input;
  // The profile name, which leads without a name have too.
  const contactName = firstName ?? random.pick(names[customer.language].first);
  const exchanges = exchangesOf(talk);
  const groups = index % 3 === 1 ? [exchanges] : exchanges.map((exchange) => [exchange]);
  const ids = groups.map((group, place) => {
    const isExample = index === 0 && place === groups.length - 1;
    return isExample ? EXAMPLE_ID : idOf(`${name} thread ${place}`, at(group, 0).start);
  });
  return groups.map((group, place) => ({
    id: at(ids, place),
    since: at(group, 0).start,
    input: {
      channel: account.identifierType,
      contact: accountOf(account),
      contactName,
      customerId: index % 20 === 7 ? null : customer.id,
      ...stateOf(
        talk,
        group.flatMap(({ lines }) => lines),
        place < groups.length - 1,
      ),
      language: preferredLanguage ?? null,
      rotatedFrom: ids[place - 1] ?? null,
    },
    messages: group.flatMap(({ messages }) => messages),
  }));
}

/** A chain of threads for every customer with a sale, and for leads without a name. */
export function demoConversations(agency: Agency, sales: readonly DemoOpportunity[]): DemoConversation[][] {
  const saleOf = new Map(sales.map((sale) => [sale.customer.id, sale]));
  return agency.customers
    .filter(({ id, input }) => saleOf.has(id) || input.tags.includes('lead'))
    .flatMap((customer) => {
      const account = chatOf(customer);
      return account ? [talkOf(agency, customer, account, saleOf.get(customer.id))] : [];
    })
    .map(threadsOf);
}
