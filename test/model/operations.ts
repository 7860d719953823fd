import { SCHEMAS } from '../support/contract.ts';
import { type Fields, type Kind, type Organization, pick, type Row, show } from './organization.ts';
import { attachmentsOf, list, listArchived, listArchivedCustomers, messagesOf } from './reads.ts';
import {
  archive,
  attach,
  createCustomer,
  createProduct,
  detach,
  erase,
  isRefusal,
  MISSING,
  mergeCustomers,
  nameContact,
  open,
  patch,
  patchCustomer,
  patchOwned,
  patchProduct,
  patchThread,
  put,
  putMessages,
  putThread,
  type Refusal,
  restore,
  restoreCustomer,
  type Written,
} from './writes.ts';

/** Every operation of both APIs that the model knows: what it does to an organization, and what it answers. */

export type Request = {
  /** The ids of its path. */
  ids: readonly string[];
  query: Fields;
  body: Fields;
  /** What the answer has and only the service can know: ids, a token. */
  made: Fields;
  /** Archived products of this moment and later can be restored. */
  since: string;
};

export type Operation = {
  /** The kind of record that each id of its path names. */
  kinds: readonly Kind[];
  /** The record that If-Match is about, as the tag has it; undefined where there is none. */
  current?: (organization: Organization, request: Request) => Fields | undefined;
  /** Without it, nothing changes. */
  write?: (organization: Organization, request: Request) => Written;
  /** Of the organization as it is then, and was before. */
  answer: (organization: Organization, request: Request, before: Organization) => Fields | Refusal;
  status?: (before: Organization, request: Request) => number;
};

export const BELOW = '/dashboard/v1/organizations/{organizationId}';

const idOf = ({ ids }: Request): string => ids[0] ?? '';

const liveRow = (organization: Organization, kind: Kind, id: string): Row | undefined => {
  const row = organization[kind][id];
  return row?.archivedAt === null ? row : undefined;
};

/** An operation on one live record. */
const onOne = (kind: Kind, schema: string, rest: Partial<Operation> = {}): Operation => {
  const current: Operation['current'] = (organization, request) => {
    const row = liveRow(organization, kind, idOf(request));
    return row && show(schema, kind, row, organization);
  };
  return {
    kinds: [kind],
    answer: (organization, request) => current(organization, request) ?? { status: 404, code: MISSING[kind] },
    ...(rest.write && { current }),
    ...rest,
  };
};

const onList = (kind: Kind, schema: string): Operation => ({
  kinds: [],
  answer: (organization, { query }) => list(organization, kind, schema, query),
});

const archiving = (kind: Kind, schema: string, answer: (row: Row) => Fields): Operation =>
  onOne(kind, schema, {
    write: (organization, request) => archive(organization, kind, idOf(request)),
    answer: (organization, request) => answer(organization[kind][idOf(request)] as Row),
  });

const creating = (
  kind: Kind,
  schema: string,
  write: (organization: Organization, body: Fields, made: Fields) => Written,
): Operation => ({
  kinds: [],
  write: (organization, { body, made }) => write(organization, body, made),
  answer: (organization, { made }) => show(schema, kind, organization[kind][made.id] as Row, organization),
  status: () => 201,
});

const isThere = (kind: Kind) => (organization: Organization, request: Request) =>
  organization[kind][idOf(request)] ? 200 : 201;

/** The operations on a record that the dashboard owns. */
const owned = (path: string, name: string, kind: Kind, schema: string): Record<string, Operation> => {
  const one = `${BELOW}/${path}/{${name}Id}`;
  const isThread = kind === 'conversations';
  return {
    [`GET ${BELOW}/${path}`]: onList(kind, schema),
    [`GET ${one}`]: onOne(kind, schema),
    [`PUT ${one}`]: onOne(kind, schema, {
      write: (organization, { ids: [id = ''], body, made }) =>
        isThread ? putThread(organization, id, body) : put(organization, kind, id, body, made),
      status: isThere(kind),
    }),
    [`PATCH ${one}`]: onOne(kind, schema, {
      write: (organization, { ids: [id = ''], body }) =>
        isThread ? patchThread(organization, id, body) : patchOwned(organization, kind, id, body),
    }),
    ...(!isThread && {
      [`DELETE ${one}`]: archiving(kind, schema, ({ id, archivedAt }) => ({ id, archivedAt })),
    }),
  };
};

const getCustomerRecord: Operation['answer'] = (organization, request) => {
  const row = organization.customers[idOf(request)];
  return row
    ? show('CustomerRecord', 'customers', row, organization)
    : { status: 404, code: MISSING.customers };
};

const isId = (text: string): boolean => /^[\da-f]{8}-/.test(text);

const { properties: reported = {} } = SCHEMAS.ConversationMessageRecord?.properties?.delivery ?? {};
const DELIVERY = Object.fromEntries(Object.keys(reported).map((name) => [name, null]));

