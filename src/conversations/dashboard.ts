import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { uuidParams } from '../dashboard/params.ts';
import { recordRoutes } from '../dashboard/record-routes.ts';
import { toJson } from '../db/sql/json.ts';
import { answerJson } from '../http/answers.ts';
import { putIfMatch } from '../http/conditional.ts';
import { idempotently } from '../http/idempotency.ts';
import { responses } from '../openapi/responses.ts';
import {
  getConversation,
  lockConversation,
  putConversation,
  updateConversation,
} from './chains.repository.ts';
import { lockMessage, putMessage, putMessages } from './messages.repository.ts';
import { listConversationRecords } from './repository.ts';
import {
  ConversationListQuery,
  ConversationMessage,
  ConversationMessagePut,
  ConversationMessagesImport,
  ConversationPut,
  ConversationRecord,
  ConversationUpdate,
  ImportedMessages,
} from './schema.ts';

export const conversationDashboardRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  recordRoutes(app, {
    path: '/conversations',
    name: 'Conversation',
    plural: 'Conversations',
    noun: 'conversation',
    title: 'a conversation',
    record: ConversationRecord,
    query: ConversationListQuery,
    body: ConversationPut,
    patch: ConversationUpdate,
    listed: 'The newest thread of each chain, most recent message first, with the filters of /v1.',
    note: '`rotatedFrom` joins the thread to the one that it continues; with null it begins a chain of its own. A chain neither forks nor closes a circle. The channel of a conversation that has messages cannot change between whatsapp and another.',
    functions: {
      list: listConversationRecords,
      get: getConversation,
      lock: lockConversation,
      put: putConversation,
      update: updateConversation,
      missing: 'CONVERSATION_NOT_FOUND',
    },
  });

  app.put(
    '/conversations/:conversationId/messages/:messageId',
    {
      schema: {
        operationId: 'putConversationMessage',
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
