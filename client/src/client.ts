import { changeOperations, listOperations, type Page } from './lists.ts';
import {
  type ChangeOptions,
  type ClientOptions,
  type CreateOptions,
  createSend,
  type RequestOptions,
} from './request.ts';
import type {
  ArchivedCatalogProduct,
  ArchivedCustomer,
  CatalogProduct,
  CatalogProductCreate,
  CatalogProductUpdate,
  Conversation,
  ConversationMessage,
  ConversationTranscript,
  Customer,
  CustomerCreate,
  CustomerUpdate,
  GetConversationTranscriptQuery,
  ListCatalogProductsQuery,
  ListConversationsQuery,
  ListCustomersQuery,
  ListOpportunitiesQuery,
  ListQuotesQuery,
  ListTeamMembersQuery,
  Opportunity,
  Quote,
  QuoteAttachmentList,
  TeamMember,
} from './types.ts';

/** The most that one answer has. */
const MAX_MESSAGES = 200;

/** An id as a part of a path. @throws TypeError for what would lead to another path */
function part(id: string): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) throw new TypeError(`${JSON.stringify(id)} is no id.`);
  return encodeURIComponent(id);
}

/**
 * The organization's CRM, as its key sees it. Calls throw `CrmError`; those that failed on the way are repeated, and a
 * repeated create makes no second record.
 * @throws TypeError without a key or an address
 */
export function createClient(options: ClientOptions) {
  const send = createSend(options);
  return {
    /** Travel products and their variants. */
    products: {
      ...listOperations<CatalogProduct, ListCatalogProductsQuery>(send, '/v1/catalog/products'),
      ...changeOperations<CatalogProduct>(send, '/v1/catalog/products'),
      get: async (id: string, options: RequestOptions = {}): Promise<CatalogProduct> =>
        (await send('GET', `/v1/catalog/products/${part(id)}`, { options })) as CatalogProduct,
      create: async (body: CatalogProductCreate, options: CreateOptions = {}): Promise<CatalogProduct> =>
        (await send('POST', '/v1/catalog/products', { body, options })) as CatalogProduct,
      /** Changes the fields that are there; null clears one. Variants are set on create only. What was read can be sent back. */
      update: async (
        id: string,
        body: CatalogProductUpdate | CatalogProduct,
        options: ChangeOptions = {},
      ): Promise<CatalogProduct> =>
        (await send('PATCH', `/v1/catalog/products/${part(id)}`, { body, options })) as CatalogProduct,
      /** Takes the product out of the catalog; the dashboard can restore it for 30 days. */
      archive: async (id: string, options: ChangeOptions = {}): Promise<ArchivedCatalogProduct> =>
        (await send('DELETE', `/v1/catalog/products/${part(id)}`, { options })) as ArchivedCatalogProduct,
    },

    /** People and anonymous leads, with their channel contacts. */
    customers: {
      ...listOperations<Customer, ListCustomersQuery>(send, '/v1/customers'),
      ...changeOperations<Customer>(send, '/v1/customers'),
      get: async (id: string, options: RequestOptions = {}): Promise<Customer> =>
        (await send('GET', `/v1/customers/${part(id)}`, { options })) as Customer,
      /**
       * Whoever has exactly this contact, however it is written: mostly nobody or one. Two, where one has the number for
       * `whatsapp` and another one for `telefono`, unless `contactType` says which.
       */
      withContact: async (
        contact: string,
        { contactType, ...options }: RequestOptions & Pick<ListCustomersQuery, 'contactType'> = {},
      ): Promise<Customer[]> => {
        const page = await send('GET', '/v1/customers', { query: { contact, contactType }, options });
        return (page as Page<Customer>).data;
      },
      /** Fails with `CUSTOMER_CONTACT_CONFLICT` when another customer has one of the contacts. */
      create: async (body: CustomerCreate, options: CreateOptions = {}): Promise<Customer> =>
        (await send('POST', '/v1/customers', { body, options })) as Customer,
      /** Changes the fields that are there; null clears one. `contacts` replaces the whole list. What was read can be sent back. */
      update: async (
        id: string,
        body: CustomerUpdate | Customer,
        options: ChangeOptions = {},
      ): Promise<Customer> =>
        (await send('PATCH', `/v1/customers/${part(id)}`, { body, options })) as Customer,
      /** Takes the customer out of the book and frees the contacts; history is kept. */
      archive: async (id: string, options: ChangeOptions = {}): Promise<ArchivedCustomer> =>
        (await send('DELETE', `/v1/customers/${part(id)}`, { options })) as ArchivedCustomer,
    },

    /** Sales leads in the pipeline. Read only. */
    opportunities: {
      ...listOperations<Opportunity, ListOpportunitiesQuery>(send, '/v1/opportunities'),
      ...changeOperations<Opportunity>(send, '/v1/opportunities'),
      get: async (id: string, options: RequestOptions = {}): Promise<Opportunity> =>
        (await send('GET', `/v1/opportunities/${part(id)}`, { options })) as Opportunity,
    },

    /** Conversations on messaging channels. Read only. */
    conversations: {
      ...listOperations<Conversation, ListConversationsQuery>(send, '/v1/conversations'),
      ...changeOperations<Conversation>(send, '/v1/conversations'),
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
      /** Every message of the transcript, the newest first: leave the loop at the first one that you have. */
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

    /** Quotes of opportunities. Read only. */
    quotes: {
      ...listOperations<Quote, ListQuotesQuery>(send, '/v1/quotes'),
      ...changeOperations<Quote>(send, '/v1/quotes'),
      /** The files of a quote. Each `url` is a download credential of a few minutes: fetch it, do not store it. */
      attachments: async (id: string, options: RequestOptions = {}): Promise<QuoteAttachmentList> =>
        (await send('GET', `/v1/quotes/${part(id)}/attachments`, { options })) as QuoteAttachmentList,
    },

    /** Members of the organization. Read only. */
    team: listOperations<TeamMember, ListTeamMembersQuery>(send, '/v1/team'),
  };
}

/** What `createClient` returns. */
export type CrmClient = ReturnType<typeof createClient>;
