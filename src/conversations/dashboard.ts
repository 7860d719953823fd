import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { ConversationPut } from '../dashboard/conversations/schema.ts';
import { putRoute } from '../dashboard/record-routes.ts';
import { lockConversation, putConversation } from './chains.ts';
import { Conversation } from './schema.ts';

export const dashboardConversationRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  putRoute(app, {
    path: '/conversations',
    noun: 'conversation',
    name: 'Conversation',
    tags: ['Conversations'],
    summary: 'Create or replace a conversation',
    description:
      'Fields left out take the default; the same again changes nothing. `rotatedFrom` joins the thread to the one that it continues; without it, the thread begins a chain of its own. A chain neither forks nor closes a circle. The channel of a conversation that has messages cannot change between whatsapp and another.',
    body: ConversationPut,
    record: Conversation,
    lock: lockConversation,
    put: putConversation,
  });
  done();
};
