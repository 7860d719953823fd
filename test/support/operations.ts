import {
  archiveCatalogProduct,
  listCatalogProductRecords,
  listCatalogProducts,
} from '../../src/catalog/repository.ts';
import { listConversationRecords, listConversations } from '../../src/conversations/repository.ts';
import { archiveCustomer, listCustomerRecords, listCustomers } from '../../src/customers/repository.ts';
import { newId, type OrganizationScope, type Resource } from '../../src/db/index.ts';
import * as schema from '../../src/db/tables/index.ts';
import { listOpportunities, opportunityRecord } from '../../src/opportunities/repository.ts';
import { eraseCustomer } from '../../src/person/erase.ts';
import { pipelineStageRecord } from '../../src/pipeline-stages/repository.ts';
import { listQuotes, quoteRecord } from '../../src/quotes/repository.ts';
import { listTeamMembers, teamMemberRecord } from '../../src/team/repository.ts';
import { bodyOf, DOCUMENTED, INTERNAL, operationOf, operationsOf, SCHEMAS } from './contract.ts';
import type { Dashboard } from './dashboard.ts';
import { recordId } from './dataset.ts';
import {
  attachment,
  contact,
  conversation,
  customer,
  type Fields,
  formOf,
  type Make,
  member,
  message,
  opportunity,
  type Part,
  product,
  quote,
  stage,
  web,
} from './records.ts';
import type { Agency, Reply, Service } from './service.ts';
import { type Kinds, madeOf, samplesWith } from './values.ts';

/**
 * What the walks over both APIs use: the request of each operation (`OPERATIONS`), derived from the OpenAPI documents but for
 * `SPECIAL_REQUESTS`, and what each list returns (`LISTED`). test/contract/operations.test.ts reports an entry that is missing.
 */

export const FILE = 'test/support/operations.ts';
export const DASHBOARD = '/dashboard/v1';
export const BELOW = `${DASHBOARD}/organizations/{organizationId}`;

export const methodOf = (name: string): string => name.split(' ', 1)[0] ?? '';
export const pathOf = (name: string): string => name.slice(name.indexOf(' ') + 1);

export type World = { service: Service; dashboard: Dashboard; agency: Agency };

/** The contact of the customer of every populated organization. */
const CONTACT = contact('whatsapp', '+525512345670');

const minute = (count: number): string => new Date(Date.UTC(2026, 9, 1, 0, count)).toISOString();

/** Fills the tables of an erasure: an erased customer, with a file that is still to be deleted from the storage. */
async function eraseWithFile(agency: Agency, { storage }: Service): Promise<void> {
  const { id: customerId } = await customer(agency);
  const offer = await quote(agency, { customerId });
  await attachment(agency, storage, offer.id);
  await quoteRecord.archive(agency.scope, offer.id);
  await opportunityRecord.archive(agency.scope, offer.opportunityId);
  await eraseCustomer(agency.scope, customerId);
}

/**
 * Fills every table of an organization.
 * @param word in every text
 * @param index of this set of records, if an organization gets several
 * @returns the ids, by their names in paths
 */
