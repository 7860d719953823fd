import { isNull, type SQL, sql } from 'drizzle-orm';
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
import { createdAt, id, organizationId, searchDocument, timestamp, updatedAt } from './columns.ts';
import { customers } from './customers.ts';
import { primary, searchKeys, toOrganization, toRecord } from './organizations.ts';
import type { Resource } from './resource.ts';

const isNewest = sql`continued_by is null`;

type Listed = Record<'organizationId' | 'lastMessageAt' | 'id', ExtraConfigColumn>;

/** As `listIndex`, in the order of the list of conversations. */
const threadIndex = (
  name: string,
  table: Listed,
  rows: SQL,
  by: readonly ExtraConfigColumn[] = [],
  also: readonly ExtraConfigColumn[] = [],
) =>
  index(name)
    .on(table.organizationId, ...by, table.lastMessageAt.desc().nullsLast(), table.id.desc(), ...also)
    .where(rows);

/**
 * Threads of conversations: a thread can continue another one, and all of them are a chain. `chainId` is the id of the
 * oldest thread. `continuedBy` is null for the newest thread, which lists show.
 */
export const conversations = pgTable(
  'conversations',
  {
    organizationId: organizationId(),
    id: id(),
    channel: text('channel').notNull(),
    contact: text('contact').notNull(),
    contactName: text('contact_name'),
    /** The contact in the form of `customer_contact_keys`; null on channels without contacts of customers. */
    contactKey: text('contact_key'),
    customerId: uuid('customer_id'),
    activityState: text('activity_state'),
    controlledBy: text('controlled_by'),
    language: text('language'),
    rotatedFrom: uuid('rotated_from'),
    continuedBy: uuid('continued_by'),
    chainId: uuid('chain_id').notNull(),
    messageCount: integer('message_count').notNull().default(0),
    /** The timestamp of the latest message; for the newest thread, of the whole chain. */
    lastMessageAt: timestamp('last_message_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    primary('conversations_pkey', table),
    toOrganization('conversations_organization_fkey', table),
    toRecord('conversations_customer_fkey', table, table.customerId, customers),
    toRecord('conversations_rotated_from_fkey', table, table.rotatedFrom, table),
    // A chain does not fork.
    uniqueIndex('conversations_rotated_from_key')
      .on(table.organizationId, table.rotatedFrom)
      .where(sql`rotated_from is not null`),
    index('conversations_contact_idx')
      .on(table.organizationId, table.contactKey, table.channel, table.createdAt.desc(), table.id.desc())
      .where(sql`contact_key is not null`),
    // Partial, so that no lookup by id uses it: of indexes that cost the same in a new database, PostgreSQL takes the last one.
    index('conversations_chain_idx').on(table.organizationId, table.chainId).where(sql`chain_id is not null`),
    index('conversations_customer_idx')
      .on(table.organizationId, table.customerId, table.chainId)
      .where(sql`customer_id is not null`),
    threadIndex('conversations_no_customer_idx', table, sql`customer_id is null and continued_by is null`),
    threadIndex('conversations_newest_idx', table, isNewest),
    index('conversations_created_idx')
      .on(table.organizationId, table.createdAt, table.lastMessageAt, table.id)
      .where(isNewest),
    index('conversations_updated_idx')
      .on(table.organizationId, table.updatedAt, table.lastMessageAt, table.id)
      .where(isNewest),
    threadIndex('conversations_channel_idx', table, isNewest, [table.channel]),
    threadIndex('conversations_activity_state_idx', table, isNewest, [table.activityState], [table.channel]),
    threadIndex('conversations_controlled_by_idx', table, isNewest, [table.controlledBy], [table.channel]),
  ],
);

/** Search documents of threads: contact name, contact and its key. Any thread of a chain finds the chain. */
export const searchableConversations = pgTable(
  'searchable_conversations',
  { ...searchDocument(), chain: uuid('chain_id').notNull() },
  (table) => searchKeys('searchable_conversations', table),
);

export const newestThreads = {
  table: conversations,
  visible: isNull(conversations.continuedBy),
  notFound: 'CONVERSATION_NOT_FOUND',
  isCounted: true,
} satisfies Resource;

/** An id in a path may be that of any thread of a chain. */
export const threads = {
  ...newestThreads,
  visible: sql`true`,
} satisfies Resource;

/** Who writes to several threads of a chain first locks its first one. */
export const isFirstThread = sql`${conversations.id} = ${conversations.chainId}`;

const messageColumns = () => ({
  organizationId: organizationId(),
  conversationId: uuid('conversation_id').notNull(),
  id: id(),
  content: text('content').notNull(),
  direction: text('direction').notNull(),
  messageType: text('message_type').notNull(),
  senderName: text('sender_name'),
  createdAt: createdAt(),
  /** Orders messages with the same timestamp. */
  arrival: bigint('arrival', { mode: 'bigint' }).notNull(),
});

type Message = Record<
  'organizationId' | 'conversationId' | 'createdAt' | 'arrival' | 'id',
  ExtraConfigColumn
>;

const messageKeys = (name: string, table: Message) => [
  primaryKey({ name: `${name}_pkey`, columns: [table.organizationId, table.conversationId, table.id] }),
  toRecord(`${name}_conversation_fkey`, table, table.conversationId, conversations),
  index(`${name}_transcript_idx`).on(
    table.organizationId,
    table.conversationId,
    table.createdAt.desc(),
    table.arrival.desc(),
  ),
];

/** Messages of whatsapp conversations, with their delivery status. */
export const whatsappMessages = pgTable(
  'whatsapp_messages',
  {
    ...messageColumns(),
    providerMessageId: text('provider_message_id'),
    deliveryStatus: text('delivery_status'),
    deliveryStatusAt: timestamp('delivery_status_at'),
    /** The same timestamp if no report named it: a report that does takes precedence. */
    deliveryAssumedAt: timestamp('delivery_assumed_at'),
    templateName: text('template_name'),
  },
  (table) => [
    ...messageKeys('whatsapp_messages', table),
    index('whatsapp_messages_provider_idx')
      .on(table.organizationId, table.providerMessageId)
      .where(sql`provider_message_id is not null`),
  ],
);

/** Messages of conversations on every channel except whatsapp. */
export const channelMessages = pgTable(
  'channel_messages',
  {
    ...messageColumns(),
    providerName: text('provider_name'),
    externalId: text('external_id'),
    subject: text('subject'),
  },
  (table) => messageKeys('channel_messages', table),
);

export type MessageTable = typeof whatsappMessages | typeof channelMessages;
