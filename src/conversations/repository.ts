import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { searchedTexts } from '../../rules/contact-key.ts';
import { contactKeysIn, containsText } from '../customers/contacts.repository.ts';
import { survivorOf } from '../customers/repository.ts';
import {
  before,
  byId,
  channelMessages,
  conversations,
  customerName,
  customers,
  defineList,
  equals,
  isoTime,
  type MessageTable,
  named,
  newestFirst,
  newestThreads,
  ofOrganization,
  recordFilters,
  searchableConversations,
  since,
  viewOf,
  whatsappMessages,
} from '../db/index.ts';
import {
  Conversation,
  ConversationListQuery,
  ConversationRecord,
  ConversationRecordListQuery,
} from './schema.ts';

/** The current name, even if the customer is archived. */
const derived = { customerName: named(customerName, customers, conversations.customerId) };

const conversationView = viewOf(newestThreads, Conversation, derived);

const thread = alias(conversations, 'thread');

type Threads = typeof conversations | typeof thread;

/** The newest message of a thread in one store, by the index of the transcript. */
const newestIn = (store: MessageTable, of: Threads, isHere = sql`true`) => sql`(
  select ${store.content}, ${store.direction}, ${store.messageType}, ${store.createdAt}, ${store.arrival} from ${store}
  where ${isHere} and ${ofOrganization(store)} and ${store.conversationId} = ${of.id}
  order by ${store.createdAt} desc nulls last, ${store.arrival} desc nulls last limit 1)`;

const isOnWhatsapp = ({ channel }: Threads): SQL => sql`${channel} = 'whatsapp'`;

/** Of the whole chain for its newest thread, else of the thread. */
const newestOfChain = sql`(
  select last.* from ${conversations} as ${thread} cross join lateral (
    ${newestIn(whatsappMessages, thread, isOnWhatsapp(thread))} union all
    ${newestIn(channelMessages, thread, sql`not ${isOnWhatsapp(thread)}`)}) last
  where ${ofOrganization(thread)} and ${thread.chainId} = ${conversations.chainId}
    and (${thread.id} = ${conversations.id} or ${conversations.continuedBy} is null)
  order by last.created_at desc, last.arrival desc limit 1)`;

const shown = (message: SQL): SQL => sql`(select row_to_json(item) from (
  select left(last.content, 200) as content, last.direction, last.message_type as "messageType",
    ${isoTime(sql`last.created_at`)} as "createdAt"
  from ${message} last) item)`;

/** The message of `lastMessageAt`. Only a rotated thread must look at the others. */
const lastMessage = sql`case when ${conversations.rotatedFrom} is not null then ${shown(newestOfChain)}
  when ${isOnWhatsapp(conversations)} then ${shown(newestIn(whatsappMessages, conversations))}
  else ${shown(newestIn(channelMessages, conversations))} end`;

export const conversationRecordView = viewOf(newestThreads, ConversationRecord, { ...derived, lastMessage });

const ofCustomer = (customer: Placeholder | SQL): SQL => sql`${conversations.chainId} in (
  select ${thread.chainId} from ${conversations} as ${thread}
  where ${ofOrganization(thread)} and ${thread.customerId} = ${customer})`;

/** Lists show the newest thread of each chain. The filters for a person, a contact or a text look into every thread. */
const conversationLists = {
  query: ConversationListQuery,
  order: newestFirst(conversations, conversations.lastMessageAt),
  filters: {
    ...recordFilters(newestThreads),
    activityState: equals(conversations.activityState),
    channel: equals(conversations.channel),
    // Lateral, and with an offset, for the reason of `ofContacts`.
    contact: {
      where: ($: Placeholder) => sql`${conversations.chainId} = any(array(
        select found.chain_id from json_each_text(${$}::json) as sent(type, key) cross join lateral (
          select ${thread.chainId} from ${conversations} as ${thread}
          where ${ofOrganization(thread)} and ${thread.contactKey} = sent.key
            and ${thread.channel} = sent.type offset 0) found))`,
      value: contactKeysIn,
    },
    ...byId('customerId', conversations.customerId, survivorOf, ofCustomer),
    updatedSince: { ...since(conversations.updatedAt), isPlannedEachTime: true },
    updatedBefore: { ...before(conversations.updatedAt), isPlannedEachTime: true },
    query: {
      where: ($: Placeholder) => sql`${conversations.chainId} = any(array(
        select ${searchableConversations.chain} from ${searchableConversations}
        where ${ofOrganization(searchableConversations)}
          and ${containsText(searchableConversations.search, $)}))`,
      value: searchedTexts,
      isPlannedEachTime: true,
    },
  },
};

export const listConversations = defineList('conversations.list', conversationView, conversationLists);

export const listConversationRecords = defineList('conversations.list_records', conversationRecordView, {
  ...conversationLists,
  query: ConversationRecordListQuery,
  filters: { ...conversationLists.filters, controlledBy: equals(conversations.controlledBy) },
});
