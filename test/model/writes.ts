import { isDeepStrictEqual } from 'node:util';
import { contactKey, keyOnChannel, phoneNumber } from '../../rules/contact-key.ts';
import {
  active,
  blank,
  type Fields,
  type Kind,
  NOW,
  type Organization,
  type Request,
  type Row,
  sent,
  withRow,
  withRows,
} from './organization.ts';
import { messagesOf } from './reads.ts';

/** What writes do to an organization. Each returns the organization after it, or a rejection. */

export type Rejection = { status: number; code: string; paths?: string[] };
type Written = Organization | Rejection;
export type Write = (organization: Organization, request: Request) => Written;

export const isRejection = (written: object): written is Rejection => 'code' in written;
export const rejected = (status: number, code: string): Rejection => ({ status, code });
const invalid = (fields: readonly string[]): Rejection => ({
  ...rejected(400, 'VALIDATION_FAILED'),
  paths: fields.map((field) => `body.${field}`),
});

export const NOT_FOUND: Record<Kind, string> = {
  products: 'CATALOG_PRODUCT_NOT_FOUND',
  customers: 'CUSTOMER_NOT_FOUND',
  stages: 'PIPELINE_STAGE_NOT_FOUND',
  members: 'TEAM_MEMBER_NOT_FOUND',
  opportunities: 'OPPORTUNITY_NOT_FOUND',
  conversations: 'CONVERSATION_NOT_FOUND',
  quotes: 'QUOTE_NOT_FOUND',
};

const fresh = (id: string) => ({ id, createdAt: NOW, updatedAt: NOW, archivedAt: null });

const only = (fields: Fields, isKept: (name: string) => boolean): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => isKept(name)));

export const archive =
  (kind: Kind): Write =>
  (organization, { id }) =>
    withRow(organization, kind, { ...(organization[kind][id] as Row), archivedAt: NOW });

/** Products. */

const newVariant = (id: string): Fields => ({ ...blank('CatalogProductVariant'), status: 'active', id });

/** @param own what the names of the dashboard's schemas have more */
export const createProduct =
  (own = ''): Write =>
  (organization, { body, generated }) =>
    withRow(organization, 'products', {
      ...blank('CatalogProduct'),
      type: 'package',
      status: 'active',
      pricingMode: 'per_person',
      ...sent(`CatalogProduct${own}Create`, body),
      ...fresh(generated.id),
      variants: (body.variants ?? []).map((variant: Fields, position: number) => ({
        ...newVariant(generated.variants[position]?.id),
        ...sent(`CatalogProductVariant${own}Create`, variant),
        position,
      })),
    });

export const patchProduct: Write = (organization, { id, body }) =>
  withRow(organization, 'products', {
    ...(organization.products[id] as Row),
    ...sent('CatalogProductUpdate', body),
  });

/** The PATCH of the dashboard: `variants` is the whole list, with the ids of stored ones. */
export const patchVariants: Write = (organization, { id, body, generated }) => {
  const product = organization.products[id] as Row;
  const stored = (variant: Fields) => product.variants.find((one: Fields) => one.id === variant.id);
  const errors = (body.variants ?? []).flatMap((variant: Fields, index: number) => {
    const path = `variants[${index}]`;
    if (variant.id === undefined) return variant.label === undefined ? [`${path}.label`] : [];
    const isRepeated = body.variants.slice(0, index).some((other: Fields) => other.id === variant.id);
    return !stored(variant) || isRepeated ? [`${path}.id`] : [];
  });
  if (errors.length > 0) return invalid(errors);
  const variants = body.variants?.map((variant: Fields, position: number) => ({
    ...(stored(variant) ?? newVariant(generated.variants[position]?.id)),
    ...sent('CatalogProductVariantUpdate', { ...variant, id: undefined }),
    position,
  }));
  const changes = sent('CatalogProductRecordUpdate', { ...body, ...(variants && { variants }) });
  return withRow(organization, 'products', { ...product, ...changes });
};

/** Customers. */

const keyOf = ({ identifierType, identifierValue }: Fields) => contactKey(identifierType, identifierValue);

const isContact = (type: string, key: string | null) => (contact: Fields) =>
  contact.identifierType === type && contact.key === key;

const ownerOf = ({ customers }: Organization, type: string, key: string | null): Row | undefined =>
  active(customers).find(({ contacts }) => contacts.some(isContact(type, key)));

