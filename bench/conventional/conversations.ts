import { and, eq, inArray, isNull } from 'drizzle-orm';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import {
  type Conversation,
  ConversationList,
  ConversationListQuery,
  ConversationParams,
  ConversationTranscript,
  ConversationTranscriptQuery,
} from '../../src/conversations/schema.ts';
import { channelMessages, conversations, whatsappMessages } from '../../src/db/tables/index.ts';
import { customers } from './schema.ts';
import { contains, type Database, fullName, iso, newest, notFound, type RouteOptions } from './shared.ts';

const selectConversations = (db: Database) =>
  db
    .select({
      conversation: conversations,
      customer: { firstName: customers.firstName, lastName: customers.lastName },
    })
    .from(conversations)
    .leftJoin(
      customers,
      and(
        eq(customers.organizationId, conversations.organizationId),
        eq(customers.id, conversations.customerId),
      ),
    );

type ConversationRow = Awaited<ReturnType<typeof selectConversations>>[number];

const toConversation = ({ conversation, customer }: ConversationRow): Conversation => ({
  id: conversation.id,
  channel: conversation.channel,
  contact: conversation.contact,
  contactName: conversation.contactName,
  customerId: conversation.customerId,
  customerName: fullName(customer?.firstName ?? null, customer?.lastName ?? null),
  activityState: conversation.activityState,
  controlledBy: conversation.controlledBy,
  language: conversation.language,
  lastMessageAt: iso(conversation.lastMessageAt),
  createdAt: conversation.createdAt.toISOString(),
});

const newestMessages = (
  db: Database,
  store: typeof whatsappMessages | typeof channelMessages,
  organizationId: string,
  threads: string[],
  limit: number,
) =>
  db
    .select({
      id: store.id,
      conversationId: store.conversationId,
      content: store.content,
      createdAt: store.createdAt,
      direction: store.direction,
      messageType: store.messageType,
      senderName: store.senderName,
      arrival: store.arrival,
    })
    .from(store)
    .where(and(eq(store.organizationId, organizationId), inArray(store.conversationId, threads)))
    .orderBy(newest(store.createdAt), newest(store.arrival))
    .limit(limit);

export const conversationRoutes: FastifyPluginAsyncZod<RouteOptions> = async (app, { db }) => {
  app.get(
    '/conversations',
    { schema: { querystring: ConversationListQuery, response: { 200: ConversationList } } },
    async ({ organizationId, query }) => {
      const { limit, offset } = query;
      const where = and(
        eq(conversations.organizationId, organizationId),
        isNull(conversations.continuedBy),
        query.activityState ? eq(conversations.activityState, query.activityState) : undefined,
        query.channel ? eq(conversations.channel, query.channel) : undefined,
        query.customerId ? eq(conversations.customerId, query.customerId) : undefined,
        query.query ? contains(conversations, query.query) : undefined,
      );
      const [rows, total] = await Promise.all([
        selectConversations(db)
          .where(where)
          .orderBy(newest(conversations.lastMessageAt), newest(conversations.id))
          .limit(limit)
          .offset(offset),
        db.$count(conversations, where),
      ]);
      return { data: rows.map(toConversation), pagination: { limit, offset, total } };
    },
  );

  app.get(
    '/conversations/:conversationId/messages',
    {
      schema: {
        params: ConversationParams,
        querystring: ConversationTranscriptQuery,
        response: { 200: ConversationTranscript },
      },
    },
    async ({ organizationId, params, query }) => {
      const [asked] = await db
        .select({ chainId: conversations.chainId })
        .from(conversations)
        .where(
          and(eq(conversations.organizationId, organizationId), eq(conversations.id, params.conversationId)),
        );
      if (!asked) throw notFound('conversation');
      const threads = await db
        .select({ id: conversations.id, messageCount: conversations.messageCount })
        .from(conversations)
        .where(
          and(eq(conversations.organizationId, organizationId), eq(conversations.chainId, asked.chainId)),
        );
      const ids = threads.map(({ id }) => id);
      const stores = await Promise.all(
        [whatsappMessages, channelMessages].map((store) =>
          newestMessages(db, store, organizationId, ids, query.limit),
        ),
      );
      const newest = stores
        .flat()
        .sort((a, b) => Number(b.createdAt) - Number(a.createdAt) || (a.arrival < b.arrival ? 1 : -1))
        .slice(0, query.limit)
        .reverse();
      return {
        data: newest.map(({ arrival: _, ...message }) => ({
          ...message,
          createdAt: message.createdAt.toISOString(),
        })),
        total: threads.reduce((total, { messageCount }) => total + messageCount, 0),
      };
    },
  );
};
