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
  /** Never changes; text without a meaning of its own. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** When it left the catalog. Example: `2026-11-21T08:25:00.123Z`. */
  archivedAt: string;
};

export type ArchivedCustomer = {
  /** Never changes; text without a meaning of its own. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** Always true: the customer left the book. */
  archived: boolean;
};

export type CatalogProduct = {
  /** Never changes; text without a meaning of its own. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** What customers read first. Example: `Patagonia Norte en 8 días`. */
  title: string;
  /** What kind of product it is. */
  type: 'package' | 'experience' | 'expedition' | 'custom';
  /** Whether it is for sale: `active`, not at the moment: `paused`, or not finished: `draft`. */
  status: 'active' | 'paused' | 'draft';
  /** What a price is for: a person, a group, or everything. */
  pricingMode: 'per_person' | 'per_group' | 'total';
  /** The price class that the agency puts it in; null when it does not say. */
  budgetTier: 'economic' | 'mid' | 'premium' | null;
  /** The fewest travellers; null when there is no such limit. Example: `2`. */
  capacityMin: number | null;
  /** The most travellers; null when there is no such limit. Example: `16`. */
  capacityMax: number | null;
  /** Image reference; catalog images are in a public store. */
  coverImage: string | null;
  /** The currency of its prices, three characters, as in ISO 4217. Example: `USD`. */
  currency: string | null;
  /** All about it, for customers. */
  description: string | null;
  /** A sentence or two, for lists and cards. Example: `Lagos, bosques y volcanes.`. */
  shortDescription: string | null;
  /** What customers must know before they buy, such as the terms of cancelling. */
  specialConditions: string | null;
  /** Where it leads, as the dashboard keeps it. */
  destinations: string[];
  /** How long it takes, in whole days. Example: `8`. */
  durationDays: number | null;
  /** How long it takes, in hours, where days are too coarse. */
  durationHours: number | null;
  /** What is in the price, each entry one thing. */
  includes: string[];
  /** What is not in the price, each entry one thing. */
  excludes: string[];
  /** References of further images; catalog images are in a public store. */
  gallery: string[];
  /** The agency's own code for the product. Use it to sync without keeping ids; see the filter of the list. Example: `PAT-08`. */
  externalReferenceCode: string | null;
  /** The lowest price, in `currency`, per what `pricingMode` says. Example: `1450`. */
  fromPrice: number | null;
  /** The highest price, in `currency`, per what `pricingMode` says. */
  priceMax: number | null;
  /** Who carries out the trip. */
  operator: string | null;
  /** What the price rests on, such as double occupancy. */
  priceBasis: string | null;
  /** Text as it was sent, such as a calendar date. Example: `2026-12-01`. */
  validFrom: string | null;
  /** Text as it was sent, such as a calendar date. Example: `2027-03-31`. */
  validUntil: string | null;
  /** Forms that it is sold in, by their position. */
  variants: CatalogProductVariant[];
  /** When it was created. Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** When it was last changed; the list is in this order, the newest first. Example: `2026-11-21T08:25:00.123Z`. */
  updatedAt: string;
};

