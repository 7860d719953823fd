// Made by npm run docs from openapi/openapi.json.

/** What went wrong, as the service says it. Stable: branch on this. */
export type ServiceErrorCode =
  | 'CATALOG_PRODUCT_NOT_FOUND'
  | 'CONVERSATION_NOT_FOUND'
  | 'CUSTOMER_CONTACT_CONFLICT'
  | 'CUSTOMER_NOT_FOUND'
  | 'FILE_LINK_INVALID'
  | 'IDEMPOTENCY_IN_PROGRESS'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'INTERNAL_ERROR'
  | 'KEY_CREATE_ONLY'
  | 'KEY_READ_ONLY'
  | 'KEY_RESOURCE_NOT_ALLOWED'
  | 'OPPORTUNITY_NOT_FOUND'
  | 'PAYLOAD_TOO_LARGE'
  | 'PRECONDITION_FAILED'
  | 'QUOTE_NOT_FOUND'
  | 'RANGE_NOT_SATISFIABLE'
  | 'RATE_LIMIT_EXCEEDED'
  | 'ROUTE_NOT_FOUND'
  | 'SERVICE_UNAVAILABLE'
  | 'UNAUTHORIZED'
  | 'VALIDATION_FAILED';

export type ArchivedCatalogProduct = {
  /** Opaque, immutable identifier. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** When the product was archived. Example: `2026-11-21T08:25:00.123Z`. */
  archivedAt: string;
};

export type ArchivedCustomer = {
  /** Opaque, immutable identifier. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** Always true: the customer is archived. */
  archived: boolean;
};

export type CatalogProduct = {
  /** Opaque, immutable identifier. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The name of the product, as customers see it. Example: `Patagonia Norte en 8 días`. */
  title: string;
  /** The kind of product. */
  type: 'package' | 'experience' | 'expedition' | 'custom';
  /** `active`: for sale; `paused`: not for sale at present; `draft`: not finished. */
  status: 'active' | 'paused' | 'draft';
  /** What a price covers: a person, a group, or everything. */
  pricingMode: 'per_person' | 'per_group' | 'total';
  /** The price class, as the agency sets it; null if not set. */
  budgetTier: 'economic' | 'mid' | 'premium' | null;
  /** The minimum number of travellers; null if there is none. Example: `2`. */
  capacityMin: number | null;
  /** The maximum number of travellers; null if there is none. Example: `16`. */
  capacityMax: number | null;
  /** Image reference; catalog images are in a public store. */
  coverImage: string | null;
  /** The currency of the prices, three characters as in ISO 4217. Example: `USD`. */
  currency: string | null;
  /** The full description, for customers. */
  description: string | null;
  /** A sentence or two, for lists and cards. Example: `Lagos, bosques y volcanes.`. */
  shortDescription: string | null;
  /** Conditions that customers must know before they buy, such as cancellation terms. */
  specialConditions: string | null;
  /** The destinations. Only the dashboard sets them. */
  destinations: string[];
  /** The duration in whole days. Example: `8`. */
  durationDays: number | null;
  /** The duration in hours. Only the dashboard sets that of a variant. */
  durationHours: number | null;
  /** What the price includes, one item per entry. */
  includes: string[];
  /** What the price excludes, one item per entry. */
  excludes: string[];
  /** References of further images; catalog images are in a public store. */
  gallery: string[];
  /** The agency's own code for the product. Use it to sync without storing ids; the list has a filter for it. Example: `PAT-08`. */
  externalReferenceCode: string | null;
  /** The lowest price, in `currency`, for the unit in `pricingMode`. Example: `1450`. */
  fromPrice: number | null;
  /** The highest price, in `currency`, for the unit in `pricingMode`. */
  priceMax: number | null;
  /** The company that operates the trip. */
  operator: string | null;
  /** The basis of the price, such as double occupancy. */
  priceBasis: string | null;
  /** Text as it was sent, such as a calendar date. Example: `2026-12-01`. */
  validFrom: string | null;
  /** Text as it was sent, such as a calendar date. Example: `2027-03-31`. */
  validUntil: string | null;
  /** The variants of the product, by `position`. */
  variants: CatalogProductVariant[];
  /** When it was created. Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** When it was last changed. The list has this order, newest first. Example: `2026-11-21T08:25:00.123Z`. */
  updatedAt: string;
};

