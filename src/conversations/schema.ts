import { z } from 'zod';
import { MAX_BYTES, sizeRule } from '../../rules/record-size.ts';
import * as f from '../contract/fields.ts';
import { contactFilter, withContactType } from '../customers/schema.ts';

export const Conversation = f.object('Conversation', {
  id: f.recordId(),
  channel: f.string('The messaging channel, such as whatsapp. New values can appear.', 'whatsapp'),
  contact: f.string(
    'The identifier of the contact on the channel: a telephone number or a handle.',
    '+5215512345678',
  ),
  contactName: f.nullableText('The name of the contact on the channel.', 'Ana'),
  customerId: f.nullableId('The customer of the conversation; null if unknown.'),
  customerName: f.nullableText('The name of the customer, even if the customer is archived.', 'Ana Peña'),
  activityState: f.nullableText(
    'Who has to act next. The agency chooses the values. New values can appear.',
    'waiting_for_agency',
  ),
  controlledBy: f.nullableText('Who handles the thread: the agent, or a team member who took over.', 'agent'),
  language: f.nullableText('The language of the conversation.', 'es'),
  lastMessageAt: f.nullableDateTime(
    'The timestamp of the newest message. The list has this order, newest first.',
  ),
  createdAt: f.createdAt(),
});

const filters = z.object({
  ...f.changeQuery(),
  activityState: f.textFilter('Conversations in exactly this state.', 255),
  channel: f.textFilter('Conversations on exactly this channel.', 255).meta({ examples: ['whatsapp'] }),
  contact: contactFilter('Conversations with exactly this contact'),
  customerId: f.idFilter('customers'),
  query: f.textFilter('Text in the contact name or the channel identifier, ignoring case and accents.'),
});

export const ConversationListQuery = withContactType(filters);

export const ConversationMessage = f.object('ConversationMessage', {
  id: f.recordId(),
  conversationId: f.id().describe('The thread that the message came from; a transcript can join several.'),
  content: f.string('The text of the message.', 'Hola, ¿tienen salidas en enero?'),
  createdAt: f.createdAt(),
  direction: f.string('`inbound`: written by the contact. New values can appear.', 'inbound'),
  messageType: f.string('The type of the message, such as text. New values can appear.', 'text'),
  senderName: f.nullableText('The name of the sender, if known.', 'Ana'),
});
export type ConversationMessage = z.infer<typeof ConversationMessage>;

const transcriptOf = <Message extends z.ZodType>(message: Message) =>
  z.object({
    data: z.array(message).describe('The messages, oldest first.'),
    total: z
      .int()
      .min(0)
      .describe('The number of all messages of the joined threads.')
      .meta({ examples: [12] }),
  });

export const ConversationTranscript = transcriptOf(ConversationMessage).meta({
  id: 'ConversationTranscript',
});

const Place = z.union([f.uuid(), f.timestamp()]);
const PLACE_RULE =
  'must be the id of a message of this transcript, or a date-time with an offset, such as 2026-11-21T08:25:00Z';

const place = (description: string) =>
  z
    .preprocess(
      f.withPlus,
      f
        .text({ max: 64 })
        .refine((sent) => Place.safeParse(sent).success, { error: PLACE_RULE, abort: true })
        .overwrite((sent) => Place.parse(sent)),
    )
    .optional()
    .describe(description);

export const ConversationTranscriptQuery = z
  .object({
    limit: f.limit(200, 50),
    before: place('Messages before this one, by its id, or before a date-time.'),
    after: place('The first messages after this one, by its id, or after a date-time.'),
  })
  .check((payload) => {
    const { before, after } = payload.value;
    if (before !== undefined && after !== undefined)
      f.addIssue(payload, 'cannot be used together with before', ['after']);
  });
export type ConversationTranscriptQuery = z.infer<typeof ConversationTranscriptQuery>;

export const ConversationParams = z.object({
  conversationId: f.pathId('Id of any thread of the conversation.'),
});

/** The schemas below belong to the dashboard API only. */

export const ConversationRecord = Conversation.extend({
  rotatedFrom: f.nullableId('The thread that this one continues; null for the first of its chain.'),
  lastMessage: z
    .object({
      content: f.string('Its first 200 characters.', 'Hola, ¿tienen salidas en enero?'),
      direction: ConversationMessage.shape.direction,
      messageType: ConversationMessage.shape.messageType,
      createdAt: ConversationMessage.shape.createdAt,
    })
    .nullable()
    .describe('The newest message, that of `lastMessageAt`; null if there is none.'),
}).meta({ id: 'ConversationRecord' });
export type ConversationRecord = z.infer<typeof ConversationRecord>;

export const ConversationRecordListQuery = withContactType(
  filters.extend({
    controlledBy: f.textFilter('Conversations that exactly this agent or team member handles.', 255),
  }),
);

