import { z } from 'zod';
import { currency, dateTime, id, moment, name, price, title, uuid } from '../../fields.ts';
import { AttachmentUpload } from '../../files/multipart.ts';
import { quoteStatus } from '../../quotes/schema.ts';
import { optionalBody } from '../params.ts';

export const QuotePut = z
  .object({
    opportunityId: uuid(),
    title: title(),
    status: quoteStatus(),
    destination: name().nullish(),
    customerId: uuid().nullish().describe("Default: the opportunity's."),
    price: price().nullish(),
    currency: currency().nullish().describe('Three-character currency code.'),
    publishedAt: moment().nullish(),
  })
  .meta({
    id: 'QuotePut',
    examples: [
      {
        opportunityId: '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17',
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

/** The parts of an upload, for the document. */
export const QuoteAttachmentUpload = z
  .object({
    kind: AttachmentUpload.shape.kind,
    file: z.string().describe('At most 25 MiB.').meta({ format: 'binary' }),
  })
  .meta({ id: 'QuoteAttachmentUpload', examples: [{ kind: 'itinerary', file: '(the bytes of the file)' }] });

export const QuoteOpen = optionalBody(
  z
    .object({ openedAt: moment().optional().describe('Default: now.') })
    .meta({ id: 'QuoteOpen', examples: [{ openedAt: '2026-11-21T08:25:00.000Z' }] }),
);

export const DeletedQuoteAttachment = z
  .object({ id: id(), deletedAt: dateTime() })
  .meta({ id: 'DeletedQuoteAttachment' });
export type DeletedQuoteAttachment = z.infer<typeof DeletedQuoteAttachment>;
