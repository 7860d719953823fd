// Made by npm run docs from openapi/openapi.json.

/** What went wrong, as the service says it. Stable: branch on this. */
export type ServiceErrorCode =
  | 'API_KEY_INACTIVE'
  | 'API_KEY_NOT_FOUND'
  | 'CATALOG_PRODUCT_NOT_ARCHIVED'
  | 'CATALOG_PRODUCT_NOT_FOUND'
  | 'CONVERSATION_NOT_FOUND'
  | 'CUSTOMER_CONTACT_CONFLICT'
  | 'CUSTOMER_NOT_FOUND'
  | 'FILE_LINK_INVALID'
  | 'IDEMPOTENCY_IN_PROGRESS'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'INTERNAL_ERROR'
  | 'OPPORTUNITY_NOT_FOUND'
  | 'ORGANIZATION_NOT_FOUND'
  | 'PAYLOAD_TOO_LARGE'
  | 'PIPELINE_STAGE_NOT_FOUND'
  | 'PRECONDITION_FAILED'
  | 'QUOTE_ATTACHMENT_NOT_FOUND'
  | 'QUOTE_NOT_FOUND'
  | 'RANGE_NOT_SATISFIABLE'
  | 'RATE_LIMIT_EXCEEDED'
  | 'ROUTE_NOT_FOUND'
  | 'SERVICE_UNAVAILABLE'
  | 'TEAM_MEMBER_NOT_FOUND'
  | 'UNAUTHORIZED'
  | 'VALIDATION_FAILED';

export type ArchivedCatalogProduct = {
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  archivedAt: string;
};

export type ArchivedCustomer = {
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  archived: boolean;
};