/** The text of a product with its variants can have at most 262144 bytes, as JSON in UTF-8. */
export type CatalogProductCreate = {
  /** The name of the product, as customers see it. At most 500 characters. */
  title: string;
  /** The kind of product. Default: `package`. */
  type?: 'package' | 'experience' | 'expedition' | 'custom';
  /** `active`: for sale; `paused`: not for sale at present; `draft`: not finished. Default: `active`. */
  status?: 'active' | 'paused' | 'draft';
  /** What a price covers: a person, a group, or everything. Default: `per_person`. */
  pricingMode?: 'per_person' | 'per_group' | 'total';
  /** The price class, as the agency sets it; null if not set. */
  budgetTier?: 'economic' | 'mid' | 'premium' | null;
  /** The minimum number of travellers; null if there is none. At least 1. */
  capacityMin?: number | null;
  /** The maximum number of travellers; null if there is none. At least 1. */
  capacityMax?: number | null;
  /** The currency of the prices, three characters as in ISO 4217. At least 3 characters, at most 3 characters. Example: `USD`. */
  currency?: string | null;
  /** The full description, for customers. At most 50000 characters. */
  description?: string | null;
  /** A sentence or two, for lists and cards. At most 2000 characters. */
  shortDescription?: string | null;
  /** Conditions that customers must know before they buy, such as cancellation terms. At most 50000 characters. */
  specialConditions?: string | null;
  /** The company that operates the trip. At most 255 characters. */
  operator?: string | null;
  /** The basis of the price, such as double occupancy. At most 255 characters. */
  priceBasis?: string | null;
  /** The agency's own code for the product. Use it to sync without storing ids; the list has a filter for it. At most 255 characters. */
  externalReferenceCode?: string | null;
  /** The duration in whole days. At least 1. */
  durationDays?: number | null;
  /** The duration in hours. Only the dashboard sets that of a variant. Greater than 0. */
  durationHours?: number | null;
  /** What the price includes, one item per entry. At most 200 entries. */
  includes?: string[] | null;
  /** What the price excludes, one item per entry. At most 200 entries. */
  excludes?: string[] | null;
  /** The lowest price, in `currency`, for the unit in `pricingMode`. At least 0. */
  fromPrice?: number | null;
  /** The highest price, in `currency`, for the unit in `pricingMode`. At least 0. */
  priceMax?: number | null;
  /** Text, stored as it is. A calendar date such as 2027-03-31 (ISO 8601) is recommended. At most 64 characters. Example: `2027-03-31`. */
  validFrom?: string | null;
  /** Text, stored as it is. A calendar date such as 2027-03-31 (ISO 8601) is recommended. At most 64 characters. Example: `2027-03-31`. */
  validUntil?: string | null;
  /** Set on creation. Afterwards, only the dashboard changes them. Default: `[]`. At most 100 entries. */
  variants?: CatalogProductVariantCreate[];
};

export type CatalogProductList = {
  /** The records of this page, in the order of the list. */
  data: CatalogProduct[];
  pagination: Pagination;
};

