import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { Conversation, ConversationMessage } from '../../conversations/schema.ts';
import { once } from '../../http/idempotency.ts';
import { json } from '../../http/json.ts';
import { responses } from '../../http/openapi.ts';
import { putMessage, putMessages } from '../messages/repository.ts';
import { uuidParams } from '../params.ts';
import { putConversation } from './repository.ts';
import {
  ConversationMessagePut,
  ConversationMessagesImport,
  ConversationPut,
  ImportedMessages,
} from './schema.ts';

const tags = ['Conversations'];
const params = uuidParams('conversationId');

export const conversationRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.put(
    '/conversations/:conversationId',
    {
      schema: {
        operationId: 'putConversation',
        tags,
        summary: 'Create or replace a conversation',
        description:
          'Fields left out take the default; the same again changes nothing. `rotatedFrom` joins the thread to the one that it continues; without it, the thread begins a chain of its own. A chain neither forks nor closes a circle. The channel of a conversation that has messages cannot change between whatsapp and another.',
        params,
        body: ConversationPut,
        response: responses([
          { status: 201, schema: Conversation, description: 'The conversation, created.' },
          { status: 200, schema: Conversation, description: 'The conversation as it is now.' },
        ]),
      },
    },
    async (request, reply) => {
      const { conversationId } = request.params;
      const { created, body } = await putConversation(request.scope, conversationId, request.body);
      return json(reply, body, created ? 201 : 200);
    },
  );

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
      const { created, body } = await putMessage(request.scope, conversationId, messageId, request.body);
      return json(reply, body, created ? 201 : 200);
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
        params,
        body: ConversationMessagesImport,
        response: responses(
          { status: 200, schema: ImportedMessages, description: 'How many messages were new.' },
          'CONVERSATION_NOT_FOUND',
        ),
      },
    },
    async (request, reply) => {
      const { conversationId } = request.params;
      return once(request, reply, 200, async (scope) =>
        JSON.stringify(await putMessages(scope, conversationId, request.body.data)),
      );
    },
  );
  done();
};
