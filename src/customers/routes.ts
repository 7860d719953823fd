import { parseJson, toJson } from '../db/index.ts';
import { recordRoutes, recordView } from '../http/record-routes.ts';
import { keyOfContact } from './contacts.repository.ts';
import { archiveCustomer, listCustomers, publicCustomers as operations } from './repository.ts';
import { ArchivedCustomer, Customer, CustomerCreate, CustomerListQuery, CustomerUpdate } from './schema.ts';

export const customerRoutes = recordRoutes({
  path: '/customers',
  title: 'a customer',
  plural: 'customers',
  notFound: 'CUSTOMER_NOT_FOUND',
  descriptions: {
    list: 'Customers that are not archived, most recently updated first, with their contacts. Use it to find a customer by name, telephone number, email address or tag.',
    create:
      'Creates a person or an anonymous lead with one or more contacts. No search is needed first: if another customer has a contact, nothing is created, and 409 `CUSTOMER_CONTACT_CONFLICT` names that customer. Opportunities are created in the dashboard. Use it to add a lead.',
    get: 'One customer with its contacts. Use it to read a customer whose id you know.',
    update:
      '`contacts`, `tags` and `summary` replace what was there: to add to them, read the customer first, and send the old value with the new one. Use it to correct or complete what is known about the person.',
    archive:
      'The customer is archived, and other customers can have its contacts; its history is kept. Use it to remove a customer.',
  },
});

const CONFLICT = ['CUSTOMER_CONTACT_CONFLICT'] as const;

/** The codes of both APIs. */
export const customerCodes = { create: CONFLICT, update: CONFLICT };

export const publicCustomers = recordView({
  schemas: {
    record: Customer,
    query: CustomerListQuery,
    create: CustomerCreate,
    patch: CustomerUpdate,
    archived: ArchivedCustomer,
  },
  functions: { ...operations, list: listCustomers, archive: archiveCustomer },
  codes: customerCodes,
  // Whoever steals a website's key must not learn what others know about the owner of a number.
  asCreated: (created, sent) => {
    const keys = sent.contacts.map(keyOfContact);
    const { id, contacts, createdAt } = parseJson(created);
    const { firstName = null, lastName = null, city = null, country = null } = sent;
    const { preferredLanguage = null, summary = null, tags } = sent;
    return toJson({
      id,
      firstName,
      lastName,
      displayName: [firstName, lastName].filter(Boolean).join(' ') || null,
      city,
      country,
      preferredLanguage,
      summary,
      tags,
      contacts: contacts
        .filter((contact) => keys.includes(keyOfContact(contact)))
        .map((contact) => ({ ...contact, displayName: null })),
      createdAt,
      updatedAt: createdAt,
    });
  },
});