/** All text of a product with its variants takes at most 262144 bytes, as JSON in UTF-8. */
export type CatalogProductCreate = {
  /** What customers read first. At most 500 characters. */
  title: string;
  /** What kind of product it is. Default: `package`. */
  type?: 'package' | 'experience' | 'expedition' | 'custom';
  /** Whether it is for sale: `active`, not at the moment: `paused`, or not finished: `draft`. Default: `active`. */
  status?: 'active' | 'paused' | 'draft';
  /** What a price is for: a person, a group, or everything. Default: `per_person`. */
  pricingMode?: 'per_person' | 'per_group' | 'total';
  /** The price class that the agency puts it in; null when it does not say. */
  budgetTier?: 'economic' | 'mid' | 'premium' | null;
  /** The fewest travellers; null when there is no such limit. At least 1. */
  capacityMin?: number | null;
  /** The most travellers; null when there is no such limit. At least 1. */
  capacityMax?: number | null;
  /** The currency of its prices, three characters, as in ISO 4217. At least 3 characters, at most 3 characters. Example: `USD`. */
  currency?: string | null;
  /** All about it, for customers. At most 50000 characters. */
  description?: string | null;
  /** A sentence or two, for lists and cards. At most 2000 characters. */
  shortDescription?: string | null;
  /** What customers must know before they buy, such as the terms of cancelling. At most 50000 characters. */
  specialConditions?: string | null;
  /** Who carries out the trip. At most 255 characters. */
  operator?: string | null;
  /** What the price rests on, such as double occupancy. At most 255 characters. */
  priceBasis?: string | null;
  /** The agency's own code for the product. Use it to sync without keeping ids; see the filter of the list. At most 255 characters. */
  externalReferenceCode?: string | null;
  /** How long it takes, in whole days. At least 1. */
  durationDays?: number | null;
  /** How long it takes, in hours, where days are too coarse. Greater than 0. */
  durationHours?: number | null;
  /** What is in the price, each entry one thing. At most 200 entries. */
  includes?: string[] | null;
  /** What is not in the price, each entry one thing. At most 200 entries. */
  excludes?: string[] | null;
  /** The lowest price, in `currency`, per what `pricingMode` says. At least 0. */
  fromPrice?: number | null;
  /** The highest price, in `currency`, per what `pricingMode` says. At least 0. */
  priceMax?: number | null;
  /** Text, kept as it is; what we suggest is a calendar date such as 2027-03-31 (ISO 8601). At most 64 characters. Example: `2027-03-31`. */
  validFrom?: string | null;
  /** Text, kept as it is; what we suggest is a calendar date such as 2027-03-31 (ISO 8601). At most 64 characters. Example: `2027-03-31`. */
  validUntil?: string | null;
  /** Set on creation; later only the dashboard changes them. Default: `[]`. At most 100 entries. */
  variants?: CatalogProductVariantCreate[];
};

export type CatalogProductList = {
  /** The records of this page, in the order of the list. */
  data: CatalogProduct[];
  pagination: Pagination;
};

/** All text of a product with its variants takes at most 262144 bytes, as JSON in UTF-8. */
export type CatalogProductUpdate = {
  /** What customers read first. At most 500 characters. */
  title?: string;
  /** What kind of product it is. */
  type?: 'package' | 'experience' | 'expedition' | 'custom';
  /** Whether it is for sale: `active`, not at the moment: `paused`, or not finished: `draft`. */
  status?: 'active' | 'paused' | 'draft';
  /** What a price is for: a person, a group, or everything. */
  pricingMode?: 'per_person' | 'per_group' | 'total';
  /** The price class that the agency puts it in; null when it does not say. */
  budgetTier?: 'economic' | 'mid' | 'premium' | null;
  /** The fewest travellers; null when there is no such limit. At least 1. */
  capacityMin?: number | null;
  /** The most travellers; null when there is no such limit. At least 1. */
  capacityMax?: number | null;
  /** The currency of its prices, three characters, as in ISO 4217. At least 3 characters, at most 3 characters. Example: `USD`. */
  currency?: string | null;
  /** All about it, for customers. At most 50000 characters. */
  description?: string | null;
  /** A sentence or two, for lists and cards. At most 2000 characters. */
  shortDescription?: string | null;
  /** What customers must know before they buy, such as the terms of cancelling. At most 50000 characters. */
  specialConditions?: string | null;
  /** Who carries out the trip. At most 255 characters. */
  operator?: string | null;
  /** What the price rests on, such as double occupancy. At most 255 characters. */
  priceBasis?: string | null;
  /** The agency's own code for the product. Use it to sync without keeping ids; see the filter of the list. At most 255 characters. */
  externalReferenceCode?: string | null;
  /** How long it takes, in whole days. At least 1. */
  durationDays?: number | null;
  /** How long it takes, in hours, where days are too coarse. Greater than 0. */
  durationHours?: number | null;
  /** What is in the price, each entry one thing. At most 200 entries. */
  includes?: string[] | null;
  /** What is not in the price, each entry one thing. At most 200 entries. */
  excludes?: string[] | null;
  /** The lowest price, in `currency`, per what `pricingMode` says. At least 0. */
  fromPrice?: number | null;
  /** The highest price, in `currency`, per what `pricingMode` says. At least 0. */
  priceMax?: number | null;
  /** Text, kept as it is; what we suggest is a calendar date such as 2027-03-31 (ISO 8601). At most 64 characters. Example: `2027-03-31`. */
  validFrom?: string | null;
  /** Text, kept as it is; what we suggest is a calendar date such as 2027-03-31 (ISO 8601). At most 64 characters. Example: `2027-03-31`. */
  validUntil?: string | null;
};

