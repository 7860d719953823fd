import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { json } from '../openapi/responses.ts';
import { getTranscript } from './messages.repository.ts';
import { listConversations } from './repository.ts';
import {
  ConversationList,
  ConversationListQuery,
  ConversationParams,
  ConversationTranscript,
  ConversationTranscriptQuery,
} from './schema.ts';

export const conversationRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.get(
    '/conversations',
    {
      schema: {
        operationId: 'listConversations',
        summary: 'List conversations',
        description:
          'Conversations, most recent message first. A chain of rotated threads is one row: its newest thread. Use it to find the threads of a customer or of a telephone number, and those that wait for a reply.',
        querystring: ConversationListQuery,
        response: { 200: json(ConversationList, 'A page of conversations.') },
      },
    },
    async (request) => listConversations(request.scope, request.query),
  );

  app.get(
    '/conversations/:conversationId/messages',
    {
      config: { errorCodes: ['CONVERSATION_NOT_FOUND'] },
      schema: {
        operationId: 'getConversationTranscript',
        summary: 'Get the transcript of a conversation',
        description:
          'The newest `limit` messages of all joined threads, oldest first. There is no `offset`: to page back, send the id of the first message as `before`. Use it to read a conversation.',
        params: ConversationParams,
        querystring: ConversationTranscriptQuery,
        response: { 200: json(ConversationTranscript, 'The transcript.') },
      },
    },
    async (request) => getTranscript(request.scope, request.params.conversationId, request.query),
  );
  done();
};