export async function populate({ agency, service }: Omit<World, 'dashboard'>, word = 'Oaxaca', index = 0) {
  const variants = [{ label: `Alta ${word}` }, { label: `Baja ${word}` }];
  const patagonia = { title: `Patagonia ${word}`, externalReferenceCode: `REF-${index}`, variants };
  const headers = { 'idempotency-key': `product ${index}` };
  const sold = await agency.post('/v1/catalog/products', patagonia, { headers });
  const archivedProduct = await product(agency, { title: `Archivado ${word}` });
  await agency.delete(`/v1/catalog/products/${archivedProduct.id}`);
  const number = `+5255${12_345_670 + 100 * index}`;
  const contacts = [{ ...CONTACT, identifierValue: number }];
  const person = { firstName: 'Ana', lastName: word, tags: [`vip ${word}`], contacts };
  const customerId: string = (await customer(agency, person)).id;
  const archivedCustomer = await customer(agency, { firstName: `Adiós ${word}` });
  await agency.delete(`/v1/customers/${archivedCustomer.id}`);
  const twin = await customer(agency, { firstName: `Gemela ${word}` });
  await eraseWithFile(agency, service);

  const stageKey = `negotiation ${agency.id} ${index}`;
  const column = await stage(agency, { key: stageKey, name: `Nuevo ${word}` });
  const seller = await member(agency, { userId: `u${index}`, name: `Lucía ${word}` });
  const sale = { title: `Viaje ${word}`, customerId, stageId: column.id, sellerMemberId: seller.id };
  const trip = await opportunity(agency, sale);
  const first = { channel: 'web', contact: `ana ${word}`, customerId };
  const older = await conversation(agency, first);
  const next = { contactName: `Ana ${word}`, customerId, rotatedFrom: older.id };
  const newer = await conversation(agency, next);
  await message(agency, older.id, { content: `Hola ${word}`, createdAt: minute(index) });
  const providerMessageId = `wamid.${newId()}`;
  const delivery = { providerMessageId };
  const answer = { content: `Buenas ${word}`, createdAt: minute(60 + index), delivery };
  const reply = await message(agency, newer.id, answer);
  const published = { opportunityId: trip.id, title: `Oferta ${word}`, status: 'published' };
  const offer = await quote(agency, published);
  const fileName = `${index} ${word}.pdf`;
  const content = Buffer.from(`Oferta ${index} ${word}`);
  const file = await attachment(agency, service.storage, offer.id, { fileName, content });
  const { id: apiKeyId } = await agency.issueKey({ name: `${index} ${word}` });
  return {
    word,
    organizationId: agency.id,
    productId: sold.body.id,
    archivedProductId: archivedProduct.id,
    customerId,
    leavingCustomerId: archivedCustomer.id,
    twinCustomerId: twin.id,
    pipelineStageId: column.id,
    stageKey,
    teamMemberId: seller.id,
    opportunityId: trip.id,
    olderConversationId: older.id,
    conversationId: newer.id,
    messageId: reply.id,
    providerMessageId,
    token: offer.token,
    quoteId: offer.id,
    attachmentId: file.stored.id,
    apiKeyId,
  };
}
export type Has = Awaited<ReturnType<typeof populate>>;

export type Operation = {
  query?: (has: Has) => string;
  /** A body that changes what `populate` created. Without it, the body has every field of the document. */
  body?: (has: Has) => Fields;
  parts?: (has: Has) => Part[];
  /** Ids in its path that differ from those that `populate` returns under these names. */
  ids?: (has: Has) => Partial<Has>;
  /** For a read with an ETag: the operation that changes its response. */
  change?: string;
};

/** As populate: a message without its provider's id would not be found by it. */
const outbound = ({ word, providerMessageId }: Has) => ({
  content: `Otra vez ${word}`,
  direction: 'outbound',
  messageType: 'text',
  delivery: { providerMessageId },
});

/** The documented name of the operation with this method and path; the path of a record may be without its id. */
const operationAt = (method: string, path: string): string | undefined =>
  DOCUMENTED.find(({ name }) => name.replace(/\/\{\w+\}$/, '') === `${method} ${path}`)?.name;

const below = (path: string): string => path.replace(/^\/v1/, BELOW);

/** The path of the operation without the id of a record at its end. */
const recordsOf = (name: string): string => pathOf(name).replace(/\/\{\w+\}$/, '');

/** The create and the PATCH of customers below the path, with contacts of their own. */
const ofCustomers = (path: string): Record<string, Operation> => ({
  [`POST ${path}/customers`]: {
    body: ({ word }) => ({ firstName: word, contacts: [contact('email', `${word}@${path.length}.test`)] }),
  },
  [`PATCH ${path}/customers/{customerId}`]: {
    body: ({ word }) => ({ lastName: `Peña ${word}`, contacts: [CONTACT, web(word)] }),
  },
});

