import { isNull, sql } from 'drizzle-orm';
import {
  type ExtraConfigColumn,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { createdAt, folded, moment, NO_PENDING_LIST, organizationId, updatedAt } from './columns.ts';
import { customers } from './customers.ts';
import { primary, toOrganization, toRecord } from './organizations.ts';
import type { Resource } from './resource.ts';

/** The fields of a conversation that `query` searches. */
export const searchedConversationFields = ['contactName', 'contact'];

const isNewest = sql`continued_by is null`;

type Listed = Record<'organizationId' | 'lastMessageAt' | 'id', ExtraConfigColumn>;

/** The columns of the list's indexes. */
const threadOrder = (table: Listed, ...filters: ExtraConfigColumn[]) =>
  [table.organizationId, ...filters, table.lastMessageAt.desc().nullsLast(), table.id.desc()] as const;

/**
 * Threads. A rotated thread is continued by a newer one, and together they are a chain. `chainId` is the id of its
 * oldest thread. `continuedBy` is null only for its newest thread, the one that lists show.
 */
export const conversations = pgTable(
  'conversations',
  {
    organizationId: organizationId(),
    id: uuid().notNull(),
    channel: text().notNull(),
    contact: text().notNull(),
    contactName: text(),
    customerId: uuid(),
    activityState: text(),
    controlledBy: text(),
    language: text(),
    rotatedFrom: uuid(),
    continuedBy: uuid(),
    chainId: uuid().notNull(),
    /** Messages of this thread, in both stores. A transcript's total is the sum over its chain. */
    messageCount: integer().notNull().default(0),
    lastMessageAt: moment(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    search: text().notNull().generatedAlwaysAs(folded(searchedConversationFields)),
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
    // The threads of a transcript.
    index('conversations_chain_idx').on(table.organizationId, table.chainId),
    // The list, in its order; then filtered by channel, activityState (and channel) or customerId.
    index('conversations_newest_idx')
      .on(...threadOrder(table))
      .where(isNewest),
    index('conversations_channel_idx')
      .on(...threadOrder(table, table.channel))
      .where(isNewest),
    index('conversations_activity_state_idx')
      .on(...threadOrder(table, table.activityState), table.channel)
      .where(isNewest),
    index('conversations_customer_idx')
      .on(...threadOrder(table, table.customerId))
      .where(isNewest),
    // The list filtered by query.
    index('conversations_search_idx')
      .using('gin', table.organizationId, table.search.op('gin_trgm_ops'))
      .with(NO_PENDING_LIST)
      .where(isNewest),
  ],
);

/** Lists show the newest thread of each chain. */
export const newestThreads = {
  table: conversations,
  visible: isNull(conversations.continuedBy),
  missing: { code: 'CONVERSATION_NOT_FOUND', noun: 'conversation' },
  isCounted: true,
} satisfies Resource;

/** Every thread: an id in a path may be that of any thread of a chain. */
export const threads = { ...newestThreads, visible: sql`true`, isCounted: false } satisfies Resource;

const messageColumns = () => ({
  organizationId: organizationId(),
  conversationId: uuid().notNull(),
  id: uuid().notNull(),
  content: text().notNull(),
  direction: text().notNull(),
  messageType: text().notNull(),
  senderName: text(),
  createdAt: createdAt(),
});

type Message = Record<'organizationId' | 'conversationId' | 'createdAt' | 'id', ExtraConfigColumn>;

const messageKeys = (name: string, table: Message) => [
  primaryKey({ name: `${name}_pkey`, columns: [table.organizationId, table.conversationId, table.id] }),
  toRecord(`${name}_conversation_fkey`, table, table.conversationId, conversations),
  // The newest messages of a thread.
  index(`${name}_transcript_idx`).on(
    table.organizationId,
    table.conversationId,
    table.createdAt.desc(),
    table.id.desc(),
  ),
];

/** Messages of whatsapp conversations, with what that provider reports of their delivery. */
export const whatsappMessages = pgTable(
  'whatsapp_messages',
  {
    ...messageColumns(),
    providerMessageId: text(),
    deliveryStatus: text(),
    deliveryStatusAt: moment(),
    templateName: text(),
  },
  (table) => messageKeys('whatsapp_messages', table),
);

/** Messages of conversations on every other channel. */
export const channelMessages = pgTable(
  'channel_messages',
  {
    ...messageColumns(),
    providerName: text(),
    externalId: text(),
    subject: text(),
  },
  (table) => messageKeys('channel_messages', table),
);