/** The latest conversation with the contact that has a name. */
function namingConversation({ conversations }: Organization, type: string, key: string | null) {
  const found = Object.values(conversations).filter(
    (thread) => thread.channel === type && thread.contactKey === key && thread.contactName !== null,
  );
  // A thread that is created now is later than all others.
  const place = ({ createdAt, id }: Row) => `${createdAt === NOW ? '9' : createdAt} ${id}`;
  return found.toSorted((a, b) => (place(a) < place(b) ? 1 : -1))[0];
}

/** Rejects contacts that another customer has. */
function conflicts(organization: Organization, contacts: Fields[], path: string, ...ids: string[]) {
  const paths = contacts.flatMap((contact, index) => {
    const owner = ownerOf(organization, contact.identifierType, keyOf(contact));
    return owner && !ids.includes(owner.id) ? [`${path}[${index}] ${owner.id}`] : [];
  });
  return paths.length > 0 ? { ...rejected(409, 'CUSTOMER_CONTACT_CONFLICT'), paths } : undefined;
}

/** Writes a customer, which gets the conversations with its new contacts that have no customer. */
function withCustomer(organization: Organization, customer: Row): Organization {
  const old = organization.customers[customer.id];
  const held: Fields[] = old?.archivedAt === null ? old.contacts : [];
  const isClaimed = ({ channel, contactKey }: Row) => {
    const isIt = isContact(channel, contactKey);
    return customer.contacts.some(isIt) && !held.some(isIt);
  };
  const linked = Object.values(organization.conversations)
    .filter((thread) => thread.customerId === null && isClaimed(thread))
    .map((thread): [Kind, Row] => ['conversations', { ...thread, customerId: customer.id }]);
  return withRows(organization, [['customers', customer], ...linked]);
}

/** A contact that the customer already has keeps its id and name. */
const contactsOf = (organization: Organization, inputs: Fields[], stored: Fields[], generated: Fields) =>
  inputs.map((input, index): Fields => {
    const { identifierType, identifierValue } = input;
    const key = keyOf(input);
    const known = stored.find(isContact(identifierType, key));
    const number = phoneNumber(identifierType, identifierValue);
    const name = known
      ? known.displayName
      : namingConversation(organization, identifierType, key)?.contactName;
    return {
      id: known?.id ?? generated.contacts?.[index]?.id,
      identifierType,
      identifierValue: number ?? identifierValue,
      displayName: name ?? null,
      phoneNumber: number,
      key,
      asSent: identifierValue,
    };
  });

export const createCustomer: Write = (organization, { body, generated }) =>
  conflicts(organization, body.contacts, 'body.contacts') ??
  withCustomer(organization, {
    ...blank('Customer'),
    ...sent('CustomerCreate', body),
    contacts: contactsOf(organization, body.contacts, [], generated),
    ...fresh(generated.id),
  });

export const patchCustomer: Write = (organization, { id, body, generated }) => {
  const customer = organization.customers[id] as Row;
  const rejection = conflicts(organization, body.contacts ?? [], 'body.contacts', id);
  if (rejection) return rejection;
  const contacts = contactsOf(organization, body.contacts ?? [], customer.contacts, generated);
  const shown = (list: Fields[]) => list.map(({ asSent, ...contact }) => contact);
  // A number in another spelling is the same contact.
  const isUnchanged = !body.contacts || isDeepStrictEqual(shown(contacts), shown(customer.contacts));
  return withCustomer(organization, {
    ...customer,
    ...sent('CustomerUpdate', body),
    contacts: isUnchanged ? customer.contacts : contacts,
  });
};

const restoreCustomer: Write = (organization, { id }) => {
  const customer = organization.customers[id] as Row;
  if (organization.erasures[id]) return rejected(409, 'CUSTOMER_ERASED');
  if (customer.mergedInto) return rejected(409, 'CUSTOMER_MERGED');
  const contacts = customer.contacts.map((contact: Fields) => {
    const latest = namingConversation(organization, contact.identifierType, contact.key);
    return latest ? { ...contact, displayName: latest.contactName } : contact;
  });
  return (
    conflicts(organization, customer.contacts, 'contacts', id) ??
    withCustomer(organization, { ...customer, contacts, archivedAt: null })
  );
};