export type CatalogProductVariant = {
  /** Never changes; text without a meaning of its own. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** What tells the variant from the others. Example: `Temporada alta`. */
  label: string;
  /** Place among the variants, from 0. At least 0. */
  position: number;
  /** Whether it is for sale: `active`, not at the moment: `paused`, or not finished: `draft`. */
  status: 'active' | 'paused' | 'draft';
  /** The fewest travellers; null when there is no such limit. */
  capacityMin: number | null;
  /** The most travellers; null when there is no such limit. */
  capacityMax: number | null;
  /** The currency of its prices, three characters, as in ISO 4217. Example: `USD`. */
  currency: string | null;
  /** All about it, for customers. */
  description: string | null;
  /** A sentence or two, for lists and cards. */
  shortDescription: string | null;
  /** How long it takes, in whole days. */
  durationDays: number | null;
  /** How long it takes, in hours, where days are too coarse. */
  durationHours: number | null;
  /** What is in the price, each entry one thing. */
  includes: string[];
  /** What is not in the price, each entry one thing. */
  excludes: string[];
  /** The lowest price, in `currency`, per what `pricingMode` says. Example: `1790`. */
  fromPrice: number | null;
  /** The highest price, in `currency`, per what `pricingMode` says. */
  priceMax: number | null;
};

export type CatalogProductVariantCreate = {
  /** What tells the variant from the others. At most 500 characters. */
  label: string;
  /** Whether it is for sale: `active`, not at the moment: `paused`, or not finished: `draft`. Default: `active`. */
  status?: 'active' | 'paused' | 'draft';
  /** The fewest travellers; null when there is no such limit. At least 1. */
  capacityMin?: number | null;
  /** The most travellers; null when there is no such limit. At least 1. */
  capacityMax?: number | null;
  /** The currency of its prices, three characters, as in ISO 4217. At least 3 characters, at most 3 characters. Example: `USD`. */
  currency?: string | null;
  /** All about it, for customers. At most 50000 characters. */
  description?: string | null;
  /** A sentence or two, for lists and cards. At most 2000 characters. */
  shortDescription?: string | null;
  /** How long it takes, in whole days. At least 1. */
  durationDays?: number | null;
  /** What is in the price, each entry one thing. At most 200 entries. */
  includes?: string[] | null;
  /** What is not in the price, each entry one thing. At most 200 entries. */
  excludes?: string[] | null;
  /** The lowest price, in `currency`, per what `pricingMode` says. At least 0. */
  fromPrice?: number | null;
  /** The highest price, in `currency`, per what `pricingMode` says. At least 0. */
  priceMax?: number | null;
};

export type Conversation = {
  /** Never changes; text without a meaning of its own. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The messaging channel, such as whatsapp; new ones can appear. Example: `whatsapp`. */
  channel: string;
  /** Identifier on its channel: phone number, handle. Example: `+5215512345678`. */
  contact: string;
  /** The name that the contact has on the channel. Example: `Ana`. */
  contactName: string | null;
  /** The customer who writes; null while nobody is known. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  customerId: string | null;
  /** The name of the customer, also of an archived one. Example: `Ana Peña`. */
  customerName: string | null;
  /** Whose turn it is, in words of the agency; new ones can appear. Example: `waiting_for_agency`. */
  activityState: string | null;
  /** Who holds the thread: the agent, or a team member who took over. Example: `agent`. */
  controlledBy: string | null;
  /** The language that is written in. Example: `es`. */
  language: string | null;
  /** When the newest message came; the list is in this order, the newest first. Example: `2026-11-21T08:25:00.123Z`. */
  lastMessageAt: string | null;
  /** When it began or was written. Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
};

export type ConversationList = {
  /** The records of this page, in the order of the list. */
  data: Conversation[];
  pagination: Pagination;
};

