import { isDeepStrictEqual } from 'node:util';
import { contactKey, keyOnChannel, phoneNumber } from '../../rules/contact-key.ts';
import {
  blank,
  type Fields,
  type Kind,
  live,
  NOW,
  type Organization,
  type Row,
  sent,
  withRow,
} from './organization.ts';
import { attachmentsOf, messagesOf } from './reads.ts';

/** What writes do to an organization. Each gives the organization as it is then, or a refusal. */

export type Refusal = { status: number; code: string; paths?: string[] };
export type Written = Organization | Refusal;

export const isRefusal = (written: object): written is Refusal => 'code' in written;
const refused = (status: number, code: string): Refusal => ({ status, code });
const invalid = (fields: readonly string[]): Refusal => ({
  status: 400,
  code: 'VALIDATION_FAILED',
  paths: fields.map((field) => `body.${field}`),
});

export const MISSING: Record<Kind, string> = {
  products: 'CATALOG_PRODUCT_NOT_FOUND',
  customers: 'CUSTOMER_NOT_FOUND',
  stages: 'PIPELINE_STAGE_NOT_FOUND',
  members: 'TEAM_MEMBER_NOT_FOUND',
  opportunities: 'OPPORTUNITY_NOT_FOUND',
  conversations: 'CONVERSATION_NOT_FOUND',
  quotes: 'QUOTE_NOT_FOUND',
};

const fresh = (id: string) => ({ id, createdAt: NOW, updatedAt: NOW, archivedAt: null });

/** What a create and a PUT take for a field that was left out, where that is not null or an empty list. */
const DEFAULTS: Partial<Record<Kind, Fields>> = {
  products: { type: 'package', status: 'active', pricingMode: 'per_person' },
  stages: { position: 0 },
  members: { isAssignable: true },
};

export const archive = (organization: Organization, kind: Kind, id: string): Organization =>
  withRow(organization, kind, { ...(organization[kind][id] as Row), archivedAt: NOW });

/** Products. */

export const createProduct = (organization: Organization, body: Fields, made: Fields): Organization =>
  withRow(organization, 'products', {
    ...blank('CatalogProduct'),
    ...DEFAULTS.products,
    ...sent('CatalogProductCreate', body),
    ...fresh(made.id),
    variants: (body.variants ?? []).map((variant: Fields, position: number) => ({
      ...blank('CatalogProductVariant'),
      status: 'active',
      ...sent('CatalogProductVariantCreate', variant),
      id: made.variants[position]?.id,
      position,
    })),
  });

export const patch = (organization: Organization, kind: Kind, schema: string, id: string, body: Fields) =>
  withRow(organization, kind, { ...(organization[kind][id] as Row), ...sent(schema, body) });

/** The PATCH of the dashboard: its variants are the whole list, by the ids of the stored ones. */
export function patchProduct(organization: Organization, id: string, body: Fields, made: Fields): Written {
  const { variants: stored } = organization.products[id] as Row;
  const known = (variant: Fields) => stored.find((one: Fields) => one.id === variant.id);
  const faults = (body.variants ?? []).flatMap((variant: Fields, index: number) => {
    const at = `variants[${index}]`;
    if (variant.id === undefined) return variant.label === undefined ? [`${at}.label`] : [];
    const isRepeated = body.variants.slice(0, index).some((other: Fields) => other.id === variant.id);
    return !known(variant) || isRepeated ? [`${at}.id`] : [];
  });
  if (faults.length > 0) return invalid(faults);
  const variants = body.variants?.map((variant: Fields, position: number) => ({
    ...(known(variant) ?? {
      ...blank('CatalogProductVariant'),
      status: 'active',
      id: made.variants[position]?.id,
    }),
    ...sent('CatalogProductVariantUpdate', { ...variant, id: undefined }),
    position,
  }));
  return patch(organization, 'products', 'CatalogProductDashboardUpdate', id, {
    ...body,
    ...(variants && { variants }),
  });
}

/** @param since of the archived products that can still be restored */
export function restore(organization: Organization, id: string, since: string): Written {
  const product = organization.products[id];
  if (!product || (product.archivedAt !== null && product.archivedAt < since))
    return refused(404, MISSING.products);
  if (product.archivedAt === null) return refused(409, 'CATALOG_PRODUCT_NOT_ARCHIVED');
  return withRow(organization, 'products', { ...product, archivedAt: null });
}