/** All customers that were merged into one, and that one. */
const personOf = ({ customers }: Organization, { id, mergedInto }: Row): Row[] =>
  Object.values(customers).filter(
    (other) => other.id === (mergedInto ?? id) || other.mergedInto === (mergedInto ?? id),
  );

export const mergeCustomer: Write = (organization, { id, body: { from } }) => {
  const [into, other] = [organization.customers[id], organization.customers[from]];
  if (id === from) return invalid(['from']);
  if (into?.archivedAt !== null) return rejected(404, NOT_FOUND.customers);
  if (other?.mergedInto === id) return organization;
  if (!other || other.mergedInto || organization.erasures[from]) return invalid(['from']);
  const taken = conflicts(organization, other.contacts, 'from.contacts', id, from);
  if (taken) return taken;
  const merged = Object.keys(blank('CustomerUpdate')).map((field) => [field, into[field] ?? other[field]]);
  const same = (list: Fields[], { identifierType, key }: Fields) => list.find(isContact(identifierType, key));
  const others = other.contacts.filter((contact: Fields) => !same(into.contacts, contact));
  const contacts = others.map((contact: Fields) => {
    const named = namingConversation(organization, contact.identifierType, contact.key);
    return named ? { ...contact, displayName: named.contactName } : contact;
  });
  const customer: Row = {
    ...into,
    ...Object.fromEntries(merged),
    summary: [into.summary, other.summary].filter(Boolean).join('\n\n') || into.summary,
    tags: [...new Set([...into.tags, ...other.tags])],
    // A search finds both spellings of a contact that both have.
    contacts: [
      ...into.contacts.map((contact: Fields) => ({
        ...contact,
        asSent: [contact.asSent, same(other.contacts, contact)?.asSent].join('\u001f'),
      })),
      ...contacts,
    ],
  };
  const archived = personOf(organization, other).map((row): [Kind, Row] => [
    'customers',
    { ...row, archivedAt: row.archivedAt ?? NOW, mergedInto: id },
  ]);
  const moved = (['opportunities', 'conversations'] as const).flatMap((kind) =>
    Object.values(organization[kind])
      .filter(({ customerId }) => customerId === from)
      .map((row): [Kind, Row] => [kind, { ...row, customerId: id }]),
  );
  const following = moved.flatMap(([kind, row]) =>
    kind === 'opportunities' ? quotesFollowing(organization, row) : [],
  );
  return withCustomer(withRows(organization, [...archived, ...moved, ...following]), customer);
};

const quotesFollowing = ({ quotes }: Organization, { id, customerId }: Row): [Kind, Row][] =>
  Object.values(quotes)
    .filter((quote) => quote.opportunityId === id)
    .map((quote) => ['quotes', { ...quote, customerId }]);

const withContactName = (
  organization: Organization,
  customer: Row,
  isNamed: (contact: Fields) => boolean,
  displayName: string | null,
) =>
  withRow(organization, 'customers', {
    ...customer,
    contacts: customer.contacts.map((contact: Fields) =>
      isNamed(contact) ? { ...contact, displayName } : contact,
    ),
  });

/** Records that the dashboard owns. */

export type OwnedKind = Exclude<Kind, 'products' | 'customers'>;

type Owned = {
  schema: string;
  /** The records that its ids refer to. */
  references?: Record<string, Kind>;
  immutable?: string[];
  /** What a new record has beside the fields of the body. */
  initial?: (generated: Fields) => Fields;
  /** What a PUT writes for fields that the body does not have, if that is not null or an empty list. */
  defaults?: (organization: Organization, body: Fields, old: Row | undefined) => Fields;
  /** More fields that are rejected. */
  broken?: (row: Row, body: Fields, old: Row | undefined) => string[];
  conflict?: (organization: Organization, row: Row, old: Row | undefined) => Rejection | undefined;
  /** Fields that follow from those of the body. */
  complete?: (row: Row, body: Fields, old: Row | undefined, organization: Organization) => Fields;
};

const INHERITED = ['contactName', 'customerId', 'activityState', 'controlledBy', 'language'];

