import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { validationFailed } from '../contract/errors.ts';
import { customerName } from '../customers/repository.ts';
import type { OrganizationScope } from '../db/pool/scope.ts';
import {
  before,
  defineList,
  equals,
  newestFirst,
  plannedEachTime,
  recordFilters,
  since,
} from '../db/repository/list.ts';
import { missing, named, organizationParam, type RecordKey, rowOf } from '../db/repository/view.ts';
import { fieldsOf } from '../db/sql/field-columns.ts';
import { idOrNull, isId } from '../db/sql/ids.ts';
import { type Fields, isoTime, type Json, jsonOf, jsonText } from '../db/sql/json.ts';
import { type Params, prepared } from '../db/sql/statement.ts';
import {
  channelMessages,
  conversations,
  customers,
  newestThreads,
  searchableConversations,
  threads,
  whatsappMessages,
} from '../db/tables/index.ts';
import {
  Conversation,
  ConversationListQuery,
  type ConversationMessage,
  ConversationRecord,
  type ConversationTranscript,
} from './schema.ts';

/** The name comes from the customer itself, also when it is archived. */
const derived = { customerName: named(customerName, customers, conversations.customerId) };

const conversationView = {
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
    ...recordFilters,
    activityState: equals('activityState'),
    channel: equals('channel'),
    updatedSince: plannedEachTime(since('updatedAt')),
    updatedBefore: plannedEachTime(before('updatedAt')),
    customerId: {
      field: 'chainId',
      where: (chainId: PgColumn, value: Placeholder) => sql`${chainId} in (
        select thread.chain_id from ${conversations} as thread
        where thread.organization_id = ${organizationParam} and thread.customer_id = ${value})`,
      value: idOrNull,
    },
    query: {
      field: 'chainId',
      where: (chainId: PgColumn, text: Placeholder) => sql`${chainId} = any(array(
        select ${searchableConversations.chain} from ${searchableConversations}
        where ${searchableConversations.organizationId} = ${organizationParam}
          and ${searchableConversations.search} like contains_pattern(${text})))`,
      isPlannedEachTime: true,
      isTotalLater: true,
    },
  },
};

export const listConversations = defineList(conversationView, conversationLists);

export const listConversationRecords = defineList(conversationRecordView, {
  ...conversationLists,
  name: 'conversations.list_records',
});

export type MessageStore = typeof whatsappMessages | typeof channelMessages;

/** Where a message stands in its transcript: before all that are newer. */
type Place = { createdAt: string; arrival: string };

type TranscriptValues = RecordKey & { limit: number };

/** The newest messages of one thread in one store. The store's transcript index finds them. */
const newestMessages = (
  store: MessageStore,
  $: Params<TranscriptValues>,
  place: Params<Place> | undefined,
): SQL => sql`(
  select ${store.id}, ${store.conversationId}, ${store.content}, ${store.createdAt}, ${store.direction},
    ${store.messageType}, ${store.senderName}, ${store.arrival}
  from ${store}
  where ${store.organizationId} = ${$.organizationId} and ${store.conversationId} = threads.id
    ${place ? sql`and (${store.createdAt}, ${store.arrival}) < (${place.createdAt}::timestamptz, ${place.arrival}::bigint)` : sql``}
  order by ${store.createdAt} desc nulls last, ${store.arrival} desc nulls last
  limit ${$.limit})`;

/** For rows named `message`, whichever store they come from. */
export const messageFields: Fields<ConversationMessage> = {
  id: sql`message.id`,
  conversationId: sql`message.conversation_id`,
  content: sql`message.content`,
  createdAt: isoTime(sql`message.created_at`),
  direction: sql`message.direction`,
  messageType: sql`message.message_type`,
  senderName: sql`message.sender_name`,
};

/** The threads of the chain that a thread is in. */
const chainOf = ($: Params<RecordKey>): SQL => sql`
  select ${conversations.id}, ${conversations.messageCount} from ${conversations}
  where ${conversations.organizationId} = ${$.organizationId} and ${conversations.chainId} = (
    select ${conversations.chainId} from ${conversations} where ${rowOf(threads, $)})`;

const transcript = ($: Params<TranscriptValues>, place?: Params<Place>) =>
  sql<{ text: string }>`with
    threads as materialized (${chainOf($)}),
    newest as (
      select message.* from threads cross join lateral (
        ${newestMessages(whatsappMessages, $, place)} union all ${newestMessages(channelMessages, $, place)}) message
      order by message.created_at desc, message.arrival desc
      limit ${$.limit})
    select concat(
      '{"data":[',
      (select string_agg(${jsonText(messageFields)}, ',' order by message.created_at, message.arrival) from newest message),
      '],"total":', sum(threads.message_count), '}') as text
    from threads having count(*) > 0`;

const transcriptStatement = prepared('conversations.transcript', ($: Params<TranscriptValues>) =>
  transcript($),
);

const earlierStatement = prepared('conversations.transcript before', ($: Params<TranscriptValues & Place>) =>
  transcript($, $),
);

type MessageKey = RecordKey & { messageId: string };

const placesIn = (store: MessageStore, $: Params<MessageKey>): SQL => sql`
  select ${store.createdAt}, ${store.arrival} from ${store}
  where ${store.organizationId} = ${$.organizationId} and ${store.id} = ${$.messageId}
    and ${store.conversationId} in (select threads.id from threads)`;

/** No row: there is no such conversation. Null: the message is not in its transcript. Two threads can have messages with one id. */
const placeStatement = prepared(
  'conversations.place_of_message',
  ($: Params<MessageKey>): SQL<Place | { createdAt: null }> => sql`
    with threads as materialized (${chainOf($)})
    select ${isoTime(sql`place.created_at`)} as "createdAt", place.arrival
    from threads left join (${placesIn(whatsappMessages, $)} union all ${placesIn(channelMessages, $)}) place on true
    order by place.created_at desc nulls last, place.arrival desc limit 1`,
);

/**
 * The place that messages are to be before: that of a message, or a timestamp.
 * @throws CONVERSATION_NOT_FOUND, VALIDATION_FAILED for a message of another transcript
 */
async function placeOf(
  { db, organizationId }: OrganizationScope,
  id: string,
  before: string,
): Promise<Place> {
  if (!isId(before)) return { createdAt: before, arrival: '0' };
  const [place] = await db.read(placeStatement, { organizationId, id, messageId: before });
  if (!place) throw missing(threads, id);
  if (place.createdAt === null)
    throw validationFailed([
      { path: 'query.before', message: 'is not the id of a message in this transcript' },
    ]);
  return place;
}

/**
 * The newest messages of a conversation, oldest first, from all threads of its chain and from both stores. The id of
 * any thread of the chain gives the same transcript.
 * @param before the id of a message, or a timestamp
 * @throws CONVERSATION_NOT_FOUND, VALIDATION_FAILED
 */
export async function getTranscript(
  scope: OrganizationScope,
  id: string,
  limit: number,
  before?: string,
): Promise<Json<ConversationTranscript>> {
  const { db, organizationId } = scope;
  if (!isId(id)) throw missing(threads, id);
  const values = { organizationId, id, limit };
  const [row] =
    before === undefined
      ? await db.read(transcriptStatement, values)
      : await db.read(earlierStatement, { ...values, ...(await placeOf(scope, id, before)) });
  if (!row) throw missing(threads, id);
  return jsonOf(row.text);
}