export type ConversationMessage = {
  /** Never changes; text without a meaning of its own. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The thread that the message came from; a transcript can join several. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  conversationId: string;
  /** The text of the message. Example: `Hola, ¿tienen salidas en enero?`. */
  content: string;
  /** When it began or was written. Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** Who wrote: `inbound` is the contact. New values can appear. Example: `inbound`. */
  direction: string;
  /** What the message holds, such as text; new values can appear. Example: `text`. */
  messageType: string;
  /** Who wrote, by name, where it is known. Example: `Ana`. */
  senderName: string | null;
};

export type ConversationTranscript = {
  /** The messages, oldest first. */
  data: ConversationMessage[];
  /** Count of all messages of the joined threads. At least 0. Example: `12`. */
  total: number;
};

export type Customer = {
  /** Never changes; text without a meaning of its own. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** Given name; null while the person has not said it. Example: `Ana`. */
  firstName: string | null;
  /** Family name; null while the person has not said it. Example: `Peña`. */
  lastName: string | null;
  /** First and last name joined; null for an anonymous lead. Example: `Ana Peña`. */
  displayName: string | null;
  /** Where the person lives, as it was written. Example: `Ciudad de México`. */
  city: string | null;
  /** The country that the person lives in, as it was written. Example: `México`. */
  country: string | null;
  /** The language to write in. */
  preferredLanguage: 'es' | 'pt' | 'en' | null;
  /** What the agency should know of the person. */
  summary: string | null;
  /** Labels of the agency; the list of customers can be filtered by one. */
  tags: string[];
  /** The first is the primary contact. */
  contacts: CustomerContact[];
  /** When it was created. Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** When it was last changed; the list is in this order, the newest first. Example: `2026-11-21T08:25:00.123Z`. */
  updatedAt: string;
};

export type CustomerContact = {
  /** Never changes; text without a meaning of its own. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The channel on which the person is reached. */
  identifierType: 'whatsapp' | 'instagram' | 'messenger' | 'email' | 'telefono' | 'web';
  /** Identifies the person on the channel: a telephone number in E.164 for whatsapp and telefono, everything else as it was sent. Example: `+5215512345678`. */
  identifierValue: string;
  /** The name on the channel, as the latest conversation with the contact says it, or the dashboard after that. Example: `Ana`. */
  displayName: string | null;
  /** In E.164, for whatsapp and telefono. Example: `+5215512345678`. */
  phoneNumber: string | null;
};

export type CustomerContactCreate = {
  /** The channel on which the person is reached. */
  identifierType: 'whatsapp' | 'instagram' | 'messenger' | 'email' | 'telefono' | 'web';
  /**
   * Identifies the person on the channel; read back as it was sent, a telephone number in E.164.
   *
   * - `whatsapp`, `telefono`: a telephone number in E.164, such as `+5215512345678`. Spaces, dots, dashes and brackets do not count, and a
   *   leading 00 stands for +. Without a +, 12 to 15 digits are taken where they are a possible number with a + in front, as WhatsApp reports
   *   numbers, and 8 to 11 digits only where they are a valid one: a national number must start with + and the country code.
   *   `whatsapp` also takes what WhatsApp and its gateways report: digits before `@s.whatsapp.net` or `@c.us`, which are cut; a
   *   linked id with its `@lid`, such as `154417159582282@lid`, and a business-scoped user id, such as
   *   `MX.13491208655302741918`. Both stand for a number that the person hides, and have no `phoneNumber`.
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
  /** Given name; null while the person has not said it. At most 255 characters. */
  firstName?: string | null;
  /** Family name; null while the person has not said it. At most 255 characters. */
  lastName?: string | null;
  /** Where the person lives, as it was written. At most 255 characters. */
  city?: string | null;
  /** The country that the person lives in, as it was written. At most 255 characters. */
  country?: string | null;
  /** The language to write in. */
  preferredLanguage?: 'es' | 'pt' | 'en' | null;
  /** What the agency should know of the person. At most 50000 characters. */
  summary?: string | null;
  /** Labels of the agency; the list of customers can be filtered by one. Default: `[]`. At most 100 entries. */
  tags?: string[];
};

