import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { toJson } from '../db/index.ts';
import { putIfMatch } from '../http/conditional.ts';
import { idempotently } from '../http/idempotency.ts';
import { recordView, uuidParams } from '../http/record-routes.ts';
import { json } from '../openapi/responses.ts';
import {
  getConversation,
  lockConversation,
  putConversation,
  updateConversation,
} from './chains.repository.ts';
import { getTranscriptRecord, lockMessage, putMessage, putMessages } from './messages.repository.ts';
import { listConversationRecords } from './repository.ts';
import type { TranscriptView } from './routes.ts';
import {
  ConversationListQuery,
  ConversationMessagePut,
  ConversationMessageRecord,
  ConversationMessagesImport,
  ConversationPut,
  ConversationRecord,
  ConversationTranscriptRecord,
  ConversationUpdate,
  ImportedMessages,
} from './schema.ts';

export const conversationRecords = recordView({
  schemas: {
    record: ConversationRecord,
    query: ConversationListQuery,
    put: ConversationPut,
    patch: ConversationUpdate,
  },
  functions: {
    list: listConversationRecords,
    get: getConversation,
    lock: lockConversation,
    put: putConversation,
    update: updateConversation,
  },
});

export const transcriptRecords: TranscriptView = {
  params: uuidParams('conversationId'),
  transcript: ConversationTranscriptRecord,
  read: getTranscriptRecord,
};

export const conversationDashboardRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.put(
    '/conversations/:conversationId/messages/:messageId',
    {
      config: { errorCodes: ['CONVERSATION_NOT_FOUND'] },
      schema: {
        operationId: 'putConversationMessage',
        summary: 'Create or replace a message',
        description:
          "`lastMessageAt` of the conversation becomes the latest `createdAt` of its messages. `delivery` takes the fields of the conversation's channel only.",
        params: uuidParams('conversationId', 'messageId'),
        body: ConversationMessagePut,
        response: {
          201: json(ConversationMessageRecord, 'The message, created.'),
          200: json(ConversationMessageRecord, 'The message as it is now.'),
        },
      },
    },
    async (request, reply) => {
      const { conversationId, messageId } = request.params;
      return putIfMatch(
        request,
        reply,
        (scope) => lockMessage(scope, conversationId, messageId),
        (scope) => putMessage(scope, conversationId, messageId, request.body),
      );
    },
  );

  app.post(
    '/conversations/:conversationId/messages',
    {
      config: { errorCodes: ['CONVERSATION_NOT_FOUND'] },
      schema: {
        operationId: 'importConversationMessages',
        summary: 'Import messages',
        description:
          'Creates or replaces up to 500 messages, all or none. Messages with the same `createdAt` keep the order of their arrival, and messages of one request the order of the list. Sending the same again changes nothing.',
        params: uuidParams('conversationId'),
        body: ConversationMessagesImport,
        response: { 200: json(ImportedMessages, 'How many messages were new.') },
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