export type CatalogProduct = {
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** Example: `Patagonia Norte en 8 días`. */
  title: string;
  type: 'package' | 'experience' | 'expedition' | 'custom';
  status: 'active' | 'paused' | 'draft';
  pricingMode: 'per_person' | 'per_group' | 'total';
  budgetTier: 'economic' | 'mid' | 'premium' | null;
  /** Example: `2`. */
  capacityMin: number | null;
  /** Example: `16`. */
  capacityMax: number | null;
  /** Image reference; catalog images are in a public store. */
  coverImage: string | null;
  /** Example: `USD`. */
  currency: string | null;
  description: string | null;
  /** Example: `Lagos, bosques y volcanes.`. */
  shortDescription: string | null;
  specialConditions: string | null;
  destinations: string[];
  /** Example: `8`. */
  durationDays: number | null;
  durationHours: number | null;
  includes: string[];
  excludes: string[];
  gallery: string[];
  /** The agency's own code for the product, to sync by without storing ids of this service. Example: `PAT-08`. */
  externalReferenceCode: string | null;
  /** Example: `1450`. */
  fromPrice: number | null;
  priceMax: number | null;
  operator: string | null;
  priceBasis: string | null;
  /** Text as it was sent, such as a calendar date. Example: `2026-12-01`. */
  validFrom: string | null;
  /** Text as it was sent, such as a calendar date. Example: `2027-03-31`. */
  validUntil: string | null;
  variants: CatalogProductVariant[];
  /** Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  updatedAt: string;
};

/** All text of a product with its variants takes at most 262144 bytes, as JSON in UTF-8. */
export type CatalogProductCreate = {
  /** At most 500 characters. */
  title: string;
  /** Default: `"package"`. */
  type?: 'package' | 'experience' | 'expedition' | 'custom';
  /** Default: `"active"`. */
  status?: 'active' | 'paused' | 'draft';
  /** Default: `"per_person"`. */
  pricingMode?: 'per_person' | 'per_group' | 'total';
  budgetTier?: 'economic' | 'mid' | 'premium' | null;
  /** At least 1. */
  capacityMin?: number | null;
  /** At least 1. */
  capacityMax?: number | null;
  /** Three-character currency code. At least 3 characters, at most 3 characters. Example: `USD`. */
  currency?: string | null;
  /** At most 50000 characters. */
  description?: string | null;
  /** At most 2000 characters. */
  shortDescription?: string | null;
  /** At most 50000 characters. */
  specialConditions?: string | null;
  /** At most 255 characters. */
  operator?: string | null;
  /** At most 255 characters. */
  priceBasis?: string | null;
  /** At most 255 characters. */
  externalReferenceCode?: string | null;
  /** At least 1. */
  durationDays?: number | null;
  /** Greater than 0. */
  durationHours?: number | null;
  /** At most 200 entries. */
  includes?: string[] | null;
  /** At most 200 entries. */
  excludes?: string[] | null;
  /** At least 0. */
  fromPrice?: number | null;
  /** At least 0. */
  priceMax?: number | null;
  /** Text, kept as it is; what we suggest is a calendar date such as 2027-03-31 (ISO 8601). At most 64 characters. Example: `2027-03-31`. */
  validFrom?: string | null;
  /** Text, kept as it is; what we suggest is a calendar date such as 2027-03-31 (ISO 8601). At most 64 characters. Example: `2027-03-31`. */
  validUntil?: string | null;
  /** Set here only; a PATCH does not change them. At most 100 entries. Default: `[]`. */
  variants?: CatalogProductVariantCreate[];
};

export type CatalogProductList = {
  data: CatalogProduct[];
  pagination: Pagination;
};

/** All text of a product with its variants takes at most 262144 bytes, as JSON in UTF-8. */
export type CatalogProductUpdate = {
  /** At most 500 characters. */
  title?: string;
  type?: 'package' | 'experience' | 'expedition' | 'custom';
  status?: 'active' | 'paused' | 'draft';
  pricingMode?: 'per_person' | 'per_group' | 'total';
  budgetTier?: 'economic' | 'mid' | 'premium' | null;
  /** At least 1. */
  capacityMin?: number | null;
  /** At least 1. */
  capacityMax?: number | null;
  /** Three-character currency code. At least 3 characters, at most 3 characters. Example: `USD`. */
  currency?: string | null;
  /** At most 50000 characters. */
  description?: string | null;
  /** At most 2000 characters. */
  shortDescription?: string | null;
  /** At most 50000 characters. */
  specialConditions?: string | null;
  /** At most 255 characters. */
  operator?: string | null;
  /** At most 255 characters. */
  priceBasis?: string | null;
  /** At most 255 characters. */
  externalReferenceCode?: string | null;
  /** At least 1. */
  durationDays?: number | null;
  /** Greater than 0. */
  durationHours?: number | null;
  /** At most 200 entries. */
  includes?: string[] | null;
  /** At most 200 entries. */
  excludes?: string[] | null;
  /** At least 0. */
  fromPrice?: number | null;
  /** At least 0. */
  priceMax?: number | null;
  /** Text, kept as it is; what we suggest is a calendar date such as 2027-03-31 (ISO 8601). At most 64 characters. Example: `2027-03-31`. */
  validFrom?: string | null;
  /** Text, kept as it is; what we suggest is a calendar date such as 2027-03-31 (ISO 8601). At most 64 characters. Example: `2027-03-31`. */
  validUntil?: string | null;
};

export type CatalogProductVariant = {
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** Example: `Temporada alta`. */
  label: string;
  /** Place among the variants, from 0. At least 0. */
  position: number;
  status: 'active' | 'paused' | 'draft';
  capacityMin: number | null;
  capacityMax: number | null;
  /** Example: `USD`. */
  currency: string | null;
  description: string | null;
  shortDescription: string | null;
  durationDays: number | null;
  durationHours: number | null;
  includes: string[];
  excludes: string[];
  /** Example: `1790`. */
  fromPrice: number | null;
  priceMax: number | null;
};

export type CatalogProductVariantCreate = {
  /** At most 500 characters. */
  label: string;
  /** Default: `"active"`. */
  status?: 'active' | 'paused' | 'draft';
  /** At least 1. */
  capacityMin?: number | null;
  /** At least 1. */
  capacityMax?: number | null;
  /** Three-character currency code. At least 3 characters, at most 3 characters. Example: `USD`. */
  currency?: string | null;
  /** At most 50000 characters. */
  description?: string | null;
  /** At most 2000 characters. */
  shortDescription?: string | null;
  /** At least 1. */
  durationDays?: number | null;
  /** At most 200 entries. */
  includes?: string[] | null;
  /** At most 200 entries. */
  excludes?: string[] | null;
  /** At least 0. */
  fromPrice?: number | null;
  /** At least 0. */
  priceMax?: number | null;
};

export type Conversation = {
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** Example: `whatsapp`. */
  channel: string;
  /** Identifier on its channel: phone number, handle. Example: `+5215512345678`. */
  contact: string;
  /** Example: `Ana`. */
  contactName: string | null;
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  customerId: string | null;
  /** Example: `Ana Peña`. */
  customerName: string | null;
  /** Example: `waiting_for_agency`. */
  activityState: string | null;
  /** Who holds the thread: the agent, or a team member who took over. Example: `agent`. */
  controlledBy: string | null;
  /** Example: `es`. */
  language: string | null;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  lastMessageAt: string | null;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
};

export type ConversationList = {
  data: Conversation[];
  pagination: Pagination;
};

export type ConversationMessage = {
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The thread that the message came from; a transcript can join several. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  conversationId: string;
  /** Example: `Hola, ¿tienen salidas en enero?`. */
  content: string;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** Example: `inbound`. */
  direction: string;
  /** Example: `text`. */
  messageType: string;
  /** Example: `Ana`. */
  senderName: string | null;
};

export type ConversationTranscript = {
  /** Oldest first. */
  data: ConversationMessage[];
  /** Count of all messages of the joined threads. At least 0. Example: `12`. */
  total: number;
};

export type Customer = {
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** Example: `Ana`. */
  firstName: string | null;
  /** Example: `Peña`. */
  lastName: string | null;
  /** First and last name joined; null for an anonymous lead. Example: `Ana Peña`. */
  displayName: string | null;
  /** Example: `Ciudad de México`. */
  city: string | null;
  /** Example: `México`. */
  country: string | null;
  /** Example: `es`. */
  preferredLanguage: string | null;
  summary: string | null;
  tags: string[];
  /** The first is the primary contact. */
  contacts: CustomerContact[];
  /** Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  updatedAt: string;
};

export type CustomerContact = {
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  identifierType: 'whatsapp' | 'instagram' | 'messenger' | 'email' | 'telefono' | 'web';
  /** As it was sent. Example: `+52 1 55 1234 5678`. */
  identifierValue: string;
  displayName: string | null;
  /** In E.164, for whatsapp and telefono. Example: `+5215512345678`. */
  phoneNumber: string | null;
};

export type CustomerContactCreate = {
  identifierType: 'whatsapp' | 'instagram' | 'messenger' | 'email' | 'telefono' | 'web';
  /**
   * Identifies the person on the channel; read back as it was sent.
   *
   * - `whatsapp`, `telefono`: a telephone number in E.164, such as `+5215512345678`. Spaces, dots, dashes and brackets do not count, and a
   *   leading 00 stands for +. Without a +, 12 to 15 digits are taken as WhatsApp reports numbers, and 8 to 11 digits only where they are a valid
   *   number with a + in front: a national number must start with + and the country code. `whatsapp` also takes a business-scoped user
   *   id, such as `MX.13491208655302741918`.
   * - `email`: an address with one @ between two parts, without spaces, <> and mailto:.
   * - `instagram`: a handle, with or without its @.
   * - `messenger`, `web`: any text.
   *
   * The same contact, of which a customer and an organization have one: numbers without their punctuation, and without Mexico's 1 (`+521`),
   * Argentina's 9 (`+549`) and Brazil's ninth digit; addresses and handles in any case; other text exactly. At most 320 characters.
   */
  identifierValue: string;
};

export type CustomerCreate = {
  /** The first becomes the primary contact. At least 1, at most 50 entries. */
  contacts: CustomerContactCreate[];
  /** At most 255 characters. */
  firstName?: string | null;
  /** At most 255 characters. */
  lastName?: string | null;
  /** At most 255 characters. */
  city?: string | null;
  /** At most 255 characters. */
  country?: string | null;
  preferredLanguage?: 'es' | 'pt' | 'en' | null;
  /** At most 50000 characters. */
  summary?: string | null;
  /** At most 100 entries. Default: `[]`. */
  tags?: string[];
};

export type CustomerList = {
  data: Customer[];
  pagination: Pagination;
};

export type CustomerUpdate = {
  /** Replaces the whole list; a contact that stays keeps its id. At least 1, at most 50 entries. */
  contacts?: CustomerContactCreate[];
  /** At most 255 characters. */
  firstName?: string | null;
  /** At most 255 characters. */
  lastName?: string | null;
  /** At most 255 characters. */
  city?: string | null;
  /** At most 255 characters. */
  country?: string | null;
  preferredLanguage?: 'es' | 'pt' | 'en' | null;
  /** At most 50000 characters. */
  summary?: string | null;
  /** At most 100 entries. */
  tags?: string[];
};

export type Opportunity = {
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** Example: `Patagonia, familia Peña`. */
  title: string | null;
  /** The agency's short reference for people. Example: `OP-1042`. */
  shortRef: string | null;
  /** Example: `Bariloche`. */
  destination: string | null;
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  customerId: string | null;
  /** Example: `Ana Peña`. */
  customerName: string | null;
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  sellerMemberId: string | null;
  /** Example: `Lucía Romero`. */
  sellerName: string | null;
  /** Example: `2500`. */
  budgetMin: number | null;
  /** Example: `4000`. */
  budgetMax: number | null;
  /** Example: `USD`. */
  budgetCurrency: string | null;
  /** Text as the agency wrote it; what we suggest is a calendar date such as 2027-01-15. Example: `2027-01-15`. */
  checkInDate: string | null;
  /** Example: `7`. */
  nights: number | null;
  /** Example: `4`. */
  passengerCount: number | null;
  /** Example: `qualified`. */
  salesStage: string;
  /** Key of the pipeline column; agencies rename columns, so branch on this. Example: `negotiation`. */
  stage: string | null;
  /** Id of the pipeline column. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  stageId: string | null;
  /** What a team member set goes before what the agent set. */
  temperature: 'hot' | 'warm' | 'cold' | 'unknown' | 'discarded' | null;
  /** null: it never entered the pipeline. Example: `2026-11-21T08:25:00.123Z`. */
  qualifiedAt: string | null;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  lastActivityAt: string | null;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  updatedAt: string;
};

export type OpportunityList = {
  data: Opportunity[];
  pagination: Pagination;
};

/** Another page exists while offset plus limit is below total. */
export type Pagination = {
  /** At least 1. Example: `25`. */
  limit: number;
  /** At least 0. */
  offset: number;
  /** Count of all records for the filters sent. At least 0. Example: `60`. */
  total: number;
};

export type Quote = {
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  opportunityId: string;
  /** Example: `Patagonia en familia`. */
  title: string;
  status: 'draft' | 'published' | 'disabled';
  /** Example: `Bariloche`. */
  destination: string | null;
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  customerId: string | null;
  /** Example: `Ana Peña`. */
  customerName: string | null;
  /** Example: `3650`. */
  price: number | null;
  /** Example: `USD`. */
  currency: string | null;
  /** Of the public quote link; builds the URL that the customer sees. Example: `7hG2kQ9xZ4mN1pR8sT5vW3yB`. */
  token: string;
  /** Times the customer opened it; 0 means never seen. Example: `2`. */
  openCount: number;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  firstOpenedAt: string | null;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  lastOpenedAt: string | null;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  publishedAt: string | null;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  updatedAt: string;
};

export type QuoteAttachment = {
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** Example: `cotizacion.pdf`. */
  fileName: string;
  /** Example: `itinerary`. */
  kind: string;
  /** Example: `application/pdf`. */
  mimeType: string;
  /** At least 0. Example: `18432`. */
  sizeBytes: number;
  /** Signed and short-lived: fetch the file on receipt, do not store the link. Example: `https://api.example.com/files/AZ4t7pKx`. */
  url: string;
};

export type QuoteAttachmentList = {
  data: QuoteAttachment[];
};

export type QuoteList = {
  data: Quote[];
  pagination: Pagination;
};

export type TeamMember = {
  /** Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** Example: `usr_1042`. */
  userId: string;
  /** Example: `Lucía Romero`. */
  name: string;
  /** Example: `lucia@example.com`. */
  email: string;
  /** One base role and optional add-ons. */
  roles: string[];
  /** Whether the member takes part in automatic assignment of opportunities. */
  isAssignable: boolean;
  /** Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
};

export type TeamMemberList = {
  data: TeamMember[];
  pagination: Pagination;
};

/** What listCatalogProducts can be asked for. */
export type ListCatalogProductsQuery = {
  /** How many records to return, 1 to 100. At least 1, at most 100. Default: `25`. */
  limit?: number;
  /** How many records to skip. Empty or `null` means 0. At least 0. Default: `0`. */
  offset?: number | null;
  /** Products of this tier. */
  budgetTier?: 'economic' | 'mid' | 'premium';
  /** Products with exactly this code of your own. At most 255 characters. */
  externalReferenceCode?: string;
  /** Text in the title, short description or description, whatever its case and accents. At most 200 characters. */
  query?: string;
  /** Products in this status. */
  status?: 'active' | 'paused' | 'draft';
  /** Products of this type. */
  type?: 'package' | 'experience' | 'expedition' | 'custom';
};

/** What listCustomers can be asked for. */
export type ListCustomersQuery = {
  /** How many records to return, 1 to 100. At least 1, at most 100. Default: `25`. */
  limit?: number;
  /** How many records to skip. Empty or `null` means 0. At least 0. Default: `0`. */
  offset?: number | null;
  /** Text in the name, the summary or any contact, whatever its case and accents. At most 200 characters. */
  query?: string;
  /** Customers that have exactly this tag. At most 200 characters. */
  tag?: string;
};

/** What listOpportunities can be asked for. */
export type ListOpportunitiesQuery = {
  /** How many records to return, 1 to 100. At least 1, at most 100. Default: `25`. */
  limit?: number;
  /** How many records to skip. Empty or `null` means 0. At least 0. Default: `0`. */
  offset?: number | null;
  /** Text in the title, short reference or destination, whatever its case and accents. At most 200 characters. */
  query?: string;
  /** Opportunities of exactly this sales stage. At most 200 characters. */
  salesStage?: string;
  /** Id of a pipeline column; only its opportunities are returned. At most 200 characters. */
  stageId?: string;
};

/** What listConversations can be asked for. */
export type ListConversationsQuery = {
  /** How many records to return, 1 to 100. At least 1, at most 100. Default: `25`. */
  limit?: number;
  /** How many records to skip. Empty or `null` means 0. At least 0. Default: `0`. */
  offset?: number | null;
  /** Conversations in exactly this state. At most 200 characters. */
  activityState?: string;
  /** Conversations on exactly this channel. At most 200 characters. */
  channel?: string;
  /** Conversations of this customer. At most 200 characters. */
  customerId?: string;
  /** Text in the contact name or the channel identifier, whatever its case and accents. At most 200 characters. */
  query?: string;
};

/** What getConversationTranscript can be asked for. */
export type GetConversationTranscriptQuery = {
  /** How many records to return, 1 to 200. At least 1, at most 200. Default: `50`. */
  limit?: number;
};

/** What listQuotes can be asked for. */
export type ListQuotesQuery = {
  /** How many records to return, 1 to 100. At least 1, at most 100. Default: `25`. */
  limit?: number;
  /** How many records to skip. Empty or `null` means 0. At least 0. Default: `0`. */
  offset?: number | null;
  /** Quotes of this opportunity. At most 200 characters. */
  opportunityId?: string;
  /** Text in the title or destination, whatever its case and accents. At most 200 characters. */
  query?: string;
  /** Quotes in this status. */
  status?: 'draft' | 'published' | 'disabled';
};

/** What listTeamMembers can be asked for. */
export type ListTeamMembersQuery = {
  /** How many records to return, 1 to 100. At least 1, at most 100. Default: `25`. */
  limit?: number;
  /** How many records to skip. Empty or `null` means 0. At least 0. Default: `0`. */
  offset?: number | null;
};
