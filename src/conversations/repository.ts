import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { customerName } from '../customers/repository.ts';
import { defineKnownValues, type KnownValues } from '../db/repository/known-values.ts';
import { defineList, equals, newestFirst, recordFilters, since } from '../db/repository/list.ts';
import { named, organizationParam } from '../db/repository/view.ts';
import { fieldsOf } from '../db/sql/field-columns.ts';
import { conversations, customers, newestThreads, searchableConversations } from '../db/tables/index.ts';
import { Conversation, ConversationListQuery, ConversationRecord } from './schema.ts';

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
    updatedSince: since('updatedAt', 'value'),
    customerId: {
      field: 'chainId',
      where: (chainId: PgColumn, value: Placeholder) => sql`${chainId} in (
        select thread.chain_id from ${conversations} as thread
        where thread.organization_id = ${organizationParam} and thread.customer_id = ${value})`,
    },
    query: {
      field: 'chainId',
      where: (chainId: PgColumn, text: Placeholder) => sql`${chainId} = any(array(
        select ${searchableConversations.chain} from ${searchableConversations}
        where ${searchableConversations.organizationId} = ${organizationParam}
          and ${searchableConversations.search} like contains_pattern(${text})))`,
      by: 'search' as const,
    },
  },
};

export const listConversations = defineList(conversationView, conversationLists);

/** The agency's own values of the filters of the list. */
export const conversationValues: KnownValues = {
  activityState: defineKnownValues(newestThreads, conversations.activityState),
  channel: defineKnownValues(newestThreads, conversations.channel),
};

export const listConversationRecords = defineList(conversationRecordView, {
  ...conversationLists,
  name: 'conversations.list_records',
});