export type CustomerList = {
  /** The records of this page, in the order of the list. */
  data: Customer[];
  pagination: Pagination;
};

export type CustomerUpdate = {
  /** Replaces the whole list; a contact that stays keeps its id. At least 1, at most 50 entries. */
  contacts?: CustomerContactCreate[];
  /** Given name; null while the person has not said it. At most 255 characters. */
  firstName?: string | null;
  /** Family name; null while the person has not said it. At most 255 characters. */
  lastName?: string | null;
  /** Where the person lives, as it was written. At most 255 characters. */
  city?: string | null;
  /** The country that the person lives in, as it was written. At most 255 characters. */
  country?: string | null;
  /** The language to write in. */
  preferredLanguage?: 'es' | 'pt' | 'en' | null;
  /** What the agency should know of the person. At most 50000 characters. */
  summary?: string | null;
  /** Labels of the agency; the list of customers can be filtered by one. At most 100 entries. */
  tags?: string[];
};

export type Opportunity = {
  /** Never changes; text without a meaning of its own. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** What the lead is about, for people. Example: `Patagonia, familia Peña`. */
  title: string | null;
  /** The agency's short reference for people. Example: `OP-1042`. */
  shortRef: string | null;
  /** Where the customer wants to go, as it was written. Example: `Bariloche`. */
  destination: string | null;
  /** The customer who asks; null while nobody is known. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  customerId: string | null;
  /** The name of the customer, also of an archived one. Example: `Ana Peña`. */
  customerName: string | null;
  /** The team member who sells; null while nobody is assigned. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  sellerMemberId: string | null;
  /** The name of the team member who sells. Example: `Lucía Romero`. */
  sellerName: string | null;
  /** The least that the customer wants to spend, in `budgetCurrency`. Example: `2500`. */
  budgetMin: number | null;
  /** The most that the customer wants to spend, in `budgetCurrency`. Example: `4000`. */
  budgetMax: number | null;
  /** The currency of the budget, three characters. Example: `USD`. */
  budgetCurrency: string | null;
  /** Text as the agency wrote it; what we suggest is a calendar date such as 2027-01-15. Example: `2027-01-15`. */
  checkInDate: string | null;
  /** How many nights the trip takes. Example: `7`. */
  nights: number | null;
  /** How many people travel. Example: `4`. */
  passengerCount: number | null;
  /** How far the sale is. The agency chooses the values; new ones can appear. Example: `qualified`. */
  salesStage: string;
  /** Key of the pipeline column; agencies rename columns, so branch on this. Example: `negotiation`. */
  stage: string | null;
  /** Id of the pipeline column. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  stageId: string | null;
  /** What a team member set goes before what the agent set. */
  temperature: 'hot' | 'warm' | 'cold' | 'unknown' | 'discarded' | null;
  /** null: it never entered the pipeline. Example: `2026-11-21T08:25:00.123Z`. */
  qualifiedAt: string | null;
  /** When something last happened, such as a message. Example: `2026-11-21T08:25:00.123Z`. */
  lastActivityAt: string | null;
  /** When it was created. Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** When it was last changed; the list is in this order, the newest first. Example: `2026-11-21T08:25:00.123Z`. */
  updatedAt: string;
};

export type OpportunityList = {
  /** The records of this page, in the order of the list. */
  data: Opportunity[];
  pagination: Pagination;
};

/** Another page exists while offset plus limit is below total. */
export type Pagination = {
  /** The limit that this page was cut with; the last page may hold fewer records. At least 1. Example: `25`. */
  limit: number;
  /** The offset of this page: how many records come before it. At least 0. */
  offset: number;
  /** Count of all records for the filters sent. At least 0. Example: `60`. */
  total: number;
};

