import type { QueryConfig } from 'pg';
import {
  createCatalogProduct,
  getCatalogProduct,
  listCatalogProducts,
  updateCatalogProduct,
} from '../src/catalog/repository.ts';
import { CatalogProductCreate } from '../src/catalog/schema.ts';
import { getTranscript, listConversations } from '../src/conversations/repository.ts';
import { createCustomer, getCustomer, listCustomers, updateCustomer } from '../src/customers/repository.ts';
import { CustomerCreate } from '../src/customers/schema.ts';
import type { Queries } from '../src/db/client.ts';
import { type OrganizationScope, scopeTo } from '../src/db/scope.ts';
import { bind, type Statement } from '../src/db/statement.ts';
import { listOpportunities } from '../src/opportunities/repository.ts';
import { listQuotes } from '../src/quotes/repository.ts';
import { BODIES, LARGE, MIDDLE, organizationId, recordId, rotatedConversation, TERMS } from './dataset.ts';

/** What is measured: each request, and the one statement that answers it. */

export type Request = {
  method: 'GET' | 'POST' | 'PATCH';
  path: string;
  body?: unknown;
  ifNoneMatch?: string;
};

/** One statement, and those that follow it in its transaction. */
export type Asked = QueryConfig & { after?: readonly QueryConfig[] };

/** The same work for both: over HTTP, and as the repository hands it to pg. */
export type Pair = { request: Request; statement: Asked };

export const SIDES = ['ours', 'limit', 'conventional'] as const;
export type Side = (typeof SIDES)[number];

export type Workload = {
  name: string;
  kind: 'list' | 'get' | 'write';
  /** Clients at most: beyond the service's own connections, requests this slow wait until it refuses them. */
  connections?: number;
  /** Ours is asked with the tag of what it answers, and says 304; the others answer in full. */
  unchanged?: boolean;
  /** The organization that a side works in: one of its own for each where it writes. */
  organization: (side: Side) => number;
  /** Requests to go round in when reading, so many to make once when writing. */
  pairs: (side: Side, amount: number) => Promise<Pair[]>;
};

/** Ids of live records, spread over the organization. */
export type LiveIds = (
  kind: 'customer' | 'product',
  organization: number,
  amount: number,
) => Promise<string[]>;

/** Gives an organization products whose JSON has so many bytes. */
export type CreateProducts = (organization: number, bytes: number) => Promise<void>;

/** What a repository function asks of the database, without asking; it gets `answer`. */
export async function statementOf(
  organization: number,
  call: (scope: OrganizationScope) => Promise<unknown>,
  answer: object[] = [{ body: '{}' }],
): Promise<Asked> {
  const asked: QueryConfig[] = [];
  const ask = async <Row, Values>(
    statements: readonly Statement<unknown, Values>[],
    values: Values,
  ): Promise<Row[]> => {
    asked.push(...statements.map((statement) => bind(statement, values)));
    return answer as Row[];
  };
  const run: Queries['read'] = (statement, values) => ask([statement], values);
  const recorder: Queries = {
    read: run,
    write: run,
    writeTogether: ask,
    transaction: (work) => work(recorder),
  };
  await call(scopeTo({ for: () => recorder }, organizationId(organization)));
  const [statement, ...after] = asked;
  if (!statement) throw new Error('An operation took no statement.');
  return after.length > 0 ? { ...statement, after } : statement;
}

type List<Query> = (
  scope: OrganizationScope,
  query: Query & { limit: number; offset: number },
) => Promise<unknown>;

/** A page of a list. */
async function pageOf<Query extends Record<string, string>>(
  path: string,
  list: List<Query>,
  organization: number,
  { limit = 25, offset = 0, ...filters }: Query & { limit?: number; offset?: number },
): Promise<Pair> {
  const query = { ...filters, limit, offset } as unknown as Query & { limit: number; offset: number };
  const parameters = new URLSearchParams({ ...filters, limit: String(limit), offset: String(offset) });
  return {
    request: { method: 'GET', path: `${path}?${parameters}` },
    statement: await statementOf(organization, (scope) => list(scope, query)),
  };
}

