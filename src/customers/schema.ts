import { z } from 'zod';
import {
  dateTime,
  described,
  id,
  longText,
  name,
  oneOf,
  page,
  pageQuery,
  text,
  textFilter,
} from '../fields.ts';
import { contactKey, identifierRule } from './contact-key.ts';

/** Of customers and of their contacts, in answers and in bodies alike. */
const MEANINGS = {
  id: 'Never changes; text without a meaning of its own.',
  identifierType: 'The channel on which the person is reached.',
  firstName: 'Given name; null while the person has not said it.',
  lastName: 'Family name; null while the person has not said it.',
  city: 'Where the person lives, as it was written.',
  country: 'The country that the person lives in, as it was written.',
  preferredLanguage: 'The language to write in: es, pt or en.',
  summary: 'What the agency should know of the person.',
  tags: 'Labels of the agency; the list of customers can be filtered by one.',
  archived: 'Always true: the customer left the book.',
  createdAt: 'When it was created.',
  updatedAt: 'When it was last changed; the list is in this order, the newest first.',
};

const identifierType = () => oneOf(['whatsapp', 'instagram', 'messenger', 'email', 'telefono', 'web']);

export const CustomerContact = z
  .object(
    described(
      {
        id: id(),
        identifierType: identifierType(),
        identifierValue: z
          .string()
          .describe('As it was sent.')
          .meta({ examples: ['+52 1 55 1234 5678'] }),
        displayName: z.string().nullable().describe('The name on the channel, once the dashboard knows it.'),
        phoneNumber: z
          .string()
          .nullable()
          .describe('In E.164, for whatsapp and telefono.')
          .meta({ examples: ['+5215512345678'] }),
      },
      MEANINGS,
    ),
  )
  .meta({ id: 'CustomerContact' });
export type CustomerContact = z.infer<typeof CustomerContact>;

export const Customer = z
  .object(
    described(
      {
        id: id(),
        firstName: z
          .string()
          .nullable()
          .meta({ examples: ['Ana'] }),
        lastName: z
          .string()
          .nullable()
          .meta({ examples: ['Peña'] }),
        displayName: z
          .string()
          .nullable()
          .describe('First and last name joined; null for an anonymous lead.')
          .meta({ examples: ['Ana Peña'] }),
        city: z
          .string()
          .nullable()
          .meta({ examples: ['Ciudad de México'] }),
        country: z
          .string()
          .nullable()
          .meta({ examples: ['México'] }),
        preferredLanguage: z
          .string()
          .nullable()
          .meta({ examples: ['es'] }),
        summary: z.string().nullable(),
        tags: z.array(z.string()).meta({ examples: [['luna de miel']] }),
        contacts: z.array(CustomerContact).describe('The first is the primary contact.'),
        createdAt: dateTime(),
        updatedAt: dateTime(),
      },
      MEANINGS,
    ),
  )
  .meta({ id: 'Customer' });
export type Customer = z.infer<typeof Customer>;

export const CustomerList = page(Customer).meta({ id: 'CustomerList' });

export const ArchivedCustomer = z
  .object(described({ id: id(), archived: z.boolean() }, MEANINGS))
  .meta({ id: 'ArchivedCustomer' });
export type ArchivedCustomer = z.infer<typeof ArchivedCustomer>;

const IDENTIFIER = `Identifies the person on the channel; read back as it was sent.

- \`whatsapp\`, \`telefono\`: a telephone number in E.164, such as \`+5215512345678\`. Spaces, dots, dashes and brackets do not count, and a
  leading 00 stands for +. Without a +, 12 to 15 digits are taken as WhatsApp reports numbers, and 8 to 11 digits only where they are a valid
  number with a + in front: a national number must start with + and the country code. \`whatsapp\` also takes a business-scoped user
  id, such as \`MX.13491208655302741918\`.
- \`email\`: an address with one @ between two parts, without spaces, <> and mailto:.
- \`instagram\`: a handle, with or without its @.
- \`messenger\`, \`web\`: any text.

The same contact, of which a customer and an organization have one: numbers without their punctuation, and without Mexico's 1 (\`+521\`),
Argentina's 9 (\`+549\`) and Brazil's ninth digit; addresses and handles in any case; other text exactly.`;

const ContactInput = z
  .object(
    described(
      {
        identifierType: identifierType(),
        identifierValue: text({ min: 1, max: 320 }).describe(IDENTIFIER),
      },
      MEANINGS,
    ),
  )
  .superRefine(({ identifierType, identifierValue }, context) => {
    if (contactKey(identifierType, identifierValue) !== null) return;
    context.addIssue({
      code: 'custom',
      path: ['identifierValue'],
      message: identifierRule(identifierType, identifierValue),
    });
  })
  .meta({ id: 'CustomerContactCreate' });
export type ContactInput = z.infer<typeof ContactInput>;

const contacts = () =>
  z
    .array(ContactInput)
    .min(1)
    .max(50)
    .superRefine((list, context) => {
      const first = new Map<string, number>();
      for (const [index, { identifierType, identifierValue }] of list.entries()) {
        const key = `${identifierType} ${contactKey(identifierType, identifierValue)}`;
        const earlier = first.get(key);
        if (earlier === undefined) first.set(key, index);
        else
          context.addIssue({
            code: 'custom',
            path: [index],
            message: `is the same contact as contacts[${earlier}]`,
          });
      }
    })
    .describe('The first becomes the primary contact.');

const details = {
  firstName: name().nullish(),
  lastName: name().nullish(),
  city: name().nullish(),
  country: name().nullish(),
  preferredLanguage: oneOf(['es', 'pt', 'en']).nullish(),
  summary: longText().nullish(),
};

const tags = () => z.array(text({ max: 100 })).max(100);

export const CustomerCreate = z
  .object(described({ contacts: contacts(), ...details, tags: tags().default([]) }, MEANINGS))
  .meta({
    id: 'CustomerCreate',
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

export const CustomerUpdate = z
  .object(
    described(
      {
        contacts: contacts()
          .optional()
          .describe('Replaces the whole list; a contact that stays keeps its id.'),
        ...details,
        tags: tags().optional(),
      },
      MEANINGS,
    ),
  )
  .meta({ id: 'CustomerUpdate', examples: [{ city: 'Bogotá', tags: ['luna de miel', 'vip'] }] });
export type CustomerUpdate = z.infer<typeof CustomerUpdate>;

export const CustomerListQuery = z.object({
  ...pageQuery(),
  query: textFilter('Text in the name, the summary or any contact, whatever its case and accents.'),
  tag: textFilter('Customers that have exactly this tag.'),
});
export type CustomerListQuery = z.infer<typeof CustomerListQuery>;

export const CustomerParams = z.object({ customerId: id().describe('Id of the customer.') });
