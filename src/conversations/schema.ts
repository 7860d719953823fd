import { z } from 'zod';
import { dateTime, described, id, limit, page, pageQuery, textFilter } from '../fields.ts';

/** Of conversations and of their messages. */
const MEANINGS = {
  id: 'Never changes; text without a meaning of its own.',
  channel: 'The messaging channel, such as whatsapp; new ones can appear.',
  contactName: 'The name that the contact has on the channel.',
  customerId: 'The customer who writes; null while nobody is known.',
  customerName: 'The name of the customer, also of an archived one.',
  activityState: 'Whose turn it is, in words of the agency; new ones can appear.',
  language: 'The language that is written in.',
  lastMessageAt: 'When the newest message came; the list is in this order, the newest first.',
  content: 'The text of the message.',
  direction: 'Who wrote: `inbound` is the contact. New values can appear.',
  messageType: 'What the message holds, such as text; new values can appear.',
  senderName: 'Who wrote, by name, where it is known.',
  createdAt: 'When it began or was written.',
};

export const Conversation = z
  .object(
    described(
      {
        id: id(),
        channel: z.string().meta({ examples: ['whatsapp'] }),
        contact: z
          .string()
          .describe('Identifier on its channel: phone number, handle.')
          .meta({ examples: ['+5215512345678'] }),
        contactName: z
          .string()
          .nullable()
          .meta({ examples: ['Ana'] }),
        customerId: id().nullable(),
        customerName: z
          .string()
          .nullable()
          .meta({ examples: ['Ana Peña'] }),
        activityState: z
          .string()
          .nullable()
          .meta({ examples: ['waiting_for_agency'] }),
        controlledBy: z
          .string()
          .nullable()
          .describe('Who holds the thread: the agent, or a team member who took over.')
          .meta({ examples: ['agent'] }),
        language: z
          .string()
          .nullable()
          .meta({ examples: ['es'] }),
        lastMessageAt: dateTime().nullable(),
        createdAt: dateTime(),
      },
      MEANINGS,
    ),
  )
  .meta({ id: 'Conversation' });
export type Conversation = z.infer<typeof Conversation>;

export const ConversationList = page(Conversation).meta({ id: 'ConversationList' });

export const ConversationListQuery = z.object({
  ...pageQuery(),
  activityState: textFilter('Conversations in exactly this state.'),
  channel: textFilter('Conversations on exactly this channel.').meta({ examples: ['whatsapp'] }),
  customerId: textFilter('Conversations of this customer.'),
  query: textFilter('Text in the contact name or the channel identifier, whatever its case and accents.'),
});

export const ConversationMessage = z
  .object(
    described(
      {
        id: id(),
        conversationId: id().describe(
          'The thread that the message came from; a transcript can join several.',
        ),
        content: z.string().meta({ examples: ['Hola, ¿tienen salidas en enero?'] }),
        createdAt: dateTime(),
        direction: z.string().meta({ examples: ['inbound'] }),
        messageType: z.string().meta({ examples: ['text'] }),
        senderName: z
          .string()
          .nullable()
          .meta({ examples: ['Ana'] }),
      },
      MEANINGS,
    ),
  )
  .meta({ id: 'ConversationMessage' });
export type ConversationMessage = z.infer<typeof ConversationMessage>;

export const ConversationTranscript = z
  .object({
    data: z.array(ConversationMessage).describe('The messages, oldest first.'),
    total: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .describe('Count of all messages of the joined threads.')
      .meta({ examples: [12] }),
  })
  .meta({ id: 'ConversationTranscript' });
export type ConversationTranscript = z.infer<typeof ConversationTranscript>;

export const ConversationTranscriptQuery = z.object({ limit: limit(200, 50) });

export const ConversationParams = z.object({
  conversationId: id().describe('Id of any thread of the conversation.'),
});