/** The text of a product with its variants can have at most 262144 bytes, as JSON in UTF-8. */
export type CatalogProductUpdate = {
  /** The name of the product, as customers see it. At most 500 characters. */
  title?: string;
  /** The kind of product. */
  type?: 'package' | 'experience' | 'expedition' | 'custom';
  /** `active`: for sale; `paused`: not for sale at present; `draft`: not finished. */
  status?: 'active' | 'paused' | 'draft';
  /** What a price covers: a person, a group, or everything. */
  pricingMode?: 'per_person' | 'per_group' | 'total';
  /** The price class, as the agency sets it; null if not set. */
  budgetTier?: 'economic' | 'mid' | 'premium' | null;
  /** The minimum number of travellers; null if there is none. At least 1. */
  capacityMin?: number | null;
  /** The maximum number of travellers; null if there is none. At least 1. */
  capacityMax?: number | null;
  /** The currency of the prices, three characters as in ISO 4217. At least 3 characters, at most 3 characters. Example: `USD`. */
  currency?: string | null;
  /** The full description, for customers. At most 50000 characters. */
  description?: string | null;
  /** A sentence or two, for lists and cards. At most 2000 characters. */
  shortDescription?: string | null;
  /** Conditions that customers must know before they buy, such as cancellation terms. At most 50000 characters. */
  specialConditions?: string | null;
  /** The company that operates the trip. At most 255 characters. */
  operator?: string | null;
  /** The basis of the price, such as double occupancy. At most 255 characters. */
  priceBasis?: string | null;
  /** The agency's own code for the product. Use it to sync without storing ids; the list has a filter for it. At most 255 characters. */
  externalReferenceCode?: string | null;
  /** The duration in whole days. At least 1. */
  durationDays?: number | null;
  /** The duration in hours. Only the dashboard sets that of a variant. Greater than 0. */
  durationHours?: number | null;
  /** What the price includes, one item per entry. At most 200 entries. */
  includes?: string[] | null;
  /** What the price excludes, one item per entry. At most 200 entries. */
  excludes?: string[] | null;
  /** The lowest price, in `currency`, for the unit in `pricingMode`. At least 0. */
  fromPrice?: number | null;
  /** The highest price, in `currency`, for the unit in `pricingMode`. At least 0. */
  priceMax?: number | null;
  /** Text, stored as it is. A calendar date such as 2027-03-31 (ISO 8601) is recommended. At most 64 characters. Example: `2027-03-31`. */
  validFrom?: string | null;
  /** Text, stored as it is. A calendar date such as 2027-03-31 (ISO 8601) is recommended. At most 64 characters. Example: `2027-03-31`. */
  validUntil?: string | null;
};

export type CatalogProductVariant = {
  /** Opaque, immutable identifier. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The name that distinguishes the variant from the others. Example: `Temporada alta`. */
  label: string;
  /** Position among the variants, from 0. At least 0. */
  position: number;
  /** `active`: for sale; `paused`: not for sale at present; `draft`: not finished. */
  status: 'active' | 'paused' | 'draft';
  /** The minimum number of travellers; null if there is none. */
  capacityMin: number | null;
  /** The maximum number of travellers; null if there is none. */
  capacityMax: number | null;
  /** The currency of the prices, three characters as in ISO 4217. Example: `USD`. */
  currency: string | null;
  /** The full description, for customers. */
  description: string | null;
  /** A sentence or two, for lists and cards. */
  shortDescription: string | null;
  /** The duration in whole days. */
  durationDays: number | null;
  /** The duration in hours. Only the dashboard sets that of a variant. */
  durationHours: number | null;
  /** What the price includes, one item per entry. */
  includes: string[];
  /** What the price excludes, one item per entry. */
  excludes: string[];
  /** The lowest price, in `currency`, for the unit in `pricingMode`. Example: `1790`. */
  fromPrice: number | null;
  /** The highest price, in `currency`, for the unit in `pricingMode`. */
  priceMax: number | null;
};

export type CatalogProductVariantCreate = {
  /** The name that distinguishes the variant from the others. At most 500 characters. */
  label: string;
  /** `active`: for sale; `paused`: not for sale at present; `draft`: not finished. Default: `active`. */
  status?: 'active' | 'paused' | 'draft';
  /** The minimum number of travellers; null if there is none. At least 1. */
  capacityMin?: number | null;
  /** The maximum number of travellers; null if there is none. At least 1. */
  capacityMax?: number | null;
  /** The currency of the prices, three characters as in ISO 4217. At least 3 characters, at most 3 characters. Example: `USD`. */
  currency?: string | null;
  /** The full description, for customers. At most 50000 characters. */
  description?: string | null;
  /** A sentence or two, for lists and cards. At most 2000 characters. */
  shortDescription?: string | null;
  /** The duration in whole days. At least 1. */
  durationDays?: number | null;
  /** What the price includes, one item per entry. At most 200 entries. */
  includes?: string[] | null;
  /** What the price excludes, one item per entry. At most 200 entries. */
  excludes?: string[] | null;
  /** The lowest price, in `currency`, for the unit in `pricingMode`. At least 0. */
  fromPrice?: number | null;
  /** The highest price, in `currency`, for the unit in `pricingMode`. At least 0. */
  priceMax?: number | null;
};

