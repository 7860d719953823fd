import { isDeepStrictEqual } from 'node:util';
import { INTERNAL, PUBLIC, SCHEMAS, type Schema } from '../support/contract.ts';

/**
 * A model of the service: all that an organization has, as plain data, and what answers show of it. Functions take an
 * organization and give another one. Names, order and kinds of fields come from the documents.
 */

// biome-ignore lint/suspicious/noExplicitAny: as the bodies of requests and answers.
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
  /** What was answered to the erasure of a customer. */
  readonly erasures: Readonly<Record<string, Fields>>;
  /** First answers of requests with an Idempotency-Key, by operation, path and key. */
  readonly replays: Readonly<Record<string, { body: unknown; status: number; text: string }>>;
  /** Of quotes, in the order in which they came. */
  readonly attachments: Readonly<Record<string, Fields>>;
  readonly isClosed: boolean;
};

const NONE = Object.fromEntries(KINDS.map((kind) => [kind, {}])) as Record<Kind, Rows>;
export const EMPTY: Organization = {
  ...NONE,
  messages: {},
  erasures: {},
  replays: {},
  attachments: {},
  isClosed: false,
};

/** Stands for a moment that the database makes, until it is known. */
export const NOW = '(now)';

export const withRow = (organization: Organization, kind: Kind, row: Row): Organization => ({
  ...organization,
  [kind]: { ...organization[kind], [row.id]: row },
});

export const live = (rows: Rows): Row[] => Object.values(rows).filter((row) => row.archivedAt === null);

export const operations = { ...PUBLIC.paths, ...INTERNAL.paths };

const propertiesOf = (schema: string): [string, Schema][] =>
  Object.entries(SCHEMAS[schema]?.properties ?? {});

const isList = ({ type }: Schema): boolean => [type].flat().includes('array');

/** What a record has where nothing was sent: null, or an empty list. */
export const blank = (schema: string): Fields =>
  Object.fromEntries(propertiesOf(schema).map(([name, property]) => [name, isList(property) ? [] : null]));

/** The fields that were sent, of those that the schema has; null empties a list. */
export const sent = (schema: string, body: Fields): Fields =>
  Object.fromEntries(
    propertiesOf(schema)
      .filter(([name]) => body[name] !== undefined)
      .map(([name, property]) => [name, body[name] ?? (isList(property) ? [] : null)]),
  );

/** The fields of the schema, in its order. */
export const pick = (schema: string, fields: Fields): Fields =>
  Object.fromEntries(propertiesOf(schema).map(([name]) => [name, fields[name]]));

const nameOf = (customer: Row | undefined): string | null =>
  [customer?.firstName, customer?.lastName].filter(Boolean).join(' ') || null;

/** What answers say of a record beside its own fields: names of others, also of archived ones. */
const DERIVED: Record<Kind, (row: Row, organization: Organization) => Fields> = {
  products: ({ archivedAt }) => (archivedAt === null ? {} : { purgeAt: daysAfter(archivedAt, 30) }),
  customers: (row, { erasures }) => ({
    displayName: nameOf(row),
    contacts: row.contacts.map((contact: Fields) => pick('CustomerContact', contact)),
    mergedInto: row.mergedInto ?? null,
    erasedAt: erasures[row.id]?.erasedAt ?? null,
    erasurePending: false,
  }),
  stages: () => ({}),
  members: () => ({}),
  opportunities: (row, { customers, members, stages }) => ({
    customerName: nameOf(customers[row.customerId]),
    sellerName: members[row.sellerMemberId]?.name ?? null,
    stage: stages[row.stageId]?.key ?? null,
    temperature: row.temperatureOverride ?? row.temperature,
    agentTemperature: row.temperature,
  }),
  conversations: (row, { customers }) => ({ customerName: nameOf(customers[row.customerId]) }),
  quotes: (row, { customers }) => ({ customerName: nameOf(customers[row.customerId]) }),
};

const daysAfter = (moment: string, days: number): string =>
  new Date(Date.parse(moment) + days * 24 * 3_600_000).toISOString();

export const show = (schema: string, kind: Kind, row: Row, organization: Organization): Fields =>
  pick(schema, { ...row, ...DERIVED[kind](row, organization) });

/** A record as its table has it: what only the database knows. */
export type Stored = { kind: Kind; id: string } & Record<Moment, string | null>;

const MOMENTS = ['createdAt', 'archivedAt', 'publishedAt', 'updatedAt'] as const;
type Moment = (typeof MOMENTS)[number];

/**
 * Puts the moments that the database made into the records. A record that the step changed was changed later than before; every
 * other is as it was; and there are no others.
 * @returns the faults too
 */
export function settle(
  before: Organization,
  after: Organization,
  stored: readonly Stored[],
): { organization: Organization; faults: string[] } {
  const faults: string[] = [];
  let organization = after;
  for (const kind of KINDS) {
    const found = new Map(stored.filter((row) => row.kind === kind).map((row) => [row.id, row]));
    for (const row of Object.values(after[kind])) {
      const there = found.get(row.id);
      if (!found.delete(row.id) || !there) faults.push(`${kind} ${row.id} is not stored`);
      else {
        const settled = { ...row };
        const old = before[kind][row.id];
        const isChanged = old && !isDeepStrictEqual(old, row);
        for (const moment of MOMENTS.filter((name) => there[name] !== null || row[name] !== undefined)) {
          const isMade = row[moment] === NOW || (moment === 'updatedAt' && isChanged);
          if (isMade && there[moment] !== null) settled[moment] = there[moment];
          else if (there[moment] !== row[moment])
            faults.push(`${kind} ${row.id}: ${moment} is ${there[moment]}, not ${row[moment]}`);
        }
        if (isChanged && settled.updatedAt <= old.updatedAt)
          faults.push(`${kind} ${row.id} changed, and updatedAt stayed`);
        organization = withRow(organization, kind, settled);
      }
    }
    for (const id of found.keys()) faults.push(`${kind} ${id} is stored, and should not be`);
  }
  return { organization, faults };
}