const OWNED: Record<OwnedKind, Owned> = {
  stages: {
    schema: 'PipelineStagePut',
    immutable: ['key'],
    defaults: () => ({ position: 0 }),
    conflict: ({ stages }, { id, key }, old) =>
      old?.archivedAt !== null && active(stages).some((other) => other.id !== id && other.key === key)
        ? rejected(409, 'PIPELINE_STAGE_KEY_TAKEN')
        : undefined,
  },
  members: {
    schema: 'TeamMemberPut',
    defaults: () => ({ isAssignable: true }),
    conflict: ({ members }, { id, userId }) =>
      active(members).some((other) => other.id !== id && other.userId === userId)
        ? rejected(409, 'TEAM_MEMBER_USER_TAKEN')
        : undefined,
  },
  opportunities: {
    schema: 'OpportunityPut',
    references: { customerId: 'customers', sellerMemberId: 'members', stageId: 'stages' },
    // The dashboard sends `agentTemperature` as another name of `temperature`.
    complete: ({ temperature, stageId, qualifiedAt }, { agentTemperature = temperature }, old) => ({
      qualifiedAt: qualifiedAt ?? (stageId === null ? null : (old?.qualifiedAt ?? NOW)),
      temperature: agentTemperature,
      agentTemperature: undefined,
    }),
  },
  quotes: {
    schema: 'QuotePut',
    immutable: ['token'],
    references: { opportunityId: 'opportunities' },
    initial: ({ token }) => ({ token, openCount: 0, firstOpenedAt: null, lastOpenedAt: null }),
    defaults: (_organization, _body, old) => ({ publishedAt: old?.publishedAt ?? null }),
    conflict: ({ quotes }, { token }, old) =>
      !old && Object.values(quotes).some((quote) => quote.token === token) ? invalid(['token']) : undefined,
    complete: ({ status, publishedAt, opportunityId }, _body, old, { opportunities }) => ({
      customerId: opportunities[opportunityId]?.customerId ?? null,
      publishedAt: publishedAt ?? old?.publishedAt ?? (status === 'published' ? NOW : null),
    }),
  },
  conversations: {
    schema: 'ConversationPut',
    references: { customerId: 'customers' },
    initial: () => ({ rotatedFrom: null, messageCount: 0, lastMessageAt: null }),
    defaults: (organization, { rotatedFrom, channel, contact }, old) => {
      const inherited = only(organization.conversations[rotatedFrom] ?? {}, (name) =>
        INHERITED.includes(name),
      );
      // An archived customer is inherited by a new thread alone, if nobody active has the contact.
      const isActive = organization.customers[inherited.customerId]?.archivedAt === null;
      const owner = ownerOf(organization, channel, keyOnChannel(channel, contact))?.id;
      const stays = old ? old.customerId : inherited.customerId;
      const customerId = (isActive ? inherited.customerId : owner) ?? stays ?? null;
      return { ...inherited, rotatedFrom: old?.rotatedFrom ?? null, customerId };
    },
    broken: ({ channel }, { rotatedFrom }, old) => {
      if (!old) return [];
      const isOther = rotatedFrom !== undefined && rotatedFrom !== old.rotatedFrom;
      const isOfOtherStore =
        old.messageCount > 0 && (old.channel === 'whatsapp') !== (channel === 'whatsapp');
      return [...(isOther ? ['rotatedFrom'] : []), ...(isOfOtherStore ? ['channel'] : [])];
    },
    complete: ({ channel, contact }) => ({ contactKey: keyOnChannel(channel, contact) }),
  },
};

/** Fields that only the PUT which creates a record writes. */
const ONCE = ['createdAt', 'token', 'openCount', 'firstOpenedAt', 'lastOpenedAt'];
const isOnce = (name: string): boolean => ONCE.includes(name);

export const put =
  (kind: OwnedKind): Write =>
  (organization, { id, body, generated }) => {
    const { schema, initial, defaults } = OWNED[kind];
    const old = organization[kind][id];
    const replaced = { ...blank(schema), ...defaults?.(organization, body, old), ...sent(schema, body) };
    const row: Row = {
      ...fresh(id),
      ...initial?.(generated),
      ...only(body, isOnce),
      ...old,
      ...only(replaced, (name) => !isOnce(name)),
      archivedAt: null,
    };
    return store(organization, kind, row, body, old);
  };

export const patch =
  (kind: OwnedKind): Write =>
  (organization, { id, body }) => {
    const old = organization[kind][id] as Row;
    const { channel = old.channel, contact = old.contact } = body;
    const isMoved = kind === 'conversations' && (channel !== old.channel || contact !== old.contact);
    const owner = isMoved ? ownerOf(organization, channel, keyOnChannel(channel, contact)) : undefined;
    const row = {
      ...old,
      ...(owner && { customerId: owner.id }),
      ...only(sent(OWNED[kind].schema, body), (name) => !isOnce(name)),
    };
    return store(organization, kind, row, body, old, false);
  };

