import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ApiError } from '../contract/errors.ts';
import { type OrganizationScope, toJson } from '../db/index.ts';
import { ifMatch, putIfMatch } from '../http/conditional.ts';
import { recordView, uuidParams } from '../http/record-routes.ts';
import { json } from '../openapi/responses.ts';
import {
  getConversation,
  lockConversation,
  putConversation,
  updateConversation,
} from './chains.repository.ts';
import {
  getTranscriptRecord,
  lockMessage,
  lockReported,
  putMessage,
  putMessages,
  reportDelivery,
  updateMessage,
} from './messages.repository.ts';
import { listConversationRecords } from './repository.ts';
import type { TranscriptView } from './routes.ts';
import {
  ConversationMessagePut,
  ConversationMessageRecord,
  ConversationMessagesImport,
  ConversationMessageUpdate,
  ConversationPut,
  ConversationRecord,
  ConversationRecordListQuery,
  ConversationTranscriptRecord,
  ConversationUpdate,
  DeliveryReport,
  ImportedMessages,
} from './schema.ts';

export const conversationRecords = recordView({
  schemas: {
    record: ConversationRecord,
    query: ConversationRecordListQuery,
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

  app.patch(
    '/conversations/:conversationId/messages/:messageId',
    {
      config: { errorCodes: ['CONVERSATION_NOT_FOUND', 'MESSAGE_NOT_FOUND'] },
      schema: {
        operationId: 'updateConversationMessage',
        summary: 'Update a message',
        description:
          'Changes only the fields in the body, also single fields of `delivery`; null clears one. If nothing differs, nothing changes.',
        params: uuidParams('conversationId', 'messageId'),
        body: ConversationMessageUpdate,
        response: { 200: json(ConversationMessageRecord, 'The message as it is now.') },
      },
    },
    async (request) => {
      const { conversationId, messageId } = request.params;
      const lock = async (scope: OrganizationScope) => {
        const stored = await lockMessage(scope, conversationId, messageId);
        if (!stored) throw new ApiError('MESSAGE_NOT_FOUND', { id: messageId });
        return stored;
      };
      return ifMatch(request, lock, messageId, (scope) =>
        updateMessage(scope, conversationId, messageId, request.body),
      );
    },
  );

  app.patch(
    '/deliveries/:providerMessageId',
    {
      config: { errorCodes: ['MESSAGE_NOT_FOUND'] },
      schema: {
        operationId: 'reportDelivery',
        tags: ['Conversations'],
        summary: 'Report the delivery of a message',
        description:
          'Sets `delivery.status` and `delivery.statusAt` of the whatsapp message with this `providerMessageId`, as a status webhook reports them. Reports may arrive in any order and more than once: an older one changes nothing.',
        params: z.object({
          providerMessageId: z.string().meta({ maxLength: 255, description: 'The id of the provider.' }),
        }),
        body: DeliveryReport,
        response: { 200: json(ConversationMessageRecord, 'The message as it is now.') },
      },
    },
    async (request) =>
      ifMatch(request, lockReported, request.params.providerMessageId, (scope, id) =>
        reportDelivery(scope, id, request.body),
      ),
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
    async (request) =>
      toJson(await putMessages(request.scope, request.params.conversationId, request.body.data)),
  );
  done();
};
