import type { Page } from './lists.ts';
import { recordsOf } from './operations.ts';
import { part } from './records.ts';
import { type ClientOptions, createSend, type RequestOptions } from './request.ts';
import type {
  ConversationMessage,
  ConversationTranscript,
  Customer,
  GetConversationTranscriptQuery,
  ListCustomersQuery,
  QuoteAttachmentList,
} from './types.ts';

/** The maximum of one response. */
const MAX_MESSAGES = 200;

/**
 * A client for the organization of the key. Calls throw `CrmError`. A call that failed on the network is retried; a retried
 * create makes no second record.
 * @throws TypeError without a key or an address
 */
export function createClient(options: ClientOptions) {
  const send = createSend(options);
  const records = recordsOf(send);
  return {
    ...records,

    /** People and anonymous leads, with their channel contacts. */
    customers: {
      ...records.customers,
      /**
       * The customers with exactly this contact, in any spelling: usually none or one. Two if one has the number for
       * `whatsapp` and another one for `telefono`; `contactType` selects one of them.
       */
      withContact: async (
        contact: string,
        { contactType, ...options }: RequestOptions & Pick<ListCustomersQuery, 'contactType'> = {},
      ): Promise<Customer[]> => {
        const page = await send('GET', '/v1/customers', { query: { contact, contactType }, options });
        return (page as Page<Customer>).data;
      },
    },

    /** Conversations on messaging channels, and their transcripts. Read only. */
    conversations: {
      ...records.conversations,
      /** The newest `limit` messages, oldest first; rotated threads are joined. */
      transcript: async (
        id: string,
        query?: GetConversationTranscriptQuery,
        options: RequestOptions = {},
      ): Promise<ConversationTranscript> =>
        (await send('GET', `/v1/conversations/${part(id)}/messages`, {
          query,
          options,
        })) as ConversationTranscript,
      /** Every message of the transcript, newest first: leave the loop at the first one that you already have. */
      messages: async function* (
        id: string,
        options: RequestOptions = {},
      ): AsyncGenerator<ConversationMessage> {
        const path = `/v1/conversations/${part(id)}/messages`;
        let before: string | undefined;
        do {
          const query = { limit: MAX_MESSAGES, before };
          const { data } = (await send('GET', path, { query, options })) as ConversationTranscript;
          yield* [...data].reverse();
          before = data.length === MAX_MESSAGES ? data[0]?.id : undefined;
        } while (before !== undefined);
      },
    },

    /** Quotes of opportunities, and their attachments. Read only. */
    quotes: {
      ...records.quotes,
      /** The files of a quote. Each `url` downloads its file for a few minutes: fetch it, do not store it. */
      attachments: async (id: string, options: RequestOptions = {}): Promise<QuoteAttachmentList> =>
        (await send('GET', `/v1/quotes/${part(id)}/attachments`, { options })) as QuoteAttachmentList,
    },
  };
}

/** What `createClient` returns. */
export type CrmClient = ReturnType<typeof createClient>;
