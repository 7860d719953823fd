import { issueApiKey } from '../../src/api-keys/repository.ts';
import { listCatalogProducts } from '../../src/catalog/repository.ts';
import { listConversations } from '../../src/conversations/repository.ts';
import { listCustomers } from '../../src/customers/repository.ts';
import type { OrganizationScope } from '../../src/db/run/scope.ts';
import {
  activeMembers,
  liveCustomers,
  liveOpportunities,
  liveProducts,
  liveQuotes,
  newestThreads,
} from '../../src/db/schema/index.ts';
import type { Resource } from '../../src/db/schema/resource.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { listOpportunities, opportunityRecord } from '../../src/opportunities/repository.ts';
import { eraseCustomer } from '../../src/people/erasure.ts';
import { listQuotes, quoteRecord } from '../../src/quotes/repository.ts';
import { listTeamMembers } from '../../src/team/repository.ts';
import type { Dashboard } from '../support/dashboard.ts';
import { bodyOf, DOCUMENTED, resolved, SCHEMAS, type Schema } from './contract.ts';
import { recordId } from './dataset.ts';
import {
  attachment,
  conversation,
  customer,
  type Fields,
  type Make,
  member,
  message,
  opportunity,
  product,
  quote,
  stage,
} from './records.ts';
import type { Agency, Reply, Service } from './service.ts';

/**
 * How each operation of /v1 and of the dashboard is asked (`OPERATIONS`), and what each list shows (`LISTS`). Every walk of
 * the tests uses these tables: a new route, list, filter or searched field is entered here, once.
 * test/contract/operations.test.ts compares them with the routers and with the documents.
 */

export const FILE = 'test/support/operations.ts';
export const DASHBOARD = '/dashboard/v1';
export const BELOW = `${DASHBOARD}/organizations/{organizationId}`;

/** An organization, and both APIs that it is reached through. */
export type World = { service: Service; dashboard: Dashboard; agency: Agency };

/** What every populated organization has, and no two customers of one. */
export const CONTACT = { identifierType: 'whatsapp', identifierValue: '+525512345670' };

const minute = (count: number): string => new Date(Date.UTC(2026, 9, 1, 0, count)).toISOString();

/** An erased customer with a file that the storage has not let go of yet; nothing of it is in a list. */
async function erasedWithFile({ agency, service }: Omit<World, 'dashboard'>): Promise<void> {
  const { id: customerId } = await customer(agency);
  const { id: opportunityId } = await opportunity(agency, { customerId });
  const { id: quoteId } = await quote(agency, { opportunityId, customerId });
  await attachment(agency, service.storage, quoteId);
  await quoteRecord.archive(agency.scope, quoteId);
  await opportunityRecord.archive(agency.scope, opportunityId);
  await eraseCustomer(agency.scope, customerId);
}

/**
 * An organization with something in every table.
 * @param word in every text
 * @param index of this set of records, where an organization gets several
 * @param same another organization's ids: what the dashboard names gets the same ones
 * @returns the ids, by their names in paths
 */
