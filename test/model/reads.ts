import { type IdentifierType, possibleKeys, searchedTexts } from '../../rules/contact-key.ts';
import { type Fields, type Kind, live, type Organization, pick, type Row, show } from './organization.ts';

/** What lists, searches and transcripts answer. */

/** Without regard to case, accents and repeated spaces. test/search.test.ts has the examples. */
const fold = (text: string): string =>
  text.normalize('NFKD').replaceAll(/\p{M}/gu, '').replaceAll(/ +/g, ' ').toLowerCase();

/** The texts that `query` looks into, each by itself. */
const SEARCHED: Partial<Record<Kind, (row: Row, organization: Organization) => (string | null)[]>> = {
  products: ({ title, shortDescription, description }) => [title, shortDescription, description],
  customers: ({ firstName, lastName, summary, contacts }) => [
    [firstName, lastName].filter(Boolean).join(' '),
    summary,
    ...contacts.flatMap(({ asSent, key, phoneNumber }: Fields) => [asSent, key, phoneNumber]),
  ],
  opportunities: ({ title, shortRef, destination }) => [title, shortRef, destination],
  conversations: (row, organization) =>
    chainOf(organization, row).flatMap(({ contactName, contact }) => [contactName, contact]),
  quotes: ({ title, destination }) => [title, destination],
};

/** All threads of the conversation that a thread belongs to. */
const chainOf = ({ conversations }: Organization, { chainId }: Row): Row[] =>
  Object.values(conversations).filter((thread) => thread.chainId === chainId);

type Condition = (row: Row, value: string, organization: Organization, query: Fields) => boolean;

const FILTERS: Record<string, Condition> = {
  ids: (row, value) => value.split(',').includes(row.id),
  tag: (row, value) => row.tags.includes(value),
  destination: (row, value) => row.destinations.includes(value),
  temperature: (row, value) => (row.temperatureOverride ?? row.temperature) === value,
  contact: (row, value, _organization, query) =>
    row.contacts.some(({ identifierType, key }: Fields) => isContact(identifierType, key, value, query)),
};

/** Whether the contact of this type and key is the one that the query means. */
const isContact = (type: string, key: string, value: string, { contactType }: Fields): boolean =>
  possibleKeys(value, contactType && [contactType as IdentifierType])[type as IdentifierType] === key;

/** Any thread of a chain finds it. */
const OF_CHAINS: Record<string, Condition> = {
  customerId: (row, value, organization) =>
    chainOf(organization, row).some(({ customerId }) => customerId === value),
  contact: (row, value, organization, query) =>
    chainOf(organization, row).some(
      ({ channel, contactKey }) => contactKey !== null && isContact(channel, contactKey, value, query),
    ),
};

const NO_FILTERS = ['limit', 'offset', 'contactType', 'archived'];

const isFound = (kind: Kind, row: Row, query: Fields, organization: Organization): boolean =>
  Object.entries(query)
    .filter(([name]) => !NO_FILTERS.includes(name))
    .every(([name, value]) => {
      if (name === 'query')
        return (SEARCHED[kind]?.(row, organization) ?? []).some((text) =>
          (kind === 'customers' ? searchedTexts(value) : [value]).some((sent) =>
            fold(text ?? '').includes(fold(sent).trim()),
          ),
        );
      const [, date, end] = /^(\w+)(Since|Before)$/.exec(name) ?? [];
      if (date) return end === 'Since' ? row[`${date}At`] >= value : row[`${date}At`] < value;
      const condition = (kind === 'conversations' && OF_CHAINS[name]) || FILTERS[name];
      return condition ? condition(row, value, organization, query) : row[name] === value;
    });

/** Records that are alike in the field have the order of their ids. */
type Order = readonly [field: string, direction: 1 | -1];
const NEWEST: Order = ['updatedAt', -1];
const ORDERS: Record<Kind, Order> = {
  products: NEWEST,
  customers: NEWEST,
  opportunities: NEWEST,
  quotes: NEWEST,
  conversations: ['lastMessageAt', -1],
  members: ['createdAt', 1],
  stages: ['position', 1],
};

/** Null is last. */
const compare =
  ([field, direction]: Order) =>
  (a: Fields, b: Fields): number => {
    const name = a[field] === b[field] ? 'id' : field;
    const [one, other] = [a[name], b[name]];
    if (one === null || other === null) return one === null ? 1 : -1;
    return one < other ? -direction : direction;
  };

const page = (
  organization: Organization,
  kind: Kind,
  schema: string,
  query: Fields,
  [rows, order]: [Row[], Order],
): Fields => {
  const found = rows.filter((row) => isFound(kind, row, query, organization)).toSorted(compare(order));
  const [limit, offset] = [Number(query.limit ?? 25), Number(query.offset || 0)];
  return {
    data: found.slice(offset, offset + limit).map((row) => show(schema, kind, row, organization)),
    pagination: { limit, offset, total: found.length },
  };
};

/** The visible rows: those not archived, and of conversations the newest thread of each chain. */
const visible = (organization: Organization, kind: Kind): Row[] =>
  live(organization[kind]).filter((row) => kind !== 'conversations' || row.continuedBy === null);

export const list = (organization: Organization, kind: Kind, schema: string, query: Fields): Fields =>
  page(organization, kind, schema, query, [visible(organization, kind), ORDERS[kind]]);

/** @param since of the archived products that can still be restored */
export const listArchived = (organization: Organization, query: Fields, since: string): Fields => {
  const kept = Object.values(organization.products).filter(
    ({ archivedAt }) => archivedAt && archivedAt >= since,
  );
  return page(organization, 'products', 'RestorableCatalogProduct', query, [
    kept as Row[],
    ['archivedAt', -1],
  ]);
};

export const listArchivedCustomers = (organization: Organization, query: Fields): Fields =>
  page(organization, 'customers', 'RestorableCustomer', query, [
    Object.values(organization.customers).filter(({ archivedAt }) => archivedAt !== null),
    ['archivedAt', -1],
  ]);

export const attachmentsOf = ({ attachments }: Organization, quotes: readonly string[]): Fields[] =>
  Object.values(attachments)
    .filter(({ quoteId }) => quotes.includes(quoteId))
    .map((attachment) => pick('QuoteAttachment', attachment));

/**
 * The messages of all threads of a chain, oldest first; those with one timestamp in the order in which they came, as the
 * organization has them.
 */
export const messagesOf = (organization: Organization, thread: Row): Fields[] => {
  const threads = new Set(chainOf(organization, thread).map(({ id }) => id));
  return Object.values(organization.messages)
    .filter(({ conversationId }) => threads.has(conversationId))
    .toSorted((one, other) => one.createdAt.localeCompare(other.createdAt));
};
