import { z } from 'zod';
import { longText, moment, name, text, uuid } from '../../fields.ts';

/** The delivery of a message, as its store keeps it. The conversation's channel decides which store it is. */
const delivery = () =>
  z
    .object({
      providerMessageId: name().nullish().describe('Of whatsapp.'),
      status: name()
        .nullish()
        .describe('Of whatsapp.')
        .meta({ examples: ['read'] }),
      statusAt: moment().nullish().describe('Of whatsapp.'),
      templateName: name().nullish().describe('Of whatsapp.'),
      providerName: name().nullish().describe('Of every other channel.'),
      externalId: name().nullish().describe('Of every other channel.'),
      subject: text({ max: 2_000 }).nullish().describe('Of every other channel.'),
    })
    .nullish()
    .describe('What the provider reports; none of it shows in /v1.');

const message = {
  content: longText(),
  direction: text({ min: 1, max: 255 }).meta({ examples: ['inbound'] }),
  messageType: text({ min: 1, max: 255 }).meta({ examples: ['text'] }),
  senderName: name().nullish(),
  createdAt: moment().optional().describe('Default: now; of a message that is there already, what it has.'),
  delivery: delivery(),
};

export const ConversationMessagePut = z.object(message).meta({
  id: 'ConversationMessagePut',
  examples: [{ content: 'Hola, busco un viaje a Cartagena', direction: 'inbound', messageType: 'text' }],
});
export type ConversationMessagePut = z.infer<typeof ConversationMessagePut>;

export const ConversationMessageImport = z.object({ id: uuid(), ...message }).meta({
  id: 'ConversationMessageImport',
});
export type ConversationMessageImport = z.infer<typeof ConversationMessageImport>;

export const ConversationMessagesImport = z
  .object({
    data: z
      .array(ConversationMessageImport)
      .min(1)
      .max(500)
      .superRefine((messages, context) => {
        const first = new Map<string, number>();
        for (const [index, { id }] of messages.entries()) {
          const earlier = first.get(id.toLowerCase());
          if (earlier === undefined) first.set(id.toLowerCase(), index);
          else
            context.addIssue({
              code: 'custom',
              path: [index, 'id'],
              message: `is the same message as data[${earlier}]`,
            });
        }
      }),
  })
  .meta({ id: 'ConversationMessagesImport' });

export const ImportedMessages = z
  .object({
    inserted: z.int32(),
    updated: z.int32().describe('Messages that were there already, changed or not.'),
  })
  .meta({ id: 'ImportedMessages' });
export type ImportedMessages = z.infer<typeof ImportedMessages>;
