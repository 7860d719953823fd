import { z } from 'zod';
import { dateTime, id, oneOf, page, pageQuery, textFilter } from '../http/fields.ts';

export const quoteStatus = () => oneOf(['draft', 'published', 'disabled']);

export const Quote = z
  .object({
    id: id(),
    opportunityId: z.string(),
    title: z.string(),
    status: quoteStatus(),
    destination: z.string().nullable(),
    customerId: z.string().nullable(),
    customerName: z.string().nullable(),
    price: z.number().nullable(),
    currency: z.string().nullable(),
    token: z.string().describe('Of the public quote link; builds the URL that the customer sees.'),
    openCount: z.int32().describe('Times the customer opened it; 0 means never seen.'),
    firstOpenedAt: dateTime().nullable(),
    lastOpenedAt: dateTime().nullable(),
    publishedAt: dateTime().nullable(),
    createdAt: dateTime(),
    updatedAt: dateTime(),
  })
  .meta({ id: 'Quote' });
export type Quote = z.infer<typeof Quote>;

export const QuoteList = page(Quote).meta({ id: 'QuoteList' });

export const QuoteListQuery = z.object({
  ...pageQuery(),
  opportunityId: textFilter('Quotes of this opportunity.'),
  query: textFilter('Text in the title or destination, whatever its case and accents.'),
  status: quoteStatus().optional(),
});

export const QuoteAttachment = z
  .object({
    id: id(),
    fileName: z.string().meta({ examples: ['cotizacion.pdf'] }),
    kind: z.string().meta({ examples: ['itinerary'] }),
    mimeType: z.string().meta({ examples: ['application/pdf'] }),
    sizeBytes: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
    url: z.url().describe('Signed and short-lived: fetch the file on receipt, do not store the link.'),
  })
  .meta({ id: 'QuoteAttachment' });
export type QuoteAttachment = z.infer<typeof QuoteAttachment>;

export const QuoteAttachmentList = z
  .object({ data: z.array(QuoteAttachment) })
  .meta({ id: 'QuoteAttachmentList' });

export const QuoteParams = z.object({ quoteId: z.string() });
