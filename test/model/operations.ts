import { SCHEMAS } from '../support/contract.ts';
import {
  type Fields,
  type Kind,
  type Organization,
  pick,
  type Request,
  type Row,
  show,
} from './organization.ts';
import { list, listArchived, messagesOf, totals } from './reads.ts';
import {
  archive,
  createCustomer,
  createProduct,
  eraseCustomer,
  isRejection,
  mergeCustomer,
  NOT_FOUND,
  type OwnedKind,
  open,
  patch,
  patchCustomer,
  patchMessage,
  patchProduct,
  patchVariants,
  put,
  putMessages,
  type Rejection,
  rejected,
  restore,
  type Write,
} from './writes.ts';

/** Every operation of both APIs that the model knows: what it does to an organization, and what it returns. */

type Read = (organization: Organization, request: Request) => Fields | undefined;

export type Operation = {
  /** The kind of the record that the first id of the path names. */
  kind?: Kind;
  /** Any other record is not found. */
  needs?: 'active' | 'stored';
  /** Whether the record of the second id is missing. */
  missing?: (organization: Organization, request: Request) => Rejection | undefined;
  /** Without it, nothing changes. */
  write?: Write;
  /** The response, from the organization after the request and before it. */
  response: (after: Organization, request: Request, before: Organization) => Fields | Rejection | undefined;
  status?: (before: Organization, request: Request) => number;
};

export const BELOW = '/dashboard/v1/organizations/{organizationId}';

const activeRecord =
  (kind: Kind, schema: string): Read =>
  (organization, { id }) => {
    const row = organization[kind][id];
    return row?.archivedAt === null ? show(schema, kind, row, organization) : undefined;
  };

/** Returns an active record, which it may have changed. */
const onOne = (kind: Kind, schema: string, write?: Write): Operation => {
  return { kind, needs: 'active', response: activeRecord(kind, schema), ...(write && { write }) };
};

const onList = (kind: Kind, schema: string): Operation => ({
  response: (organization, request) =>
    (request.query.archived ? listArchived : list)(organization, kind, schema, request),
});

/** Returns a record, archived or not. A product that will be purged is not found. */
const onStored = (kind: Kind, schema: string): Operation => ({
  kind,
  needs: 'stored',
  response: (organization, { id, restorableSince }) => {
    const row = organization[kind][id] as Row;
    const isPast = kind === 'products' && row.archivedAt !== null && row.archivedAt < restorableSince;
    return isPast ? rejected(404, NOT_FOUND.products) : show(schema, kind, row, organization);
  },
});

const restoring = (kind: Kind, schema: string): Operation => {
  const { response, ...stored } = onStored(kind, schema);
  return {
    ...stored,
    write: (organization, request) => {
      const found = response(organization, request, organization);
      return found && isRejection(found) ? found : restore(kind)(organization, request);
    },
    response,
  };
};

const archiving = (kind: Kind, schema: string): Operation => ({
  ...onOne(kind, schema, archive(kind)),
  response: (organization, { id }) =>
    kind === 'customers'
      ? { id, archived: true }
      : { id, archivedAt: organization[kind][id]?.archivedAt ?? null },
});

const creating = (kind: Kind, schema: string, write: Write): Operation => ({
  write,
  response: (organization, { generated }) =>
    show(schema, kind, organization[kind][generated.id] as Row, organization),
  status: () => 201,
});

/** The operations on a kind of record that the dashboard owns. */
const owned = (path: string, kind: OwnedKind, schema: string): Record<string, Operation> => {
  const one = `${BELOW}/${path}`;
  return {
    [`GET ${one.replace(/\/[^/]*$/, '')}`]: onList(kind, schema),
    [`GET ${one}`]: onStored(kind, schema),
    [`PUT ${one}`]: {
      kind,
      write: put(kind),
      response: activeRecord(kind, schema),
      status: (organization, { id }) => (organization[kind][id] ? 200 : 201),
    },
    [`PATCH ${one}`]: onOne(kind, schema, patch(kind)),
    ...(kind !== 'conversations' && {
      [`DELETE ${one}`]: archiving(kind, schema),
      [`POST ${one}/restore`]: restoring(kind, schema),
    }),
  };
};

/** The operations on a kind of record that both APIs write. */
const shared = (
  path: string,
  kind: Kind,
  schema: string,
  { create, update }: { create: Write; update: Write },
): Record<string, Operation> => {
  const all = path.replace(/\/[^/]*$/, '');
  return {
    [`GET ${all}`]: onList(kind, schema),
    [`POST ${all}`]: creating(kind, schema, create),
    [`GET ${path}`]: path.startsWith('/v1') ? onOne(kind, schema) : onStored(kind, schema),
    [`PATCH ${path}`]: onOne(kind, schema, update),
    [`DELETE ${path}`]: archiving(kind, schema),
    ...(!path.startsWith('/v1') && { [`POST ${path}/restore`]: restoring(kind, schema) }),
  };
};

const ofProducts = { create: createProduct(), update: patchProduct };
const ofProductRecords = { create: createProduct('Record'), update: patchVariants };
const ofCustomers = { create: createCustomer, update: patchCustomer };

const customerRecord = onStored('customers', 'CustomerRecord');

const isId = (text: string): boolean => /^[\da-f]{8}-/.test(text);

const { properties: reported = {} } = SCHEMAS.ConversationMessageRecord?.properties?.delivery ?? {};
const DELIVERY = Object.fromEntries(Object.keys(reported).map((name) => [name, null]));

const showMessage = (schema: string, { delivery, ...message }: Fields): Fields =>
  pick(schema, { ...message, delivery: { ...DELIVERY, ...delivery } });

