import { globSync } from 'node:fs';
import { getTableName } from 'drizzle-orm';
import { issueApiKey } from '../../src/api-keys/repository.ts';
import type { OrganizationScope, Queries } from '../../src/db/pool/scope.ts';
import { newId } from '../../src/db/sql/ids.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import * as schema from '../../src/db/tables/index.ts';
import type { Resource } from '../../src/db/tables/resource.ts';
import { opportunityRecord } from '../../src/opportunities/repository.ts';
import { eraseCustomer } from '../../src/privacy/erasure.repository.ts';
import { quoteRecord } from '../../src/quotes/repository.ts';
import type { Dashboard } from '../support/dashboard.ts';
import {
  bodyOf,
  DOCUMENTED,
  type Operation as Documented,
  operationsOf,
  PUBLIC,
  resolved,
  SCHEMAS,
  type Schema,
} from './contract.ts';
import { recordId } from './dataset.ts';
import {
  attachment,
  byPublicApi,
  conversation,
  customer,
  type Fields,
  type Make,
  member,
  message,
  opportunity,
  product,
  quote,
  shown,
  stage,
} from './records.ts';
import type { Agency, Reply, Service } from './service.ts';

/**
 * How each operation of /v1 and of the dashboard is asked (`OPERATIONS`), and what each list shows (`LISTS`). Every walk of
 * the tests uses these tables. They say only what does not follow from the documents: a new filter or searched field, an
 * operation that is none of list, GET, POST, PUT, PATCH and DELETE of a record.
 * test/contract/operations.test.ts compares them with the routers and with the documents.
 */

export const FILE = 'test/support/operations.ts';
export const DASHBOARD = '/dashboard/v1';
export const BELOW = `${DASHBOARD}/organizations/{organizationId}`;

export const methodOf = (name: string): string => name.split(' ', 1)[0] ?? '';
export const pathOf = (name: string): string => name.slice(name.indexOf(' ') + 1);

/** An organization, and both APIs that it is reached through. */
export type World = { service: Service; dashboard: Dashboard; agency: Agency };