/** Customers. */

const keyOf = ({ identifierType, identifierValue }: Fields) => contactKey(identifierType, identifierValue);

const isSame = (one: Fields, other: Fields): boolean =>
  one.identifierType === other.identifierType && keyOf(one) === keyOf(other);

/** The latest conversation with the contact that says a name. */
function naming({ conversations }: Organization, type: string, key: string | null): Row | undefined {
  const found = Object.values(conversations).filter(
    (thread) => thread.channel === type && thread.contactKey === key && thread.contactName !== null,
  );
  // A thread of this moment is later than all others.
  const place = ({ createdAt, id }: Row) => `${createdAt === NOW ? '9' : createdAt} ${id}`;
  return found.toSorted((a, b) => (place(a) < place(b) ? 1 : -1))[0];
}

const ownerOf = ({ customers }: Organization, contact: Fields): Row | undefined =>
  live(customers).find(({ contacts }) => contacts.some((own: Fields) => isSame(own, contact)));

/** The body's contacts that another customer has. */
const conflicts = (organization: Organization, body: Fields, id?: string): Refusal | undefined => {
  const taken = (body.contacts ?? []).flatMap((contact: Fields, index: number) => {
    const owner = ownerOf(organization, contact);
    return owner && owner.id !== id ? [`body.contacts[${index}] ${owner.id}`] : [];
  });
  return taken.length > 0 ? { status: 409, code: 'CUSTOMER_CONTACT_CONFLICT', paths: taken } : undefined;
};

/** A contact that the customer has already keeps id and name. */
const contactsOf = (organization: Organization, inputs: Fields[], stored: Fields[], made: Fields): Fields[] =>
  inputs.map((input, index) => {
    const { identifierType, identifierValue } = input;
    const known = stored.find((contact) => isSame(contact, input));
    const number = phoneNumber(identifierType, identifierValue);
    const key = keyOf(input);
    return {
      id: known?.id ?? made.contacts?.[index]?.id,
      identifierType,
      identifierValue: number ?? identifierValue,
      displayName: known
        ? known.displayName
        : (naming(organization, identifierType, key)?.contactName ?? null),
      phoneNumber: number,
      key,
      asSent: identifierValue,
    };
  });

export const createCustomer = (organization: Organization, body: Fields, made: Fields): Written =>
  conflicts(organization, body) ??
  withRow(organization, 'customers', {
    ...blank('Customer'),
    ...sent('CustomerCreate', body),
    contacts: contactsOf(organization, body.contacts, [], made),
    ...fresh(made.id),
  });

export function patchCustomer(organization: Organization, id: string, body: Fields, made: Fields): Written {
  const { contacts: stored } = organization.customers[id] as Row;
  const refusal = conflicts(organization, body, id);
  if (refusal) return refusal;
  const contacts = body.contacts ? contactsOf(organization, body.contacts, stored, made) : stored;
  const shown = (list: Fields[]) => JSON.stringify(list.map(({ asSent, ...contact }) => contact));
  const patched = patch(organization, 'customers', 'CustomerUpdate', id, body);
  // A number that is only spelled otherwise is the same contact.
  const kept = shown(contacts) === shown(stored) ? stored : contacts;
  return withRow(patched, 'customers', { ...(patched.customers[id] as Row), contacts: kept });
}

export function restoreCustomer(organization: Organization, id: string): Written {
  const customer = organization.customers[id];
  if (!customer) return refused(404, MISSING.customers);
  if (customer.archivedAt === null) return refused(409, 'CUSTOMER_NOT_ARCHIVED');
  if (organization.erasures[id]) return refused(409, 'CUSTOMER_ERASED');
  if (customer.mergedInto) return refused(409, 'CUSTOMER_MERGED');
  const taken = conflicts(organization, { contacts: customer.contacts }, id);
  if (taken) return { ...taken, paths: (taken.paths ?? []).map((path) => path.replace('body.', '')) };
  return withRow(organization, 'customers', { ...customer, archivedAt: null });
}

