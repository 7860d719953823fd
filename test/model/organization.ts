import { isDeepStrictEqual } from 'node:util';
import { INTERNAL, PUBLIC, SCHEMAS, type Schema } from '../support/contract.ts';

/**
 * A model of the service: everything that an organization has, as plain data, and how responses show it. Functions take an
 * organization and return another one. The names, order and types of fields come from the OpenAPI documents.
 */

// biome-ignore lint/suspicious/noExplicitAny: as the bodies of requests and responses.
export type Fields = { [name: string]: any };
export type Row = Fields & { id: string; createdAt: string; updatedAt: string; archivedAt: string | null };
export type Rows = Readonly<Record<string, Row>>;

export const KINDS = [
  'products',
  'customers',
  'stages',
  'members',
  'opportunities',
  'conversations',
  'quotes',
] as const;
export type Kind = (typeof KINDS)[number];

export type Organization = Readonly<Record<Kind, Rows>> & {
  /** By the ids of conversation and message. */
  readonly messages: Readonly<Record<string, Fields>>;
  /** The response to the erasure of each customer. */
  readonly erasures: Readonly<Record<string, Fields>>;
};

const NONE = Object.fromEntries(KINDS.map((kind) => [kind, {}])) as Record<Kind, Rows>;
export const EMPTY: Organization = { ...NONE, messages: {}, erasures: {} };

export type Request = {
  /** The first id of the path, after the organization's. */
  id: string;
  /** The second: of a message. */
  childId: string;
  query: Fields;
  body: Fields;
  /** Values of the response that only the service can know: ids, a token. */
  generated: Fields;
  /** Products that were archived at this timestamp or later can be restored. */
  restorableSince: string;
};

/** Stands for a timestamp that the database sets, until the model has read it. */
export const NOW = '(now)';

export const withRow = (organization: Organization, kind: Kind, row: Row): Organization => ({
  ...organization,
  [kind]: { ...organization[kind], [row.id]: row },
});

export const withRows = (organization: Organization, rows: readonly [Kind, Row][]): Organization =>
  rows.reduce((changed, [kind, row]) => withRow(changed, kind, row), organization);

export const active = (rows: Rows): Row[] => Object.values(rows).filter((row) => row.archivedAt === null);

export const operations = { ...PUBLIC.paths, ...INTERNAL.paths };

const propertiesOf = (schema: string): [string, Schema][] =>
  Object.entries(SCHEMAS[schema]?.properties ?? {});

const empty = ({ type }: Schema): [] | null => ([type].flat().includes('array') ? [] : null);

/** A record without any value: null, or an empty list. */
export const blank = (schema: string): Fields =>
  Object.fromEntries(propertiesOf(schema).map(([name, property]) => [name, empty(property)]));

/** The fields of the schema that the body has; null empties a list. */
export const sent = (schema: string, body: Fields): Fields =>
  Object.fromEntries(
    propertiesOf(schema)
      .filter(([name]) => body[name] !== undefined)
      .map(([name, property]) => [name, body[name] ?? empty(property)]),
  );

/** The fields of the schema, in its order. */
export const pick = (schema: string, fields: Fields): Fields =>
  Object.fromEntries(propertiesOf(schema).map(([name]) => [name, fields[name]]));

const nameOf = (customer: Row | undefined): string | null =>
  [customer?.firstName, customer?.lastName].filter(Boolean).join(' ') || null;

const DAY = 24 * 3_600_000;
export const RETENTION = 30 * DAY;

/** The newest message of a thread; of the whole chain for its newest thread. */
function lastMessageOf(thread: Row, { conversations, messages }: Organization): Fields | null {
  const isOf = ({ conversationId }: Fields) =>
    conversationId === thread.id ||
    (thread.continuedBy === null && conversations[conversationId]?.chainId === thread.chainId);
  const last = Object.values(messages)
    .filter(isOf)
    .toSorted((one, other) => one.createdAt.localeCompare(other.createdAt))
    .at(-1);
  if (!last) return null;
  const { content, direction, messageType, createdAt } = last;
  return { content: content.slice(0, 200), direction, messageType, createdAt };
}

/** Fields of responses that follow from other fields or records, archived records too. */
const DERIVED: Partial<Record<Kind, (row: Row, organization: Organization) => Fields>> = {
  products: ({ archivedAt }) => ({
    purgeAt: archivedAt === null ? null : new Date(Date.parse(archivedAt) + RETENTION).toISOString(),
  }),
  customers: (row, { erasures }) => ({
    displayName: nameOf(row),
    contacts: row.contacts.map((contact: Fields) => pick('CustomerContact', contact)),
    mergedInto: row.mergedInto ?? null,
    erasedAt: erasures[row.id]?.erasedAt ?? null,
  }),
  opportunities: (row, { customers, members, stages }) => ({
    customerName: nameOf(customers[row.customerId]),
    sellerName: members[row.sellerMemberId]?.name ?? null,
    stage: stages[row.stageId]?.key ?? null,
    temperature: row.temperatureOverride ?? row.temperature,
    agentTemperature: row.temperature,
  }),
  conversations: (row, organization) => ({
    customerName: nameOf(organization.customers[row.customerId]),
    lastMessage: lastMessageOf(row, organization),
  }),
  quotes: (row, { customers }) => ({ customerName: nameOf(customers[row.customerId]) }),
};

export const show = (schema: string, kind: Kind, row: Row, organization: Organization): Fields =>
  pick(schema, { ...row, ...DERIVED[kind]?.(row, organization) });

const TIMESTAMPS = ['createdAt', 'archivedAt', 'publishedAt', 'qualifiedAt', 'updatedAt'] as const;

/** The part of a table's row that only the database knows. */
export type Stored = { kind: Kind; id: string } & Record<(typeof TIMESTAMPS)[number], string | null>;

/**
 * Copies the timestamps that the database has set into the records of the model. It fails if other records are stored, if a record
 * has another timestamp, or if `updatedAt` did not increase with a change.
 */
export function settle(before: Organization, after: Organization, stored: readonly Stored[]): Organization {
  const errors: string[] = [];
  const settled: [Kind, Row][] = [];
  for (const kind of KINDS) {
    const unexpected = new Map(stored.filter((row) => row.kind === kind).map((row) => [row.id, row]));
    for (const row of Object.values(after[kind])) {
      const found = unexpected.get(row.id);
      unexpected.delete(row.id);
      if (!found) {
        errors.push(`${kind} ${row.id} is not stored`);
        continue;
      }
      const old = before[kind][row.id];
      const isChanged = old && !isDeepStrictEqual(old, row);
      const known = { ...row };
      for (const name of TIMESTAMPS.filter((name) => found[name] !== null || row[name] !== undefined)) {
        const isNew = row[name] === NOW || (name === 'updatedAt' && isChanged);
        if (isNew && found[name] !== null) known[name] = found[name];
        else if (found[name] !== row[name])
          errors.push(`${kind} ${row.id}: ${name} is ${found[name]}, not ${row[name]}`);
      }
      if (isChanged && known.updatedAt <= old.updatedAt)
        errors.push(`${kind} ${row.id} changed, but updatedAt did not increase`);
      settled.push([kind, known]);
    }
    for (const id of unexpected.keys()) errors.push(`${kind} ${id} is stored, but should not be`);
  }
  if (errors.length > 0) throw new Error(errors.join('\n'));
  return withRows(after, settled);
}
