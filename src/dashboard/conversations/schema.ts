import { z } from 'zod';
import { name, text, uuid } from '../../fields.ts';

export const ConversationPut = z
  .object({
    channel: text({ min: 1, max: 255 }).meta({ examples: ['whatsapp'] }),
    contact: text({ min: 1, max: 320 }).describe('Identifier on its channel: phone number, handle.'),
    contactName: name().nullish(),
    customerId: uuid().nullish(),
    activityState: name().nullish(),
    controlledBy: name().nullish(),
    language: name().nullish(),
    rotatedFrom: uuid()
      .nullish()
      .describe('The thread that this one continues. A thread is continued by one other at most.'),
  })
  .meta({
    id: 'ConversationPut',
    examples: [
      {
        channel: 'whatsapp',
        contact: '+5215512345678',
        contactName: 'Ana',
        controlledBy: 'agent',
        language: 'es',
      },
    ],
  });
export type ConversationPut = z.infer<typeof ConversationPut>;
