import type { FastifyReply } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { keyOnChannel } from '../../rules/contact-key.ts';
import { parseJson, toJson } from '../db/index.ts';
import { ifMatch, putIfMatch } from '../http/conditional.ts';
import { nameIgnored } from '../http/ignored-parameters.ts';
import { CHANGES_ONLY, json, REPLACES, uuidParams } from '../http/records.ts';
import * as chains from './chains.repository.ts';
import * as messages from './messages.repository.ts';
import { listConversationRecords } from './repository.ts';
import type { ConversationView } from './routes.ts';
import * as schema from './schema.ts';
import { getTranscriptRecord } from './transcripts.repository.ts';

const params = uuidParams('conversationId');

export const conversationRecords: ConversationView = {
  params,
  conversation: schema.ConversationRecord,
  query: schema.ConversationRecordListQuery,
  transcript: schema.ConversationTranscriptRecord,
  list: listConversationRecords,
  getTranscript: getTranscriptRecord,
};

const CHAINS =
  '`rotatedFrom` is written once, with the thread: it joins the thread to the end of the chain of the one that it continues. The channel of a conversation that has messages cannot change between whatsapp and another.';

/** These contacts are no person's. */
const GROUP = /@(g\.us|newsletter|broadcast)$/;

/** A WhatsApp contact that has no key finds no customer: X-Ignored-Parameters names it. */
function nameUnknownContact(reply: FastifyReply, { channel, contact }: schema.ConversationPut): void {
  const isUnknown = channel === 'whatsapp' && keyOnChannel(channel, contact) === null && !GROUP.test(contact);
  if (isUnknown) nameIgnored(reply, ['body.contact']);
}

export const conversationDashboardRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/conversations/:conversationId',
    {
      config: { errorCodes: ['CONVERSATION_NOT_FOUND'] },
      schema: {
        operationId: 'getConversation',
        summary: 'Get a conversation',
        description: 'One thread. Any thread of a chain can be read.',
        params,
        response: { 200: json(schema.ConversationRecord, 'The conversation.') },
      },
    },
    async ({ scope, params }) => chains.getConversation(scope, params.conversationId),
  );

  app.put(
    '/conversations/:conversationId',
    {
      schema: {
        operationId: 'putConversation',
        summary: 'Create or replace a conversation',
        description: `${REPLACES} ${CHAINS}`,
        params,
        body: schema.ConversationPut,
        response: {
          201: json(schema.ConversationRecord, 'The conversation, created.'),
          200: json(schema.ConversationRecord, 'The conversation as it is now.'),
        },
      },
    },
    async (request, reply) => {
      const { conversationId } = request.params;
      const body = await putIfMatch(request, reply, conversationId, {
        lockToPut: chains.lockToPutConversation,
        put: chains.putConversation,
      });
      nameUnknownContact(reply, request.body);
      return body;
    },
  );

  app.patch(
    '/conversations/:conversationId',
    {
      config: { errorCodes: ['CONVERSATION_NOT_FOUND'] },
      schema: {
        operationId: 'updateConversation',
        summary: 'Update a conversation',
        description: `${CHANGES_ONLY} ${CHAINS}`,
        params,
        body: schema.ConversationUpdate,
        response: { 200: json(schema.ConversationRecord, 'The conversation as it is now.') },
      },
    },
    async (request, reply) => {
      const { conversationId } = request.params;
      const body = await ifMatch(request, chains.lockConversation, conversationId, chains.updateConversation);
      const { channel, contact } = request.body;
      if (channel !== undefined || contact !== undefined) nameUnknownContact(reply, parseJson(body));
      return body;
    },
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
        body: schema.ConversationMessagePut,
        response: {
          201: json(schema.ConversationMessageRecord, 'The message, created.'),
          200: json(schema.ConversationMessageRecord, 'The message as it is now.'),
        },
      },
    },
    async (request, reply) => {
      const { conversationId, messageId } = request.params;
      return putIfMatch(request, reply, messageId, {
        lockToPut: messages.lockMessage(conversationId),
        put: (scope, id, body) => messages.putMessage(scope, conversationId, id, body),
      });
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
          'Changes only the fields that you send, also single fields of `delivery`; null clears one. If nothing differs, nothing changes.',
        params: uuidParams('conversationId', 'messageId'),
        body: schema.ConversationMessageUpdate,
        response: { 200: json(schema.ConversationMessageRecord, 'The message as it is now.') },
      },
    },
    async (request) => {
      const { conversationId, messageId } = request.params;
      return ifMatch(request, messages.lockMessage(conversationId), messageId, (scope, id) =>
        messages.updateMessage(scope, conversationId, id, request.body),
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
          'Sets `delivery.status` and `delivery.statusAt` of the whatsapp message with this `providerMessageId`, as a status webhook reports them. Reports may arrive in any order and more than once: an older one changes nothing, and of equal timestamps the further status counts (queued, sent, delivered, read, played, failed; an unknown word last).',
        params: z.object({
          providerMessageId: z.string().meta({ maxLength: 255, description: 'The id of the provider.' }),
        }),
        body: schema.DeliveryReport,
        response: { 200: json(schema.ConversationMessageRecord, 'The message as it is now.') },
      },
    },
    async (request) =>
      ifMatch(request, messages.lockReported, request.params.providerMessageId, messages.reportDelivery),
  );

  app.post(
    '/conversations/:conversationId/messages',
    {
      bodyLimit: 4 * 1024 * 1024,
      config: { errorCodes: ['CONVERSATION_NOT_FOUND'] },
      schema: {
        operationId: 'importConversationMessages',
        summary: 'Import messages',
        description:
          'Creates or replaces up to 500 messages, all or none. Messages with the same `createdAt` keep the order of their arrival, and messages of one request the order of the list. Sending the same again changes nothing.',
        params: uuidParams('conversationId'),
        body: schema.ConversationMessagesImport,
        response: { 200: json(schema.ImportedMessages, 'How many messages were new.') },
      },
    },
    async (request) =>
      toJson(await messages.putMessages(request.scope, request.params.conversationId, request.body.data)),
  );
};
