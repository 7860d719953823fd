import { isNull, sql } from 'drizzle-orm';
import {
  bigint,
  type ExtraConfigColumn,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import {
  createdAt,
  id,
  organizationId,
  PENDING_LIST,
  searchDocument,
  timestamp,
  updatedAt,
} from './columns.ts';
import { customers } from './customers.ts';
import { primary, toOrganization, toRecord } from './organizations.ts';
import type { Resource } from './resource.ts';

const isNewest = sql`continued_by is null`;

type Listed = Record<'organizationId' | 'lastMessageAt' | 'id', ExtraConfigColumn>;

/** The columns of the list's indexes. */
const threadOrder = (table: Listed, ...filters: ExtraConfigColumn[]) =>
  [table.organizationId, ...filters, table.lastMessageAt.desc().nullsLast(), table.id.desc()] as const;

/**
 * Threads: a rotated one is continued by a newer one, and together they are a chain. `chainId` is the id of its oldest
 * thread. `continuedBy` is null only for its newest thread, the one that lists show.
 */
export const conversations = pgTable(
  'conversations',
  {
    organizationId: organizationId(),
    id: id(),
    channel: text('channel').notNull(),
    contact: text('contact').notNull(),
    contactName: text('contact_name'),
    /** By which the contact is known as a customer's; null on channels that customers have no contacts of. */
    contactKey: text('contact_key'),
    customerId: uuid('customer_id'),
    activityState: text('activity_state'),
    controlledBy: text('controlled_by'),
    language: text('language'),
    rotatedFrom: uuid('rotated_from'),
    continuedBy: uuid('continued_by'),
    chainId: uuid('chain_id').notNull(),
    /** Messages of this thread, in both stores. A transcript's total is the sum over its chain. */
    messageCount: integer('message_count').notNull().default(0),
    /** The latest timestamp of its messages; of the newest thread, that of its whole chain. */
    lastMessageAt: timestamp('last_message_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    primary('conversations_pkey', table),
    toOrganization('conversations_organization_fkey', table),
    toRecord('conversations_customer_fkey', table, table.customerId, customers),
    toRecord('conversations_rotated_from_fkey', table, table.rotatedFrom, table),
    // A chain does not fork: a thread is continued by one other at most.
    uniqueIndex('conversations_rotated_from_key')
      .on(table.organizationId, table.rotatedFrom)
      .where(sql`rotated_from is not null`),
    // The threads of a contact, for the list filtered by it; and the latest that names it.
    index('conversations_contact_idx')
      .on(table.organizationId, table.contactKey, table.channel, table.createdAt.desc(), table.id.desc())
      .where(sql`contact_key is not null`),
    // The threads of a transcript.
    index('conversations_chain_idx').on(table.organizationId, table.chainId),
    // The threads of a customer, for the chains that the list filtered by customerId has.
    index('conversations_customer_idx')
      .on(table.organizationId, table.customerId, table.chainId)
      .where(sql`customer_id is not null`),
    // The list, in its order; then filtered by channel or activityState (and channel).
    index('conversations_newest_idx')
      .on(...threadOrder(table))
      .where(isNewest),
    // The list filtered by createdSince or updatedSince, with what it is ordered by.
    index('conversations_created_idx')
      .on(table.organizationId, table.createdAt, table.lastMessageAt, table.id)
      .where(isNewest),
    index('conversations_updated_idx')
      .on(table.organizationId, table.updatedAt, table.lastMessageAt, table.id)
      .where(isNewest),
    index('conversations_channel_idx')
      .on(...threadOrder(table, table.channel))
      .where(isNewest),
    index('conversations_activity_state_idx')
      .on(...threadOrder(table, table.activityState), table.channel)
      .where(isNewest),
  ],
);

/** Threads as a search sees them: contact name and contact. All of a chain, because any of them finds it. */
export const searchableConversations = pgTable(
  'searchable_conversations',
  { ...searchDocument(), chain: uuid('chain_id').notNull() },
  (table) => [
    primary('searchable_conversations_pkey', table),
    index('searchable_conversations_search_idx')
      .using('gin', table.organizationId, table.search.op('gin_trgm_ops'))
      .with(PENDING_LIST),
  ],
);

/** Lists show the newest thread of each chain. */
export const newestThreads = {
  table: conversations,
  visible: isNull(conversations.continuedBy),
  notFound: { code: 'CONVERSATION_NOT_FOUND', noun: 'conversation', search: 'GET /v1/conversations?query=…' },
  isCounted: true,
} satisfies Resource;

/** Every thread: an id in a path may be that of any thread of a chain. */
export const threads = {
  ...newestThreads,
  visible: sql`true`,
  isCounted: false,
} satisfies Resource;

const messageColumns = () => ({
  organizationId: organizationId(),
  conversationId: uuid('conversation_id').notNull(),
  id: id(),
  content: text('content').notNull(),
  direction: text('direction').notNull(),
  messageType: text('message_type').notNull(),
  senderName: text('sender_name'),
  createdAt: createdAt(),
});

const arrival = () => bigint('arrival', { mode: 'bigint' });

type Message = Record<
  'organizationId' | 'conversationId' | 'createdAt' | 'arrival' | 'id',
  ExtraConfigColumn
>;

const messageKeys = (name: string, table: Message) => [
  primaryKey({ name: `${name}_pkey`, columns: [table.organizationId, table.conversationId, table.id] }),
  toRecord(`${name}_conversation_fkey`, table, table.conversationId, conversations),
  // The newest messages of a thread.
  index(`${name}_transcript_idx`).on(
    table.organizationId,
    table.conversationId,
    table.createdAt.desc(),
    table.arrival.desc(),
  ),
];

/** Messages of whatsapp conversations, with what that provider reports of their delivery. */
export const whatsappMessages = pgTable(
  'whatsapp_messages',
  {
    ...messageColumns(),
    /** Orders messages with one timestamp. It never changes. */
    arrival: arrival().generatedAlwaysAsIdentity(),
    providerMessageId: text('provider_message_id'),
    deliveryStatus: text('delivery_status'),
    deliveryStatusAt: timestamp('delivery_status_at'),
    templateName: text('template_name'),
  },
  (table) => messageKeys('whatsapp_messages', table),
);

/** Messages of conversations on every channel but whatsapp. */
export const channelMessages = pgTable(
  'channel_messages',
  {
    ...messageColumns(),
    /** No arrival is one of a whatsapp message: a chain can have both. */
    arrival: arrival().generatedAlwaysAsIdentity({ startWith: '1000000000000000' }),
    providerName: text('provider_name'),
    externalId: text('external_id'),
    subject: text('subject'),
  },
  (table) => messageKeys('channel_messages', table),
);