export type Conversation = {
  /** Opaque, immutable identifier. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The messaging channel, such as whatsapp. New values can appear. Example: `whatsapp`. */
  channel: string;
  /** The identifier of the contact on the channel: a telephone number or a handle. Example: `+5215512345678`. */
  contact: string;
  /** The name of the contact on the channel. Example: `Ana`. */
  contactName: string | null;
  /** The customer of the conversation; null if unknown. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  customerId: string | null;
  /** The name of the customer, even if the customer is archived. Example: `Ana Peña`. */
  customerName: string | null;
  /** Who has to act next. The agency chooses the values. New values can appear. Example: `waiting_for_agency`. */
  activityState: string | null;
  /** Who handles the thread: the agent, or a team member who took over. Example: `agent`. */
  controlledBy: string | null;
  /** The language of the conversation. Example: `es`. */
  language: string | null;
  /** The timestamp of the newest message. The list has this order, newest first. Example: `2026-11-21T08:25:00.123Z`. */
  lastMessageAt: string | null;
  /** When it was created. Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
};

export type ConversationList = {
  /** The records of this page, in the order of the list. */
  data: Conversation[];
  pagination: Pagination;
};

export type ConversationMessage = {
  /** Opaque, immutable identifier. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The thread that the message came from; a transcript can join several. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  conversationId: string;
  /** The text of the message. Example: `Hola, ¿tienen salidas en enero?`. */
  content: string;
  /** When it was created. Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** `inbound`: written by the contact. New values can appear. Example: `inbound`. */
  direction: string;
  /** The type of the message, such as text. New values can appear. Example: `text`. */
  messageType: string;
  /** The name of the sender, if known. Example: `Ana`. */
  senderName: string | null;
};

export type ConversationTranscript = {
  /** The messages, oldest first. */
  data: ConversationMessage[];
  /** The number of all messages of the joined threads. At least 0. Example: `12`. */
  total: number;
};

export type Customer = {
  /** Opaque, immutable identifier. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The given name; null if unknown. Example: `Ana`. */
  firstName: string | null;
  /** The family name; null if unknown. Example: `Peña`. */
  lastName: string | null;
  /** First and last name joined; null for an anonymous lead. Example: `Ana Peña`. */
  displayName: string | null;
  /** The city where the person lives, as it was sent. Example: `Ciudad de México`. */
  city: string | null;
  /** The country where the person lives, as it was sent. Example: `México`. */
  country: string | null;
  /** The language to write in. */
  preferredLanguage: 'es' | 'pt' | 'en' | null;
  /** What the agency should know about the person. */
  summary: string | null;
  /** Labels of the agency. The list of customers has a filter for them. */
  tags: string[];
  /** The first is the primary contact. */
  contacts: CustomerContact[];
  /** When it was created. Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** When it was last changed. The list has this order, newest first. Example: `2026-11-21T08:25:00.123Z`. */
  updatedAt: string;
};

export type CustomerContact = {
  /** Opaque, immutable identifier. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The channel of the contact. */
  identifierType: 'whatsapp' | 'instagram' | 'messenger' | 'email' | 'telefono' | 'web';
  /** The identifier on the channel: a telephone number in E.164 for whatsapp and telefono, any other value as it was sent. Example: `+5215512345678`. */
  identifierValue: string;
  /** The name on the channel, from the latest conversation with the contact or, later, from the dashboard. Example: `Ana`. */
  displayName: string | null;
  /** In E.164, for whatsapp and telefono. Example: `+5215512345678`. */
  phoneNumber: string | null;
};

