import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { uuidParams } from '../dashboard/params.ts';
import { putRoute } from '../dashboard/record-routes.ts';
import { toJson } from '../db/sql/json.ts';
import { answerJson } from '../http/answers.ts';
import { putIfMatch } from '../http/conditional.ts';
import { idempotently } from '../http/idempotency.ts';
import { responses } from '../http/openapi/responses.ts';
import { lockConversation, putConversation } from './chains.ts';
import { lockMessage, putMessage, putMessages } from './messages.ts';
import {
  Conversation,
  ConversationMessage,
  ConversationMessagePut,
  ConversationMessagesImport,
  ConversationPut,
  ImportedMessages,
} from './schema.ts';

const tags = ['Conversations'];

export const conversationDashboardRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  putRoute(app, {
    path: '/conversations',
    noun: 'conversation',
    name: 'Conversation',
    tags,
    summary: 'Create or replace a conversation',
    description:
      'Fields left out take the default; the same again changes nothing. `rotatedFrom` joins the thread to the one that it continues; without it, the thread begins a chain of its own. A chain neither forks nor closes a circle. The channel of a conversation that has messages cannot change between whatsapp and another.',
    body: ConversationPut,
    record: Conversation,
    lock: lockConversation,
    put: putConversation,
  });

  app.put(
    '/conversations/:conversationId/messages/:messageId',
    {
      schema: {
        operationId: 'putConversationMessage',
        tags,
        summary: 'Create or replace a message',
        description:
          "Moves the conversation's lastMessageAt forward, never back. `delivery` takes the fields of the conversation's channel only.",
        params: uuidParams('conversationId', 'messageId'),
        body: ConversationMessagePut,
        response: responses(
          [
            { status: 201, schema: ConversationMessage, description: 'The message, created.' },
            { status: 200, schema: ConversationMessage, description: 'The message as it is now.' },
          ],
          'CONVERSATION_NOT_FOUND',
        ),
      },
    },
    async (request, reply) => {
      const { conversationId, messageId } = request.params;
      const { created, body } = await putIfMatch(
        request,
        (scope) => lockMessage(scope, conversationId, messageId),
        (scope) => putMessage(scope, conversationId, messageId, request.body),
      );
      return answerJson(reply, body, created ? 201 : 200);
    },
  );

  app.post(
    '/conversations/:conversationId/messages',
    {
      schema: {
        operationId: 'importConversationMessages',
        tags,
        summary: 'Import messages',
        description:
          'Creates up to 500 messages, or replaces those that are there, all or none. The same again changes nothing.',
        params: uuidParams('conversationId'),
        body: ConversationMessagesImport,
        response: responses(
          { status: 200, schema: ImportedMessages, description: 'How many messages were new.' },
          'CONVERSATION_NOT_FOUND',
        ),
      },
    },
    async (request, reply) => {
      const { conversationId } = request.params;
      return idempotently(request, reply, 200, async (scope) =>
        toJson(await putMessages(scope, conversationId, request.body.data)),
      );
    },
  );
  done();
};
