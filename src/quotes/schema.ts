import { z } from 'zod';
import * as f from '../contract/fields.ts';
import { AttachmentUpload } from '../files/multipart.ts';

const quoteStatus = () => z.enum(['draft', 'published', 'disabled']);

export const Quote = f.object('Quote', {
  id: f.recordId(),
  opportunityId: f.id().describe('The opportunity of the quote.'),
  title: f.string('What the quote offers.', 'Patagonia en familia'),
  status: quoteStatus().describe(
    '`draft`: not finished; `published`: open to the customer; `disabled`: withdrawn.',
  ),
  destination: f.nullableText('The destination, as it was sent.', 'Bariloche'),
  customerId: f.nullableId("The opportunity's customer; null if unknown."),
  customerName: f.nullableText('The name of the customer, even if the customer is archived.', 'Ana Peña'),
  price: f.nullableNumber('The total price, in `currency`; null if not set.', 3650),
  currency: f.nullableText('The currency of the price, three characters.', 'USD'),
  token: f.string(
    'The token of the public quote link: part of the URL that the customer sees.',
    '7hG2kQ9xZ4mN1pR8sT5vW3yB',
  ),
  openCount: f.field(z.int32(), 'How often the customer has opened the quote.', 2),
  firstOpenedAt: f.nullableDateTime('When the customer first opened the quote; null if never.'),
  lastOpenedAt: f.nullableDateTime('When the customer last opened the quote; null if never.'),
  publishedAt: f.nullableDateTime('When the quote was first published; null if never.'),
  createdAt: f.createdAt(),
  updatedAt: f.updatedAt(),
});

export const QuoteListQuery = z.object({
  ...f.changeQuery(),
  customerId: f.idFilter('customers'),
  opened: z.enum(['true', 'false']).optional().describe('Whether the customer has opened it.'),
  opportunityId: f.idFilter('opportunities'),
  query: f.textFilter('Text in the title or destination, ignoring case and accents.'),
  status: quoteStatus().optional().describe('Quotes in this status.'),
});

export const QuoteAttachment = f.object('QuoteAttachment', {
  id: f.recordId(),
  fileName: f.string('The file name.', 'cotizacion.pdf'),
  kind: f.string('The purpose of the file, such as itinerary. New values can appear.', 'itinerary'),
  mimeType: f.string('The media type of the file.', 'application/pdf'),
  sizeBytes: f.field(z.int().min(0), 'The size of the file in bytes.', 18432),
  url: f.field(
    z.url(),
    'A signed, short-lived link. Download the file at once, and do not store the link.',
    'https://api.example.com/files/AZ4t7pKx',
  ),
});
export type QuoteAttachment = z.infer<typeof QuoteAttachment>;

export const QuoteAttachmentList = f.object('QuoteAttachmentList', {
  data: z.array(QuoteAttachment).describe('All files of the quote, without pages.'),
});

export const QuoteParams = z.object({ quoteId: f.pathId('Id of the quote.') });

/** The schemas below belong to the dashboard API only. */

export const QuoteRecord = Quote.extend({ archivedAt: f.archivedAt() }).meta({ id: 'QuoteRecord' });
export type QuoteRecord = z.infer<typeof QuoteRecord>;

export const PublicQuote = QuoteRecord.extend({
  organizationId: f.id().describe('The organization of the quote.'),
}).meta({ id: 'PublicQuote' });

export const PublicQuoteQuery = z.object({
  token: f.text({ min: 1, max: 255 }).describe('The token of a public link.'),
});

export const QuoteRecordListQuery = QuoteListQuery.extend({
  token: f.textFilter('The quote of this public link.', 255),
  archived: f.archivedFilter(),
});

const onCreation = 'Written when the quote is created; afterwards only openings change it.';

export const QuotePut = f
  .objectLike(Quote.shape, {
    opportunityId: f.uuid(),
    title: f.title(),
    status: quoteStatus(),
    destination: f.name().nullish(),
    price: f.price().nullish(),
    currency: f.currency().nullish().describe('Three-character currency code.'),
    publishedAt: f.field(
      f.timestamp().nullish(),
      'Default: the stored value; the first publication sets it. Null does not clear it afterwards.',
    ),
    token: f
      .text({ min: 1, max: 255 })
      .optional()
      .describe('Default: generated. Unique among the quotes. It cannot be changed later.'),
    openCount: f.naturalNumber().optional().describe(onCreation),
    firstOpenedAt: f.pastTimestamp().nullish().describe(onCreation),
    lastOpenedAt: f.pastTimestamp().nullish().describe(onCreation),
    createdAt: f.createdOnce(),
  })
  .meta({
    id: 'QuotePut',
    examples: [
      {
        opportunityId: f.EXAMPLE_ID,
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

export const QuoteUpdate = f
  .patchOf(QuotePut.omit({ openCount: true, firstOpenedAt: true, lastOpenedAt: true }))
  .meta({
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

export const QuoteOpen = f.optionalBody(
  z
    .object({
      openedAt: f.pastTimestamp().optional().describe('At most 24 hours in the future. Default: now.'),
    })
    .meta({ id: 'QuoteOpen', examples: [{ openedAt: '2026-11-21T08:25:00.000Z' }] }),
);

export const DeletedQuoteAttachment = f.object('DeletedQuoteAttachment', {
  id: f.recordId(),
  deletedAt: f.dateTime().describe('When it was deleted.'),
});
export type DeletedQuoteAttachment = z.infer<typeof DeletedQuoteAttachment>;