export type CustomerContactCreate = {
  /** The channel of the contact. */
  identifierType: 'whatsapp' | 'instagram' | 'messenger' | 'email' | 'telefono' | 'web';
  /**
   * The identifier on the channel; returned as it was sent, a telephone number in E.164.
   *
   * - `whatsapp`, `telefono`: a telephone number in E.164, such as `+5215512345678`. Spaces, dots, dashes and brackets are ignored, and a
   *   leading 00 stands for +. Without a +, 12 to 15 digits are accepted if they are a possible number after a +, as WhatsApp reports
   *   numbers, and 8 to 11 digits only if they are a valid one. Start a national number with + and the country code.
   *   `whatsapp` also accepts what WhatsApp and its gateways report: digits with `@s.whatsapp.net` or `@c.us`, which is removed; a
   *   linked id with its `@lid`, such as `154417159582282@lid`, and a business-scoped user id, such as
   *   `MX.13491208655302741918`. Both stand for a hidden number, and have no `phoneNumber`.
   * - `email`: an address with one @ between two parts, without spaces, <> or mailto:.
   * - `instagram`: a handle, with or without its @.
   * - `messenger`, `web`: any text.
   *
   * An organization can have each contact once. Two values are the same contact if they differ only in the punctuation of a number, in
   * Mexico's 1 (`+521`), Argentina's 9 (`+549`) or Brazil's ninth digit, or in the case of an address or handle. At most 320 characters.
   */
  identifierValue: string;
};

export type CustomerCreate = {
  /** The first becomes the primary contact. At least 1, at most 50 entries. */
  contacts: CustomerContactCreate[];
  /** The given name; null if unknown. At most 255 characters. */
  firstName?: string | null;
  /** The family name; null if unknown. At most 255 characters. */
  lastName?: string | null;
  /** The city where the person lives, as it was sent. At most 255 characters. */
  city?: string | null;
  /** The country where the person lives, as it was sent. At most 255 characters. */
  country?: string | null;
  /** The language to write in. */
  preferredLanguage?: 'es' | 'pt' | 'en' | null;
  /** What the agency should know about the person. At most 50000 characters. */
  summary?: string | null;
  /** Labels of the agency. The list of customers has a filter for them. Default: `[]`. At most 100 entries. */
  tags?: string[];
};

export type CustomerList = {
  /** The records of this page, in the order of the list. */
  data: Customer[];
  pagination: Pagination;
};

export type CustomerUpdate = {
  /** Replaces the whole list. An unchanged contact keeps its id. At least 1, at most 50 entries. */
  contacts?: CustomerContactCreate[];
  /** The given name; null if unknown. At most 255 characters. */
  firstName?: string | null;
  /** The family name; null if unknown. At most 255 characters. */
  lastName?: string | null;
  /** The city where the person lives, as it was sent. At most 255 characters. */
  city?: string | null;
  /** The country where the person lives, as it was sent. At most 255 characters. */
  country?: string | null;
  /** The language to write in. */
  preferredLanguage?: 'es' | 'pt' | 'en' | null;
  /** What the agency should know about the person. At most 50000 characters. */
  summary?: string | null;
  /** Labels of the agency. The list of customers has a filter for them. At most 100 entries. */
  tags?: string[];
};