/** A merged customer stands for the one that it became. */
const finalId = ({ customers }: Organization, id: string): string => customers[id]?.mergedInto ?? id;

function store(
  organization: Organization,
  kind: OwnedKind,
  row: Row,
  body: Fields,
  old: Row | undefined,
  isPut = true,
) {
  const { immutable = [], references = {}, broken, conflict, complete } = OWNED[kind];
  if (kind === 'conversations' && isTaken(organization, row, body, isPut)) return invalid(['rotatedFrom']);
  const changed = ['createdAt', ...immutable].filter(
    (field) => old && body[field] !== undefined && body[field] !== old[field],
  );
  // A reference is to an active record, or stays as it is.
  const dangling = Object.entries(references).filter(([field, referenced]) => {
    const id = body[field] && finalId(organization, body[field]);
    return id != null && id !== old?.[field] && organization[referenced][id]?.archivedAt !== null;
  });
  const errors = [...changed, ...dangling.map(([field]) => field), ...(broken?.(row, body, old) ?? [])];
  if (errors.length > 0) return invalid(errors);
  const rejection = conflict?.(organization, row, old);
  if (rejection) return rejection;
  const named = row.customerId ? { ...row, customerId: finalId(organization, row.customerId) } : row;
  const completed = { ...named, ...complete?.(named, body, old, organization) };
  if (kind === 'conversations') return storeThread(organization, completed, old);
  const following = kind === 'opportunities' ? quotesFollowing(organization, completed) : [];
  return withRows(organization, [[kind, completed], ...following]);
}

/** Changes nothing else. */
export const restore =
  (kind: Kind): Write =>
  (organization, request) => {
    const row = organization[kind][request.id] as Row;
    if (row.archivedAt === null) return rejected(409, NOT_FOUND[kind].replace('_NOT_FOUND', '_NOT_ARCHIVED'));
    if (kind === 'customers') return restoreCustomer(organization, request);
    const conflict = kind === 'products' ? undefined : OWNED[kind].conflict;
    return conflict?.(organization, row, row) ?? withRow(organization, kind, { ...row, archivedAt: null });
  };

export const open: Write = (organization, { id, body: { openedAt } }) => {
  const quote = organization.quotes[id] as Row;
  if (quote.status !== 'published' || organization.erasures[quote.customerId])
    return rejected(409, 'QUOTE_NOT_PUBLISHED');
  const { openCount, firstOpenedAt, lastOpenedAt } = quote;
  return withRow(organization, 'quotes', {
    ...quote,
    openCount: openCount + 1,
    firstOpenedAt: firstOpenedAt !== null && firstOpenedAt < openedAt ? firstOpenedAt : openedAt,
    lastOpenedAt: lastOpenedAt > openedAt ? lastOpenedAt : openedAt,
  });
};

/** Conversations. A chain has the id of its oldest thread. */

function withChains(organization: Organization): Organization {
  const threads = Object.values(organization.conversations);
  const rootOf = (thread: Row): string =>
    thread.rotatedFrom === null ? thread.id : rootOf(organization.conversations[thread.rotatedFrom] as Row);
  const linked = threads.map((thread): [Kind, Row] => {
    const continuedBy = threads.find(({ rotatedFrom }) => rotatedFrom === thread.id)?.id ?? null;
    return ['conversations', { ...thread, chainId: rootOf(thread), continuedBy }];
  });
  return withRows(organization, linked);
}

/** Each thread has the timestamp of its latest message, and the newest thread that of the chain. */
function withLatestMessage(organization: Organization, chainId: string): Organization {
  const threads = Object.values(organization.conversations).filter((thread) => thread.chainId === chainId);
  const dated = threads.map((thread): [Kind, Row] => {
    const all = messagesOf(organization, thread);
    const own = all.filter(({ conversationId }) => conversationId === thread.id);
    const lastMessageAt = (thread.continuedBy === null ? all : own).at(-1)?.createdAt ?? null;
    return ['conversations', { ...thread, lastMessageAt }];
  });
  return withRows(organization, dated);
}

/** A PUT names a thread that does not exist, or that another one continues. A thread is written with the one before it. */
function isTaken(
  { conversations }: Organization,
  { id }: Row,
  { rotatedFrom }: Fields,
  isPut: boolean,
): boolean {
  const target = conversations[rotatedFrom];
  return (
    isPut && rotatedFrom != null && (!target || (target.continuedBy !== null && target.continuedBy !== id))
  );
}