const PRODUCTS = '/v1/catalog/products';
const CUSTOMERS = '/v1/customers';

export const LISTS = {
  products: { path: PRODUCTS, list: listCatalogProducts },
  customers: { path: CUSTOMERS, list: listCustomers },
  opportunities: { path: '/v1/opportunities', list: listOpportunities },
  conversations: { path: '/v1/conversations', list: listConversations },
  quotes: { path: '/v1/quotes', list: listQuotes },
} as const;

type Resource = keyof typeof LISTS;
type Query = Record<string, string> & { limit?: number; offset?: number };

export const firstPage = (resource: Resource, organization: number, query: Query = {} as Query) =>
  pageOf(LISTS[resource].path, LISTS[resource].list as List<Record<string, string>>, organization, query);

export async function gets(
  kind: 'customer' | 'product',
  organization: number,
  ids: readonly string[],
): Promise<Pair[]> {
  const [path, get] = kind === 'customer' ? [CUSTOMERS, getCustomer] : [PRODUCTS, getCatalogProduct];
  return Promise.all(
    ids.map(async (id) => ({
      request: { method: 'GET' as const, path: `${path}/${id}` },
      statement: await statementOf(organization, (scope) => get(scope, id)),
    })),
  );
}

const read = (name: string, pairs: () => Promise<Pair[]>, kind: 'list' | 'get' = 'list'): Workload => ({
  name,
  kind,
  organization: () => LARGE,
  pairs,
});

const page = (name: string, resource: Resource, query: object = {}): Workload =>
  read(name, async () => [await firstPage(resource, LARGE, query as Query)]);

/** Writes go to organizations of middle size, and leave the large one as it was loaded. */
const write = (name: string, pairs: Workload['pairs']): Workload => ({
  name,
  kind: 'write',
  organization: (side) => MIDDLE + SIDES.indexOf(side),
  pairs,
});

const IDS = 500;
const FEW = 10;
const THREADS = 100;

/** Distinct over the whole run: no contact is written twice, every patch changes something. */
let written = 0;

function newCustomer(): CustomerCreate {
  written += 1;
  const number = String(written).padStart(9, '0');
  return CustomerCreate.parse({
    firstName: 'Ana',
    lastName: 'Peña',
    city: 'Ciudad de México',
    country: 'México',
    preferredLanguage: 'es',
    summary: 'Viaja con su familia y le interesa Cartagena en enero.',
    tags: ['luna de miel'],
    contacts: [
      { identifierType: 'telefono', identifierValue: `+573${number}` },
      { identifierType: 'email', identifierValue: `ana.pena.${number}@example.org` },
    ],
  });
}

function newProduct(): CatalogProductCreate {
  written += 1;
  return CatalogProductCreate.parse({
    title: `Patagonia Norte en 8 días, salida ${written}`,
    type: 'package',
    budgetTier: 'mid',
    currency: 'USD',
    description:
      'Lagos, bosques y volcanes, con un guía local y grupos pequeños. Cada día deja tiempo libre por la tarde.',
    shortDescription: 'Lagos, bosques y volcanes.',
    durationDays: 8,
    includes: ['Hotel', 'Traslados', 'Desayuno'],
    excludes: ['Vuelos'],
    fromPrice: 1_450,
    externalReferenceCode: `PAT-${written}`,
    variants: [
      { label: 'Temporada baja', fromPrice: 1_450, currency: 'USD' },
      { label: 'Temporada alta', fromPrice: 1_790, currency: 'USD' },
    ],
  });
}

const times = <Result>(amount: number, make: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: amount }, (_, index) => make(index)));

/** In one organization each. The last is more than a row holds. */
export const KILOBYTES_OF_BODIES = [0.7, 1.9, 20];

