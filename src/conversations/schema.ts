import { z } from 'zod';
import {
  changeQuery,
  dateTime,
  id,
  limit,
  moment,
  page,
  shown,
  text,
  textFilter,
  uuid,
  withPlus,
} from '../fields.ts';

export const Conversation = z
  .object({
    id: shown(id(), 'Never changes; text without a meaning of its own.'),
    channel: shown(z.string(), 'The messaging channel, such as whatsapp; new ones can appear.', 'whatsapp'),
    contact: shown(z.string(), 'Identifier on its channel: phone number, handle.', '+5215512345678'),
    contactName: shown(z.string().nullable(), 'The name that the contact has on the channel.', 'Ana'),
    customerId: shown(id().nullable(), 'The customer who writes; null while nobody is known.'),
    customerName: shown(
      z.string().nullable(),
      'The name of the customer, also of an archived one.',
      'Ana Peña',
    ),
    activityState: shown(
      z.string().nullable(),
      'Whose turn it is, in words of the agency; new ones can appear.',
      'waiting_for_agency',
    ),
    controlledBy: shown(
      z.string().nullable(),
      'Who holds the thread: the agent, or a team member who took over.',
      'agent',
    ),
    language: shown(z.string().nullable(), 'The language that is written in.', 'es'),
    lastMessageAt: shown(
      dateTime().nullable(),
      'When the newest message came; the list is in this order, the newest first.',
    ),
    createdAt: shown(dateTime(), 'When it began or was written.'),
  })
  .meta({ id: 'Conversation' });
export type Conversation = z.infer<typeof Conversation>;

export const ConversationList = page(Conversation).meta({ id: 'ConversationList' });

export const ConversationListQuery = z.object({
  ...changeQuery(),
  activityState: textFilter('Conversations in exactly this state.'),
  channel: textFilter('Conversations on exactly this channel.').meta({ examples: ['whatsapp'] }),
  customerId: textFilter('Conversations of this customer.'),
  query: textFilter('Text in the contact name or the channel identifier, whatever its case and accents.'),
});

export const ConversationMessage = z
  .object({
    id: shown(id(), 'Never changes; text without a meaning of its own.'),
    conversationId: shown(id(), 'The thread that the message came from; a transcript can join several.'),
    content: shown(z.string(), 'The text of the message.', 'Hola, ¿tienen salidas en enero?'),
    createdAt: shown(dateTime(), 'When it began or was written.'),
    direction: shown(z.string(), 'Who wrote: `inbound` is the contact. New values can appear.', 'inbound'),
    messageType: shown(z.string(), 'What the message holds, such as text; new values can appear.', 'text'),
    senderName: shown(z.string().nullable(), 'Who wrote, by name, where it is known.', 'Ana'),
  })
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

const Place = z.union([uuid(), moment()]);

export const ConversationTranscriptQuery = z.object({
  limit: limit(200, 50),
  before: z
    .preprocess(
      withPlus,
      text({ max: 64 }).refine(
        (before) => Place.safeParse(before).success,
        'must be the id of a message of this transcript, or a date-time with an offset, such as 2026-11-21T08:25:00Z',
      ),
    )
    .optional()
    .describe('Messages before this one, by its id, or before a date-time.'),
});

export const ConversationParams = z.object({
  conversationId: id().describe('Id of any thread of the conversation.'),
});