function storeThread(organization: Organization, row: Row, old: Row | undefined): Written {
  const stored = withChains(withRow(organization, 'conversations', row));
  const { chainId } = stored.conversations[row.id] as Row;
  return nameFromThread(old ? stored : withLatestMessage(stored, chainId), row.id, old);
}

/** If a write has changed the name of a conversation's contact, the customer with this contact gets it. */
export function nameFromThread(organization: Organization, id: string, old: Row | undefined): Organization {
  const { channel, contactKey, contactName, customerId } = organization.conversations[id] as Row;
  const isUnchanged =
    channel === old?.channel && contactKey === old?.contactKey && contactName === old?.contactName;
  if (contactKey === null || contactName === null || isUnchanged) return organization;
  if (namingConversation(organization, channel, contactKey)?.id !== id) return organization;
  const linked = organization.customers[customerId];
  const owner = ownerOf(organization, channel, contactKey) ?? linked;
  return owner?.contacts.some(isContact(channel, contactKey))
    ? withContactName(organization, owner, isContact(channel, contactKey), contactName)
    : organization;
}

/** Changes of a transcript move `updatedAt` of its thread, and of the newest thread of the chain. */
function withTouched(organization: Organization, ids: readonly string[]): Organization {
  const { conversations } = organization;
  const chains = ids.map((id) => conversations[id]?.chainId);
  const touched = Object.values(conversations).filter(
    ({ id, chainId, continuedBy }) => ids.includes(id) || (continuedBy === null && chains.includes(chainId)),
  );
  return withRows(
    organization,
    touched.map((thread) => ['conversations', { ...thread, updatedAt: NOW }]),
  );
}

const DELIVERED_BY_WHATSAPP = ['providerMessageId', 'status', 'statusAt', 'templateName'];

/** Fields of a delivery that the conversation's channel does not have. */
const misplaced = ({ channel }: Row, { delivery }: Fields): string[] =>
  Object.keys(delivery ?? {}).filter(
    (field) => delivery[field] !== null && DELIVERED_BY_WHATSAPP.includes(field) !== (channel === 'whatsapp'),
  );

/** A message whose id is in the path, or a batch. */
export const putMessages: Write = (organization, { id, childId, body, generated }) => {
  const thread = organization.conversations[id] as Row;
  const batch: Fields[] = body.data ?? [{ ...body, id: childId }];
  const errors = batch.flatMap((message, index) =>
    misplaced(thread, message).map((field) => `${body.data ? `data[${index}].` : ''}delivery.${field}`),
  );
  if (errors.length > 0) return invalid(errors);
  const messages = { ...organization.messages };
  let { messageCount } = thread;
  for (const message of batch) {
    const name = `${id} ${message.id}`;
    const old = messages[name];
    if (!old) messageCount += 1;
    const delivery: Fields = message.delivery ?? {};
    messages[name] = {
      ...message,
      conversationId: id,
      senderName: message.senderName ?? null,
      createdAt: message.createdAt ?? old?.createdAt ?? generated.createdAt,
      delivery: only(delivery, (field) => delivery[field] !== null),
    };
  }
  const isChanged = batch.some(
    (message) =>
      !isDeepStrictEqual(organization.messages[`${id} ${message.id}`], messages[`${id} ${message.id}`]),
  );
  const counted = withRow({ ...organization, messages }, 'conversations', { ...thread, messageCount });
  return withTouched(withLatestMessage(counted, thread.chainId), isChanged ? [id] : []);
};

export const patchMessage: Write = (organization, request) => {
  const { id, childId, body } = request;
  const stored = organization.messages[`${id} ${childId}`] as Fields;
  const { conversationId: _, ...message } = stored;
  const delivery = body.delivery === null ? null : { ...stored.delivery, ...body.delivery };
  return putMessages(organization, { ...request, body: { ...message, ...body, delivery } });
};

/** Erasing a person. */

const LEADING_DATE = /^\d{4}-\d\d-\d\d/;

