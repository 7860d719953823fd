import { z } from 'zod';
import { dateTime, id, shown, uuid } from '../contract/fields.ts';

export const CustomerMerge = z
  .object({ from: uuid().describe('Id of the customer that becomes a part of this one.') })
  .meta({ id: 'CustomerMerge' });
export type CustomerMerge = z.infer<typeof CustomerMerge>;

const count = (meaning: string) => shown(z.int(), meaning);

export const ErasedCounts = z
  .object({
    contacts: count('Contacts of the customer.'),
    conversations: count('Threads that lost contact and contact name.'),
    messages: count('Messages that lost content and sender.'),
    opportunities: count('Opportunities that lost title, short reference and destination.'),
    quotes: count('Quotes that lost title and destination.'),
    attachments: count('Attachments of quotes, with their files.'),
    replays: count('Answers that were kept for requests with an `Idempotency-Key`.'),
  })
  .meta({ id: 'ErasedCounts' });
export type ErasedCounts = z.infer<typeof ErasedCounts>;

export const ErasedCustomer = z
  .object({
    id: shown(id(), 'Never changes; text without a meaning of its own.'),
    erasedAt: shown(dateTime(), 'When the content was erased first.'),
    erased: shown(ErasedCounts, 'How much was erased then, by kind.'),
  })
  .meta({ id: 'ErasedCustomer' });
export type ErasedCustomer = z.infer<typeof ErasedCustomer>;
