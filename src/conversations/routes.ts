import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { recordRoutes, recordView } from '../http/record-routes.ts';
import { json } from '../openapi/responses.ts';
import { getTranscript } from './messages.repository.ts';
import { listConversations } from './repository.ts';
import {
  Conversation,
  ConversationListQuery,
  ConversationParams,
  ConversationTranscript,
  ConversationTranscriptQuery,
} from './schema.ts';

const CHAINS =
  '`rotatedFrom` joins the thread to the one that it continues; with null, it begins its own chain. A chain cannot fork or form a cycle. The channel of a conversation that has messages cannot change between whatsapp and another.';

export const conversationRoutes = recordRoutes({
  path: '/conversations',
  title: 'a conversation',
  plural: 'conversations',
  notFound: 'CONVERSATION_NOT_FOUND',
  descriptions: {
    list: 'Conversations, most recent message first. A chain of rotated threads is one row: its newest thread. Use it to find the threads of a customer or of a telephone number, and those that wait for a reply.',
    get: 'One thread. Any thread of a chain can be read.',
    put: CHAINS,
    update: CHAINS,
  },
});

export const publicConversations = recordView({
  schemas: { record: Conversation, query: ConversationListQuery },
  functions: { list: listConversations },
});

export type TranscriptView = {
  params: typeof ConversationParams;
  transcript: z.ZodType;
  read: typeof getTranscript;
};

export const publicTranscripts: TranscriptView = {
  params: ConversationParams,
  transcript: ConversationTranscript,
  read: getTranscript,
};

export const transcriptRoutes: FastifyPluginCallbackZod<TranscriptView> = (app, view, done) => {
  app.get(
    '/conversations/:conversationId/messages',
    {
      config: { errorCodes: ['CONVERSATION_NOT_FOUND'] },
      schema: {
        operationId: 'getConversationTranscript',
        summary: 'Get the transcript of a conversation',
        description:
          'The newest `limit` messages of all joined threads, oldest first. There is no `offset`: to page back, send the id of the first message as `before`; for newer ones, that of the last as `after`. Use it to read a conversation.',
        params: view.params,
        querystring: ConversationTranscriptQuery,
        response: { 200: json(view.transcript, 'The transcript.') },
      },
    },
    async (request) => view.read(request.scope, request.params.conversationId, request.query),
  );
  done();
};
