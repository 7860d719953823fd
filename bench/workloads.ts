import {
  createCatalogProduct,
  getCatalogProduct,
  listCatalogProducts,
  updateCatalogProduct,
} from '../src/catalog/repository.ts';
import { CatalogProductCreate, type CatalogProductUpdate } from '../src/catalog/schema.ts';
import { getTranscript } from '../src/conversations/messages.repository.ts';
import { listConversations } from '../src/conversations/repository.ts';
import { createCustomer, getCustomer, listCustomers, updateCustomer } from '../src/customers/repository.ts';
import { CustomerCreate, type CustomerUpdate } from '../src/customers/schema.ts';
import type { OrganizationScope } from '../src/db/pool/scope.ts';
import { listOpportunities } from '../src/opportunities/repository.ts';
import { listQuotes } from '../src/quotes/repository.ts';
import { BODIES, LARGE, MIDDLE, recordId, rotatedConversation, TERMS } from '../test/support/dataset.ts';
import { type Asked, statementOf } from '../test/support/statements.ts';

/** What is measured: each request, and the one statement that answers it. */

export type Request = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  body?: unknown;
  ifNoneMatch?: string;
};

/** The same work for all sides: over HTTP, and as the repository hands it to pg. */
export type Pair = { request: Request; statement: Asked };

export const SIDES = ['ours', 'limit', 'conventional', 'byHand'] as const;
export type Side = (typeof SIDES)[number];

/** Something of each side. The server by hand has customers and products only. */
export type BySide<Value> = Record<Exclude<Side, 'byHand'>, Value> & { byHand?: Value };

export type Workload = {
  name: string;
  kind: 'list' | 'get' | 'write';
  /** Clients at most: beyond the service's own connections, requests this slow wait until it refuses them. */
  connections?: number;
  /** Ours is asked with the tag of what it answers, and says 304; the others answer in full. */
  unchanged?: boolean;
  sides: readonly Side[];
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
  // A search whose page is not full is not counted.
  const rows = filters.query === TERMS.rare ? 1 : limit;
  const answer = Array.from({ length: rows }, () => ({ id: '', body: Buffer.from('{}'), total: '0' }));
  return {
    request: { method: 'GET', path: `${path}?${parameters}` },
    statement: await statementOf(organization, (scope) => list(scope, query), answer),
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

const WITHOUT_BY_HAND = SIDES.filter((side) => side !== 'byHand');
const sidesOf = (resource: Resource): readonly Side[] =>
  resource === 'products' || resource === 'customers' ? SIDES : WITHOUT_BY_HAND;

const page = (name: string, resource: Resource, query: object = {}): Workload => ({
  name,
  kind: 'list',
  sides: sidesOf(resource),
  organization: () => LARGE,
  pairs: async () => [await firstPage(resource, LARGE, query as Query)],
});

const getsOf = (kind: 'customer' | 'product', liveIds: LiveIds): Workload => ({
  name: `get ${kind}`,
  kind: 'get',
  sides: SIDES,
  organization: () => LARGE,
  pairs: async () => gets(kind, LARGE, await liveIds(kind, LARGE, IDS)),
});

/** Writes go to organizations of middle size, and leave the large one as it was loaded. */
const write = (name: string, pairs: Workload['pairs']): Workload => ({
  name,
  kind: 'write',
  sides: SIDES,
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

const ofBodies = (kilobytes: number, index: number): Workload => ({
  name: `products, 25 with a body of ${kilobytes} kB`,
  kind: 'list',
  sides: SIDES,
  organization: () => BODIES + index,
  pairs: async () => [await firstPage('products', BODIES + index)],
});

/** PATCHes of one field, each with a value that is new. */
const patches = (
  name: string,
  kind: 'customer' | 'product',
  liveIds: LiveIds,
  bodyOf: (number: number) => CustomerUpdate & CatalogProductUpdate,
): Workload =>
  write(name, async (side, amount) => {
    const [path, update] =
      kind === 'customer' ? [CUSTOMERS, updateCustomer] : [PRODUCTS, updateCatalogProduct];
    const organization = MIDDLE + SIDES.indexOf(side);
    const ids = await liveIds(kind, organization, IDS);
    return times(amount, async (index) => {
      written += 1;
      const id = ids[index % ids.length] ?? '';
      const body = bodyOf(written);
      return {
        request: { method: 'PATCH', path: `${path}/${id}`, body },
        statement: await statementOf(organization, (scope) => update(scope, id, body)),
      };
    });
  });

export function workloads(liveIds: LiveIds, large: { conversations: number }): Workload[] {
  const threads = Math.min(THREADS, Math.floor(large.conversations / 20) - 1);
  const pages = (Object.keys(LISTS) as Resource[]).flatMap((resource) =>
    [25, 100].map((limit) => page(`${resource}, first ${limit}`, resource, { limit })),
  );
  const organizationOfWrites = (side: Side): number => MIDDLE + SIDES.indexOf(side);
  return [
    ...pages,
    { ...page('products, first 25, unchanged (304)', 'products', { limit: 25 }), unchanged: true },
    getsOf('product', liveIds),
    getsOf('customer', liveIds),
    page('customers, rare term', 'customers', { query: TERMS.rare }),
    { ...page('customers, common term', 'customers', { query: TERMS.common }), connections: FEW },
    page('products by status', 'products', { status: 'active' }),
    { ...page('customers by tag', 'customers', { tag: 'luna de miel' }), connections: FEW },
    page('opportunities by stage', 'opportunities', { stageId: recordId('stage', LARGE, 4) }),
    {
      name: 'transcript of 50, three threads',
      kind: 'list',
      sides: WITHOUT_BY_HAND,
      organization: () => LARGE,
      pairs: () =>
        times(threads, async (index) => {
          const id = recordId('conversation', LARGE, rotatedConversation(index));
          return {
            request: { method: 'GET', path: `/v1/conversations/${id}/messages?limit=50` },
            statement: await statementOf(LARGE, (scope) => getTranscript(scope, id, { limit: 50 })),
          };
        }),
    },
    page('customers, offset 10,000', 'customers', { offset: 10_000 }),
    page('customers, offset 100,000', 'customers', { offset: 100_000 }),
    ...KILOBYTES_OF_BODIES.map(ofBodies),
    write('create customer, two contacts', (side, amount) =>
      times(amount, async () => {
        const body = newCustomer();
        return {
          request: { method: 'POST', path: CUSTOMERS, body },
          // A row for each contact that it claims.
          statement: await statementOf(
            organizationOfWrites(side),
            (scope) => createCustomer(scope, body),
            body.contacts.map(() => ({ body: Buffer.from('{}') })),
          ),
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
    patches('patch customer, city', 'customer', liveIds, (number) => ({ city: `Ciudad ${number}` })),
    patches('patch customer, summary', 'customer', liveIds, (number) => ({
      summary: `Viaja con su familia y le interesa Cartagena en enero. Pide vuelos directos, la vez ${number}.`,
    })),
    patches('patch product', 'product', liveIds, (number) => ({ fromPrice: number })),
  ];
}

/** No key of ours: refused by its form, without a query. */
export const MALFORMED_KEY = 'tcrm_not-a-key';