export async function populate(
  { agency, service }: Omit<World, 'dashboard'>,
  word = 'Oaxaca',
  index = 0,
  same: Partial<Record<DashboardId, string>> = {},
) {
  const made = await agency.post(
    '/v1/catalog/products',
    {
      title: `Patagonia ${word}`,
      externalReferenceCode: `REF-${index}`,
      variants: [{ label: `Alta ${word}` }, { label: `Baja ${word}` }],
    },
    { headers: { 'idempotency-key': `product ${index}` } },
  );
  const archivedProduct = await product(agency, { title: `Archivado ${word}` });
  await agency.delete(`/v1/catalog/products/${archivedProduct.id}`);
  const {
    id: customerId,
    contacts: [{ id: contactId }],
  } = await customer(agency, {
    firstName: 'Ana',
    lastName: word,
    tags: [`vip ${word}`],
    contacts: [{ ...CONTACT, identifierValue: `+5255${12_345_670 + 100 * index}` }],
  });
  const stageKey = `negotiation ${agency.id} ${index}`;
  const named = { key: stageKey, name: `Nuevo ${word}` };
  const { id: pipelineStageId } = await stage(agency, named, same.pipelineStageId);
  const seller = { userId: `u${index}`, name: `Lucía ${word}` };
  const { id: teamMemberId } = await member(agency, seller, same.teamMemberId);
  const lead = { title: `Viaje ${word}`, customerId, stageId: pipelineStageId, sellerMemberId: teamMemberId };
  const { id: opportunityId } = await opportunity(agency, lead, same.opportunityId);
  const first = { channel: 'web', contact: `ana ${word}`, customerId };
  const older = await conversation(agency, first, same.olderConversationId);
  const rotated = { contactName: `Ana ${word}`, customerId, rotatedFrom: older.id };
  const { id: conversationId } = await conversation(agency, rotated, same.conversationId);
  await message(agency, older.id, { content: `Hola ${word}`, createdAt: minute(index) });
  const answer = { content: `Buenas ${word}`, createdAt: minute(60 + index) };
  const { id: messageId } = await message(agency, conversationId, answer, same.messageId);
  const offer = { opportunityId, title: `Oferta ${word}`, customerId, status: 'published' };
  const { id: quoteId } = await quote(agency, offer, same.quoteId);
  const file = await attachment(agency, service.storage, quoteId, {
    fileName: `${index} ${word}.pdf`,
    content: Buffer.from(`Oferta ${index} ${word}`),
  });
  const leaving = await customer(agency, { firstName: `Adiós ${word}` });
  await agency.delete(`/v1/customers/${leaving.id}`);
  await erasedWithFile({ agency, service });
  const { id: apiKeyId } = parseJson(await issueApiKey(agency.scope, { name: `${index} ${word}` }));
  return {
    word,
    organizationId: agency.id,
    productId: made.body.id as string,
    archivedProductId: archivedProduct.id as string,
    customerId: customerId as string,
    leavingCustomerId: leaving.id as string,
    contactId: contactId as string,
    pipelineStageId: pipelineStageId as string,
    stageKey,
    teamMemberId: teamMemberId as string,
    opportunityId: opportunityId as string,
    olderConversationId: older.id as string,
    conversationId: conversationId as string,
    messageId: messageId as string,
    quoteId: quoteId as string,
    attachmentId: file.stored.id,
    apiKeyId,
  };
}
export type Has = Awaited<ReturnType<typeof populate>>;
type DashboardId =
  | 'pipelineStageId'
  | 'teamMemberId'
  | 'opportunityId'
  | 'olderConversationId'
  | 'conversationId'
  | 'messageId'
  | 'quoteId';

export type Operation = {
  /** Parameters that it needs. */
  query?: string;
  /** A body that changes what `populate` made. Without it, the body of a PUT has every field that its document has. */
  body?: (has: Has) => Fields;
  /** The same, of an operation that takes a file. */
  form?: (has: Has) => Record<string, string | Blob>;
  /** Ids in its path that are others than those of the same name. */
  ids?: (has: Has) => Partial<Has>;
  /** Of a read whose answer has a tag: the operation, or the work, that changes it. */
  change?: string | ((world: World) => Promise<unknown>);
};

const aMessage = ({ word }: Has) => ({
  content: `Otra vez ${word}`,
  direction: 'outbound',
  messageType: 'text',
});

/** The operations that all records of the dashboard have, beside DELETE. */
const owned = (path: string, body: (has: Has) => Fields): Record<string, Operation> => ({
  [`GET ${BELOW}/${path.replace(/\/.*/, '')}`]: { change: `PATCH ${BELOW}/${path}` },
  [`GET ${BELOW}/${path}`]: { change: `PATCH ${BELOW}/${path}` },
  [`PATCH ${BELOW}/${path}`]: { body },
  [`PUT ${BELOW}/${path}`]: {},
});