export type Quote = {
  /** Never changes; text without a meaning of its own. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The opportunity that the quote is made for. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  opportunityId: string;
  /** What the quote offers, for people. Example: `Patagonia en familia`. */
  title: string;
  /** Not finished: `draft`; open to the customer: `published`; withdrawn: `disabled`. */
  status: 'draft' | 'published' | 'disabled';
  /** Where the trip leads, as it was written. Example: `Bariloche`. */
  destination: string | null;
  /** The customer who gets it; null while nobody is known. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  customerId: string | null;
  /** The name of the customer, also of an archived one. Example: `Ana Peña`. */
  customerName: string | null;
  /** The whole price, in `currency`; null while it is open. Example: `3650`. */
  price: number | null;
  /** The currency of the price, three characters. Example: `USD`. */
  currency: string | null;
  /** Of the public quote link; builds the URL that the customer sees. Example: `7hG2kQ9xZ4mN1pR8sT5vW3yB`. */
  token: string;
  /** Times the customer opened it; 0 means never seen. Example: `2`. */
  openCount: number;
  /** When the customer first opened it; null means never. Example: `2026-11-21T08:25:00.123Z`. */
  firstOpenedAt: string | null;
  /** When the customer last opened it; null means never. Example: `2026-11-21T08:25:00.123Z`. */
  lastOpenedAt: string | null;
  /** When it was opened to the customer; null means never. Example: `2026-11-21T08:25:00.123Z`. */
  publishedAt: string | null;
  /** When it was created. Example: `2026-11-21T08:25:00.123Z`. */
  createdAt: string;
  /** When it was last changed; the list is in this order, the newest first. Example: `2026-11-21T08:25:00.123Z`. */
  updatedAt: string;
};

export type QuoteAttachment = {
  /** Never changes; text without a meaning of its own. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The name to save the file under. Example: `cotizacion.pdf`. */
  fileName: string;
  /** What the file is for, such as itinerary; new values can appear. Example: `itinerary`. */
  kind: string;
  /** The media type of the file. Example: `application/pdf`. */
  mimeType: string;
  /** The size of the file in bytes. At least 0. Example: `18432`. */
  sizeBytes: number;
  /** Signed and short-lived: fetch the file on receipt, do not store the link. Example: `https://api.example.com/files/AZ4t7pKx`. */
  url: string;
};

export type QuoteAttachmentList = {
  /** All files of the quote; there are no pages. */
  data: QuoteAttachment[];
};

export type QuoteList = {
  /** The records of this page, in the order of the list. */
  data: Quote[];
  pagination: Pagination;
};

export type TeamMember = {
  /** Never changes; `sellerMemberId` of an opportunity refers to it. Example: `01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17`. */
  id: string;
  /** The id of the user behind the member, in the system of users. Example: `usr_1042`. */
  userId: string;
  /** First and last name, as colleagues see it. Example: `Lucía Romero`. */
  name: string;
  /** The address that the member works with. Example: `lucia@example.com`. */
  email: string;
  /** One base role and optional add-ons. */
  roles: string[];
  /** Whether the member takes part in automatic assignment of opportunities. */
  isAssignable: boolean;
  /** When the member joined; the list is in this order, the oldest first. Example: `2026-11-21T08:25:00.123Z`. */
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
  /** Records that were created at this moment or later. At most 4000 characters. */
  createdSince?: string;
  /** Records that were created before this timestamp. At most 4000 characters. */
  createdBefore?: string;
  /** The records with these ids, up to 100, with commas between them. At most 4000 characters. */
  ids?: string;
  /** Records that were changed at this moment or later, new ones too. At most 4000 characters. */
  updatedSince?: string;
  /** Records whose last change was before this timestamp. At most 4000 characters. */
  updatedBefore?: string;
  /** Products of this tier. */
  budgetTier?: 'economic' | 'mid' | 'premium';
  /** Products that have exactly this entry in `destinations`. At most 1000 characters. */
  destination?: string;
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
  /** Records that were created at this moment or later. At most 4000 characters. */
  createdSince?: string;
  /** Records that were created before this timestamp. At most 4000 characters. */
  createdBefore?: string;
  /** The records with these ids, up to 100, with commas between them. At most 4000 characters. */
  ids?: string;
  /** Records that were changed at this moment or later, new ones too. At most 4000 characters. */
  updatedSince?: string;
  /** Records whose last change was before this timestamp. At most 4000 characters. */
  updatedBefore?: string;
  /** The customer that has exactly this contact, however it is written: a telephone number with its country code, an address or a handle. At most 320 characters. */
  contact?: string;
  /** Text in the name, the summary or any contact, whatever its case and accents. At most 200 characters. */
  query?: string;
  /** Customers that have exactly this tag. At most 200 characters. */
  tag?: string;
  /** The channel of `contact`; any, unless it is named. */
  contactType?: 'whatsapp' | 'instagram' | 'messenger' | 'email' | 'telefono' | 'web';
};

