import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { answerJson } from '../http/answers.ts';
import { responses } from '../openapi/responses.ts';
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
          'Conversations, most recent message first. A chain of rotated threads is one row: its newest thread. Use it to find the threads of a customer or of a telephone number, and those that wait for an answer.',
        querystring: ConversationListQuery,
        response: responses({
          status: 200,
          schema: ConversationList,
          description: 'A page of conversations.',
        }),
      },
    },
    async (request, reply) => answerJson(reply, await listConversations(request.scope, request.query)),
  );

  app.get(
    '/conversations/:conversationId/messages',
    {
      schema: {
        operationId: 'getConversationTranscript',
        summary: 'Get the transcript of a conversation',
        description:
          'The newest `limit` messages, oldest first, of all the threads that were joined by rotation. There is no offset: the messages before the first of an answer are found with its id as `before`. Use it to read what was said.',
        params: ConversationParams,
        querystring: ConversationTranscriptQuery,
        response: responses(
          { status: 200, schema: ConversationTranscript, description: 'The transcript.' },
          'CONVERSATION_NOT_FOUND',
        ),
      },
    },
    async (request, reply) =>
      answerJson(reply, await getTranscript(request.scope, request.params.conversationId, request.query)),
  );
  done();
};
