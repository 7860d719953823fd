import { createCatalogProduct, getCatalogProduct } from '../src/catalog/repository.ts';
import { CatalogProductCreate } from '../src/catalog/schema.ts';
import { createCustomer, getCustomer, updateCustomer } from '../src/customers/repository.ts';
import { CustomerCreate } from '../src/customers/schema.ts';
import type { OrganizationScope } from '../src/db/index.ts';
import { LARGE, MIDDLE, TERMS } from '../test/support/dataset.ts';
import { statementOf } from '../test/support/statements.ts';

/** The rows of the report: the requests, the servers they go to, and their aims. */

export const SIDES = ['ours', 'byHand', 'floor'] as const;
export type Side = (typeof SIDES)[number];

export type Request = { method: 'GET' | 'POST' | 'PATCH'; path: string; body?: unknown };

/** A request, and the statement that the repository runs for it. */
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

/** Ids of active records, spread over the organization. */
export type ActiveIds = (kind: Kind, organization: number) => Promise<string[]>;
type Kind = 'customer' | 'product';

const PATHS = { customer: '/v1/customers', product: '/v1/catalog/products' };
const [ALL, SERVERS] = [SIDES, ['ours', 'byHand']] as const;
/** By hand, a list of a million customers takes 70 ms. */
const [WARM_UP, WARM_UP_LIST] = [3_000, 200];

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
  sides: readonly Side[] = ALL,
): Workload => {
  const organization = (side: Side): number => MIDDLE + SIDES.indexOf(side);
  return {
    name,
    isWrite: true,
    sides,
    aims,
    status,
    warmUp: WARM_UP,
    organization,
    works: (side, amount) => works(organization(side), amount),
  };
};

/** Unique in the whole run: no contact is written twice, and every PATCH changes something. */
let written = 0;
const next = (): number => {
  written += 1;
  return written;
};

function create(kind: Kind, amount: number): Work[] {
  return Array.from({ length: amount }, () => {
    const body = kind === 'customer' ? newCustomer(next()) : newProduct(next());
    const ask = (scope: OrganizationScope) =>
      'title' in body ? createCatalogProduct(scope, body) : createCustomer(scope, body);
    return { request: { method: 'POST', path: PATHS[kind], body }, ask };
  });
}

function newCustomer(number: number): CustomerCreate {
  const digits = String(number).padStart(9, '0');
  return CustomerCreate.parse({
    firstName: 'Ana',
    lastName: 'Peña',
    city: 'Ciudad de México',
    country: 'México',
    preferredLanguage: 'es',
    summary: 'Viaja con su familia y le interesa Cartagena en enero.',
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
    description:
      'Lagos, bosques y volcanes, con un guía local y grupos pequeños. Cada día deja tiempo libre por la tarde.',
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

export const workloads = (activeIds: ActiveIds): Workload[] => [
  list('list of 25 customers', 'customer', { rate: 2.5 }),
  list('list of 25 products', 'product', { rate: 2.5 }),
  list('products by status', 'product', { rate: 2 }, { status: 'active' }),
  list('customers, rare search term', 'customer', { rate: 1.3 }, { query: TERMS.rare }),
  list('products, common search term', 'product', { rate: 1.3 }, { query: TERMS.common }),
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
    patch(activeIds, (number) => ({
      summary: `Viaja con su familia y le interesa Cartagena en enero. Pide vuelos directos, la vez ${number}.`,
    })),
    SERVERS,
  ),
];

/** The statement of a request, prepared by its name on each connection. */
export async function preparedOf({ ask }: Work, organization: number) {
  if (!ask) throw new Error('The floor has no lists.');
  const { name, text, values = [], after } = await statementOf(organization, ask);
  if (name === undefined || after)
    throw new Error('The floor sends one prepared statement for each request.');
  return { name, text, values };
}

/** The request to the floor that corresponds to one to the service. */
export async function floorRequest(work: Work, organization: number): Promise<Request> {
  const { name, values } = await preparedOf(work, organization);
  const path = `/${encodeURIComponent(name)}`;
  return work.request.method === 'GET'
    ? { method: 'GET', path: [path, ...values].join('/') }
    : { method: 'POST', path, body: values };
}