/** The customers that were merged with this one, and itself. */
const personOf = ({ customers }: Organization, { id, mergedInto }: Row): Row[] =>
  Object.values(customers).filter(
    (other) => other.id === (mergedInto ?? id) || other.mergedInto === (mergedInto ?? id),
  );

export function mergeCustomers(organization: Organization, id: string, { from }: Fields): Written {
  const [into, other] = [organization.customers[id], organization.customers[from]];
  if (id === from) return invalid(['from']);
  if (into?.archivedAt !== null) return refused(404, MISSING.customers);
  if (other?.mergedInto === id) return organization;
  if (other?.archivedAt !== null) return invalid(['from']);
  const own = Object.fromEntries(
    Object.keys(blank('CustomerUpdate')).map((field) => [field, into[field] ?? other[field]]),
  );
  const contacts = other.contacts.map((contact: Fields) => ({
    ...contact,
    displayName:
      contact.displayName ?? naming(organization, contact.identifierType, contact.key)?.contactName ?? null,
  }));
  const summary = [into.summary, other.summary].filter(Boolean).join('\n\n') || into.summary;
  const merged = {
    ...into,
    ...own,
    summary,
    tags: [...into.tags, ...other.tags.filter((tag: string) => !into.tags.includes(tag))],
    contacts: [...into.contacts, ...contacts],
  };
  const gone = personOf(organization, other).map((row): [Kind, Row] => [
    'customers',
    { ...row, archivedAt: row.archivedAt ?? NOW, mergedInto: id },
  ]);
  const moved = (['opportunities', 'conversations', 'quotes'] as const).flatMap((kind) =>
    Object.values(organization[kind])
      .filter(({ customerId }) => customerId === from)
      .map((row): [Kind, Row] => [kind, { ...row, customerId: id }]),
  );
  const rows: [Kind, Row][] = [['customers', merged as Row], ...gone, ...moved];
  return rows.reduce((changed, [kind, row]) => withRow(changed, kind, row), organization);
}

const named = (
  organization: Organization,
  customer: Row,
  isMeant: (contact: Fields) => boolean,
  displayName: string | null,
) =>
  withRow(organization, 'customers', {
    ...customer,
    contacts: customer.contacts.map((contact: Fields) =>
      isMeant(contact) ? { ...contact, displayName } : contact,
    ),
  });

export function nameContact(
  organization: Organization,
  id: string,
  contactId: string,
  { displayName }: Fields,
): Written {
  const customer = organization.customers[id];
  if (customer?.archivedAt !== null) return refused(404, MISSING.customers);
  if (!customer.contacts.some((contact: Fields) => contact.id === contactId))
    return refused(404, 'CUSTOMER_CONTACT_NOT_FOUND');
  if (displayName === undefined) return organization;
  return named(organization, customer, (contact) => contact.id === contactId, displayName);
}

/** Records that the dashboard owns. */

type Owned = {
  put: string;
  /** The records that its ids name. */
  references?: Record<string, Kind>;
  fixed?: string[];
  /** What follows from what was sent. */
  complete?: (row: Row, body: Fields, organization: Organization, old: Row | undefined) => Fields;
};

const OWNED: Partial<Record<Kind, Owned>> = {
  stages: { put: 'PipelineStagePut', fixed: ['key'] },
  members: { put: 'TeamMemberPut' },
  opportunities: {
    put: 'OpportunityPut',
    references: { customerId: 'customers', sellerMemberId: 'members', stageId: 'stages' },
    complete: ({ agentTemperature: _, ...row }, { agentTemperature }) => ({
      ...row,
      ...(agentTemperature !== undefined && { temperature: agentTemperature }),
    }),
  },
  quotes: {
    put: 'QuotePut',
    fixed: ['token'],
    references: { opportunityId: 'opportunities', customerId: 'customers' },
    complete: (row, body, organization, old) => ({
      ...row,
      customerId:
        row.customerId === undefined
          ? (organization.opportunities[body.opportunityId]?.customerId ?? null)
          : row.customerId,
      publishedAt: publishedAt(row, old),
    }),
  },
};