const ofBodies = (createProducts: CreateProducts, kilobytes: number, index: number): Workload => ({
  name: `products, 25 with a body of ${kilobytes} kB`,
  kind: 'list',
  organization: () => BODIES + index,
  pairs: async () => {
    await createProducts(BODIES + index, kilobytes * 1_000);
    return [await firstPage('products', BODIES + index)];
  },
});

export function workloads(
  liveIds: LiveIds,
  createProducts: CreateProducts,
  large: { conversations: number },
): Workload[] {
  const threads = Math.min(THREADS, Math.floor(large.conversations / 20) - 1);
  const pages = (Object.keys(LISTS) as Resource[]).flatMap((resource) =>
    [25, 100].map((limit) => page(`${resource}, first ${limit}`, resource, { limit })),
  );
  const organizationOfWrites = (side: Side): number => MIDDLE + SIDES.indexOf(side);
  return [
    ...pages,
    { ...page('products, first 25, unchanged (304)', 'products', { limit: 25 }), unchanged: true },
    read('get product', async () => gets('product', LARGE, await liveIds('product', LARGE, IDS)), 'get'),
    read('get customer', async () => gets('customer', LARGE, await liveIds('customer', LARGE, IDS)), 'get'),
    page('customers, rare term', 'customers', { query: TERMS.rare }),
    { ...page('customers, common term', 'customers', { query: TERMS.common }), connections: FEW },
    page('products by status', 'products', { status: 'active' }),
    { ...page('customers by tag', 'customers', { tag: 'luna de miel' }), connections: FEW },
    page('opportunities by stage', 'opportunities', { stageId: recordId('stage', LARGE, 4) }),
    read('transcript of 50, three threads', () =>
      times(threads, async (index) => {
        const id = recordId('conversation', LARGE, rotatedConversation(index));
        return {
          request: { method: 'GET', path: `/v1/conversations/${id}/messages?limit=50` },
          statement: await statementOf(LARGE, (scope) => getTranscript(scope, id, 50)),
        };
      }),
    ),
    page('customers, offset 10,000', 'customers', { offset: 10_000 }),
    page('customers, offset 100,000', 'customers', { offset: 100_000 }),
    ...KILOBYTES_OF_BODIES.map((kilobytes, index) => ofBodies(createProducts, kilobytes, index)),
    write('create customer, two contacts', (side, amount) =>
      times(amount, async () => {
        const body = newCustomer();
        return {
          request: { method: 'POST', path: CUSTOMERS, body },
          statement: await statementOf(organizationOfWrites(side), (scope) => createCustomer(scope, body)),
        };
      }),
    ),
    write('create product, two variants', (side, amount) =>
      times(amount, async () => {
        const body = newProduct();
        return {
          request: { method: 'POST', path: PRODUCTS, body },
          statement: await statementOf(organizationOfWrites(side), (scope) =>
            createCatalogProduct(scope, body),
          ),
        };
      }),
    ),
    write('patch customer', async (side, amount) => {
      const organization = organizationOfWrites(side);
      const ids = await liveIds('customer', organization, IDS);
      return times(amount, async (index) => {
        written += 1;
        const id = ids[index % ids.length] ?? '';
        const body = { city: `Ciudad ${written}` };
        return {
          request: { method: 'PATCH', path: `${CUSTOMERS}/${id}`, body },
          statement: await statementOf(organization, (scope) => updateCustomer(scope, id, body)),
        };
      });
    }),
    write('patch product', async (side, amount) => {
      const organization = organizationOfWrites(side);
      const ids = await liveIds('product', organization, IDS);
      return times(amount, async (index) => {
        written += 1;
        const id = ids[index % ids.length] ?? '';
        const body = { fromPrice: written };
        return {
          request: { method: 'PATCH', path: `${PRODUCTS}/${id}`, body },
          statement: await statementOf(organization, (scope) => updateCatalogProduct(scope, id, body)),
        };
      });
    }),
  ];
}

/** No key of ours: refused by its form, without a query. */
export const MALFORMED_KEY = 'tcrm_not-a-key';
