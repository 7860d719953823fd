import { z } from 'zod';
import { currency, dateTime, id, moment, name, price, text, title, uuid } from '../../http/fields.ts';
import { quoteStatus } from '../../quotes/schema.ts';

export const QuotePut = z
  .object({
    opportunityId: uuid(),
    title: title(),
    status: quoteStatus(),
    destination: name().nullish(),
    customerId: uuid().nullish().describe("Default: the opportunity's."),
    price: price().nullish(),
    currency: currency().nullish(),
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

/** What is told of a file that is uploaded; its size is counted as it arrives. */
export const AttachmentDescription = z.object({
  kind: text({ min: 1, max: 255 }),
  fileName: text({ min: 1, max: 255 }),
  mimeType: text({ min: 1, max: 255 }),
});
export type AttachmentDescription = z.infer<typeof AttachmentDescription>;

export const DeletedQuoteAttachment = z
  .object({ id: id(), deletedAt: dateTime() })
  .meta({ id: 'DeletedQuoteAttachment' });
export type DeletedQuoteAttachment = z.infer<typeof DeletedQuoteAttachment>;
