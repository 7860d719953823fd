import { randomBytes, randomInt } from 'node:crypto';
import { createCatalogProduct, getCatalogProduct } from '../src/catalog/repository.ts';
import { CatalogProductCreate } from '../src/catalog/schema.ts';
import { listConversations } from '../src/conversations/repository.ts';
import { getTranscript } from '../src/conversations/transcripts.repository.ts';
import { archiveCustomer, createCustomer, getCustomer, updateCustomer } from '../src/customers/repository.ts';
import { CustomerCreate } from '../src/customers/schema.ts';
import { newId, type OrganizationScope } from '../src/db/index.ts';
import { listOpportunities } from '../src/opportunities/repository.ts';
import { listQuotes } from '../src/quotes/repository.ts';
import { LARGE, MIDDLE, SCALES, TERMS } from '../test/support/dataset.ts';
import { statementOf } from '../test/support/statements.ts';
import type { Options } from './options.ts';

/** The rows of the report: the requests, the servers they go to, and their aims. */

export const SIDES = ['ours', 'byHand', 'floor'] as const;
export type Side = (typeof SIDES)[number];

export type Request = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  body?: unknown;
  /** Of a create: its Idempotency-Key. */
  key?: string;
};

/** A request, and the repository's function, whose statements the floor runs. */
type Work = { request: Request; ask?: (scope: OrganizationScope) => Promise<unknown> };

/** Minimum throughput and maximum p99, over the server by hand; maximum processor time, over the floor. */
type Aims = { rate?: number; p99?: number; floor?: number };

export type Workload = {
  name: string;
  isWrite: boolean;
  sides: readonly Side[];
  aims: Aims;
  /** The status of the service and of the server by hand. */
  status: number;
  /** Requests of each kind that each server gets before the measurement. */
  warmUp: number;
  /** The organization of a server; each has its own if it writes. Undefined: the key is malformed. */
  organization: (side: Side) => number | undefined;
  /** Requests to repeat for a read; requests to send once for a write. */
  works: (side: Side, amount: number) => Promise<Work[]>;
};

/** Ids of active records, spread over the organization; of conversations, the transcripts with 50 messages and more. */
export type ActiveIds = (kind: Kind, organization: number, count?: number) => Promise<string[]>;
export type Kind = 'customer' | 'product' | 'conversation' | 'quote' | 'opportunity';

const PATHS = {
  customer: '/v1/customers',
  product: '/v1/catalog/products',
  conversation: '/v1/conversations',
  quote: '/v1/quotes',
  opportunity: '/v1/opportunities',
};
const [ALL, SERVERS] = [SIDES, ['ours', 'byHand']] as const;
/** By hand, a list of a million customers takes 70 ms. */
const [WARM_UP, WARM_UP_SMALL_LIST, WARM_UP_LIST] = [3_000, 1_000, 200];

const list = (name: string, kind: Kind, aims: Aims, filter: Record<string, string> = {}): Workload => ({
  name,
  isWrite: false,
  sides: SERVERS,
  aims,
  status: 200,
  warmUp: WARM_UP_LIST,
  organization: () => LARGE,
  works: async () => [
    { request: { method: 'GET', path: `${PATHS[kind]}?${new URLSearchParams({ limit: '25', ...filter })}` } },
  ],
});

const PAGE = { limit: 25, offset: 0 };

/** A list of records without children, whose statement the floor runs too. */
const listOfSmall = (
  kind: Kind,
  aims: Aims,
  ask: (scope: OrganizationScope) => Promise<unknown>,
): Workload => ({
  ...list(`${kind === 'opportunity' ? 'opportunitie' : kind}s, first 25`, kind, aims),
  sides: ALL,
  warmUp: WARM_UP_SMALL_LIST,
  works: async () => [{ request: { method: 'GET', path: `${PATHS[kind]}?limit=25` }, ask }],
});

const transcript = (activeIds: ActiveIds): Workload => ({
  ...list('transcript of 50 messages', 'conversation', { rate: 0.95 }),
  sides: ALL,
  warmUp: WARM_UP_SMALL_LIST,
  works: async () =>
    (await activeIds('conversation', LARGE)).map((id) => ({
      request: { method: 'GET', path: `${PATHS.conversation}/${id}/messages` },
      ask: (scope) => getTranscript(scope, id, { limit: 50 }),
    })),
});

