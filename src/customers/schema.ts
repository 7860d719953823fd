import { z } from 'zod';
import { contactKey, IDENTIFIER_TYPES, identifierRule } from '../../rules/contact-key.ts';
import { sizeRule } from '../../rules/record-size.ts';
import * as f from '../contract/fields.ts';

/** The limits of a customer. A merge checks them too. */
export const CUSTOMER_BOUNDS = { contacts: 50, tags: 100, summary: 50_000 };

const identifierType = () => z.enum(IDENTIFIER_TYPES);

export const CustomerContact = f.object('CustomerContact', {
  id: f.recordId(),
  identifierType: identifierType().describe('The channel of the contact.'),
  identifierValue: f.string(
    'The identifier on the channel: a telephone number in E.164 for whatsapp and telefono, any other value as it was sent.',
    '+5215512345678',
  ),
  displayName: f.nullableText(
    'The name on the channel: the `contactName` of the latest conversation with the contact.',
    'Ana',
  ),
  phoneNumber: f.nullableText('In E.164, for whatsapp and telefono.', '+5215512345678'),
});
export type CustomerContact = z.infer<typeof CustomerContact>;

export const Customer = f.object('Customer', {
  id: f.recordId(),
  firstName: f.nullableText('The given name; null if unknown.', 'Ana'),
  lastName: f.nullableText('The family name; null if unknown.', 'Peña'),
  displayName: f.nullableText('First and last name joined; null for an anonymous lead.', 'Ana Peña'),
  city: f.nullableText('The city where the person lives, as it was sent.', 'Ciudad de México'),
  country: f.nullableText('The country where the person lives, as it was sent.', 'México'),
  preferredLanguage: f.nullableText('The language to write in: es, pt or en.', 'es'),
  summary: f.nullableText('What the agency should know about the person.'),
  tags: f.field(z.array(z.string()), 'Labels of the agency. The list of customers has a filter for them.', [
    'luna de miel',
  ]),
  contacts: z.array(CustomerContact).describe('The first is the primary contact.'),
  createdAt: f.createdAt(),
  updatedAt: f.updatedAt(),
});
export type Customer = z.infer<typeof Customer>;

export const ArchivedCustomer = f.object('ArchivedCustomer', {
  id: f.recordId(),
  archived: z.boolean().describe('Always true: the customer is archived.'),
});
export type ArchivedCustomer = z.infer<typeof ArchivedCustomer>;

const IDENTIFIER = `The identifier on the channel; returned as it was sent, a telephone number in E.164.

- \`whatsapp\`, \`telefono\`: a telephone number in E.164, such as \`+5215512345678\`. Spaces, dots, dashes and brackets are ignored, a
  leading 00 stands for +, \`whatsapp:\` or \`tel:\` before the number is removed, and so is a trunk prefix behind the country code
  (\`+593 09…\`). Digits that are no part of the number, such as an extension, are rejected. Without a +, 12 to 15 digits are accepted
  if they are a possible number after a +, as WhatsApp reports numbers, and 8 to 11 digits only if they are a valid one. Start a
  national number with + and the country code.
  \`whatsapp\` also accepts what WhatsApp and its gateways report: digits with \`@s.whatsapp.net\`, \`@c.us\` or \`@hosted\`, which is
  removed together with the device (\`:12\`); the number in a \`https://wa.me/…\` link; a linked id with its \`@lid\`, such as \`154417159582282@lid\`, and a business-scoped user id,
  such as \`MX.13491208655302741918\`. Both stand for a hidden number, and have no \`phoneNumber\`.
- \`email\`: an address with one @ between two parts, without spaces, <> or mailto:.
- \`instagram\`: a handle, with or without its @, or the address of the profile.
- \`messenger\`, \`web\`: any text.

An organization can have each contact once. Two values are the same contact if they differ only in invisible characters, in the
punctuation of a number, in Mexico's 1 (\`+521\`), Argentina's 9 (\`+549\`) or Brazil's ninth digit, or in the case of an address or
handle.`;

const ContactInput = f
  .objectLike(CustomerContact.shape, {
    identifierType: identifierType(),
    identifierValue: f.text({ min: 1, max: 320 }).describe(IDENTIFIER),
  })
  .check((payload) => {
    const { identifierType, identifierValue } = payload.value;
    if (contactKey(identifierType, identifierValue) === null)
      f.addIssue(payload, identifierRule(identifierType, identifierValue), ['identifierValue']);
  })
  .meta({ id: 'CustomerContactCreate' });