/** What does not follow from the documents. */
const SPECIAL_REQUESTS: Record<string, Operation> = {
  ...ofCustomers('/v1'),
  ...ofCustomers(BELOW),
  'GET /v1/team': { change: `PUT ${BELOW}/team-members/{teamMemberId}` },

  [`POST ${BELOW}/api-keys`]: { body: ({ word }) => ({ name: `sync ${word}` }) },
  [`POST ${BELOW}/api-keys/{apiKeyId}/rotate`]: { body: () => ({ overlapSeconds: 60 }) },
  [`PATCH ${BELOW}/api-keys/{apiKeyId}`]: { body: ({ word }) => ({ name: `otra ${word}` }) },
  [`GET ${BELOW}/team`]: { change: `PUT ${BELOW}/team-members/{teamMemberId}` },
  [`PATCH ${BELOW}/catalog/products/{productId}`]: {
    // A variant without an id would be added by each request: test/catalog.test.ts covers variants.
    body: ({ word }) => ({ destinations: [word] }),
  },
  [`POST ${BELOW}/catalog/products/{productId}/restore`]: {
    ids: ({ archivedProductId }) => ({ productId: archivedProductId }),
  },
  [`POST ${BELOW}/customers/{customerId}/restore`]: { ids: (has) => ({ customerId: has.leavingCustomerId }) },
  [`POST ${BELOW}/customers/{customerId}/erase`]: { ids: (has) => ({ customerId: has.leavingCustomerId }) },
  [`POST ${BELOW}/customers/{customerId}/merge`]: { body: (has) => ({ from: has.twinCustomerId }) },
  [`PUT ${BELOW}/conversations/{conversationId}/messages/{messageId}`]: { body: outbound },
  [`PATCH ${BELOW}/conversations/{conversationId}/messages/{messageId}`]: { body: outbound },
  [`GET ${BELOW}/opportunities/totals`]: { change: `PUT ${BELOW}/opportunities/{opportunityId}` },
  [`GET ${DASHBOARD}/quotes`]: {
    query: ({ token }) => `token=${token}`,
    change: `PATCH ${BELOW}/quotes/{quoteId}`,
  },
  [`POST ${BELOW}/conversations/{conversationId}/messages`]: {
    body: (has) => ({ data: [{ id: has.messageId, ...outbound(has) }] }),
  },
  [`POST ${BELOW}/quotes/{quoteId}/attachments`]: {
    parts: ({ word }) => [
      ['kind', 'itinerary'],
      ['file', new File([`the bytes of ${word}`], `${word}.txt`)],
    ],
  },
};

/** The operation that changes the response of a read: a PATCH, or the dashboard's PUT. */
function changeOf(name: string): string | undefined {
  // Each response has signed links of its own, and so no ETag.
  if (name.endsWith('/attachments')) return undefined;
  const path = recordsOf(name);
  return operationAt('PATCH', path) ?? operationAt('PUT', below(path)) ?? operationAt('POST', path);
}

export const OPERATIONS: Record<string, Operation> = Object.fromEntries(
  [...new Set([...DOCUMENTED.map(({ name }) => name), ...Object.keys(SPECIAL_REQUESTS)])].map((name) => {
    const change = methodOf(name) === 'GET' ? changeOf(name) : undefined;
    return [name, { ...(change && { change }), ...SPECIAL_REQUESTS[name] }];
  }),
);

export const operationsBy = (...methods: string[]): string[] =>
  methods.flatMap((method) => Object.keys(OPERATIONS).filter((name) => methodOf(name) === method));

/** Values of fields that refer to another record or have a rule of their own. */
const NAMED: Record<string, (has: Has) => string> = {
  channel: () => 'whatsapp',
  customerId: ({ customerId }) => customerId,
  email: () => 'sofia@example.com',
  key: ({ stageKey }) => stageKey,
  opportunityId: ({ opportunityId }) => opportunityId,
  sellerMemberId: ({ teamMemberId }) => teamMemberId,
  stageId: ({ pipelineStageId }) => pipelineStageId,
  userId: ({ stageKey }) => `account ${stageKey}`,
};

const samplesOf = (has: Has): Kinds<unknown> => ({
  ...samplesWith(has.word, 1),
  own: ({ format }, name) => {
    const named = NAMED[name]?.(has);
    if (named === undefined && format === 'uuid')
      throw new Error(`Add a value for ${name} to NAMED of ${FILE}.`);
    return named;
  },
});