/** For the row on memory. */
export const ALL_LISTS: Workload = {
  ...list('memory after lists', 'customer', {}),
  works: async () =>
    ['catalog/products', 'customers', 'opportunities', 'conversations', 'quotes'].flatMap((path) =>
      [25, 100].map((limit) => ({ request: { method: 'GET', path: `/v1/${path}?limit=${limit}` } })),
    ),
};

const get = (kind: Kind, activeIds: ActiveIds): Workload => ({
  name: `get ${kind}`,
  isWrite: false,
  sides: ALL,
  aims: { rate: 1, p99: 1.2, floor: 1.2 },
  status: 200,
  warmUp: WARM_UP,
  organization: () => LARGE,
  works: async () =>
    (await activeIds(kind, LARGE)).map((id) => ({
      request: { method: 'GET', path: `${PATHS[kind]}/${id}` },
      ask: (scope) => (kind === 'customer' ? getCustomer(scope, id) : getCatalogProduct(scope, id)),
    })),
});

/** Writes go to organizations of medium size, so that the large one stays as it was loaded. */
const write = (
  name: string,
  status: number,
  aims: Aims,
  works: (organization: number, amount: number) => Promise<Work[]>,
): Workload => {
  const organization = (side: Side): number => MIDDLE + SIDES.indexOf(side);
  return {
    name,
    isWrite: true,
    sides: ALL,
    aims,
    status,
    warmUp: WARM_UP,
    organization,
    works: (side, amount) => works(organization(side), amount),
  };
};

/** Customers that each server archives, and in how many rounds, warm-up included. */
export const ARCHIVED = 21_000;
const ROUNDS_OF_ARCHIVES = 6;
const archived = new Map<Side, string[]>();

/** Each customer once: the organizations that only this row uses have customers for every round. */
const archive = (activeIds: ActiveIds, scale: Options['scale']): Workload => {
  const organization = (side: Side): number => SCALES[scale].length + 1 + SIDES.indexOf(side);
  const works = async (side: Side, amount: number): Promise<Work[]> => {
    const ids = archived.get(side) ?? (await activeIds('customer', organization(side), ARCHIVED));
    archived.set(side, ids);
    const taken = ids.splice(0, Math.min(amount, ARCHIVED / ROUNDS_OF_ARCHIVES));
    return taken.map((id) => ({
      request: { method: 'DELETE', path: `${PATHS.customer}/${id}` },
      ask: (scope) => archiveCustomer(scope, id),
    }));
  };
  return { ...write('archive customer', 200, { rate: 0.9 }, async () => []), organization, works };
};

/** Unique in the whole run: no contact is written twice, and every PATCH changes something. */
let written = 0;
const next = (): number => {
  written += 1;
  return written;
};

const createsWithKey = (amount: number): Work[] =>
  Array.from({ length: amount }, () => {
    const body = newCustomer(next());
    return {
      request: { method: 'POST', path: PATHS.customer, body, key: newId() },
      ask: (scope) =>
        createCustomer(scope, body, { fingerprint: randomBytes(32), bodyHash: randomBytes(32) }),
    };
  });

function create(kind: 'customer' | 'product', amount: number): Work[] {
  return Array.from({ length: amount }, () => {
    const body = kind === 'customer' ? newCustomer(next()) : newProduct(next());
    const ask = (scope: OrganizationScope) =>
      'title' in body ? createCatalogProduct(scope, body) : createCustomer(scope, body);
    return { request: { method: 'POST', path: PATHS[kind], body }, ask };
  });
}

const SYLLABLES = 'ba ce di fo gu la me ni po ru sa te vi xo ya ze pla tri gen mor cos tel'.split(' ');

/** Twelve words that nobody has written before, each of two to four syllables: their trigrams are new to the index, as people's are. */
function randomText(): string {
  const word = () =>
    Array.from({ length: randomInt(2, 5) }, () => SYLLABLES[randomInt(SYLLABLES.length)]).join('');
  return Array.from({ length: 12 }, word).join(' ');
}

function newCustomer(number: number): CustomerCreate {
  const digits = String(number).padStart(9, '0');
  return CustomerCreate.parse({
    firstName: 'Ana',
    lastName: 'Peña',
    city: 'Ciudad de México',
    country: 'México',
    preferredLanguage: 'es',
    summary: randomText(),
    tags: ['luna de miel'],
    contacts: [
      { identifierType: 'telefono', identifierValue: `+573${digits}` },
      { identifierType: 'email', identifierValue: `ana.pena.${digits}@example.org` },
    ],
  });
}

