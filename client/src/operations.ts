import { changeOperations, listOperations } from './lists.ts';
import { getOperation, writeOperations } from './records.ts';
import type { Send } from './request.ts';
import type {
  ArchivedCatalogProduct,
  ArchivedCustomer,
  CatalogProduct,
  CatalogProductCreate,
  CatalogProductUpdate,
  Conversation,
  Customer,
  CustomerCreate,
  CustomerUpdate,
  ListCatalogProductsQuery,
  ListConversationsQuery,
  ListCustomersQuery,
  ListOpportunitiesQuery,
  ListQuotesQuery,
  ListTeamMembersQuery,
  Opportunity,
  Quote,
  TeamMember,
} from './types.ts';

/** The operations of each kind of record. */
export const recordsOf = (send: Send) => ({
  /** Travel products and their variants. */
  products: {
    ...listOperations<CatalogProduct, ListCatalogProductsQuery>(send, '/v1/catalog/products'),
    ...changeOperations<CatalogProduct>(send, '/v1/catalog/products'),
    ...getOperation<CatalogProduct>(send, '/v1/catalog/products'),
    ...writeOperations<CatalogProduct, CatalogProductCreate, CatalogProductUpdate, ArchivedCatalogProduct>(
      send,
      '/v1/catalog/products',
    ),
  },
  /** People and anonymous leads, with their contacts. */
  customers: {
    ...listOperations<Customer, ListCustomersQuery>(send, '/v1/customers'),
    ...changeOperations<Customer>(send, '/v1/customers'),
    ...getOperation<Customer>(send, '/v1/customers'),
    ...writeOperations<Customer, CustomerCreate, CustomerUpdate, ArchivedCustomer>(send, '/v1/customers'),
  },
  /** Sales leads in the pipeline. Read only. */
  opportunities: {
    ...listOperations<Opportunity, ListOpportunitiesQuery>(send, '/v1/opportunities'),
    ...changeOperations<Opportunity>(send, '/v1/opportunities'),
    ...getOperation<Opportunity>(send, '/v1/opportunities'),
  },
  /** Conversations on messaging channels, and their transcripts. Read only. */
  conversations: {
    ...listOperations<Conversation, ListConversationsQuery>(send, '/v1/conversations'),
    ...changeOperations<Conversation>(send, '/v1/conversations'),
  },
  /** Quotes of opportunities, and their attachments. Read only. */
  quotes: {
    ...listOperations<Quote, ListQuotesQuery>(send, '/v1/quotes'),
    ...changeOperations<Quote>(send, '/v1/quotes'),
  },
  /** Members of the organization. Read only. */
  team: {
    ...listOperations<TeamMember, ListTeamMembersQuery>(send, '/v1/team'),
  },
});