/** Every operation of both routers that has an organization or makes one. */
export const OPERATIONS: Record<string, Operation> = {
  'GET /v1/catalog/products': { change: 'POST /v1/catalog/products' },
  'POST /v1/catalog/products': {
    body: ({ word }) => ({ title: `Nuevo ${word}`, variants: [{ label: word }] }),
  },
  'GET /v1/catalog/products/{productId}': { change: 'PATCH /v1/catalog/products/{productId}' },
  'PATCH /v1/catalog/products/{productId}': {
    body: ({ word }) => ({ title: `Cambiado ${word}`, includes: [word] }),
  },
  'DELETE /v1/catalog/products/{productId}': {},
  'GET /v1/customers': { change: 'POST /v1/customers' },
  'POST /v1/customers': {
    body: ({ word }) => ({
      firstName: word,
      contacts: [{ identifierType: 'email', identifierValue: `${word}@example.com` }],
    }),
  },
  'GET /v1/customers/{customerId}': { change: 'PATCH /v1/customers/{customerId}' },
  'PATCH /v1/customers/{customerId}': {
    body: ({ word }) => ({
      lastName: `Peña ${word}`,
      contacts: [CONTACT, { identifierType: 'web', identifierValue: word }],
    }),
  },
  'DELETE /v1/customers/{customerId}': {},
  'GET /v1/opportunities': { change: `PUT ${BELOW}/opportunities/{opportunityId}` },
  'GET /v1/opportunities/{opportunityId}': { change: `PUT ${BELOW}/opportunities/{opportunityId}` },
  'GET /v1/conversations': { change: `PUT ${BELOW}/conversations/{conversationId}` },
  'GET /v1/conversations/{conversationId}/messages': {
    change: `PUT ${BELOW}/conversations/{conversationId}/messages/{messageId}`,
  },
  'GET /v1/quotes': { change: `POST ${BELOW}/quotes/{quoteId}/opens` },
  'GET /v1/quotes/{quoteId}/attachments': {},
  'GET /v1/team': { change: `PUT ${BELOW}/team-members/{teamMemberId}` },

  [`GET ${DASHBOARD}/organizations`]: { change: `POST ${DASHBOARD}/organizations` },
  [`POST ${DASHBOARD}/organizations`]: { body: ({ word }) => ({ name: `Agencia ${word}` }) },
  [`GET ${BELOW}`]: { change: `PATCH ${BELOW}` },
  [`PATCH ${BELOW}`]: { body: ({ word }) => ({ name: `${word} y Cía` }) },
  [`DELETE ${BELOW}`]: {},
  [`POST ${BELOW}/reopen`]: {},
  [`GET ${BELOW}/api-keys`]: { change: `POST ${BELOW}/api-keys` },
  [`POST ${BELOW}/api-keys`]: { body: ({ word }) => ({ name: `sync ${word}` }) },
  [`POST ${BELOW}/api-keys/{apiKeyId}/rotate`]: { body: () => ({ overlapSeconds: 60 }) },
  [`PATCH ${BELOW}/api-keys/{apiKeyId}`]: { body: ({ word }) => ({ name: `otra ${word}` }) },
  [`DELETE ${BELOW}/api-keys/{apiKeyId}`]: {},
  [`GET ${BELOW}/catalog/products`]: {
    query: 'archived=true',
    change: 'DELETE /v1/catalog/products/{productId}',
  },
  [`GET ${BELOW}/catalog/products/{productId}`]: { change: 'PATCH /v1/catalog/products/{productId}' },
  [`PATCH ${BELOW}/catalog/products/{productId}`]: {
    body: ({ word }) => ({ coverImage: `https://example.com/${word}.jpg`, gallery: [word] }),
  },
  [`POST ${BELOW}/catalog/products/{productId}/restore`]: {
    ids: ({ archivedProductId }) => ({ productId: archivedProductId }),
  },
  [`GET ${BELOW}/customers`]: { change: 'POST /v1/customers' },
  [`GET ${BELOW}/customers/{customerId}`]: { change: 'PATCH /v1/customers/{customerId}' },
  [`GET ${BELOW}/customers/{customerId}/export`]: {},
  [`POST ${BELOW}/customers/{customerId}/erase`]: {
    ids: ({ leavingCustomerId }) => ({ customerId: leavingCustomerId }),
  },
  [`PATCH ${BELOW}/customers/{customerId}/contacts/{contactId}`]: {
    body: ({ word }) => ({ displayName: `Anita ${word}` }),
  },
  ...owned('pipeline-stages/{pipelineStageId}', ({ word }) => ({ name: `Nuevo nombre ${word}` })),
  [`DELETE ${BELOW}/pipeline-stages/{pipelineStageId}`]: {},
  ...owned('team-members/{teamMemberId}', ({ word }) => ({ roles: ['seller', word] })),
  [`DELETE ${BELOW}/team-members/{teamMemberId}`]: {},
  ...owned('opportunities/{opportunityId}', () => ({ temperature: 'warm', temperatureOverride: 'hot' })),
  [`DELETE ${BELOW}/opportunities/{opportunityId}`]: {},
  ...owned('conversations/{conversationId}', ({ word }) => ({ controlledBy: `Lucía ${word}` })),
  [`PUT ${BELOW}/conversations/{conversationId}/messages/{messageId}`]: { body: aMessage },
  [`POST ${BELOW}/conversations/{conversationId}/messages`]: {
    body: (has) => ({ data: [{ id: has.messageId, ...aMessage(has) }] }),
  },
  ...owned('quotes/{quoteId}', ({ word }) => ({ destination: `Cartagena ${word}` })),
  [`POST ${BELOW}/quotes/{quoteId}/opens`]: { body: () => ({ openedAt: '2026-10-05T10:00:00.000Z' }) },
  [`POST ${BELOW}/quotes/{quoteId}/attachments`]: {
    form: ({ word }) => ({ kind: 'itinerary', file: new File([`the bytes of ${word}`], `${word}.txt`) }),
  },
  [`DELETE ${BELOW}/quotes/{quoteId}/attachments/{attachmentId}`]: {},
  [`DELETE ${BELOW}/quotes/{quoteId}`]: {},
};