/** A quote that is published says since when. */
const publishedAt = (row: Row, old: Row | undefined): string | null =>
  row.status === 'published' ? (row.publishedAt ?? old?.publishedAt ?? NOW) : row.publishedAt;

/** A reference leads to a live record, or is the stored one. */
function refusedReferences(
  organization: Organization,
  references: Record<string, Kind>,
  body: Fields,
  old: Row | undefined,
) {
  const faults = Object.entries(references).filter(([field, kind]) => {
    const id = body[field];
    return id != null && id !== old?.[field] && organization[kind][id]?.archivedAt !== null;
  });
  return faults.length > 0 ? invalid(faults.map(([field]) => field)) : undefined;
}

const refusedWrite = (
  organization: Organization,
  owned: Owned,
  body: Fields,
  old: Row | undefined,
): Refusal | undefined => {
  const { fixed = [], references = {} } = owned;
  const changed = ['createdAt', ...fixed].filter(
    (field) => old && body[field] !== undefined && body[field] !== old[field],
  );
  if (changed.length > 0) return invalid(changed);
  return refusedReferences(organization, references, body, old);
};

/** Fields that only the PUT which creates a record writes. */
const ONCE = ['createdAt', 'token', 'openCount', 'firstOpenedAt', 'lastOpenedAt'];

const only = (fields: Fields, isChosen: (name: string) => boolean): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => isChosen(name)));

/** The record before the fields that a PUT replaces are written. */
const begun = (id: string, first: Fields, body: Fields, old: Row | undefined): Row => ({
  ...fresh(id),
  ...first,
  ...only(body, (name) => ONCE.includes(name)),
  ...old,
});

/** The fields that a PUT replaces: those that were sent, and null for the others. */
const replaced = (schema: string, body: Fields, defaults: Fields = {}): Fields =>
  only({ ...blank(schema), ...defaults, ...sent(schema, body) }, (name) => !ONCE.includes(name));

export function put(organization: Organization, kind: Kind, id: string, body: Fields, made: Fields): Written {
  const owned = OWNED[kind] as Owned;
  const old = organization[kind][id];
  const refusal = refusedWrite(organization, owned, body, old);
  if (refusal) return refusal;
  const isTaken = (row: Row) => kind === 'stages' && row.id !== id && row.key === body.key;
  if (old?.archivedAt !== null && live(organization[kind]).some(isTaken))
    return refused(409, 'PIPELINE_STAGE_KEY_TAKEN');
  const isQuote = kind === 'quotes';
  const all = Object.values(organization.quotes);
  if (isQuote && !old && all.some(({ token }) => token === body.token)) return invalid(['token']);
  const first = isQuote ? { token: made.token, openCount: 0, firstOpenedAt: null, lastOpenedAt: null } : {};
  // What it keeps, and what is completed, where they were left out.
  const left = isQuote && { publishedAt: old?.publishedAt ?? null, customerId: undefined };
  const row: Row = {
    ...begun(id, first, body, old),
    ...replaced(owned.put, body, { ...DEFAULTS[kind], ...left }),
    archivedAt: null,
  };
  return withRow(organization, kind, (owned.complete?.(row, body, organization, old) ?? row) as Row);
}

export function patchOwned(organization: Organization, kind: Kind, id: string, body: Fields): Written {
  const owned = OWNED[kind] as Owned;
  const old = organization[kind][id] as Row;
  const refusal = refusedWrite(organization, owned, body, old);
  if (refusal) return refusal;
  const row = { ...old, ...only(sent(owned.put, body), (name) => !ONCE.includes(name)) };
  return withRow(organization, kind, (owned.complete?.(row, body, organization, old) ?? row) as Row);
}

export function open(organization: Organization, id: string, { openedAt }: Fields): Written {
  const quote = organization.quotes[id];
  if (!quote || quote.archivedAt !== null) return refused(404, MISSING.quotes);
  if (quote.status !== 'published') return refused(409, 'QUOTE_NOT_PUBLISHED');
  const { openCount, firstOpenedAt, lastOpenedAt } = quote;
  return withRow(organization, 'quotes', {
    ...quote,
    openCount: openCount + 1,
    firstOpenedAt: firstOpenedAt !== null && firstOpenedAt < openedAt ? firstOpenedAt : openedAt,
    lastOpenedAt: lastOpenedAt > openedAt ? lastOpenedAt : openedAt,
  });
}