/** The latest messages before a message or a timestamp, or the first ones after it. */
const transcript = (schema: string): Operation => ({
  kind: 'conversations',
  needs: 'stored',
  response: (organization, { id, query: { before = '', after, limit = 50 } }) => {
    const all = messagesOf(organization, organization.conversations[id] as Row);
    const [name, place] = after === undefined ? ['before', before] : ['after', after];
    const at = all.findIndex((message) =>
      isId(place) ? message.id === place : place !== '' && message.createdAt >= place,
    );
    if (isId(place) && at < 0) return { ...rejected(400, 'VALIDATION_FAILED'), paths: [`query.${name}`] };
    const behind = all.filter((message, index) =>
      isId(after ?? '') ? index > at : message.createdAt > place,
    );
    const earlier = at < 0 ? all : all.slice(0, at);
    return {
      data: (name === 'after' ? behind.slice(0, Number(limit)) : earlier.slice(-Number(limit))).map(
        (message) => showMessage(schema, message),
      ),
      total: all.length,
    };
  },
});

const messageOf = ({ messages }: Organization, { id, childId }: Request): Fields | undefined =>
  messages[`${id} ${childId}`];

export const OPERATIONS: Record<string, Operation> = {
  ...shared('/v1/catalog/products/{productId}', 'products', 'CatalogProduct', ofProducts),
  ...shared('/v1/customers/{customerId}', 'customers', 'Customer', ofCustomers),
  'GET /v1/opportunities': onList('opportunities', 'Opportunity'),
  'GET /v1/opportunities/{opportunityId}': onOne('opportunities', 'Opportunity'),
  'GET /v1/conversations': onList('conversations', 'Conversation'),
  'GET /v1/conversations/{conversationId}/messages': transcript('ConversationMessage'),
  'GET /v1/quotes': onList('quotes', 'Quote'),
  'GET /v1/team': onList('members', 'TeamMember'),

  ...shared(`${BELOW}/catalog/products/{productId}`, 'products', 'CatalogProductRecord', ofProductRecords),
  ...shared(`${BELOW}/customers/{customerId}`, 'customers', 'CustomerRecord', ofCustomers),
  [`POST ${BELOW}/customers/{customerId}/merge`]: {
    kind: 'customers',
    write: mergeCustomer,
    response: activeRecord('customers', 'CustomerRecord'),
  },
  [`POST ${BELOW}/customers/{customerId}/erase`]: {
    ...customerRecord,
    write: eraseCustomer,
    response: ({ erasures }, { id }) => ({
      ...erasures[id],
      sameContacts: erasures[id]?.sameContacts.filter((other: string) => !erasures[other]),
    }),
  },
  ...owned('pipeline-stages/{pipelineStageId}', 'stages', 'PipelineStage'),
  [`GET ${BELOW}/team`]: onList('members', 'TeamMemberRecord'),
  ...owned('team-members/{teamMemberId}', 'members', 'TeamMemberRecord'),
  ...owned('opportunities/{opportunityId}', 'opportunities', 'OpportunityRecord'),
  ...owned('conversations/{conversationId}', 'conversations', 'ConversationRecord'),
  ...owned('quotes/{quoteId}', 'quotes', 'QuoteRecord'),
  [`POST ${BELOW}/quotes/{quoteId}/opens`]: { ...onOne('quotes', 'QuoteRecord'), write: open },
  [`PUT ${BELOW}/conversations/{conversationId}/messages/{messageId}`]: {
    kind: 'conversations',
    needs: 'stored',
    write: putMessages,
    response: (organization, request) =>
      showMessage('ConversationMessageRecord', messageOf(organization, request) as Fields),
    status: (organization, request) => (messageOf(organization, request) ? 200 : 201),
  },
  [`PATCH ${BELOW}/conversations/{conversationId}/messages/{messageId}`]: {
    kind: 'conversations',
    needs: 'stored',
    missing: (organization, request) =>
      messageOf(organization, request) ? undefined : rejected(404, 'MESSAGE_NOT_FOUND'),
    write: patchMessage,
    response: (organization, request) =>
      showMessage('ConversationMessageRecord', messageOf(organization, request) as Fields),
  },
  [`GET ${BELOW}/opportunities/totals`]: { response: totals },
  [`GET ${BELOW}/conversations/{conversationId}/messages`]: transcript('ConversationMessageRecord'),
  [`POST ${BELOW}/conversations/{conversationId}/messages`]: {
    kind: 'conversations',
    needs: 'stored',
    write: putMessages,
    response: (_, { id, body: { data } }, { messages }) => {
      const updated = data.filter((message: Fields) => messages[`${id} ${message.id}`]).length;
      return { inserted: data.length - updated, updated };
    },
  },
};

function notFound({ kind, needs, missing }: Operation, organization: Organization, request: Request) {
  if (!kind || !needs) return undefined;
  const row = organization[kind][request.id];
  const isFound = row && (needs === 'stored' || row.archivedAt === null);
  return isFound ? missing?.(organization, request) : rejected(404, NOT_FOUND[kind]);
}

export type Outcome = { organization: Organization; status: number; rejection?: Rejection };

/** What a request does. */
export function outcomeOf(operation: Operation, organization: Organization, request: Request): Outcome {
  const reject = (rejection: Rejection): Outcome => ({ organization, status: rejection.status, rejection });
  const { write, response, status = () => 200 } = operation;
  const missing = notFound(operation, organization, request);
  if (missing) return reject(missing);
  if (!write) {
    const returned = response(organization, request, organization);
    return returned && isRejection(returned) ? reject(returned) : { organization, status: 200 };
  }
  const written = write(organization, request);
  if (isRejection(written)) return reject(written);
  return { organization: written, status: status(organization, request) };
}
