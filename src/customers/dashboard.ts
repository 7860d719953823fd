import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { pathId } from '../contract/fields.ts';
import { knownParams, OrganizationParams } from '../dashboard/params.ts';
import { ifMatch } from '../http/conditional.ts';
import { idempotently } from '../http/idempotency.ts';
import { json } from '../openapi/responses.ts';
import { listArchivedCustomers, restoreCustomer } from './archived.repository.ts';
import { getCustomerRecord, listCustomers, lockCustomerRecord, updateCustomerContact } from './repository.ts';
import {
  Customer,
  CustomerContactUpdate,
  CustomerRecord,
  RestorableCustomerList,
  RestorableCustomerListQuery,
} from './schema.ts';

const params = knownParams('customerId', 'Id of the customer.');

export const customerDashboardRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.get(
    '/customers',
    {
      schema: {
        operationId: 'listCustomers',
        summary: 'List customers',
        description:
          'Active customers as /v1 lists them; with `archived=true` the archived customers, latest archived first.',
        params: OrganizationParams,
        querystring: RestorableCustomerListQuery,
        response: { 200: json(RestorableCustomerList, 'A page of customers.') },
      },
    },
    async (request) => {
      const { archived, ...query } = request.query;
      return (archived ? listArchivedCustomers : listCustomers)(request.scope, query);
    },
  );

  app.get(
    '/customers/:customerId',
    {
      config: { errorCodes: ['CUSTOMER_NOT_FOUND'] },
      schema: {
        operationId: 'getCustomer',
        summary: 'Get a customer',
        description: 'The customer as /v1 returns it, archived or not, and how it was archived.',
        params,
        response: { 200: json(CustomerRecord, 'The customer.') },
      },
    },
    async (request) => getCustomerRecord(request.scope, request.params.customerId),
  );

  app.post(
    '/customers/:customerId/restore',
    {
      config: {
        errorCodes: [
          'CUSTOMER_NOT_FOUND',
          'CUSTOMER_CONTACT_CONFLICT',
          'CUSTOMER_NOT_ARCHIVED',
          'CUSTOMER_ERASED',
          'CUSTOMER_MERGED',
        ],
      },
      schema: {
        operationId: 'restoreCustomer',
        summary: 'Restore an archived customer',
        description:
          'The customer is active again, with all of its contacts. 409: `CUSTOMER_CONTACT_CONFLICT` names the customers that have its contacts now; `CUSTOMER_NOT_ARCHIVED`, `CUSTOMER_ERASED` and `CUSTOMER_MERGED` say why there is nothing to restore.',
        params,
        response: { 200: json(Customer, 'The customer.') },
      },
    },
    async (request, reply) =>
      idempotently(request, reply, 200, (scope) => restoreCustomer(scope, request.params.customerId)),
  );

  app.patch(
    '/customers/:customerId/contacts/:contactId',
    {
      config: { errorCodes: ['CUSTOMER_NOT_FOUND', 'CUSTOMER_CONTACT_NOT_FOUND'] },
      schema: {
        operationId: 'updateCustomerContact',
        summary: 'Name a contact of a customer',
        description:
          'The name stays until a later conversation with the contact has one. Every other field of a contact is changed through /v1.',
        params: params.extend({ contactId: pathId('Id of the contact.') }),
        body: CustomerContactUpdate,
        response: { 200: json(CustomerRecord, 'The customer as it is now.') },
      },
    },
    async (request) => {
      const { customerId, contactId } = request.params;
      return ifMatch(request, lockCustomerRecord, customerId, (scope) =>
        updateCustomerContact(scope, customerId, contactId, request.body),
      );
    },
  );
  done();
};