export type Opportunity = {
  /** Opaque, immutable identifier. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** A short title for people. Example: `Patagonia, familia Peña`. */
  title: string | null;
  /** The agency's short reference, for people. Example: `OP-1042`. */
  shortRef: string | null;
  /** Where the customer wants to go, as it was sent. Example: `Bariloche`. */
  destination: string | null;
  /** The customer of the lead; null if unknown. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  customerId: string | null;
  /** The name of the customer, even if the customer is archived. Example: `Ana Peña`. */
  customerName: string | null;
  /** The team member who sells; null if nobody is assigned. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  sellerMemberId: string | null;
  /** The name of the team member who sells. Example: `Lucía Romero`. */
  sellerName: string | null;
  /** The lower limit of the budget, in `budgetCurrency`. Example: `2500`. */
  budgetMin: number | null;
  /** The upper limit of the budget, in `budgetCurrency`. Example: `4000`. */
  budgetMax: number | null;
  /** The currency of the budget, three characters. Example: `USD`. */
  budgetCurrency: string | null;
  /** Text as the agency wrote it. A calendar date such as 2027-01-15 is recommended. Example: `2027-01-15`. */
  checkInDate: string | null;
  /** The number of nights. Example: `7`. */
  nights: number | null;
  /** The number of travellers. Example: `4`. */
  passengerCount: number | null;
  /** A sales status that the dashboard writes; the agency chooses the values. It is independent of the pipeline column, `stage`. New values can appear. Example: `qualified`. */
  salesStage: string;
  /** The key of the pipeline column. Agencies rename columns, but the key stays: branch on it. Example: `negotiation`. */
  stage: string | null;
  /** The id of the pipeline column. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  stageId: string | null;
  /** The override of a team member takes precedence over the value of the agent. */
  temperature: 'hot' | 'warm' | 'cold' | 'unknown' | 'discarded' | null;
  /** When it was qualified; null if it never entered the pipeline. Example: `2026-11-21T08:25:00.123Z`. */
  qualifiedAt: string | null;
  /** The last activity that the dashboard recorded. Messages do not change it. Example: `2026-11-21T08:25:00.123Z`. */
  lastActivityAt: string | null;
  /** When it was created. Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** When it was last changed. The list has this order, newest first. Example: `2026-11-21T08:25:00.123Z`. */
  updatedAt: string;
};

export type OpportunityList = {
  /** The records of this page, in the order of the list. */
  data: Opportunity[];
  pagination: Pagination;
};

/** Another page exists if offset plus limit is below total. */
export type Pagination = {
  /** The limit of this page. The last page may have fewer records. At least 1. Example: `25`. */
  limit: number;
  /** The offset of this page: the number of records before it. At least 0. */
  offset: number;
  /** The number of all records that match the filters. At least 0. Example: `60`. */
  total: number;
};

export type Quote = {
  /** Opaque, immutable identifier. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The opportunity of the quote. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  opportunityId: string;
  /** What the quote offers. Example: `Patagonia en familia`. */
  title: string;
  /** `draft`: not finished; `published`: open to the customer; `disabled`: withdrawn. */
  status: 'draft' | 'published' | 'disabled';
  /** The destination, as it was sent. Example: `Bariloche`. */
  destination: string | null;
  /** The customer who receives the quote; null if unknown. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  customerId: string | null;
  /** The name of the customer, even if the customer is archived. Example: `Ana Peña`. */
  customerName: string | null;
  /** The total price, in `currency`; null if not set. Example: `3650`. */
  price: number | null;
  /** The currency of the price, three characters. Example: `USD`. */
  currency: string | null;
  /** The token of the public quote link: part of the URL that the customer sees. Example: `7hG2kQ9xZ4mN1pR8sT5vW3yB`. */
  token: string;
  /** How often the customer has opened the quote. Example: `2`. */
  openCount: number;
  /** When the customer first opened the quote; null if never. Example: `2026-11-21T08:25:00.123Z`. */
  firstOpenedAt: string | null;
  /** When the customer last opened the quote; null if never. Example: `2026-11-21T08:25:00.123Z`. */
  lastOpenedAt: string | null;
  /** When the quote was first published; null if never. Example: `2026-11-21T08:25:00.123Z`. */
  publishedAt: string | null;
  /** When it was created. Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** When it was last changed. The list has this order, newest first. Example: `2026-11-21T08:25:00.123Z`. */
  updatedAt: string;
};