export type ContactInput = z.infer<typeof ContactInput>;

const contacts = () =>
  z
    .array(ContactInput)
    .min(1)
    .max(CUSTOMER_BOUNDS.contacts)
    .check((payload) => {
      const first = new Map<string, number>();
      for (const [index, { identifierType, identifierValue }] of payload.value.entries()) {
        const contact = contactKey(identifierType, identifierValue);
        // Already rejected by the contact's own check.
        if (contact === null) continue;
        const key = `${identifierType} ${contact}`;
        const earlier = first.get(key);
        if (earlier === undefined) first.set(key, index);
        else f.addIssue(payload, `is the same contact as contacts[${earlier}]`, [index]);
      }
    })
    .describe('The first becomes the primary contact.');

const details = {
  firstName: f.name().nullish(),
  lastName: f.name().nullish(),
  city: f.name().nullish(),
  country: f.name().nullish(),
  preferredLanguage: z.enum(['es', 'pt', 'en']).nullish(),
  summary: f.text({ max: CUSTOMER_BOUNDS.summary }).nullish(),
};

const tags = () => z.array(f.text({ min: 1, max: 100 })).max(CUSTOMER_BOUNDS.tags);

export const CustomerCreate = f
  .objectLike(Customer.shape, { contacts: contacts(), ...details, tags: tags().default([]) })
  .meta({
    id: 'CustomerCreate',
    description: sizeRule('customer'),
    examples: [
      {
        firstName: 'Ana',
        lastName: 'Peña',
        preferredLanguage: 'es',
        tags: ['luna de miel'],
        contacts: [
          { identifierType: 'whatsapp', identifierValue: '+52 1 55 1234 5678' },
          { identifierType: 'email', identifierValue: 'ana@example.com' },
        ],
      },
    ],
  });
export type CustomerCreate = z.infer<typeof CustomerCreate>;

export const CustomerUpdate = f
  .objectLike(Customer.shape, {
    contacts: contacts().optional().describe('Replaces the whole list. An unchanged contact keeps its id.'),
    ...details,
    summary: details.summary.describe('Replaces what the agency knew about the person.'),
    tags: tags().optional().describe('Replaces all tags. The list of customers has a filter for them.'),
  })
  .meta({
    id: 'CustomerUpdate',
    description: sizeRule('customer'),
    examples: [{ city: 'Bogotá', tags: ['luna de miel', 'vip'] }],
  });
export type CustomerUpdate = z.infer<typeof CustomerUpdate>;

export const contactFilter = (found: string) =>
  f
    .textFilter(
      `${found}, in any spelling: a telephone number with its country code, an address or a handle.`,
      320,
    )
    .meta({ examples: ['+52 1 55 1234 5678'] });

export const withContactType = <Shape extends z.ZodRawShape>(filters: z.ZodObject<Shape>) =>
  filters
    .extend({
      contactType: identifierType().optional().describe('The channel of `contact`. Default: any.'),
    })
    .check((payload) => {
      const { contact, contactType } = payload.value as { contact?: string; contactType?: string };
      if (contactType !== undefined && contact === undefined)
        f.addIssue(payload, 'can be used only together with contact', ['contactType']);
    });

export const CustomerListQuery = withContactType(
  z.object({
    ...f.changeQuery(),
    contact: contactFilter('The customer that has exactly this contact'),
    query: f.textFilter('Text in the name, the summary or any contact, ignoring case and accents.'),
    tag: f.textFilter('Customers that have exactly this tag.'),
  }),
);

export const CustomerParams = z.object({ customerId: f.pathId('Id of the customer.') });

/** The schemas below belong to the dashboard API only. */

export const CustomerRecord = Customer.extend({
  archivedAt: f.archivedAt(),
  mergedInto: f.nullableId('The customer that this one was merged into; null if it was not merged.'),
  erasedAt: f.nullableDateTime('When the content was erased; null if it was not.'),
}).meta({ id: 'CustomerRecord' });
export type CustomerRecord = z.infer<typeof CustomerRecord>;

export const CustomerRecordListQuery = CustomerListQuery.safeExtend({
  mergedInto: f.textFilter('With `archived=true`: the customers that were merged into this one.'),
  archived: f.archivedFilter(),
});
