import { z } from 'zod';
import {
  archivedAt,
  archivedFilter,
  changeQuery,
  createdOnce,
  currency,
  dateTime,
  EXAMPLE_ID,
  field,
  id,
  idFilter,
  integer,
  name,
  nullableNumber,
  nullableText,
  oneOf,
  optionalBody,
  pastTimestamp,
  patchOf,
  pathId,
  price,
  text,
  textFilter,
  timestamp,
  title,
  uuid,
} from '../contract/fields.ts';
import { AttachmentUpload } from '../files/multipart.ts';

const quoteStatus = () => oneOf(['draft', 'published', 'disabled']);

export const Quote = z
  .object({
    id: field(id(), 'Opaque, immutable identifier.'),
    opportunityId: field(id(), 'The opportunity of the quote.'),
    title: field(z.string(), 'What the quote offers.', 'Patagonia en familia'),
    status: field(
      quoteStatus(),
      '`draft`: not finished; `published`: open to the customer; `disabled`: withdrawn.',
    ),
    destination: nullableText('The destination, as it was sent.', 'Bariloche'),
    customerId: field(id().nullable(), "The opportunity's customer; null if unknown."),
    customerName: nullableText('The name of the customer, even if the customer is archived.', 'Ana Peña'),
    price: nullableNumber('The total price, in `currency`; null if not set.', 3650),
    currency: nullableText('The currency of the price, three characters.', 'USD'),
    token: field(
      z.string(),
      'The token of the public quote link: part of the URL that the customer sees.',
      '7hG2kQ9xZ4mN1pR8sT5vW3yB',
    ),
    openCount: field(z.int32(), 'How often the customer has opened the quote.', 2),
    firstOpenedAt: field(dateTime().nullable(), 'When the customer first opened the quote; null if never.'),
    lastOpenedAt: field(dateTime().nullable(), 'When the customer last opened the quote; null if never.'),
    publishedAt: field(dateTime().nullable(), 'When the quote was first published; null if never.'),
    createdAt: field(dateTime(), 'When it was created.'),
    updatedAt: field(dateTime(), 'When it was last changed. The list has this order, newest first.'),
  })
  .meta({ id: 'Quote' });

export const QuoteListQuery = z.object({
  ...changeQuery(),
  customerId: idFilter('customers'),
  opened: oneOf(['true', 'false']).optional().describe('Whether the customer has opened it.'),
  opportunityId: idFilter('opportunities'),
  query: textFilter('Text in the title or destination, ignoring case and accents.'),
  status: quoteStatus().optional().describe('Quotes in this status.'),
});

export const QuoteAttachment = z
  .object({
    id: field(id(), 'Opaque, immutable identifier.'),
    fileName: field(z.string(), 'The file name.', 'cotizacion.pdf'),
    kind: field(
      z.string(),
      'The purpose of the file, such as itinerary. New values can appear.',
      'itinerary',
    ),
    mimeType: field(z.string(), 'The media type of the file.', 'application/pdf'),
    sizeBytes: field(z.int().min(0).max(Number.MAX_SAFE_INTEGER), 'The size of the file in bytes.', 18432),
    url: field(
      z.url(),
      'A signed, short-lived link. Download the file at once, and do not store the link.',
      'https://api.example.com/files/AZ4t7pKx',
    ),
  })
  .meta({ id: 'QuoteAttachment' });
export type QuoteAttachment = z.infer<typeof QuoteAttachment>;

export const QuoteAttachmentList = z
  .object({ data: z.array(QuoteAttachment).describe('All files of the quote, without pages.') })
  .meta({ id: 'QuoteAttachmentList' });

export const QuoteParams = z.object({ quoteId: pathId('Id of the quote.') });

/** The schemas below belong to the dashboard API only. */

export const QuoteRecord = Quote.extend({ archivedAt: archivedAt() }).meta({ id: 'QuoteRecord' });
export type QuoteRecord = z.infer<typeof QuoteRecord>;

export const PublicQuote = QuoteRecord.extend({
  organizationId: field(id(), 'The organization of the quote.'),
}).meta({ id: 'PublicQuote' });
export type PublicQuote = z.infer<typeof PublicQuote>;

export const PublicQuoteQuery = z.object({
  token: text({ min: 1, max: 255 }).describe('The token of a public link.'),
});

export const QuoteRecordListQuery = QuoteListQuery.extend({
  token: textFilter('The quote of this public link.', 255),
  archived: archivedFilter(),
});

const onCreation = 'Written when the quote is created; afterwards only openings change it.';

export const QuotePut = z
  .object({
    opportunityId: uuid(),
    title: title(),
    status: quoteStatus(),
    destination: name().nullish(),
    price: price().nullish(),
    currency: currency().nullish().describe('Three-character currency code.'),
    publishedAt: timestamp()
      .nullish()
      .describe(
        'Default: the stored value; the first publication sets it. Null does not clear it afterwards.',
      ),
    token: text({ min: 1, max: 255 })
      .optional()
      .describe('Default: generated. Unique among the quotes. It cannot be changed later.'),
    openCount: integer().min(0, 'must be at least 0').optional().describe(onCreation),
    firstOpenedAt: pastTimestamp().nullish().describe(onCreation),
    lastOpenedAt: pastTimestamp().nullish().describe(onCreation),
    createdAt: createdOnce(),
  })
  .meta({
    id: 'QuotePut',
    examples: [
      {
        opportunityId: EXAMPLE_ID,
        title: 'Cartagena, 6 noches',
        status: 'published',
        destination: 'Cartagena',
        price: 2890,
        currency: 'USD',
        publishedAt: '2026-11-21T08:25:00.000Z',
      },
    ],
  });
export type QuotePut = z.infer<typeof QuotePut>;

export const QuoteUpdate = patchOf(
  QuotePut.omit({ openCount: true, firstOpenedAt: true, lastOpenedAt: true }),
).meta({
  id: 'QuoteUpdate',
  examples: [{ status: 'published' }],
});

/** The parts of an upload, for the document. */
export const QuoteAttachmentUpload = z
  .object({
    kind: AttachmentUpload.shape.kind,
    file: z.string().describe('At most 25 MiB.').meta({ format: 'binary' }),
  })
  .meta({ id: 'QuoteAttachmentUpload', examples: [{ kind: 'itinerary', file: '(the bytes of the file)' }] });

export const QuoteOpen = optionalBody(
  z
    .object({
      openedAt: pastTimestamp().optional().describe('At most 24 hours in the future. Default: now.'),
    })
    .meta({ id: 'QuoteOpen', examples: [{ openedAt: '2026-11-21T08:25:00.000Z' }] }),
);

export const DeletedQuoteAttachment = z
  .object({ id: id(), deletedAt: dateTime() })
  .meta({ id: 'DeletedQuoteAttachment' });
export type DeletedQuoteAttachment = z.infer<typeof DeletedQuoteAttachment>;
