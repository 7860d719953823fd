import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { NULL_CLEARS } from '../contract/fields.ts';
import { ifMatch } from '../http/conditional.ts';
import { idempotently } from '../http/idempotency.ts';
import { json } from '../openapi/responses.ts';
import {
  archiveCustomer,
  createCustomer,
  getCustomer,
  listCustomers,
  lockCustomer,
  updateCustomer,
} from './repository.ts';
import {
  ArchivedCustomer,
  Customer,
  CustomerCreate,
  CustomerList,
  CustomerListQuery,
  CustomerParams,
  CustomerUpdate,
} from './schema.ts';

export const customerRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.get(
    '/customers',
    {
      schema: {
        operationId: 'listCustomers',
        summary: 'List customers',
        description:
          'Customers that are not archived, most recently updated first, with their contacts. Use it to find a customer by name, telephone number, email address or tag.',
        querystring: CustomerListQuery,
        response: { 200: json(CustomerList, 'A page of customers.') },
      },
    },
    async (request) => listCustomers(request.scope, request.query),
  );

  app.post(
    '/customers',
    {
      config: { errorCodes: ['CUSTOMER_CONTACT_CONFLICT'] },
      schema: {
        operationId: 'createCustomer',
        summary: 'Create a customer',
        description:
          'Creates a person or an anonymous lead with one or more contacts. No search is needed first: if another customer has a contact, nothing is created, and 409 `CUSTOMER_CONTACT_CONFLICT` names that customer. Opportunities are created in the dashboard. Use it to add a lead.',
        body: CustomerCreate,
        response: { 201: json(Customer, 'The customer.') },
      },
    },
    async (request, reply) =>
      idempotently(request, reply, 201, (scope) => createCustomer(scope, request.body)),
  );

  app.get(
    '/customers/:customerId',
    {
      config: { errorCodes: ['CUSTOMER_NOT_FOUND'] },
      schema: {
        operationId: 'getCustomer',
        summary: 'Get a customer',
        description: 'One customer with its contacts. Use it to read a customer whose id you know.',
        params: CustomerParams,
        response: { 200: json(Customer, 'The customer.') },
      },
    },
    async (request) => getCustomer(request.scope, request.params.customerId),
  );

  app.patch(
    '/customers/:customerId',
    {
      config: { errorCodes: ['CUSTOMER_NOT_FOUND', 'CUSTOMER_CONTACT_CONFLICT'] },
      schema: {
        operationId: 'updateCustomer',
        summary: 'Update a customer',
        description: `Changes only the fields in the body; ${NULL_CLEARS}. \`contacts\`, \`tags\` and \`summary\` replace what was there: to add to them, read the customer first, and send the old value with the new one. If nothing differs, nothing changes, and \`updatedAt\` stays as it is. Use it to correct or complete what is known about the person.`,
        params: CustomerParams,
        body: CustomerUpdate,
        response: { 200: json(Customer, 'The customer as it is now.') },
      },
    },
    async (request) =>
      ifMatch(
        request,
        (scope, id) => lockCustomer(scope, id, request.body),
        request.params.customerId,
        (scope, id) => updateCustomer(scope, id, request.body),
      ),
  );

  app.delete(
    '/customers/:customerId',
    {
      config: { errorCodes: ['CUSTOMER_NOT_FOUND'] },
      schema: {
        operationId: 'archiveCustomer',
        summary: 'Archive a customer',
        description:
          'The customer is archived, and other customers can have its contacts; its history is kept. Use it to remove a customer.',
        params: CustomerParams,
        response: { 200: json(ArchivedCustomer, 'The customer was archived.') },
      },
    },
    async (request) => ifMatch(request, lockCustomer, request.params.customerId, archiveCustomer),
  );
  done();
};
