import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { page } from '../contract/fields.ts';
import { type Json, parseJson, toJson } from '../db/index.ts';
import { ifMatch } from '../http/conditional.ts';
import { IDEMPOTENT, idempotent } from '../http/idempotency.ts';
import { CHANGES, json } from '../http/records.ts';
import { keyOfContact } from './contacts.repository.ts';
import * as repository from './repository.ts';
import * as schema from './schema.ts';

/** What an API shows of a customer, and the statements that return it. */
export const publicCustomers = {
  customer: schema.Customer,
  query: schema.CustomerListQuery,
  list: repository.listCustomers,
  get: repository.customerStatements.get,
  statements: repository.customerStatements,
};
export type CustomerView = typeof publicCustomers;

/** A website's key, which may be stolen, gets only what was sent. A 409 of it is without names: http/error-handler.ts. */
function asSent(created: Json<schema.Customer>, sent: schema.CustomerCreate): Json<schema.Customer> {
  const keys = sent.contacts.map(keyOfContact);
  const { id, contacts, createdAt, ...others } = parseJson(created);
  const unset = Object.fromEntries(Object.keys(others).map((name) => [name, null]));
  const names = [sent.firstName, sent.lastName].filter((name) => name?.trim());
  return toJson(
    schema.Customer.parse({
      ...unset,
      ...sent,
      id,
      displayName: names.join(' ') || null,
      contacts: contacts
        .filter((contact) => keys.includes(keyOfContact(contact)))
        .map((contact) => ({ ...contact, displayName: null })),
      createdAt,
      updatedAt: createdAt,
    }),
  );
}

export const customerRoutes: FastifyPluginAsyncZod<CustomerView> = async (app, view) => {
  const { customer, statements } = view;

  app.get(
    '/customers',
    {
      config: { access: 'read', resource: 'customers' },
      schema: {
        operationId: 'listCustomers',
        summary: 'List customers',
        description:
          'Customers that are not archived, most recently updated first, with their contacts. Use it to find a customer by name, telephone number, email address or tag.',
        querystring: view.query,
        response: { 200: json(page(customer), 'A page of customers.') },
      },
    },
    async ({ scope, query }) => view.list(scope, query),
  );

  app.post(
    '/customers',
    {
      config: {
        access: 'create',
        resource: 'customers',
        errorCodes: [...IDEMPOTENT, 'CUSTOMER_CONTACT_CONFLICT'],
      },
      schema: {
        operationId: 'createCustomer',
        summary: 'Create a customer',
        description:
          'Creates a person or an anonymous lead with one or more contacts. No search is needed first: if another customer has a contact, nothing is created, and `CUSTOMER_CONTACT_CONFLICT` names that customer. Opportunities are created in the dashboard. Use it to add a lead.',
        body: schema.CustomerCreate,
        response: { 201: json(customer, 'The customer.') },
      },
    },
    async (request, reply) => {
      const { apiKey, body, scope } = request;
      const created = await idempotent(request, reply, statements.get, (key) =>
        repository.createCustomer(scope, statements, body, key),
      );
      return apiKey?.access === 'create' ? asSent(created, body) : created;
    },
  );

  app.get(
    '/customers/:customerId',
    {
      config: { access: 'read', resource: 'customers', errorCodes: ['CUSTOMER_NOT_FOUND'] },
      schema: {
        operationId: 'getCustomer',
        summary: 'Get a customer',
        description: 'One customer with its contacts. Use it to read a customer whose id you know.',
        params: schema.CustomerParams,
        response: { 200: json(customer, 'The customer.') },
      },
    },
    async ({ scope, params }) => view.get(scope, params.customerId),
  );

  app.patch(
    '/customers/:customerId',
    {
      config: {
        access: 'write',
        resource: 'customers',
        errorCodes: ['CUSTOMER_NOT_FOUND', 'CUSTOMER_CONTACT_CONFLICT'],
      },
      schema: {
        operationId: 'updateCustomer',
        summary: 'Update a customer',
        description: `${CHANGES} \`contacts\`, \`tags\` and \`summary\` replace what was there: to add to them, read the customer first, and send the old value with the new one. Use it to correct or complete what is known about the person.`,
        params: schema.CustomerParams,
        body: schema.CustomerUpdate,
        response: { 200: json(customer, 'The customer as it is now.') },
      },
    },
    async (request) =>
      ifMatch(
        request,
        (scope, id) => repository.lockCustomer(scope, statements, id, request.body),
        request.params.customerId,
        (scope, id) => repository.updateCustomer(scope, statements, id, request.body),
      ),
  );

  app.delete(
    '/customers/:customerId',
    {
      config: { access: 'write', resource: 'customers', errorCodes: ['CUSTOMER_NOT_FOUND'] },
      schema: {
        operationId: 'archiveCustomer',
        summary: 'Archive a customer',
        description:
          'The customer is archived, and other customers can have its contacts; its history is kept. Use it to remove a customer.',
        params: schema.CustomerParams,
        response: { 200: json(schema.ArchivedCustomer, 'The customer was archived.') },
      },
    },
    async (request) =>
      ifMatch(request, statements.lock, request.params.customerId, repository.archiveCustomer),
  );
};