/** What every populated organization has, and no two customers of one. */
const CONTACT = { identifierType: 'whatsapp', identifierValue: '+525512345670' };

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
  same: Record<string, string> = {},
) {
  const sold = await agency.post(
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
  const twin = await customer(agency, { firstName: `Gemela ${word}` });
  await erasedWithFile({ agency, service });
  const { id: apiKeyId } = parseJson(await issueApiKey(agency.scope, { name: `${index} ${word}` }));
  const made = {
    word,
    organizationId: agency.id,
    productId: sold.body.id as string,
    archivedProductId: archivedProduct.id as string,
    customerId: customerId as string,
    leavingCustomerId: leaving.id as string,
    twinCustomerId: twin.id as string,
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
  const others: Record<string, string> = {};
  for (const { make, creates } of Object.values(LISTS)) {
    const [idName = ''] = /\w+(?=\}$)/.exec(operationAt('PATCH', recordsOf(creates)) ?? '') ?? [];
    const fields = () => wholeOf(creates, { ...made, word: `primero ${word}` }, true);
    if (!(idName in made)) others[idName] = (await make(agency, fields())).id;
  }
  return { ...others, ...made } as typeof made;
}
export type Has = Awaited<ReturnType<typeof populate>>;

export type Operation = {
  /** Parameters that it needs. */
  query?: string;
  /** A body that changes what `populate` made. Without it, a body has every field that its document has. */
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

/** Its name in the documents: of this method and path, perhaps with an id at its end. */
const operationAt = (method: string, path: string): string | undefined =>
  DOCUMENTED.find(({ name }) => name.replace(/\/\{\w+\}$/, '') === `${method} ${path}`)?.name;

/** A path of /v1, where the dashboard has it. */
const below = (path: string): string => path.replace(/^\/v1/, BELOW);

/** The path below which an operation has the records. */
const recordsOf = (name: string): string => pathOf(name).replace(/\/\{\w+\}$/, '');

/** What does not follow from the documents. They are sent in this order, and then all others. */
const ASKED: Record<string, Operation> = {
  'POST /v1/catalog/products': {
    body: ({ word }) => ({ title: `Nuevo ${word}`, variants: [{ label: word }] }),
  },
  'DELETE /v1/catalog/products/{productId}': {},
  'POST /v1/customers': {
    body: ({ word }) => ({
      firstName: word,
      contacts: [{ identifierType: 'email', identifierValue: `${word}@example.com` }],
    }),
  },
  'PATCH /v1/customers/{customerId}': {
    body: ({ word }) => ({
      lastName: `Peña ${word}`,
      contacts: [CONTACT, { identifierType: 'web', identifierValue: word }],
    }),
  },
  'DELETE /v1/customers/{customerId}': {},
  'GET /v1/team': { change: `PUT ${BELOW}/team-members/{teamMemberId}` },

  [`DELETE ${BELOW}`]: {},
  [`POST ${BELOW}/reopen`]: {},
  [`POST ${BELOW}/api-keys`]: { body: ({ word }) => ({ name: `sync ${word}` }) },
  [`POST ${BELOW}/api-keys/{apiKeyId}/rotate`]: { body: () => ({ overlapSeconds: 60 }) },
  [`PATCH ${BELOW}/api-keys/{apiKeyId}`]: { body: ({ word }) => ({ name: `otra ${word}` }) },
  [`DELETE ${BELOW}/api-keys/{apiKeyId}`]: {},
  [`GET ${BELOW}/catalog/products`]: {
    query: 'archived=true',
    change: 'DELETE /v1/catalog/products/{productId}',
  },
  [`PATCH ${BELOW}/catalog/products/{productId}`]: {
    // A variant without an id is new each time: test/catalog.test.ts has them.
    body: ({ word }) => ({ destinations: [word] }),
  },
  [`POST ${BELOW}/customers/{customerId}/restore`]: {
    ids: ({ leavingCustomerId }) => ({ customerId: leavingCustomerId }),
  },
  [`POST ${BELOW}/customers/{customerId}/merge`]: {
    body: ({ twinCustomerId }) => ({ from: twinCustomerId }),
  },
  [`POST ${BELOW}/catalog/products/{productId}/restore`]: {
    ids: ({ archivedProductId }) => ({ productId: archivedProductId }),
  },
  [`GET ${BELOW}/customers`]: { change: 'POST /v1/customers' },
  [`GET ${BELOW}/customers/{customerId}`]: { change: 'PATCH /v1/customers/{customerId}' },
  [`POST ${BELOW}/customers/{customerId}/erase`]: {
    ids: ({ leavingCustomerId }) => ({ customerId: leavingCustomerId }),
  },
  [`DELETE ${BELOW}/pipeline-stages/{pipelineStageId}`]: {},
  [`DELETE ${BELOW}/team-members/{teamMemberId}`]: {},
  [`DELETE ${BELOW}/opportunities/{opportunityId}`]: {},
  [`PUT ${BELOW}/conversations/{conversationId}/messages/{messageId}`]: { body: aMessage },
  [`POST ${BELOW}/conversations/{conversationId}/messages`]: {
    body: (has) => ({ data: [{ id: has.messageId, ...aMessage(has) }] }),
  },
  [`POST ${BELOW}/quotes/{quoteId}/attachments`]: {
    form: ({ word }) => ({ kind: 'itinerary', file: new File([`the bytes of ${word}`], `${word}.txt`) }),
  },
  [`DELETE ${BELOW}/quotes/{quoteId}/attachments/{attachmentId}`]: {},
  [`DELETE ${BELOW}/quotes/{quoteId}`]: {},
};

/** What changes the answer of a read: a PATCH, or where the dashboard writes the records, its PUT. */
function changeOf(name: string): string | undefined {
  // Each response has links of its own.
  if (name.endsWith('/attachments')) return undefined;
  const path = recordsOf(name);
  return operationAt('PATCH', path) ?? operationAt('PUT', below(path)) ?? operationAt('POST', path);
}

/** Every operation of both routers that has an organization or makes one. */
export const OPERATIONS: Record<string, Operation> = Object.fromEntries(
  [...new Set([...Object.keys(ASKED), ...DOCUMENTED.map(({ name }) => name)])].map((name) => {
    const change = methodOf(name) === 'GET' ? changeOf(name) : undefined;
    return [name, { ...(change && { change }), ...ASKED[name] }];
  }),
);

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
  if (format && format !== 'int32') throw new Error(`Write what ${name} names into NAMED of ${FILE}.`);
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

/** Fields of a PUT that only the creation takes: test/contract/records.test.ts. */
export const WRITTEN_ONCE = ['createdAt', 'token', 'openCount', 'firstOpenedAt', 'lastOpenedAt'];

/** A body that has these fields: those that it must have, or all but those that are written once. Undefined for an operation without a body. */
export function wholeOf(name: string, has: Has, onlyRequired = false): Fields | undefined {
  const { operation } = DOCUMENTED.find((each) => each.name === name) ?? {};
  const { properties = {}, required } = SCHEMAS[(operation && bodyOf(operation)) ?? ''] ?? {};
  const fields = Object.entries(properties).filter(
    ([field]) => !WRITTEN_ONCE.includes(field) && (!onlyRequired || (required as string[]).includes(field)),
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
  /** Its records, in src/db/tables. */
  resource: Resource;
  read: (scope: OrganizationScope, query: { limit: number; offset: number }) => Promise<unknown>;
  /** Makes a record; with an id, changes that one. */
  make: Make;
  /** The operation that makes a record. */
  creates: string;
  /** The schema of its body, in the documents. */
  written: string;
  order: readonly [column: string, direction: 'asc' | 'desc nulls last'];
  /** The operation that archives one, where there is one. */
  archive?: string;
  /** Deletes those of all organizations that were archived before a timestamp, where there is a retention. */
  purge?: (db: Queries, before: string, limit: number) => Promise<{ id: string }[]>;
  filters: Record<string, Filter>;
  /** Its filters by a date: `createdSince` of `createdAt`. */
  dates: string[];
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
  destination: {
    field: 'destinations',
    values: [['x', 'Torres del Paine'], ['Playa']],
    loaded: 'Torres del Paine',
    isUnordered: true,
  },
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
  loaded: recordId('customer', LARGE, 7),
  isSelective: true,
};

/** Parameters that find records by something else than a value of one field: test/finding.test.ts asks for them. */
export const FINDING = ['contact', 'contactType', 'ids', 'token'];

/** What does not follow from the documents. */
const LISTED: Record<string, Partial<List>> = {
  'GET /v1/catalog/products': {
    make: product,
    filters: productFilters,
    searched: productTexts,
  },
  'GET /v1/customers': {
    make: customer,
    filters: {
      tag: {
        field: 'tags',
        values: [['x', 'Luna de miel'], ['Playa']],
        loaded: 'luna de miel',
        isUnordered: true,
      },
    },
    searched: { firstName: 'name', lastName: 'name', summary: 'the summary', contacts: 'any contact' },
  },
  'GET /v1/opportunities': {
    make: opportunity,
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
    resource: schema.newestThreads,
    make: conversation,
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
    make: quote,
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
    make: member,
    creates: `PUT ${BELOW}/team-members/{teamMemberId}`,
    order: ['created_at', 'asc'],
  },
};

/** What the repositories and schemas of src/ export. */
// biome-ignore lint/suspicious/noExplicitAny: found by name.
const EXPORTED: Record<string, any> = Object.assign(
  {},
  ...(await Promise.all(
    globSync('src/*/{repository,schema}.ts', { cwd: new URL('../../', import.meta.url) }).map(
      (file) => import(`../../${file}`),
    ),
  )),
);

function exported(name: string) {
  if (!(name in EXPORTED)) throw new Error(`No repository.ts or schema.ts below src/ exports ${name}.`);
  return EXPORTED[name];
}

function resourceOf(table: string): Resource {
  const found = Object.values(schema).find(
    (value) => 'visible' in value && getTableName(value.table) === table,
  );
  if (!found) throw new Error(`src/db/tables/index.ts exports no resource of a table ${table}.`);
  return found as Resource;
}

/** Makes a record with the least that it must have. */
function makeOf(creates: string, written: string): Make {
  const least = () => wholeOf(creates, { word: 'Oaxaca' } as Has, true) ?? {};
  if (methodOf(creates) === 'POST') return byPublicApi(pathOf(creates), least);
  const name = written.replace(/Put$/, '');
  const { put } = exported(`${name.charAt(0).toLowerCase()}${name.slice(1)}Record`);
  return ({ scope }, fields = {}, id = newId()) =>
    shown(put(scope, id, exported(written).parse({ ...least(), ...fields })));
}

/** Its operations are found by their paths, its functions and its table by their names. */
function listOf(name: string, { operationId, parameters = [] }: Documented): List {
  const given = LISTED[name] ?? {};
  const path = pathOf(name);
  const creates = given.creates ?? operationAt('POST', path) ?? operationAt('PUT', below(path)) ?? '';
  const { operation } = DOCUMENTED.find((each) => each.name === creates) ?? {};
  const written = (operation && bodyOf(operation)) ?? '';
  const records = recordsOf(creates);
  const archive = operationAt('DELETE', records);
  return {
    resource: given.resource ?? resourceOf(records.replace(/.*\//, '').replaceAll('-', '_')),
    read: exported(operationId),
    make: given.make ?? makeOf(creates, written),
    creates,
    written,
    order: newest,
    ...(archive && { archive }),
    purge: EXPORTED[operationId.replace(/^list/, 'purge')],
    filters: {},
    dates: parameters.filter(({ schema }) => schema.format === 'date-time').map((each) => each.name),
    searched: {},
    ...given,
  };
}

/** Every list of /v1 that has pages. */
export const LISTS: Record<string, List> = Object.fromEntries(
  operationsOf(PUBLIC)
    .filter(({ operation }) => operation.parameters?.some((parameter) => parameter.name === 'offset'))
    .map(({ name, operation }) => [name, listOf(name, operation)]),
);

type DashboardList = Pick<List, 'make' | 'filters' | 'searched'>;

/** The lists of the dashboard that have pages: those of /v1 again, and its own. */
export const DASHBOARD_LISTS: Record<string, DashboardList> = {
  ...Object.fromEntries(
    Object.values(LISTS).flatMap((list) => {
      const name = operationAt('GET', below(recordsOf(list.creates)));
      return name ? [[name, list]] : [];
    }),
  ),
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
  const reply = await send(world, { method: 'GET', path: parameters ? `${path}?${parameters}` : path });
  if (reply.status !== 200) throw new Error(`${name} by ${query}: ${reply.text}`);
  return reply;
}

/** Archives a record that the list shows. */
export const archiveOf = (world: World, { archive = '' }: List, id: string): Promise<Reply> =>
  send(world, {
    method: methodOf(archive),
    path: pathOf(archive)
      .replace('{organizationId}', world.agency.id)
      .replace(/\{\w+\}/, id),
  });

/** None, each, each two, and all. */
export const setsOf = <Item>(items: readonly Item[]): Item[][] => {
  const pairs = items.flatMap((one, place) => items.slice(place + 1).map((other) => [one, other]));
  return [[], ...items.map((one) => [one]), ...pairs, ...(items.length > 2 ? [[...items]] : [])];
};

/** The two values of each filter: of the field as it is written, and as the parameter is sent. */
export async function filterValues(agency: Agency, { filters }: Pick<List, 'filters'>) {
  const found: { name: string; field: string; written: readonly [unknown, unknown]; sent: string }[] = [];
  for (const [name, { field = name, values }] of Object.entries(filters)) {
    const written = typeof values === 'function' ? await values(agency) : values;
    found.push({ name, field, written, sent: String([written[0]].flat().at(-1)) });
  }
  return found;
}
