import { z } from 'zod';
import { dateTime, described, id, oneOf, page, pageQuery, textFilter } from '../fields.ts';

/** Of quotes and of their attachments. */
const MEANINGS = {
  id: 'Never changes; text without a meaning of its own.',
  opportunityId: 'The opportunity that the quote is made for.',
  title: 'What the quote offers, for people.',
  status: 'Not finished: `draft`; open to the customer: `published`; withdrawn: `disabled`.',
  destination: 'Where the trip leads, as it was written.',
  customerId: 'The customer who gets it; null while nobody is known.',
  customerName: 'The name of the customer, also of an archived one.',
  price: 'The whole price, in `currency`; null while it is open.',
  currency: 'The currency of the price, three characters.',
  firstOpenedAt: 'When the customer first opened it; null means never.',
  lastOpenedAt: 'When the customer last opened it; null means never.',
  publishedAt: 'When it was opened to the customer; null means never.',
  fileName: 'The name to save the file under.',
  kind: 'What the file is for, such as itinerary; new values can appear.',
  mimeType: 'The media type of the file.',
  sizeBytes: 'The size of the file in bytes.',
  createdAt: 'When it was created.',
  updatedAt: 'When it was last changed; the list is in this order, the newest first.',
};

export const quoteStatus = () => oneOf(['draft', 'published', 'disabled']);

export const Quote = z
  .object(
    described(
      {
        id: id(),
        opportunityId: id(),
        title: z.string().meta({ examples: ['Patagonia en familia'] }),
        status: quoteStatus(),
        destination: z
          .string()
          .nullable()
          .meta({ examples: ['Bariloche'] }),
        customerId: id().nullable(),
        customerName: z
          .string()
          .nullable()
          .meta({ examples: ['Ana Peña'] }),
        price: z
          .number()
          .nullable()
          .meta({ examples: [3650] }),
        currency: z
          .string()
          .nullable()
          .meta({ examples: ['USD'] }),
        token: z
          .string()
          .describe('Of the public quote link; builds the URL that the customer sees.')
          .meta({ examples: ['7hG2kQ9xZ4mN1pR8sT5vW3yB'] }),
        openCount: z
          .int32()
          .describe('Times the customer opened it; 0 means never seen.')
          .meta({ examples: [2] }),
        firstOpenedAt: dateTime().nullable(),
        lastOpenedAt: dateTime().nullable(),
        publishedAt: dateTime().nullable(),
        createdAt: dateTime(),
        updatedAt: dateTime(),
      },
      MEANINGS,
    ),
  )
  .meta({ id: 'Quote' });
export type Quote = z.infer<typeof Quote>;

export const QuoteList = page(Quote).meta({ id: 'QuoteList' });

export const QuoteListQuery = z.object({
  ...pageQuery(),
  customerId: textFilter('Quotes of exactly this customer.'),
  opportunityId: textFilter('Quotes of this opportunity.'),
  query: textFilter('Text in the title or destination, whatever its case and accents.'),
  status: quoteStatus().optional().describe('Quotes in this status.'),
});

export const QuoteAttachment = z
  .object(
    described(
      {
        id: id(),
        fileName: z.string().meta({ examples: ['cotizacion.pdf'] }),
        kind: z.string().meta({ examples: ['itinerary'] }),
        mimeType: z.string().meta({ examples: ['application/pdf'] }),
        sizeBytes: z
          .int()
          .min(0)
          .max(Number.MAX_SAFE_INTEGER)
          .meta({ examples: [18432] }),
        url: z
          .url()
          .meta({ examples: ['https://api.example.com/files/AZ4t7pKx'] })
          .describe('Signed and short-lived: fetch the file on receipt, do not store the link.'),
      },
      MEANINGS,
    ),
  )
  .meta({ id: 'QuoteAttachment' });
export type QuoteAttachment = z.infer<typeof QuoteAttachment>;

export const QuoteAttachmentList = z
  .object({ data: z.array(QuoteAttachment).describe('All files of the quote; there are no pages.') })
  .meta({ id: 'QuoteAttachmentList' });

export const QuoteParams = z.object({ quoteId: id().describe('Id of the quote.') });