export const ConversationPut = f
  .objectLike(Conversation.shape, {
    channel: f.text({ min: 1, max: 255 }).meta({ examples: ['whatsapp'] }),
    contact: f
      .text({ min: 1, max: 320 })
      .describe('The identifier of the contact on the channel: a telephone number or a handle.'),
    contactName: f.name().nullish(),
    customerId: f
      .uuid()
      .nullish()
      .describe('Default: the active customer that has the contact; without one, the stored customer stays.'),
    activityState: f.name().nullish(),
    controlledBy: f.name().nullish(),
    language: f.name().nullish(),
    rotatedFrom: f.field(
      f.uuid().nullish(),
      'The thread that this one continues, which must exist, and which no other thread continues. It cannot be changed later.',
    ),
    createdAt: f.createdOnce(),
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

export const ConversationUpdate = f.patchOf(ConversationPut).meta({
  id: 'ConversationUpdate',
  examples: [{ controlledBy: 'lucia@example.com', activityState: 'waiting_for_customer' }],
});
export type ConversationUpdate = z.infer<typeof ConversationUpdate>;

const reported = (channel: string) => z.string().nullable().describe(`Only for ${channel}; otherwise null.`);

export const ConversationMessageRecord = ConversationMessage.extend({
  delivery: z
    .object({
      providerMessageId: reported('whatsapp'),
      status: reported('whatsapp'),
      statusAt: f.nullableDateTime('Only for whatsapp; otherwise null.'),
      templateName: reported('whatsapp'),
      providerName: reported('every other channel'),
      externalId: reported('every other channel'),
      subject: reported('every other channel'),
    })
    .describe('What the provider reports.'),
}).meta({ id: 'ConversationMessageRecord' });
export type ConversationMessageRecord = z.infer<typeof ConversationMessageRecord>;

export const ConversationTranscriptRecord = transcriptOf(ConversationMessageRecord).meta({
  id: 'ConversationTranscriptRecord',
});

/** The conversation's channel decides which store, and so which fields. */
const delivery = () =>
  z
    .object({
      providerMessageId: f.name().nullish().describe('Only for whatsapp.'),
      status: f
        .name()
        .nullish()
        .describe('Only for whatsapp.')
        .meta({ examples: ['read'] }),
      statusAt: f.timestamp().nullish().describe('Only for whatsapp.'),
      templateName: f.name().nullish().describe('Only for whatsapp.'),
      providerName: f.name().nullish().describe('Not for whatsapp.'),
      externalId: f.name().nullish().describe('Not for whatsapp.'),
      subject: f.text({ max: 2_000 }).nullish().describe('Not for whatsapp.'),
    })
    .nullish()
    .describe('What the provider reports about the delivery. /v1 does not return it.');

const message = {
  content: f.text({ max: MAX_BYTES.message }).describe(sizeRule('message')),
  direction: f.text({ min: 1, max: 255 }).meta({ examples: ['inbound'] }),
  messageType: f.text({ min: 1, max: 255 }).meta({ examples: ['text'] }),
  senderName: f.name().nullish(),
  createdAt: f
    .pastTimestamp()
    .optional()
    .describe('At most 24 hours in the future. Default: the stored value; for a new message, now.'),
  delivery: delivery(),
};

export const ConversationMessagePut = f.objectLike(ConversationMessage.shape, message).meta({
  id: 'ConversationMessagePut',
  examples: [{ content: 'Hola, busco un viaje a Cartagena', direction: 'inbound', messageType: 'text' }],
});
export type ConversationMessagePut = z.infer<typeof ConversationMessagePut>;

export const ConversationMessageUpdate = f.patchOf(ConversationMessagePut).meta({
  id: 'ConversationMessageUpdate',
  examples: [{ content: 'Hola, busco un viaje a Cartagena en enero' }],
});
export type ConversationMessageUpdate = z.infer<typeof ConversationMessageUpdate>;

export const DeliveryReport = f.object('DeliveryReport', {
  status: f
    .text({ min: 1, max: 255 })
    .optional()
    .meta({ examples: ['read'] }),
  statusAt: f.field(
    f.timestamp().optional(),
    'When the message got this status, as the provider says. Default: now; such a report counts only until one with a timestamp arrives.',
  ),
});
export type DeliveryReport = z.infer<typeof DeliveryReport>;

export const ConversationMessageImport = z.object({ id: f.uuid(), ...ConversationMessagePut.shape }).meta({
  id: 'ConversationMessageImport',
});
export type ConversationMessageImport = z.infer<typeof ConversationMessageImport>;

export const ConversationMessagesImport = z
  .object({
    data: z
      .array(ConversationMessageImport)
      .min(1)
      .max(500)
      .check((payload) => {
        const first = new Map<string, number>();
        for (const [index, { id }] of payload.value.entries()) {
          const earlier = first.get(id.toLowerCase());
          if (earlier === undefined) first.set(id.toLowerCase(), index);
          else f.addIssue(payload, `is the same message as data[${earlier}]`, [index, 'id']);
        }
      }),
  })
  .meta({ id: 'ConversationMessagesImport' });

export const ImportedMessages = f.object('ImportedMessages', {
  inserted: z.int32().describe('Messages that are new.'),
  updated: z.int32().describe('Messages that already existed, changed or not.'),
});