export const methodOf = (name: string): string => name.split(' ', 1)[0] ?? '';
export const pathOf = (name: string): string => name.slice(name.indexOf(' ') + 1);

/** The operations of these methods, in this order. */
export const operationsBy = (...methods: string[]): string[] =>
  methods.flatMap((method) => Object.keys(OPERATIONS).filter((name) => methodOf(name) === method));

/** Values of fields that name another record, or have a rule of their own. */
const NAMED: Record<string, (has: Has) => unknown> = {
  channel: () => 'whatsapp',
  customerId: ({ customerId }) => customerId,
  email: () => 'sofia@example.com',
  key: ({ stageKey }) => stageKey,
  opportunityId: ({ opportunityId }) => opportunityId,
  rotatedFrom: () => null,
  sellerMemberId: ({ teamMemberId }) => teamMemberId,
  stageId: ({ pipelineStageId }) => pipelineStageId,
};

/** A value of the field that is neither null nor its default. */
function sampleOf(name: string, schema: Schema, has: Has): unknown {
  const { type, enum: values, format, maxLength, items } = resolved(schema);
  const named = NAMED[name];
  if (named) return named(has);
  if (Array.isArray(values)) return values.at(-1);
  if (format === 'date-time') return '2026-11-20T10:00:00.123Z';
  if (format === 'date') return '2027-01-15';
  if (format) throw new Error(`Write what ${name} names into NAMED of ${FILE}.`);
  switch ([type].flat()[0]) {
    case 'array':
      return [sampleOf(name, items as Schema, has)];
    case 'boolean':
      return false;
    case 'integer':
      return 4;
    case 'number':
      return 2890.25;
    default:
      return maxLength === 3 ? 'USD' : `${name} ${has.word}`;
  }
}

/** A body of a PUT that has these fields: those that it must have, or all. Undefined for an operation without a body. */
export function wholeOf(name: string, has: Has, onlyRequired = false): Fields | undefined {
  const { operation } = DOCUMENTED.find((each) => each.name === name) ?? {};
  const { properties = {}, required } = SCHEMAS[(operation && bodyOf(operation)) ?? ''] ?? {};
  const fields = Object.entries(properties).filter(
    ([field]) => !onlyRequired || (required as string[]).includes(field),
  );
  if (fields.length === 0) return undefined;
  return Object.fromEntries(fields.map(([field, schema]) => [field, sampleOf(field, schema, has)]));
}

export type Sent = {
  method: string;
  path: string;
  body?: object | Buffer;
  headers?: Record<string, string>;
};

/** The request of an operation to what the organization has, with other ids where they are given. */
export async function requestOf(name: string, has: Has, others: Partial<Has> = {}): Promise<Sent> {
  const { query, body, form, ids } = OPERATIONS[name] ?? {};
  const inPath: Record<string, string> = { ...has, ...ids?.(has), ...others };
  const path = pathOf(name).replace(/\{(\w+)\}/g, (_, id) => inPath[id] ?? '');
  const sent = { method: methodOf(name), path: query ? `${path}?${query}` : path };
  if (form) {
    const data = new FormData();
    for (const [field, value] of Object.entries(form(has))) data.append(field, value);
    const encoded = new Response(data);
    const headers = { 'content-type': encoded.headers.get('content-type') ?? '' };
    return { ...sent, headers, body: Buffer.from(await encoded.arrayBuffer()) };
  }
  const fields = body ? body(has) : wholeOf(name, has);
  return fields ? { ...sent, body: fields } : sent;
}

/** Sends it to the API that has the path. */
export function send({ agency, dashboard }: World, sent: Sent, given: Record<string, string> = {}) {
  const { method, path, body } = sent;
  const options = { ...(body && { body }), headers: { ...sent.headers, ...given } };
  return path.startsWith(DASHBOARD)
    ? dashboard.request(method, path.slice(DASHBOARD.length), options)
    : agency.request(method, path, options);
}