/** What an erasure writes over the texts of a record. */
const ERASED = {
  customers: ({ archivedAt }: Row) => ({ ...blank('CustomerUpdate'), archivedAt: archivedAt ?? NOW }),
  conversations: ({ customerId }: Row, survivor: string) => ({
    contact: '',
    contactName: null,
    contactKey: null,
    customerId: customerId ?? survivor,
  }),
  opportunities: ({ checkInDate }: Row) => ({
    title: null,
    shortRef: null,
    destination: null,
    checkInDate: LEADING_DATE.exec(checkInDate ?? '')?.[0] ?? null,
  }),
  quotes: () => ({ title: '', destination: null }),
};
type ErasedKind = keyof typeof ERASED;

/** What an erasure leaves of a delivery. */
const LEFT_OF_DELIVERY = ['status', 'statusAt', 'providerName'];

/**
 * The records of a person: the customers who were merged, their opportunities and quotes, and the threads of all chains with one of
 * these customers, or with a contact that nobody else has.
 */
function recordsOf(organization: Organization, customer: Row): Record<ErasedKind, Row[]> {
  const customers = personOf(organization, customer);
  const isOfPerson = ({ customerId }: Row): boolean => customers.some(({ id }) => id === customerId);
  const contacts = customers.flatMap((row) => row.contacts as Fields[]);
  const isWithPerson = ({ customerId, channel, contactKey }: Row): boolean => {
    const owner = ownerOf(organization, channel, contactKey);
    return (
      customerId === null &&
      contacts.some(isContact(channel, contactKey)) &&
      (!owner || customers.includes(owner))
    );
  };
  const threads = Object.values(organization.conversations);
  const chains = threads
    .filter((thread) => isOfPerson(thread) || isWithPerson(thread))
    .map(({ chainId }) => chainId);
  return {
    customers,
    conversations: threads.filter(
      (thread) => chains.includes(thread.chainId) && (isOfPerson(thread) || thread.customerId === null),
    ),
    opportunities: Object.values(organization.opportunities).filter(isOfPerson),
    quotes: Object.values(organization.quotes).filter(isOfPerson),
  };
}

export const eraseCustomer: Write = (organization, { id, generated: { erasedAt } }) => {
  const customer = organization.customers[id] as Row;
  const records = recordsOf(organization, customer);
  const kinds = Object.keys(ERASED) as ErasedKind[];
  const rows = kinds.flatMap((kind) =>
    records[kind].map((row): [Kind, Row] => [
      kind,
      { ...row, ...ERASED[kind](row, customer.mergedInto ?? id) },
    ]),
  );
  const [customerIds, threadIds] = (['customers', 'conversations'] as const).map((kind) =>
    records[kind].map((row) => row.id),
  ) as [string[], string[]];
  const messages = Object.entries(organization.messages)
    .filter(([, { conversationId }]) => threadIds.includes(conversationId))
    .map(([name, message]): [string, Fields] => {
      const delivery = only(message.delivery, (field) => LEFT_OF_DELIVERY.includes(field));
      return [name, { ...message, content: '', senderName: null, delivery }];
    });

  // A record that had nothing to erase does not count.
  const countOf = (kind: Kind) =>
    rows.filter(([of, row]) => of === kind && !isDeepStrictEqual(organization[kind][row.id], row)).length;
  const contacts = records.customers.flatMap((row) => row.contacts as Fields[]);
  const sameContacts = Object.values(organization.customers)
    .filter(
      (row) =>
        !customerIds.includes(row.id) &&
        row.contacts.some((contact: Fields) => contacts.some(isContact(contact.identifierType, contact.key))),
    )
    .map((row) => row.mergedInto ?? row.id);
  const changed = messages.filter(
    ([name, message]) => !isDeepStrictEqual(organization.messages[name], message),
  );
  const erased = {
    contacts: new Set(contacts.map(({ identifierType, key }) => `${identifierType} ${key}`)).size,
    conversations: countOf('conversations'),
    messages: changed.length,
    opportunities: countOf('opportunities'),
    quotes: countOf('quotes'),
    attachments: 0,
  };
  const erasures = customerIds.map((customerId) => [
    customerId,
    { id: customerId, erasedAt, erased, sameContacts: [...new Set(sameContacts)].sort() },
  ]);
  const after = withRows(
    {
      ...organization,
      messages: { ...organization.messages, ...Object.fromEntries(messages) },
      erasures: { ...Object.fromEntries(erasures), ...organization.erasures },
    },
    rows,
  );
  return withTouched(
    after,
    changed.map(([, { conversationId }]) => conversationId),
  );
};
