import { z } from 'zod';
import * as f from '../contract/fields.ts';

export const CustomerMerge = z
  .object({ from: f.uuid().describe('Id of the customer to merge into this one.') })
  .meta({ id: 'CustomerMerge' });
export type CustomerMerge = z.infer<typeof CustomerMerge>;

const count = (meaning: string) => z.int().describe(meaning);

export const ErasedCounts = z
  .object({
    contacts: count('Contacts of the customer.'),
    conversations: count('Threads whose contact and contact name were erased.'),
    messages: count('Messages whose content and sender were erased.'),
    opportunities: count('Opportunities whose title, short reference and destination were erased.'),
    quotes: count('Quotes whose title and destination were erased.'),
    attachments: count('Attachments of quotes, with their files.'),
  })
  .meta({ id: 'ErasedCounts' });
export type ErasedCounts = z.infer<typeof ErasedCounts>;

export const sameContacts = () =>
  z
    .array(f.id())
    .describe(
      'Ids of other customers that have one of the contacts, or had it when they were archived, and are not erased: they may be the same person.',
    );

export const ErasedCustomer = z
  .object({
    id: f.recordId(),
    erasedAt: f.dateTime().describe('When the content was first erased.'),
    erased: ErasedCounts.describe('The number of erased records, by kind.'),
    sameContacts: sameContacts(),
  })
  .meta({ id: 'ErasedCustomer' });
export type ErasedCustomer = z.infer<typeof ErasedCustomer>;
