import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { uuidParams } from '../dashboard/params.ts';
import { recordRoutes } from '../dashboard/record-routes.ts';
import { toJson } from '../db/index.ts';
import { putIfMatch } from '../http/conditional.ts';
import { idempotently } from '../http/idempotency.ts';
import { json } from '../openapi/responses.ts';
import {
  getConversation,
  lockConversation,
  putConversation,
  updateConversation,
} from './chains.repository.ts';
import { getTranscriptRecord, lockMessage, putMessage, putMessages } from './messages.repository.ts';
import { listConversationRecords } from './repository.ts';
import {
  ConversationListQuery,
  ConversationMessagePut,
  ConversationMessageRecord,
  ConversationMessagesImport,
  ConversationPut,
  ConversationRecord,
  ConversationTranscriptQuery,
  ConversationTranscriptRecord,
  ConversationUpdate,
  ImportedMessages,
} from './schema.ts';

export const conversationDashboardRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  recordRoutes(app, {
    path: '/conversations',
    title: 'a conversation',
    record: ConversationRecord,
    query: ConversationListQuery,
    body: ConversationPut,
    patch: ConversationUpdate,
    listed: 'The newest thread of each chain, most recent message first, with the filters of /v1.',
    note: '`rotatedFrom` joins the thread to the one that it continues; with null, it begins its own chain. A chain cannot fork or form a cycle. The channel of a conversation that has messages cannot change between whatsapp and another.',
    functions: {
      list: listConversationRecords,
      get: getConversation,
      lock: lockConversation,
      put: putConversation,
      update: updateConversation,
      notFound: 'CONVERSATION_NOT_FOUND',
    },
  });

  app.get(
    '/conversations/:conversationId/messages',
    {
      config: { errorCodes: ['CONVERSATION_NOT_FOUND'] },
      schema: {
        operationId: 'getConversationTranscript',
        summary: 'Get the transcript of a conversation',
        description: 'The transcript as in /v1, where each message also has its `delivery`.',
        params: uuidParams('conversationId'),
        querystring: ConversationTranscriptQuery,
        response: { 200: json(ConversationTranscriptRecord, 'The transcript.') },
      },
    },
    async (request) => getTranscriptRecord(request.scope, request.params.conversationId, request.query),
  );

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