const bodySchemaOf = (name: string): string => bodyOf(operationOf(name)) ?? '';

/** Fields of a PUT that cannot change later: test/contract/records.test.ts. */
export const WRITTEN_ONCE = [
  'createdAt',
  'rotatedFrom',
  'token',
  'openCount',
  'firstOpenedAt',
  'lastOpenedAt',
];

/** A body with all fields that can change, or only those that are required; undefined for an operation without a JSON body. */
export function wholeOf(name: string, has: Has, onlyRequired = false): Fields | undefined {
  const { properties = {}, required } = SCHEMAS[bodySchemaOf(name)] ?? {};
  const fields = Object.entries(properties).filter(
    ([field]) => !WRITTEN_ONCE.includes(field) && (!onlyRequired || (required as string[]).includes(field)),
  );
  if (fields.length === 0) return undefined;
  return Object.fromEntries(fields.map(([field, schema]) => [field, madeOf(samplesOf(has), schema, field)]));
}

export type Sent = {
  method: string;
  path: string;
  body?: object | Buffer;
  headers?: Record<string, string>;
};

/** The request of an operation on the records that `populate` returned; `others` replaces some of their ids. */
export async function requestOf(name: string, has: Has, others: Partial<Has> = {}): Promise<Sent> {
  const { query, body, parts, ids } = OPERATIONS[name] ?? {};
  const inPath: Record<string, string> = { ...has, ...ids?.(has), ...others };
  const path = pathOf(name).replace(/\{(\w+)\}/g, (_, id) => inPath[id] ?? '');
  const sent = { method: methodOf(name), path: query ? `${path}?${query(has)}` : path };
  if (parts) return { ...sent, ...(await formOf(...parts(has))) };
  const fields = body ? body(has) : wholeOf(name, has);
  return { ...sent, ...(fields && { body: fields }) };
}

export function send({ agency, dashboard }: World, sent: Sent, headers: Record<string, string> = {}) {
  const { method, path, body } = sent;
  const options = { ...(body && { body }), headers: { ...sent.headers, ...headers } };
  return path.startsWith(DASHBOARD)
    ? dashboard.request(method, path.slice(DASHBOARD.length), options)
    : agency.request(method, path, options);
}

export const run = async (world: World, name: string, has: Has, others?: Partial<Has>): Promise<Reply> =>
  send(world, await requestOf(name, has, others));

type Filter = {
  /** The field that it compares, if that has another name. */
  field?: string;
  /** Two values of the field; without them, it refers to a record: `REFERENCES`. */
  values?: readonly [unknown, unknown];
  /** The parameter for the first value, if that is not the value. */
  sent?: string;
  /** A value that records of the data set in test/support/dataset.ts have, for the query plans. */
  loaded: string;
  /** No body has the field: the test of the resource states what the filter finds. */
  isDerived?: boolean;
};

export type List = {
  /** Its records, in src/db/tables. */
  resource: Resource;
  read: (scope: OrganizationScope, query: { limit: number; offset: number }) => Promise<unknown>;
  /** Creates a record; with an id, changes that record. */
  make: Make;
  creates: string;
  written: string;
  /** The column that it is ordered by: `updated_at` without it. */
  order?: readonly [column: string, direction: 'asc' | 'desc nulls last'];
  /** The dashboard's functions for the same records. */
  record: {
    list: (scope: OrganizationScope, query: never) => Promise<unknown>;
    archive?: (scope: OrganizationScope, id: string) => Promise<unknown>;
  };
  filters: Record<string, Filter>;
  /** Its filters by a date: `createdSince` of `createdAt`. */
  dates: string[];
  /** The fields that `query` finds, each with its name in the description of that parameter. */
  searched: Record<string, string>;
};