const showMessage = (schema: string, { delivery, ...message }: Fields): Fields =>
  pick(schema, { ...message, delivery: { ...DELIVERY, ...delivery } });

/** The newest messages before a message or a moment. */
const transcriptAs =
  (schema: string): Operation['answer'] =>
  (organization, { ids: [id = ''], query }) => {
    const thread = organization.conversations[id];
    if (!thread) return { status: 404, code: MISSING.conversations };
    const all = messagesOf(organization, thread);
    const { before, limit = 50 } = query;
    const place = all.findIndex((message) =>
      isId(before ?? '') ? message.id === before : message.createdAt >= before,
    );
    if (isId(before ?? '') && place < 0)
      return { status: 400, code: 'VALIDATION_FAILED', paths: ['query.before'] };
    const earlier = before === undefined || place < 0 ? all : all.slice(0, place);
    return {
      data: earlier.slice(-Number(limit)).map((message) => showMessage(schema, message)),
      total: all.length,
    };
  };

const attachmentList: Operation = {
  ...onOne('quotes', 'Quote'),
  answer: (organization, request) =>
    liveRow(organization, 'quotes', idOf(request))
      ? { data: attachmentsOf(organization, [idOf(request)]) }
      : { status: 404, code: MISSING.quotes },
};

const messageAt = ({ ids: [thread, id] }: Request): string => `${thread} ${id}`;

export const OPERATIONS: Record<string, Operation> = {
  'GET /v1/catalog/products': onList('products', 'CatalogProduct'),
  'POST /v1/catalog/products': creating('products', 'CatalogProduct', createProduct),
  'GET /v1/catalog/products/{productId}': onOne('products', 'CatalogProduct'),
  'PATCH /v1/catalog/products/{productId}': onOne('products', 'CatalogProduct', {
    write: (organization, { ids: [id = ''], body }) =>
      patch(organization, 'products', 'CatalogProductUpdate', id, body),
  }),
  'DELETE /v1/catalog/products/{productId}': archiving(
    'products',
    'CatalogProduct',
    ({ id, archivedAt }) => ({ id, archivedAt }),
  ),
  'GET /v1/customers': onList('customers', 'Customer'),
  'POST /v1/customers': creating('customers', 'Customer', createCustomer),
  'GET /v1/customers/{customerId}': onOne('customers', 'Customer'),
  'PATCH /v1/customers/{customerId}': onOne('customers', 'Customer', {
    write: (organization, { ids: [id = ''], body, made }) => patchCustomer(organization, id, body, made),
  }),
  'DELETE /v1/customers/{customerId}': archiving('customers', 'Customer', ({ id }) => ({
    id,
    archived: true,
  })),
  'GET /v1/opportunities': onList('opportunities', 'Opportunity'),
  'GET /v1/opportunities/{opportunityId}': onOne('opportunities', 'Opportunity'),
  'GET /v1/conversations': onList('conversations', 'Conversation'),
  'GET /v1/conversations/{conversationId}/messages': {
    kinds: ['conversations'],
    answer: transcriptAs('ConversationMessage'),
  },
  'GET /v1/quotes': onList('quotes', 'Quote'),
  'GET /v1/quotes/{quoteId}/attachments': attachmentList,
  'GET /v1/team': onList('members', 'TeamMember'),

  [`GET ${BELOW}/catalog/products`]: {
    kinds: [],
    answer: (organization, { query, since }) =>
      query.archived
        ? listArchived(organization, query, since)
        : list(organization, 'products', 'CatalogProduct', query),
  },
  [`GET ${BELOW}/catalog/products/{productId}`]: onOne('products', 'CatalogProduct'),
  [`PATCH ${BELOW}/catalog/products/{productId}`]: onOne('products', 'CatalogProduct', {
    write: (organization, { ids: [id = ''], body, made }) => patchProduct(organization, id, body, made),
  }),
  [`POST ${BELOW}/catalog/products/{productId}/restore`]: {
    ...onOne('products', 'CatalogProduct'),
    write: (organization, { ids: [id = ''], since }) => restore(organization, id, since),
  },
  [`GET ${BELOW}/customers`]: {
    kinds: [],
    answer: (organization, { query }) =>
      query.archived
        ? listArchivedCustomers(organization, query)
        : list(organization, 'customers', 'Customer', query),
  },
  [`POST ${BELOW}/customers/{customerId}/restore`]: {
    ...onOne('customers', 'Customer'),
    write: (organization, { ids: [id = ''] }) => restoreCustomer(organization, id),
  },
  [`POST ${BELOW}/customers/{customerId}/merge`]: {
    ...onOne('customers', 'Customer'),
    write: (organization, { ids: [id = ''], body }) => mergeCustomers(organization, id, body),
  },
  [`GET ${BELOW}/customers/{customerId}`]: { kinds: ['customers'], answer: getCustomerRecord },
  [`PATCH ${BELOW}/customers/{customerId}/contacts/{contactId}`]: {
    kinds: ['customers'],
    write: (organization, { ids: [id = '', contactId = ''], body }) =>
      nameContact(organization, id, contactId, body),
    answer: getCustomerRecord,
  },
  [`POST ${BELOW}/customers/{customerId}/erase`]: {
    kinds: ['customers'],
    write: (organization, { ids: [id = ''], made }) => erase(organization, id, made),
    answer: ({ erasures }, request) => erasures[idOf(request)] as Fields,
  },
  ...owned('pipeline-stages', 'pipelineStage', 'stages', 'PipelineStage'),
  ...owned('team-members', 'teamMember', 'members', 'TeamMember'),
  ...owned('opportunities', 'opportunity', 'opportunities', 'OpportunityRecord'),
  ...owned('conversations', 'conversation', 'conversations', 'ConversationRecord'),
  ...owned('quotes', 'quote', 'quotes', 'Quote'),
  [`POST ${BELOW}/quotes/{quoteId}/opens`]: {
    ...onOne('quotes', 'Quote'),
    write: (organization, { ids: [id = ''], body }) => open(organization, id, body),
  },
  [`GET ${BELOW}/quotes/{quoteId}/attachments`]: attachmentList,
  [`POST ${BELOW}/quotes/{quoteId}/attachments`]: {
    kinds: ['quotes'],
    write: (organization, { ids: [id = ''], body, made }) => attach(organization, id, body, made),
    answer: ({ attachments }, { made }) => pick('QuoteAttachment', attachments[made.id] as Fields),
    status: () => 201,
  },
  [`DELETE ${BELOW}/quotes/{quoteId}/attachments/{attachmentId}`]: {
    kinds: ['quotes'],
    write: (organization, { ids: [id = '', attachmentId = ''] }) => detach(organization, id, attachmentId),
    answer: (_, { ids: [, id], made: { deletedAt } }) => ({ id, deletedAt }),
  },
  [`PUT ${BELOW}/conversations/{conversationId}/messages/{messageId}`]: {
    kinds: ['conversations'],
    write: (organization, { ids: [thread = '', id], body, made }) =>
      putMessages(organization, thread, [{ ...body, id }], [''], made),
    answer: ({ messages }, request) =>
      showMessage('ConversationMessageRecord', messages[messageAt(request)] as Fields),
    status: ({ messages }, request) => (messages[messageAt(request)] ? 200 : 201),
  },
  [`GET ${BELOW}/conversations/{conversationId}/messages`]: {
    kinds: ['conversations'],
    answer: transcriptAs('ConversationMessageRecord'),
  },
  [`POST ${BELOW}/conversations/{conversationId}/messages`]: {
    kinds: ['conversations'],
    write: (organization, { ids: [thread = ''], body: { data }, made }) =>
      putMessages(
        organization,
        thread,
        data,
        data.map((_: Fields, index: number) => `data[${index}].`),
        made,
      ),
    answer: (_, { ids: [thread], body: { data } }, { messages }) => {
      const updated = data.filter(({ id }: Fields) => messages[`${thread} ${id}`]).length;
      return { inserted: data.length - updated, updated };
    },
  },
};