export type QuoteAttachment = {
  /** Opaque, immutable identifier. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The file name. Example: `cotizacion.pdf`. */
  fileName: string;
  /** The purpose of the file, such as itinerary. New values can appear. Example: `itinerary`. */
  kind: string;
  /** The media type of the file. Example: `application/pdf`. */
  mimeType: string;
  /** The size of the file in bytes. At least 0. Example: `18432`. */
  sizeBytes: number;
  /** A signed, short-lived link. Download the file at once, and do not store the link. Example: `https://api.example.com/files/AZ4t7pKx`. */
  url: string;
};

export type QuoteAttachmentList = {
  /** All files of the quote, without pages. */
  data: QuoteAttachment[];
};

export type QuoteList = {
  /** The records of this page, in the order of the list. */
  data: Quote[];
  pagination: Pagination;
};

export type TeamMember = {
  /** Opaque, immutable identifier. `sellerMemberId` of an opportunity refers to it. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The id of the user account of the member. Example: `usr_1042`. */
  userId: string;
  /** First and last name. Example: `Lucía Romero`. */
  name: string;
  /** The email address at work. Example: `lucia@example.com`. */
  email: string;
  /** One base role and optional additional roles. */
  roles: string[];
  /** Whether the member takes part in automatic assignment of opportunities. */
  isAssignable: boolean;
  /** When the record of the member was created. The list has this order, oldest first. Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
};

export type TeamMemberList = {
  /** The records of this page, in the order of the list. */
  data: TeamMember[];
  pagination: Pagination;
};

/** What listCatalogProducts can be asked for. */
export type ListCatalogProductsQuery = {
  /** How many records to return, 1 to 100. At least 1, at most 100. Default: `25`. */
  limit?: number;
  /** How many records to skip. Empty or `null` means 0. At least 0. Default: `0`. */
  offset?: number | null;
  /** Records that were created at this timestamp or later. At most 4000 characters. */
  createdSince?: string;
  /** Records that were created before this timestamp. At most 4000 characters. */
  createdBefore?: string;
  /** The records with these ids, up to 100, separated by commas. At most 4000 characters. */
  ids?: string;
  /** Records that were created or changed at this timestamp or later. At most 4000 characters. */
  updatedSince?: string;
  /** Records whose last change was before this timestamp. At most 4000 characters. */
  updatedBefore?: string;
  /** Products of this tier. */
  budgetTier?: 'economic' | 'mid' | 'premium';
  /** Products that have exactly this entry in `destinations`. At most 1000 characters. */
  destination?: string;
  /** Products with exactly this code of the agency. At most 255 characters. */
  externalReferenceCode?: string;
  /** Text in the title, short description or description, ignoring case and accents. At most 200 characters. */
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
  /** Records that were created at this timestamp or later. At most 4000 characters. */
  createdSince?: string;
  /** Records that were created before this timestamp. At most 4000 characters. */
  createdBefore?: string;
  /** The records with these ids, up to 100, separated by commas. At most 4000 characters. */
  ids?: string;
  /** Records that were created or changed at this timestamp or later. At most 4000 characters. */
  updatedSince?: string;
  /** Records whose last change was before this timestamp. At most 4000 characters. */
  updatedBefore?: string;
  /** The customer that has exactly this contact, in any spelling: a telephone number with its country code, an address or a handle. At most 320 characters. */
  contact?: string;
  /** Text in the name, the summary or any contact, ignoring case and accents. At most 200 characters. */
  query?: string;
  /** Customers that have exactly this tag. At most 200 characters. */
  tag?: string;
  /** The channel of `contact`. Default: any. */
  contactType?: 'whatsapp' | 'instagram' | 'messenger' | 'email' | 'telefono' | 'web';
};