export function attach(organization: Organization, quoteId: string, body: Fields, made: Fields): Written {
  if (organization.quotes[quoteId]?.archivedAt !== null) return refused(404, MISSING.quotes);
  const { id, url } = made;
  const attachment = { ...body, id, quoteId, sizeBytes: Buffer.byteLength(body.content), url };
  return { ...organization, attachments: { ...organization.attachments, [id]: attachment } };
}

export function detach(organization: Organization, quoteId: string, id: string): Written {
  if (organization.quotes[quoteId]?.archivedAt !== null) return refused(404, MISSING.quotes);
  if (organization.attachments[id]?.quoteId !== quoteId) return refused(404, 'QUOTE_ATTACHMENT_NOT_FOUND');
  return {
    ...organization,
    attachments: without(organization.attachments, (file) => (file as Fields).id === id),
  };
}

/** Conversations. A chain is named after its oldest thread. */

function withChains(organization: Organization): Organization {
  const threads = Object.values(organization.conversations);
  const rootOf = (thread: Row): string =>
    thread.rotatedFrom === null ? thread.id : rootOf(organization.conversations[thread.rotatedFrom] as Row);
  const linked = threads.map(
    (thread): Row => ({
      ...thread,
      chainId: rootOf(thread),
      continuedBy: threads.find(({ rotatedFrom }) => rotatedFrom === thread.id)?.id ?? null,
    }),
  );
  return { ...organization, conversations: Object.fromEntries(linked.map((thread) => [thread.id, thread])) };
}

/** Each thread shows the latest timestamp of its messages, and the newest that of the chain. */
function datedChain(organization: Organization, chainId: string): Organization {
  const threads = Object.values(organization.conversations).filter((thread) => thread.chainId === chainId);
  return threads.reduce((dated, thread) => {
    const all = messagesOf(organization, thread);
    const own = all.filter(({ conversationId }) => conversationId === thread.id);
    const lastMessageAt = (thread.continuedBy === null ? all : own).at(-1)?.createdAt ?? null;
    return withRow(dated, 'conversations', { ...thread, lastMessageAt });
  }, organization);
}

/** Whether the thread is the other, or one that it continues. */
const continues = ({ conversations }: Organization, thread: Row | undefined, other: string): boolean =>
  thread !== undefined &&
  (thread.id === other ||
    continues({ conversations } as Organization, conversations[thread.rotatedFrom], other));

function link(organization: Organization, id: string, rotatedFrom: string | null): Written {
  const thread = organization.conversations[id] as Row;
  const target = rotatedFrom === null ? undefined : organization.conversations[rotatedFrom];
  const isFork = target && target.continuedBy !== null && target.continuedBy !== id;
  if ((rotatedFrom !== null && !target) || continues(organization, target, id) || isFork)
    return invalid(['rotatedFrom']);
  const linked = withChains(withRow(organization, 'conversations', { ...thread, rotatedFrom }));
  const { chainId } = linked.conversations[id] as Row;
  return datedChain(datedChain(linked, thread.chainId), chainId);
}

/** The customer who has this contact gets its name, where the write has changed it. */
export function toldOfName(organization: Organization, thread: Row, old: Row | undefined): Organization {
  const { channel, contactKey: key, contactName } = thread;
  const isTold = isDeepStrictEqual(
    [old?.channel, old?.contactKey, old?.contactName],
    [channel, key, contactName],
  );
  if (key === null || contactName === null || isTold) return organization;
  if (naming(organization, channel, key)?.id !== thread.id) return organization;
  const isMeant = (contact: Fields) => contact.identifierType === channel && contact.key === key;
  const owner = live(organization.customers).find(({ contacts }) => contacts.some(isMeant));
  return owner ? named(organization, owner, isMeant, contactName) : organization;
}

const THREAD: Owned = { put: 'ConversationPut', references: { customerId: 'customers' } };

