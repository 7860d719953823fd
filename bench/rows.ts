import { randomInt } from 'node:crypto';
import { CatalogProductCreate } from '../src/catalog/schema.ts';
import { newId } from '../src/db/index.ts';
import { TERMS } from '../test/support/dataset.ts';

/** The rows of the table: what is sent to each server; without more, a GET of /v1 that returns 200. */

export type Row = {
  name: string;
  api?: 'dashboard';
  method?: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** A query for the texts of `path`, of the organization `$1`. */
  of?: string;
  path: (text: string) => string;
  body?: (text: string) => object;
  hasKey?: boolean;
  status?: number;
  /** Requests to each server before the measurement; default 3,000. */
  warmUp?: number;
  /** Writes to render for a second; default 6,000. */
  perSecond?: number;
  /** Each text is used once: the row has an organization of its own for each server. */
  isArchive?: boolean;
};

/** No contact is written twice, and every PATCH changes something. */
let written = 0;
const next = (): string => String(++written).padStart(9, '0');

const SYLLABLES = 'ba ce di fo gu la me ni po ru sa te vi xo ya ze pla tri gen mor cos tel'.split(' ');
const word = (): string =>
  Array.from({ length: randomInt(2, 5) }, () => SYLLABLES[randomInt(SYLLABLES.length)]).join('');
/** Words that nobody has written before: their trigrams are new to the index, as people's are. */
const words = (): string => Array.from({ length: 12 }, word).join(' ');

const customer = (number = next()) => ({
  ...{ firstName: 'Ana', lastName: 'Peña', city: 'Ciudad de México', country: 'México' },
  ...{ preferredLanguage: 'es', summary: words(), tags: ['luna de miel'] },
  contacts: [
    { identifierType: 'telefono', identifierValue: `+573${number}` },
    { identifierType: 'email', identifierValue: `ana.pena.${number}@example.org` },
  ],
});

/** With the defaults: the floor has none. */
const product = (number = next()) =>
  CatalogProductCreate.parse({
    ...{ title: `Patagonia Norte en 8 días, salida ${number}`, externalReferenceCode: `PAT-${number}` },
    ...{ type: 'package', budgetTier: 'mid', currency: 'USD', fromPrice: 1_450, durationDays: 8 },
    ...{ description: words(), shortDescription: 'Lagos, bosques y volcanes.' },
    ...{ includes: ['Hotel', 'Traslados', 'Desayuno'], excludes: ['Vuelos'] },
    variants: ['Baja', 'Alta'].map((label) => ({ label, fromPrice: 1_450, currency: 'USD' })),
  });

/** With a contact that no customer has. */
const thread = (number = next()) => ({
  ...{ channel: 'whatsapp', contact: `+573${number.padStart(9, '0')}` },
  ...{ contactName: 'Ana', controlledBy: 'agent', language: 'es' },
});

const again = (id: string) => thread(String(Number.parseInt(id.slice(-6), 16)));

const MESSAGE = '¿Tienen salidas a Cartagena en enero para dos personas? Queremos hotel cerca del mar.';
const batch = () => ({
  data: Array.from({ length: 50 }, (_, index) => ({
    ...{ id: newId(), content: MESSAGE, messageType: 'text', senderName: 'Ana' },
    ...{ direction: index % 2 === 0 ? 'inbound' : 'outbound', createdAt: new Date().toISOString() },
  })),
});

const CUSTOMERS = 'select id from customers where organization_id = $1 and archived_at is null';
const SETS_OF_IDS = `select string_agg(id::text, ',') from (
  select id, row_number() over () / 25 as part from (${CUSTOMERS} order by md5(id::text) limit 2500) sample) parts
  group by part having count(*) = 25`;
const CONTACTS = CUSTOMERS.replace('id', "contacts->0->>'identifierValue'");
const PRODUCTS = CUSTOMERS.replace('customers', 'products');
const THREADS = `select id from conversations r
  where organization_id = $1 and continued_by is null and channel = 'whatsapp'`;
const LONG_THREADS = `${THREADS} and (select sum(message_count) from conversations c
  where c.organization_id = $1 and c.chain_id = r.chain_id) >= 50`;
const WITH_FILES = `select quote_id from quote_attachments join quotes using (organization_id)
  where organization_id = $1 and quotes.id = quote_id and archived_at is null`;

const one = (id: string): string => `/customers/${id}`;
const by = (filter: string) => (value: string) => `/customers?${filter}=${encodeURIComponent(value)}`;
const chat = (id: string): string => `/conversations/${id}`;
const messagesOf = (id: string): string => `${chat(id)}/messages`;
/** By hand, a list of a million customers takes 70 ms. */
const list = (name: string, path: string, warmUp = 200): Row => ({ name, path: () => path, warmUp });
const create = (path: string) => ({ method: 'POST', path: () => path, status: 201 }) as const;
const PATCH = { method: 'PATCH', of: CUSTOMERS, path: one } as const;
const BATCH = { method: 'POST', api: 'dashboard', warmUp: 1_000, perSecond: 1_000 } as const;
const PUT = { method: 'PUT', api: 'dashboard' } as const;

export const ROWS: readonly Row[] = [
  list('list of 25 customers', '/customers'),
  list('list of 25 products', '/catalog/products'),
  list('products by status', '/catalog/products?status=active'),
  list('customers, rare search term', `/customers?query=${TERMS.rare}`),
  list('products, common search term', `/catalog/products?query=${TERMS.common}`),
  { name: 'customers by ids', of: SETS_OF_IDS, path: by('ids'), warmUp: 1_000 },
  { name: 'customers by contact', of: CONTACTS, path: by('contact') },
  list('conversations, first 25', '/conversations', 1_000),
  { ...list('inbox, first 25', '/conversations', 1_000), api: 'dashboard' },
  list('quotes, first 25', '/quotes', 1_000),
  list('opportunities, first 25', '/opportunities', 1_000),
  { name: 'transcript of 50 messages', of: LONG_THREADS, path: messagesOf, warmUp: 1_000 },
  { name: 'attachments of a quote', of: WITH_FILES, path: (id) => `/quotes/${id}/attachments` },
  { name: 'get customer', of: CUSTOMERS, path: one },
  { name: 'get product', of: PRODUCTS, path: (id) => `/catalog/products/${id}` },
  { ...list('401, malformed key', '/customers', 3_000), status: 401 },
  { name: 'create customer, two contacts', ...create('/customers'), body: () => customer() },
  { name: 'create customer, with a key', ...create('/customers'), body: () => customer(), hasKey: true },
  { name: 'create product, two variants', ...create('/catalog/products'), body: () => product() },
  { name: 'patch customer, city', ...PATCH, body: () => ({ city: `Ciudad ${next()}` }) },
  { name: 'patch customer, searched text', ...PATCH, body: () => ({ summary: words() }) },
  { name: 'archive customer', method: 'DELETE', of: CUSTOMERS, path: one, isArchive: true },
  { name: 'put conversation, new', ...PUT, path: () => chat(newId()), body: () => thread(), status: 201 },
  { name: 'put conversation, again', ...PUT, of: THREADS, path: chat, body: again },
  { name: 'batch of 50 messages', ...BATCH, of: THREADS, path: messagesOf, body: batch },
];
