import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { customerName } from '../customers/repository.ts';
import { defineList, equals, newestFirst } from '../db/define/list.ts';
import { missing, named, organizationParam, type RecordKey, rowOf } from '../db/define/view.ts';
import type { OrganizationScope } from '../db/run/scope.ts';
import {
  channelMessages,
  conversations,
  customers,
  newestThreads,
  searchableConversations,
  threads,
  whatsappMessages,
} from '../db/schema/index.ts';
import { fieldsOf } from '../db/sql/field-columns.ts';
import { isId } from '../db/sql/ids.ts';
import { type Fields, isoTime, type Json, jsonRow } from '../db/sql/json.ts';
import { type Params, prepared } from '../db/sql/statement.ts';
import {
  Conversation,
  ConversationListQuery,
  type ConversationMessage,
  ConversationRecord,
  type ConversationTranscript,
} from './schema.ts';

/** The name comes from the customer itself, also when it is archived. */
const derived = { customerName: named(customerName, customers, conversations.customerId) };

export const conversationView = {
  ...newestThreads,
  fields: fieldsOf(Conversation, conversations, derived),
};

/** As the dashboard has them. */
export const conversationRecordView = {
  ...newestThreads,
  fields: fieldsOf(ConversationRecord, conversations, derived),
};

/** The rows of a list are newest threads. What finds a chain is in any of its threads. */
const conversationLists = {
  query: ConversationListQuery,
  order: newestFirst('lastMessageAt'),
  filters: {
    activityState: equals('activityState'),
    channel: equals('channel'),
    customerId: {
      field: 'chainId',
      where: (chainId: PgColumn, value: Placeholder) => sql`${chainId} in (
        select thread.chain_id from ${conversations} as thread
        where thread.organization_id = ${organizationParam} and thread.customer_id = ${value})`,
    },
    query: {
      field: 'chainId',
      where: (chainId: PgColumn, text: Placeholder) => sql`${chainId} in (
        select thread.chain_id from ${searchableConversations} as found join ${conversations} as thread
          on thread.organization_id = found.organization_id and thread.id = found.id
        where found.organization_id = ${organizationParam} and found.search like contains_pattern(${text}))`,
      isSearch: true,
    },
  },
};

export const listConversations = defineList(conversationView, conversationLists);

export const listConversationRecords = defineList(conversationRecordView, {
  ...conversationLists,
  name: 'conversations.list_records',
});

export type MessageStore = typeof whatsappMessages | typeof channelMessages;

/** The newest messages of one thread in one store. The store's transcript index finds them. */
const newestMessages = (
  store: MessageStore,
  $: Params<{ organizationId: string; limit: number }>,
): SQL => sql`(
  select ${store.id}, ${store.conversationId}, ${store.content}, ${store.createdAt}, ${store.direction},
    ${store.messageType}, ${store.senderName}
  from ${store}
  where ${store.organizationId} = ${$.organizationId} and ${store.conversationId} = threads.id
  order by ${store.createdAt} desc nulls last, ${store.id} desc nulls last
  limit ${$.limit})`;

/** For rows named `message`, whichever store they come from. */
const messageFields: Fields<ConversationMessage> = {
  id: sql`message.id`,
  conversationId: sql`message.conversation_id`,
  content: sql`message.content`,
  createdAt: isoTime(sql`message.created_at`),
  direction: sql`message.direction`,
  messageType: sql`message.message_type`,
  senderName: sql`message.sender_name`,
};

const transcriptStatement = prepared(
  'conversations.transcript',
  ($: Params<RecordKey & { limit: number }>) => sql<{ body: Json<ConversationTranscript> }>`with
    threads as materialized (
      select ${conversations.id}, ${conversations.messageCount} from ${conversations}
      where ${conversations.organizationId} = ${$.organizationId} and ${conversations.chainId} = (
        select ${conversations.chainId} from ${conversations} where ${rowOf(threads, $)})),
    newest as (
      select message.* from threads cross join lateral (
        ${newestMessages(whatsappMessages, $)} union all ${newestMessages(channelMessages, $)}) message
      order by message.created_at desc, message.id desc
      limit ${$.limit})
    select concat(
      '{"data":[',
      (select string_agg(${jsonRow(messageFields)}, ',' order by message.created_at, message.id) from newest message),
      '],"total":', sum(threads.message_count), '}') as body
    from threads having count(*) > 0`,
);

/**
 * The newest messages of a conversation, oldest first, from all threads of its chain and from both stores. The id of
 * any thread of the chain gives the same transcript.
 * @throws CONVERSATION_NOT_FOUND
 */
export async function getTranscript(
  { db, organizationId }: OrganizationScope,
  id: string,
  limit: number,
): Promise<Json<ConversationTranscript>> {
  const [row] = isId(id) ? await db.read(transcriptStatement, { organizationId, id, limit }) : [];
  if (!row?.body) throw missing(threads, id);
  return row.body;
}