/** Does the operation to what the organization has. */
export const run = async (world: World, name: string, has: Has, others?: Partial<Has>): Promise<Reply> =>
  send(world, await requestOf(name, has, others));

export type Filter = {
  /** The field that it compares, where that has another name. */
  field?: string;
  /** Two values of the field. */
  values: readonly [unknown, unknown] | ((agency: Agency) => Promise<readonly [string, string]>);
  /** A value that records of the data set in test/support/dataset.ts have, for the plans. */
  loaded: string;
  /** So few records have one value that reading them costs nothing. */
  isSelective?: boolean;
  /** Its index knows which records match, and nothing of an order. */
  isUnordered?: boolean;
};

export type List = {
  /** Its records, in src/db/schema. */
  resource: Resource;
  read: (scope: OrganizationScope, query: { limit: number; offset: number }) => Promise<unknown>;
  /** Makes a record; with an id, changes that one. */
  make: Make;
  /** The schema of its writes, in the documents. */
  written: string;
  order: readonly [column: string, direction: 'asc' | 'desc nulls last'];
  /** The operation that archives one, where there is one. */
  archive?: string;
  filters: Record<string, Filter>;
  /** The fields that `query` finds, each with its words in the text of that parameter. */
  searched: Record<string, string>;
  /** Makes records that have the word where `query` does not look, beside their own fields. */
  elsewhere?: (agency: Agency, word: string) => Promise<unknown>;
};

const twoOf =
  (make: Make) =>
  async (agency: Agency): Promise<[string, string]> => [(await make(agency)).id, (await make(agency)).id];

const LARGE = 1;
const newest = ['updated_at', 'desc nulls last'] as const;
const productFilters: Record<string, Filter> = {
  budgetTier: { values: ['mid', 'premium'], loaded: 'mid' },
  externalReferenceCode: { values: ['Ref%08', 'Ref%09'], loaded: 'REF-5', isSelective: true },
  status: { values: ['active', 'paused'], loaded: 'active' },
  type: { values: ['package', 'custom'], loaded: 'package' },
};
const productTexts = {
  title: 'title',
  shortDescription: 'short description',
  description: 'description',
};
const ofCustomer: Filter = {
  values: twoOf(customer),
  loaded: recordId('customer', LARGE, 5),
  isSelective: true,
};

/** Parameters that find records by something else than a value of one field: test/finding.test.ts asks for them. */
export const FINDING = ['contact', 'contactType', 'createdSince', 'ids', 'updatedSince'];