function writeThread(
  organization: Organization,
  row: Row,
  body: Fields,
  rotatedFrom: string | null | undefined,
): Written {
  const old = organization.conversations[row.id];
  const refusal = refusedWrite(organization, THREAD, body, old);
  if (refusal) return refusal;
  const isMoved = old && (old.channel === 'whatsapp') !== (row.channel === 'whatsapp');
  if (isMoved && old.messageCount > 0) return invalid(['channel']);
  const written = { ...row, contactKey: keyOnChannel(row.channel, row.contact) };
  const stored = withChains(withRow(organization, 'conversations', written));
  const linked =
    rotatedFrom === undefined || rotatedFrom === (old?.rotatedFrom ?? null)
      ? stored
      : link(stored, row.id, rotatedFrom);
  return isRefusal(linked) ? linked : toldOfName(linked, linked.conversations[row.id] as Row, old);
}

const INHERITED = ['contactName', 'customerId', 'activityState', 'controlledBy', 'language'];

/** The customer that has the contact of a conversation. */
const customerOf = ({ customers }: Organization, { channel, contact }: Fields): string | null => {
  const key = keyOnChannel(channel, contact);
  const isOurs = (own: Fields) => own.identifierType === channel && own.key === key;
  return live(customers).find(({ contacts }) => contacts.some(isOurs))?.id ?? null;
};

export function putThread(
  organization: Organization,
  id: string,
  { rotatedFrom = null, ...body }: Fields,
): Written {
  const { conversations } = organization;
  const first = { rotatedFrom: null, messageCount: 0, lastMessageAt: null };
  const taken = only(conversations[rotatedFrom] ?? {}, (name) => INHERITED.includes(name));
  const { rotatedFrom: _, ...fields } = replaced('ConversationPut', body, {
    ...taken,
    customerId: taken.customerId ?? customerOf(organization, body),
  });
  const row = { ...begun(id, first, body, conversations[id]), ...fields };
  return writeThread(organization, row, body, rotatedFrom);
}

export const patchThread = (
  organization: Organization,
  id: string,
  { rotatedFrom, ...body }: Fields,
): Written =>
  writeThread(
    organization,
    {
      ...(organization.conversations[id] as Row),
      ...only(sent('ConversationPut', body), (name) => !ONCE.includes(name)),
    } as Row,
    body,
    rotatedFrom,
  );

const DELIVERED_BY_WHATSAPP = ['providerMessageId', 'status', 'statusAt', 'templateName'];

/** The fields of a delivery that the conversation's store does not keep. */
const misplaced = ({ channel }: Row, { delivery }: Fields, path: string): string[] =>
  Object.entries(delivery ?? {})
    .filter(
      ([field, value]) =>
        value !== null && DELIVERED_BY_WHATSAPP.includes(field) !== (channel === 'whatsapp'),
    )
    .map(([field]) => `${path}delivery.${field}`);

const without = (fields: Fields, isLeft: (value: unknown) => boolean): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => !isLeft(value)));

/** @param made of a message that was sent without a moment */
export function putMessages(
  organization: Organization,
  id: string,
  bodies: Fields[],
  paths: string[],
  made: Fields,
): Written {
  const thread = organization.conversations[id];
  if (!thread) return refused(404, MISSING.conversations);
  const faults = bodies.flatMap((body, index) => misplaced(thread, body, paths[index] ?? ''));
  if (faults.length > 0) return invalid(faults);
  let { messages } = organization;
  let messageCount = thread.messageCount;
  for (const body of bodies) {
    const name = `${id} ${body.id}`;
    const old = messages[name];
    if (!old) messageCount += 1;
    messages = {
      ...messages,
      [name]: {
        ...body,
        conversationId: id,
        senderName: body.senderName ?? null,
        createdAt: body.createdAt ?? old?.createdAt ?? made.createdAt,
        delivery: without(body.delivery ?? {}, (value) => value === null),
      },
    };
  }
  const counted = withRow({ ...organization, messages }, 'conversations', { ...thread, messageCount });
  return datedChain(counted, thread.chainId);
}

/** Erasing a person. */

const DAY = /^\d{4}-\d\d-\d\d/;

/**
 * Every text of the person goes: of the customer, of its opportunities and quotes, and of the threads of the chains that it has
 * written in, by its name or by a contact that nobody else has.
 */