/** What listOpportunities can be asked for. */
export type ListOpportunitiesQuery = {
  /** How many records to return, 1 to 100. At least 1, at most 100. Default: `25`. */
  limit?: number;
  /** How many records to skip. Empty or `null` means 0. At least 0. Default: `0`. */
  offset?: number | null;
  /** Records that were created at this moment or later. At most 4000 characters. */
  createdSince?: string;
  /** Records that were created before this timestamp. At most 4000 characters. */
  createdBefore?: string;
  /** The records with these ids, up to 100, with commas between them. At most 4000 characters. */
  ids?: string;
  /** Records that were changed at this moment or later, new ones too. At most 4000 characters. */
  updatedSince?: string;
  /** Records whose last change was before this timestamp. At most 4000 characters. */
  updatedBefore?: string;
  /** Opportunities of exactly this customer. At most 200 characters. */
  customerId?: string;
  /** Text in the title, short reference or destination, whatever its case and accents. At most 200 characters. */
  query?: string;
  /** Opportunities of exactly this sales stage. At most 200 characters. */
  salesStage?: string;
  /** Opportunities that exactly this team member sells. At most 200 characters. */
  sellerMemberId?: string;
  /** Id of a pipeline column; only its opportunities are returned. At most 200 characters. */
  stageId?: string;
  /** Opportunities of this temperature, as it is reported: what a team member set goes first. */
  temperature?: 'hot' | 'warm' | 'cold' | 'unknown' | 'discarded';
};

/** What listConversations can be asked for. */
export type ListConversationsQuery = {
  /** How many records to return, 1 to 100. At least 1, at most 100. Default: `25`. */
  limit?: number;
  /** How many records to skip. Empty or `null` means 0. At least 0. Default: `0`. */
  offset?: number | null;
  /** Records that were created at this moment or later. At most 4000 characters. */
  createdSince?: string;
  /** Records that were created before this timestamp. At most 4000 characters. */
  createdBefore?: string;
  /** The records with these ids, up to 100, with commas between them. At most 4000 characters. */
  ids?: string;
  /** Records that were changed at this moment or later, new ones too. At most 4000 characters. */
  updatedSince?: string;
  /** Records whose last change was before this timestamp. At most 4000 characters. */
  updatedBefore?: string;
  /** Conversations in exactly this state. At most 200 characters. */
  activityState?: string;
  /** Conversations on exactly this channel. At most 200 characters. */
  channel?: string;
  /** Conversations with exactly this contact, however it is written: a telephone number with its country code, an address or a handle. At most 320 characters. */
  contact?: string;
  /** Conversations of this customer. At most 200 characters. */
  customerId?: string;
  /** Text in the contact name or the channel identifier, whatever its case and accents. At most 200 characters. */
  query?: string;
  /** The channel of `contact`; any, unless it is named. */
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
  /** Records that were created at this moment or later. At most 4000 characters. */
  createdSince?: string;
  /** Records that were created before this timestamp. At most 4000 characters. */
  createdBefore?: string;
  /** The records with these ids, up to 100, with commas between them. At most 4000 characters. */
  ids?: string;
  /** Records that were changed at this moment or later, new ones too. At most 4000 characters. */
  updatedSince?: string;
  /** Records whose last change was before this timestamp. At most 4000 characters. */
  updatedBefore?: string;
  /** Quotes of exactly this customer. At most 200 characters. */
  customerId?: string;
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
  /** Records that were created at this moment or later. At most 4000 characters. */
  createdSince?: string;
  /** Records that were created before this timestamp. At most 4000 characters. */
  createdBefore?: string;
  /** The records with these ids, up to 100, with commas between them. At most 4000 characters. */
  ids?: string;
};