/** What listOpportunities can be asked for. */
export type ListOpportunitiesQuery = {
  /** How many records to return, 1 to 100. At least 1, at most 100. Default: `25`. */
  limit?: number;
  /** How many records to skip. Empty or `null` means 0. At least 0. Default: `0`. */
  offset?: number | null;
  /** Records that were created at this timestamp or later. At most 4000 characters. */
  createdSince?: string;
  /** Records that were created before this timestamp. At most 4000 characters. */
  createdBefore?: string;
  /** The records with these ids, up to 100, separated by commas. At most 4000 characters. */
  ids?: string;
  /** Records that were created or changed at this timestamp or later. At most 4000 characters. */
  updatedSince?: string;
  /** Records whose last change was before this timestamp. At most 4000 characters. */
  updatedBefore?: string;
  /** Opportunities of exactly this customer. At most 200 characters. */
  customerId?: string;
  /** Text in the title, short reference or destination, ignoring case and accents. At most 200 characters. */
  query?: string;
  /** Opportunities of exactly this sales stage. At most 200 characters. */
  salesStage?: string;
  /** Opportunities of exactly this seller. At most 200 characters. */
  sellerMemberId?: string;
  /** Id of a pipeline column; only its opportunities are returned. At most 200 characters. */
  stageId?: string;
  /** Opportunities of this temperature. The override of a team member takes precedence over the value of the agent. */
  temperature?: 'hot' | 'warm' | 'cold' | 'unknown' | 'discarded';
};

/** What listConversations can be asked for. */
export type ListConversationsQuery = {
  /** How many records to return, 1 to 100. At least 1, at most 100. Default: `25`. */
  limit?: number;
  /** How many records to skip. Empty or `null` means 0. At least 0. Default: `0`. */
  offset?: number | null;
  /** Records that were created at this timestamp or later. At most 4000 characters. */
  createdSince?: string;
  /** Records that were created before this timestamp. At most 4000 characters. */
  createdBefore?: string;
  /** The records with these ids, up to 100, separated by commas. At most 4000 characters. */
  ids?: string;
  /** Records that were created or changed at this timestamp or later. At most 4000 characters. */
  updatedSince?: string;
  /** Records whose last change was before this timestamp. At most 4000 characters. */
  updatedBefore?: string;
  /** Conversations in exactly this state. At most 200 characters. */
  activityState?: string;
  /** Conversations on exactly this channel. At most 200 characters. */
  channel?: string;
  /** Conversations with exactly this contact, in any spelling: a telephone number with its country code, an address or a handle. At most 320 characters. */
  contact?: string;
  /** Conversations of this customer. At most 200 characters. */
  customerId?: string;
  /** Text in the contact name or the channel identifier, ignoring case and accents. At most 200 characters. */
  query?: string;
  /** The channel of `contact`. Default: any. */
  contactType?: 'whatsapp' | 'instagram' | 'messenger' | 'email' | 'telefono' | 'web';
};

/** What getConversationTranscript can be asked for. */
export type GetConversationTranscriptQuery = {
  /** How many records to return, 1 to 200. At least 1, at most 200. Default: `50`. */
  limit?: number;
  /** Messages before this one, by its id, or before a date-time. At most 64 characters. */
  before?: string;
};

/** What listQuotes can be asked for. */
export type ListQuotesQuery = {
  /** How many records to return, 1 to 100. At least 1, at most 100. Default: `25`. */
  limit?: number;
  /** How many records to skip. Empty or `null` means 0. At least 0. Default: `0`. */
  offset?: number | null;
  /** Records that were created at this timestamp or later. At most 4000 characters. */
  createdSince?: string;
  /** Records that were created before this timestamp. At most 4000 characters. */
  createdBefore?: string;
  /** The records with these ids, up to 100, separated by commas. At most 4000 characters. */
  ids?: string;
  /** Records that were created or changed at this timestamp or later. At most 4000 characters. */
  updatedSince?: string;
  /** Records whose last change was before this timestamp. At most 4000 characters. */
  updatedBefore?: string;
  /** Quotes of exactly this customer. At most 200 characters. */
  customerId?: string;
  /** Quotes of this opportunity. At most 200 characters. */
  opportunityId?: string;
  /** Text in the title or destination, ignoring case and accents. At most 200 characters. */
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
  /** Records that were created at this timestamp or later. At most 4000 characters. */
  createdSince?: string;
  /** Records that were created before this timestamp. At most 4000 characters. */
  createdBefore?: string;
  /** The records with these ids, up to 100, separated by commas. At most 4000 characters. */
  ids?: string;
};