export function erase(organization: Organization, id: string, made: Fields): Written {
  const customer = organization.customers[id];
  if (!customer) return refused(404, MISSING.customers);
  const person = personOf(organization, customer);
  const ids = person.map((row) => row.id);
  const isHers = (customerId: string | null): boolean => customerId !== null && ids.includes(customerId);
  const contacts = person.flatMap((row) => row.contacts as Fields[]);
  const isOurs = ({ channel, contactKey: key }: Row): boolean =>
    contacts.some((contact) => {
      if (contact.identifierType !== channel || contact.key !== key) return false;
      const owner = ownerOf(organization, contact);
      return owner === undefined || ids.includes(owner.id);
    });
  const all = Object.values(organization.conversations);
  const chains = all
    .filter((thread) => isHers(thread.customerId) || (thread.customerId === null && isOurs(thread)))
    .map(({ chainId }) => chainId);
  const threads = all.filter(
    ({ chainId, customerId }) => chains.includes(chainId) && (isHers(customerId) || customerId === null),
  );
  const opportunities = Object.values(organization.opportunities).filter(({ customerId }) =>
    isHers(customerId),
  );
  const isOfThem = ({ opportunityId }: Row) =>
    opportunities.some((opportunity) => opportunity.id === opportunityId);
  const quotes = Object.values(organization.quotes).filter(
    (quote) => isHers(quote.customerId) || (quote.customerId === null && isOfThem(quote)),
  );
  const messages = Object.entries(organization.messages).filter(([, { conversationId }]) =>
    threads.some((thread) => thread.id === conversationId),
  );
  const silent = messages.map(([name, message]): [string, Fields] => {
    const { status, statusAt, providerName } = message.delivery;
    const delivery = without({ status, statusAt, providerName }, (value) => value === undefined);
    return [name, { ...message, content: '', senderName: null, delivery }];
  });
  const itsQuotes = quotes.map((quote) => quote.id);
  const files = attachmentsOf(organization, itsQuotes).map((attachment) => attachment.id);
  // What has a signed link is kept encrypted, and has no id in it.
  const names = [...ids, ...itsQuotes];
  const replays = Object.entries(organization.replays);
  const kept = replays.filter(([, { text }]) => !names.some((name) => text.includes(name)));

  const rows: [Kind, Row][] = [
    ...person.map((row): [Kind, Row] => [
      'customers',
      { ...row, ...blank('CustomerUpdate'), archivedAt: row.archivedAt ?? NOW },
    ]),
    ...threads.map((row): [Kind, Row] => [
      'conversations',
      { ...row, contact: '', contactName: null, contactKey: null },
    ]),
    ...opportunities.map((row): [Kind, Row] => [
      'opportunities',
      {
        ...row,
        title: null,
        shortRef: null,
        destination: null,
        checkInDate: DAY.exec(row.checkInDate ?? '')?.[0] ?? null,
      },
    ]),
    ...quotes.map((row): [Kind, Row] => ['quotes', { ...row, title: '', destination: null }]),
  ];
  const countOf = (kind: Kind) =>
    rows.filter(([of, row]) => of === kind && !isDeepStrictEqual(organization[kind][row.id], row)).length;
  const erasure = {
    erasedAt: made.erasedAt,
    // What had nothing to lose does not count.
    erased: {
      contacts: new Set(contacts.map(({ identifierType, key }) => `${identifierType} ${key}`)).size,
      conversations: countOf('conversations'),
      messages: silent.filter(([name, message]) => !isDeepStrictEqual(organization.messages[name], message))
        .length,
      opportunities: countOf('opportunities'),
      quotes: countOf('quotes'),
      attachments: files.length,
      replays: replays.length - kept.length,
    },
  };
  return rows.reduce((erased, [kind, row]) => withRow(erased, kind, row), {
    ...organization,
    messages: { ...organization.messages, ...Object.fromEntries(silent) },
    replays: Object.fromEntries(kept),
    attachments: without(organization.attachments, (file) => files.includes((file as Fields).id)),
    erasures: {
      ...Object.fromEntries(ids.map((each) => [each, { id: each, ...erasure }])),
      ...organization.erasures,
    },
  });
}