const newProduct = (number: number): CatalogProductCreate =>
  CatalogProductCreate.parse({
    title: `Patagonia Norte en 8 días, salida ${number}`,
    type: 'package',
    budgetTier: 'mid',
    currency: 'USD',
    description: randomText(),
    shortDescription: 'Lagos, bosques y volcanes.',
    durationDays: 8,
    includes: ['Hotel', 'Traslados', 'Desayuno'],
    excludes: ['Vuelos'],
    fromPrice: 1_450,
    externalReferenceCode: `PAT-${number}`,
    variants: [
      { label: 'Temporada baja', fromPrice: 1_450, currency: 'USD' },
      { label: 'Temporada alta', fromPrice: 1_790, currency: 'USD' },
    ],
  });

/** PATCHes of one field of customers, each with a new value. */
const patch =
  (activeIds: ActiveIds, bodyOf: (number: number) => { city: string } | { summary: string }) =>
  async (organization: number, amount: number): Promise<Work[]> => {
    const ids = await activeIds('customer', organization);
    return Array.from({ length: amount }, (_, index) => {
      const id = ids[index % ids.length] ?? '';
      const body = bodyOf(next());
      return {
        request: { method: 'PATCH', path: `${PATHS.customer}/${id}`, body },
        ask: (scope) => updateCustomer(scope, id, body),
      };
    });
  };

export const workloads = (activeIds: ActiveIds, { scale }: Options): Workload[] => [
  list('list of 25 customers', 'customer', { rate: 2.5 }),
  list('list of 25 products', 'product', { rate: 2.5 }),
  list('products by status', 'product', { rate: 2 }, { status: 'active' }),
  list('customers, rare search term', 'customer', { rate: 1.3 }, { query: TERMS.rare }),
  list('products, common search term', 'product', { rate: 1.3 }, { query: TERMS.common }),
  listOfSmall('conversation', { rate: 1.1 }, (scope) => listConversations(scope, PAGE)),
  listOfSmall('quote', { rate: 1.1 }, (scope) => listQuotes(scope, PAGE)),
  listOfSmall('opportunity', { rate: 1.1 }, (scope) => listOpportunities(scope, PAGE)),
  transcript(activeIds),
  get('customer', activeIds),
  get('product', activeIds),
  {
    ...list('401, malformed key', 'customer', {}),
    status: 401,
    warmUp: WARM_UP,
    organization: () => undefined,
  },
  write('create customer, two contacts', 201, { rate: 0.75, floor: 2 }, async (_organization, amount) =>
    create('customer', amount),
  ),
  write('create customer with a key', 201, {}, async (_organization, amount) => createsWithKey(amount)),
  write('create product, two variants', 201, { rate: 1, floor: 2 }, async (_organization, amount) =>
    create('product', amount),
  ),
  write(
    'patch customer, city',
    200,
    { rate: 1.2, floor: 1.3 },
    patch(activeIds, (number) => ({ city: `Ciudad ${number}` })),
  ),
  write(
    'patch customer, summary (searched text)',
    200,
    { rate: 0.8 },
    patch(activeIds, () => ({
      summary: randomText(),
    })),
  ),
  archive(activeIds, scale),
];

/** The statements of a request, prepared by their names on each connection. */
export async function preparedOf({ ask }: Work, organization: number) {
  if (!ask) throw new Error('The floor has no such list.');
  const { after = [], ...first } = await statementOf(organization, ask);
  return [first, ...after].map(({ name, text, values = [] }) => {
    if (name === undefined) throw new Error('The floor sends prepared statements.');
    return {
      name,
      text,
      values: values.map((value) => (Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value)),
    };
  });
}

/** The request to the floor that corresponds to one to the service: its statements, several of them in a transaction. */
export async function floorRequest(work: Work, organization: number): Promise<Request> {
  const statements = await preparedOf(work, organization);
  const body = statements.map(({ name, values }) => ({ name, values }));
  const [sent] = statements;
  return work.request.method === 'GET' && sent
    ? { method: 'GET', path: ['', sent.name, ...sent.values.map(String)].map(encodeURIComponent).join('/') }
    : { method: 'POST', path: '/', body };
}
