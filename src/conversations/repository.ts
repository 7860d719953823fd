import { type SQL, sql } from 'drizzle-orm';
import { customerName } from '../customers/repository.ts';
import { idOrNone, isId } from '../db/ids.ts';
import { type Fields, isoTime, type Json, jsonRows } from '../db/json.ts';
import { defineList, newestFirst, searchFilter } from '../db/list.ts';
import { liveTotal } from '../db/live-count.ts';
import { channelMessages, conversations, customers, whatsappMessages } from '../db/schema/index.ts';
import type { OrganizationScope } from '../db/scope.ts';
import { rendered } from '../db/statement.ts';
import { notFound } from '../errors.ts';
import type { Conversation, ConversationMessage, ConversationTranscript } from './schema.ts';

export const conversationFields: Fields<Conversation> = {
  id: conversations.id,
  channel: conversations.channel,
  contact: conversations.contact,
  contactName: conversations.contactName,
  customerId: conversations.customerId,
  customerName: customerName,
  activityState: conversations.activityState,
  controlledBy: conversations.controlledBy,
  language: conversations.language,
  lastMessageAt: isoTime(conversations.lastMessageAt),
  createdAt: isoTime(conversations.createdAt),
};

/** The name comes from the customer itself, an archived one too. */
export const conversationJoins = sql`
  left join ${customers} on ${customers.organizationId} = ${conversations.organizationId} and ${customers.id} = ${conversations.customerId}`;

/** A list shows a chain of rotated threads as one row: its newest. */
const newestThread = sql`${conversations.continuedBy} is null`;

const list = defineList<Conversation, 'activityState' | 'channel' | 'customerId' | 'query'>({
  name: 'list_conversations',
  table: conversations,
  fields: conversationFields,
  joins: conversationJoins,
  visible: newestThread,
  order: [newestFirst(conversations.lastMessageAt), newestFirst(conversations.id)],
  filters: {
    activityState: sql`${conversations.activityState} = ${sql.placeholder('activityState')}`,
    channel: sql`${conversations.channel} = ${sql.placeholder('channel')}`,
    customerId: sql`${conversations.customerId} = ${sql.placeholder('customerId')}`,
    query: searchFilter(conversations.search),
  },
  plannedFor: ['query'],
  total: liveTotal('conversations'),
});

export const listConversations: typeof list = (scope, query) =>
  list(scope, { ...query, customerId: idOrNone(query.customerId) });

type MessageStore = typeof whatsappMessages | typeof channelMessages;

/** The newest messages of one thread in one store, by the store's transcript index. */
const newestMessages = (store: MessageStore): SQL => sql`(
  select ${store.id}, ${store.conversationId}, ${store.content}, ${store.createdAt}, ${store.direction},
    ${store.messageType}, ${store.senderName}
  from ${store}
  where ${store.organizationId} = ${sql.placeholder('organizationId')} and ${store.conversationId} = threads.id
  order by ${newestFirst(store.createdAt)}, ${newestFirst(store.id)}
  limit ${sql.placeholder('limit')})`;

/** Of rows named `message`, from either store. */
export const messageFields: Fields<ConversationMessage> = {
  id: sql`message.id`,
  conversationId: sql`message.conversation_id`,
  content: sql`message.content`,
  createdAt: isoTime(sql`message.created_at`),
  direction: sql`message.direction`,
  messageType: sql`message.message_type`,
  senderName: sql`message.sender_name`,
};

const transcriptStatement = rendered<
  ConversationTranscript,
  { organizationId: string; id: string; limit: number }
>(
  'get_conversation_transcript',
  sql`with threads as materialized (
      select ${conversations.id}, ${conversations.messageCount} from ${conversations}
      where ${conversations.organizationId} = ${sql.placeholder('organizationId')} and ${conversations.chainId} = (
        select ${conversations.chainId} from ${conversations}
        where ${conversations.organizationId} = ${sql.placeholder('organizationId')}
          and ${conversations.id} = ${sql.placeholder('id')})),
    newest as (
      select message.* from threads cross join lateral (
        ${newestMessages(whatsappMessages)} union all ${newestMessages(channelMessages)}) message
      order by message.created_at desc, message.id desc
      limit ${sql.placeholder('limit')})
    select concat(
      '{"data":[',
      (select string_agg(rendered.body, ',') from (${jsonRows(
        messageFields,
        sql`from newest message order by message.created_at, message.id`,
      )}) rendered),
      '],"total":', sum(threads.message_count), '}') as body
    from threads having count(*) > 0`,
);

/**
 * The newest messages of a conversation, oldest first, whatever threads and stores they are in. Asking by the id of any
 * thread of a chain gives the same transcript.
 * @throws CONVERSATION_NOT_FOUND
 */
export async function getTranscript(
  { db, organizationId }: OrganizationScope,
  id: string,
  limit: number,
): Promise<Json<ConversationTranscript>> {
  const [row] = isId(id) ? await db.read(transcriptStatement, { organizationId, id, limit }) : [];
  if (!row?.body) throw notFound('CONVERSATION_NOT_FOUND', 'conversation', id);
  return row.body;
}