/** Creates the record that a field of this name refers to, with the word in its texts. */
export const REFERENCES: Record<string, (agency: Agency, word: string) => Promise<{ id: string }>> = {
  customerId: (agency, word) => customer(agency, { firstName: word }),
  opportunityId: (agency, word) => opportunity(agency, { title: word, destination: word }),
  sellerMemberId: (agency, word) => member(agency, { name: word }),
  stageId: (agency, word) => stage(agency, { key: `${word} ${newId()}`, name: word }),
};

const ofCustomer: Filter = { loaded: recordId('customer', 1, 7) };

/** Parameters that do not compare one field with a value: test/finding.test.ts, test/keys/api-keys.test.ts. */
export const FINDING = ['active', 'contact', 'contactType', 'ids', 'mergedInto', 'token', 'userId'];

const DASHBOARD_FILTERS: Record<string, Record<string, Filter>> = {
  '/conversations': { controlledBy: { values: ['Agent', 'Lucía'], loaded: 'agent' } },
};

/** Every list of /v1 that has pages. The rest of `List` follows from the documents. */
const LISTED: Record<string, Omit<List, 'dates' | 'creates' | 'written'>> = {
  'GET /v1/catalog/products': {
    resource: schema.activeProducts,
    read: listCatalogProducts,
    record: { list: listCatalogProductRecords, archive: archiveCatalogProduct },
    make: product,
    filters: {
      budgetTier: { values: ['mid', 'premium'], loaded: 'mid' },
      destination: {
        field: 'destinations',
        values: [['x', 'Torres del Paine'], ['Playa']],
        loaded: 'Torres del Paine',
      },
      externalReferenceCode: { values: ['Ref%08', 'Ref%09'], loaded: 'REF-5' },
      status: { values: ['active', 'paused'], loaded: 'active' },
      type: { values: ['package', 'custom'], loaded: 'package' },
    },
    searched: { title: 'title', shortDescription: 'short description', description: 'description' },
  },
  'GET /v1/customers': {
    resource: schema.activeCustomers,
    read: listCustomers,
    record: { list: listCustomerRecords, archive: archiveCustomer },
    make: customer,
    filters: { tag: { field: 'tags', values: [['x', 'Luna de miel'], ['Playa']], loaded: 'luna de miel' } },
    searched: { firstName: 'name', lastName: 'name', summary: 'the summary', contacts: 'any contact' },
  },
  'GET /v1/opportunities': {
    resource: schema.activeOpportunities,
    read: listOpportunities,
    record: opportunityRecord,
    make: opportunity,
    filters: {
      customerId: ofCustomer,
      salesStage: { values: ['Qualified', 'Won'], loaded: 'qualified' },
      sellerMemberId: { loaded: recordId('member', 1, 3) },
      stageId: { loaded: recordId('stage', 1, 4) },
      temperature: { values: ['hot', 'cold'], loaded: 'hot' },
    },
    searched: { title: 'title', shortRef: 'short reference', destination: 'destination' },
  },
  'GET /v1/conversations': {
    resource: schema.newestThreads,
    read: listConversations,
    record: { list: listConversationRecords },
    make: conversation,
    order: ['last_message_at', 'desc nulls last'],
    filters: {
      activityState: { values: ['Open', 'Waiting'], loaded: 'closed' },
      channel: { values: ['Instagram', 'Web'], loaded: 'whatsapp' },
      customerId: ofCustomer,
    },
    searched: { contactName: 'contact name', contact: 'the channel identifier' },
  },
  'GET /v1/quotes': {
    resource: schema.activeQuotes,
    read: listQuotes,
    record: quoteRecord,
    make: quote,
    filters: {
      customerId: { ...ofCustomer, isDerived: true },
      opened: { field: 'openCount', values: [2, 0], sent: 'true', loaded: 'true' },
      opportunityId: { loaded: recordId('opportunity', 1, 5) },
      status: { values: ['draft', 'published'], loaded: 'published' },
    },
    searched: { title: 'title', destination: 'destination' },
  },
  'GET /v1/team': {
    resource: schema.activeMembers,
    read: listTeamMembers,
    record: teamMemberRecord,
    make: member,
    filters: {},
    searched: {},
    order: ['created_at', 'asc'],
  },
};