/** How a closed organization refuses: its keys are no keys, and the dashboard only reads. */
export function refusedByClosed(name: string): Refusal | undefined {
  if (name.includes(' /v1')) return { status: 401, code: 'UNAUTHORIZED' };
  return name.startsWith('GET') ? undefined : { status: 409, code: 'ORGANIZATION_CLOSED' };
}

export type Outcome = { organization: Organization; status: number; refusal?: Refusal };

const NOT_MATCHED: Refusal = { status: 412, code: 'PRECONDITION_FAILED' };

/** What a request does. Its answer is that of the organization with its moments. */
export function outcomeOf(
  operation: Operation,
  organization: Organization,
  request: Request,
  precondition?: 'matches' | 'differs' | 'mustCreate',
): Outcome {
  const refuse = (refusal: Refusal): Outcome => ({ organization, status: refusal.status, refusal });
  const { current, write, answer, status = () => 200 } = operation;
  if (!write) {
    const answered = answer(organization, request, organization);
    return isRefusal(answered) ? refuse(answered) : { organization, status: 200 };
  }
  const success = status(organization, request);
  // A PUT and a message need not be there; everything else that has a tag must.
  const isPut = operation.status !== undefined;
  const record = current?.(organization, request);
  if (current && !isPut && !record) return refuse({ status: 404, code: MISSING[operation.kinds[0] as Kind] });
  if (precondition === 'differs' || (precondition === 'matches' && !record)) return refuse(NOT_MATCHED);
  const written = write(organization, request);
  if (isRefusal(written)) return refuse(written);
  if (precondition === 'mustCreate' && success === 200) return refuse(NOT_MATCHED);
  return { organization: written, status: success };
}
