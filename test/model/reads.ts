import { type IdentifierType, possibleKeys, searchedTexts } from '../../rules/contact-key.ts';
import {
  active,
  type Fields,
  type Kind,
  type Organization,
  type Request,
  type Row,
  show,
} from './organization.ts';

/** What lists, searches and transcripts return. */

/** Case, accents and repeated spaces make no difference: test/search.test.ts. */
const fold = (text: string): string =>
  text.normalize('NFKD').replaceAll(/\p{M}/gu, '').replaceAll(/ +/g, ' ').toLowerCase();

/** The texts that `query` searches, each on its own. */
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

/** All threads of a thread's chain. */
const chainOf = ({ conversations }: Organization, { chainId }: Row): Row[] =>
  Object.values(conversations).filter((thread) => thread.chainId === chainId);

type Condition = (row: Row, value: string, organization: Organization, query: Fields) => boolean;

/** One id or several, or `null` for none; a merged customer stands for the one that it became. */
const isOf = (value: string, id: string | null, { customers }: Organization): boolean =>
  value === 'null' ? id === null : value.split(',').some((one) => (customers[one]?.mergedInto ?? one) === id);

const byId =
  (field: string): Condition =>
  (row, value, organization) =>
    isOf(value, row[field], organization);

const FILTERS: Record<string, Condition> = {
  ...Object.fromEntries(
    ['customerId', 'sellerMemberId', 'stageId', 'opportunityId'].map((field) => [field, byId(field)]),
  ),
  opened: (row, value) => String(row.openCount > 0) === value,
  ids: (row, value) => value.split(',').includes(row.id),
  tag: (row, value) => row.tags.includes(value),
  destination: (row, value) => row.destinations.includes(value),
  temperature: (row, value) => (row.temperatureOverride ?? row.temperature) === value,
  contact: (row, value, _organization, query) =>
    row.contacts.some(({ identifierType, key }: Fields) => isContact(identifierType, key, value, query)),
};

/** Whether the filters `contact` and `contactType` find a contact of this type and key. */
const isContact = (type: string, key: string, value: string, { contactType }: Fields): boolean =>
  possibleKeys(value, contactType && [contactType as IdentifierType])[type as IdentifierType] === key;

/** A conversation is found by any thread of its chain. */
const OF_CHAINS: Record<string, Condition> = {
  customerId: (row, value, organization) =>
    chainOf(organization, row).some(
      ({ id, customerId }) => isOf(value, customerId, organization) && (customerId !== null || id === row.id),
    ),
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
          (['customers', 'conversations'].includes(kind) ? searchedTexts(value) : [value]).some((sent) =>
            fold(text ?? '').includes(fold(sent).trim()),
          ),
        );
      const [, date, end] = /^(\w+)(Since|Before)$/.exec(name) ?? [];
      if (date) return end === 'Since' ? row[`${date}At`] >= value : row[`${date}At`] < value;
      const condition = (kind === 'conversations' && OF_CHAINS[name]) || FILTERS[name];
      return condition ? condition(row, value, organization, query) : row[name] === value;
    });

/** The id is the tie-breaker. */
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

/** Null comes last. */
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

/** The rows that a list shows: not archived, and of a conversation the newest thread. */
const visible = (organization: Organization, kind: Kind): Row[] =>
  active(organization[kind]).filter((row) => kind !== 'conversations' || row.continuedBy === null);

export const list = (organization: Organization, kind: Kind, schema: string, { query }: Request): Fields =>
  page(organization, kind, schema, query, [visible(organization, kind), ORDERS[kind]]);

/** The archived records that can be restored. */
export const listArchived = (
  organization: Organization,
  kind: Kind,
  schema: string,
  { query, restorableSince }: Request,
): Fields => {
  const restorable = Object.values(organization[kind]).filter(
    ({ archivedAt }) => archivedAt !== null && (kind !== 'products' || archivedAt >= restorableSince),
  );
  return page(organization, kind, schema, query, [restorable, ['archivedAt', -1]]);
};

const sumOf = (values: (number | null)[]): number | null => {
  const known = values.filter((value) => value !== null);
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) : null;
};

const groups = <Key extends string | null>(rows: Row[], keyOf: (row: Row) => Key): [Key, Row[]][] =>
  [...Map.groupBy(rows, keyOf)].toSorted(([one], [other]) =>
    one === null || other === null ? (one === null ? 1 : -1) : one < other ? -1 : 1,
  );

/** The opportunities of each stage, and the sums of their budgets by currency. */
export const totals = (organization: Organization, { query }: Request): Fields => {
  const found = visible(organization, 'opportunities').filter((row) =>
    isFound('opportunities', row, query, organization),
  );
  const data = groups(found, ({ stageId }) => stageId).map(([stageId, rows]) => ({
    stageId,
    count: rows.length,
    budgets: groups(rows, (row) => row.budgetCurrency)
      .map(([budgetCurrency, same]) => ({
        budgetCurrency,
        budgetMin: sumOf(same.map(({ budgetMin }) => budgetMin)),
        budgetMax: sumOf(same.map(({ budgetMax }) => budgetMax)),
      }))
      .filter(({ budgetMin, budgetMax }) => budgetMin !== null || budgetMax !== null),
  }));
  return { data };
};

/** The messages of all threads of a chain, oldest first; at the same timestamp, in the order in which they arrived. */
export const messagesOf = (organization: Organization, thread: Row): Fields[] => {
  const threads = new Set(chainOf(organization, thread).map(({ id }) => id));
  return Object.values(organization.messages)
    .filter(({ conversationId }) => threads.has(conversationId))
    .toSorted((one, other) => one.createdAt.localeCompare(other.createdAt));
};