const isPaged = ({ operation }: (typeof DOCUMENTED)[number]): boolean =>
  operation.parameters?.some((parameter) => parameter.name === 'offset') ?? false;

const datesOf = (name: string): string[] =>
  (operationOf(name).parameters ?? [])
    .filter((parameter) => parameter.schema.format === 'date-time')
    .map((parameter) => parameter.name);

export const LISTS: Record<string, List> = Object.fromEntries(
  Object.entries(LISTED).map(([name, list]) => {
    const path = pathOf(name).replace(/team$/, 'team-members');
    const creates = operationAt('POST', path) ?? operationAt('PUT', below(path)) ?? '';
    return [name, { ...list, creates, written: bodySchemaOf(creates), dates: datesOf(name) }];
  }),
);

/** Creates records that are archived then, which moves their `updatedAt`. */
const archiving =
  (make: Make, { archive }: List['record']): Make =>
  async (agency, fields, id) => {
    const { updatedAt, ...made } = await make(agency, fields, id);
    await archive?.(agency.scope, made.id);
    return made;
  };

/** The lists of the dashboard that have pages, except that of organizations: those of /v1, others without filters, and those of archived records. */
export const DASHBOARD_LISTS: Record<
  string,
  Pick<List, 'make' | 'read' | 'filters' | 'searched' | 'dates'>
> = Object.fromEntries(
  operationsOf(INTERNAL)
    .filter((documented) => isPaged(documented) && documented.path.startsWith(BELOW))
    .flatMap(({ name, path, operation }) => {
      const [, found] =
        Object.entries(LISTS).find(([listed, { creates }]) =>
          [recordsOf(creates), pathOf(listed)].map(below).includes(path),
        ) ?? [];
      const own = DASHBOARD_FILTERS[path.replace(BELOW, '')];
      const { make = stage, record = pipelineStageRecord, searched = {}, filters } = found ?? {};
      const read: List['read'] = (scope, query) => record.list(scope, query as never);
      const list = { make, read, filters: { ...filters, ...own }, searched, dates: datesOf(name) };
      if (!operation.parameters?.some((parameter) => parameter.name === 'archived')) return [[name, list]];
      const archived: typeof list = {
        ...list,
        make: archiving(make, record),
        read: (scope, query) => read(scope, { ...query, archived: 'true' } as typeof query),
      };
      return [
        [name, list],
        [`${name}?archived=true`, archived],
      ];
    }),
);

export async function readList(world: World, name: string, query = ''): Promise<Reply> {
  const [path = '', archived] = pathOf(name).replace('{organizationId}', world.agency.id).split('?');
  const parameters = [archived, query].filter(Boolean).join('&');
  const reply = await send(world, { method: 'GET', path: parameters ? `${path}?${parameters}` : path });
  if (reply.status !== 200) throw new Error(`${name} by ${query}: ${reply.text}`);
  return reply;
}

/** No item, each item alone, each pair, and all items. */
export const setsOf = <Item>(items: readonly Item[]): Item[][] => {
  const pairs = items.flatMap((one, place) => items.slice(place + 1).map((other) => [one, other]));
  return [[], ...items.map((one) => [one]), ...pairs, ...(items.length > 2 ? [[...items]] : [])];
};

async function referencedIds(agency: Agency, field: string): Promise<[string, string]> {
  const create = REFERENCES[field];
  if (!create)
    throw new Error(`Add ${field} to REFERENCES of ${FILE}, or \`values\` to its filter in LISTED.`);
  return [(await create(agency, 'Ana')).id, (await create(agency, 'Eva')).id];
}

/** Each filter with two values of its field, and with the first as the parameter is sent. */
export async function filterValues(agency: Agency, { filters }: Pick<List, 'filters'>) {
  const found: { name: string; field: string; written: readonly [unknown, unknown]; sent: string }[] = [];
  for (const [name, { field = name, values, sent, isDerived }] of Object.entries(filters)) {
    if (isDerived) continue;
    const written = values ?? (await referencedIds(agency, field));
    found.push({ name, field, written, sent: sent ?? String([written[0]].flat().at(-1)) });
  }
  return found;
}