/** Every list of /v1 that has pages, as the document has them. */
export const LISTS: Record<string, List> = {
  'GET /v1/catalog/products': {
    resource: liveProducts,
    read: listCatalogProducts,
    make: product,
    written: 'CatalogProductCreate',
    order: newest,
    archive: 'DELETE /v1/catalog/products/{productId}',
    filters: productFilters,
    searched: productTexts,
  },
  'GET /v1/customers': {
    resource: liveCustomers,
    read: listCustomers,
    make: customer,
    written: 'CustomerCreate',
    order: newest,
    archive: 'DELETE /v1/customers/{customerId}',
    filters: {
      tag: {
        field: 'tags',
        values: [['Luna de miel', 'x'], ['Playa']],
        loaded: 'luna de miel',
        isUnordered: true,
      },
    },
    searched: { firstName: 'name', lastName: 'name', summary: 'the summary', contacts: 'any contact' },
  },
  'GET /v1/opportunities': {
    resource: liveOpportunities,
    read: listOpportunities,
    make: opportunity,
    written: 'OpportunityPut',
    order: newest,
    archive: `DELETE ${BELOW}/opportunities/{opportunityId}`,
    filters: {
      customerId: ofCustomer,
      salesStage: { values: ['Qualified', 'Won'], loaded: 'qualified' },
      sellerMemberId: { values: twoOf(member), loaded: recordId('member', LARGE, 3) },
      stageId: { values: twoOf(stage), loaded: recordId('stage', LARGE, 4) },
      temperature: { values: ['hot', 'cold'], loaded: 'hot' },
    },
    searched: { title: 'title', shortRef: 'short reference', destination: 'destination' },
    elsewhere: async (agency, word) => {
      const { id: customerId } = await customer(agency, { firstName: word });
      const { id: sellerMemberId } = await member(agency, { name: word });
      const { id: stageId } = await stage(agency, { key: word, name: word });
      await opportunity(agency, { customerId, sellerMemberId, stageId });
    },
  },
  'GET /v1/conversations': {
    resource: newestThreads,
    read: listConversations,
    make: conversation,
    written: 'ConversationPut',
    order: ['last_message_at', 'desc nulls last'],
    filters: {
      activityState: { values: ['Open', 'Waiting'], loaded: 'closed' },
      channel: { values: ['Instagram', 'Web'], loaded: 'whatsapp' },
      customerId: ofCustomer,
    },
    searched: { contactName: 'contact name', contact: 'the channel identifier' },
    elsewhere: async (agency, word) => {
      const { id: customerId } = await customer(agency, { firstName: word });
      const { id } = await conversation(agency, { customerId });
      await message(agency, id, { content: word, senderName: word });
    },
  },
  'GET /v1/quotes': {
    resource: liveQuotes,
    read: listQuotes,
    make: quote,
    written: 'QuotePut',
    order: newest,
    archive: `DELETE ${BELOW}/quotes/{quoteId}`,
    filters: {
      customerId: ofCustomer,
      opportunityId: {
        values: twoOf(opportunity),
        loaded: recordId('opportunity', LARGE, 5),
        isSelective: true,
      },
      status: { values: ['draft', 'published'], loaded: 'published' },
    },
    searched: { title: 'title', destination: 'destination' },
    elsewhere: async (agency, word) => {
      const { id: customerId } = await customer(agency, { firstName: word });
      const { id: opportunityId } = await opportunity(agency, { title: word, destination: word });
      await quote(agency, { customerId, opportunityId });
    },
  },
  'GET /v1/team': {
    resource: activeMembers,
    read: listTeamMembers,
    make: member,
    written: 'TeamMemberPut',
    order: ['created_at', 'asc'],
    archive: `DELETE ${BELOW}/team-members/{teamMemberId}`,
    filters: {},
    searched: {},
  },
};

type DashboardList = Pick<List, 'make' | 'filters' | 'searched'>;

const asListed = (list: string, path: string): Record<string, DashboardList> => ({
  [`GET ${BELOW}/${path}`]: LISTS[list] as DashboardList,
});

/** The lists of the dashboard that have pages: those of /v1 again, and its own. */
export const DASHBOARD_LISTS: Record<string, DashboardList> = {
  ...asListed('GET /v1/customers', 'customers'),
  ...asListed('GET /v1/opportunities', 'opportunities'),
  ...asListed('GET /v1/conversations', 'conversations'),
  ...asListed('GET /v1/quotes', 'quotes'),
  ...asListed('GET /v1/team', 'team-members'),
  [`GET ${BELOW}/pipeline-stages`]: { make: stage, filters: {}, searched: {} },
  [`GET ${DASHBOARD}/organizations`]: { make: () => Promise.resolve(), filters: {}, searched: {} },
  [`GET ${BELOW}/api-keys`]: { make: () => Promise.resolve(), filters: {}, searched: {} },
  [`GET ${BELOW}/catalog/products`]: {
    make: async (agency, fields) => {
      const { updatedAt, ...made } = await product(agency, fields);
      await agency.delete(`/v1/catalog/products/${made.id}`);
      return made;
    },
    filters: productFilters,
    searched: productTexts,
  },
};

/** A page of the list, which may be of the dashboard. */
export async function readList(world: World, name: string, query = ''): Promise<Reply> {
  const path = pathOf(name).replace('{organizationId}', world.agency.id);
  const parameters = [OPERATIONS[name]?.query, query].filter(Boolean).join('&');
  return send(world, { method: 'GET', path: parameters ? `${path}?${parameters}` : path });
}

/** Archives a record that the list shows. */
export const archiveOf = (world: World, { archive = '' }: List, id: string): Promise<Reply> =>
  send(world, {
    method: methodOf(archive),
    path: pathOf(archive)
      .replace('{organizationId}', world.agency.id)
      .replace(/\{\w+\}/, id),
  });

/** The two values of each filter: of the field as it is written, and as the parameter is sent. */
export async function filterValues(agency: Agency, { filters }: Pick<List, 'filters'>) {
  const found: { name: string; field: string; written: readonly [unknown, unknown]; sent: string }[] = [];
  for (const [name, { field = name, values }] of Object.entries(filters)) {
    const written = typeof values === 'function' ? await values(agency) : values;
    found.push({ name, field, written, sent: String([written[0]].flat()[0]) });
  }
  return found;
}
