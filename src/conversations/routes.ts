import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { page } from '../contract/fields.ts';
import { json } from '../http/records.ts';
import { listConversations } from './repository.ts';
import * as schema from './schema.ts';
import { getTranscript } from './transcripts.repository.ts';

/** What an API shows of a conversation and its transcript, and the functions for it. */
export const publicConversations = {
  params: schema.ConversationParams,
  conversation: schema.Conversation,
  query: schema.ConversationListQuery,
  transcript: schema.ConversationTranscript,
  list: listConversations,
  getTranscript,
};
export type ConversationView = typeof publicConversations;

export const conversationRoutes: FastifyPluginAsyncZod<ConversationView> = async (app, view) => {
  app.get(
    '/conversations',
    {
      config: { access: 'read', resource: 'conversations' },
      schema: {
        operationId: 'listConversations',
        summary: 'List conversations',
        description:
          'Conversations, most recent message first. A chain of rotated threads is one row: its newest thread. Use it to find the threads of a customer or of a telephone number, and those that wait for a reply.',
        querystring: view.query,
        response: { 200: json(page(view.conversation), 'A page of conversations.') },
      },
    },
    async ({ scope, query }) => view.list(scope, query),
  );

  app.get(
    '/conversations/:conversationId/messages',
    {
      config: { access: 'read', resource: 'conversations', errorCodes: ['CONVERSATION_NOT_FOUND'] },
      schema: {
        operationId: 'getConversationTranscript',
        summary: 'Get the transcript of a conversation',
        description:
          'The newest `limit` messages of all joined threads, oldest first. There is no `offset`: to page back, send the id of the first message as `before`; for newer ones, that of the last as `after`. Use it to read a conversation.',
        params: view.params,
        querystring: schema.ConversationTranscriptQuery,
        response: { 200: json(view.transcript, 'The transcript.') },
      },
    },
    async ({ scope, params, query }) => view.getTranscript(scope, params.conversationId, query),
  );
};
