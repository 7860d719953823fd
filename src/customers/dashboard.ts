import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { pathId } from '../contract/fields.ts';
import { knownParams, OrganizationParams } from '../dashboard/params.ts';
import { answerJson } from '../http/answers.ts';
import { answerIfMatch } from '../http/conditional.ts';
import { responses } from '../openapi/responses.ts';
import { getCustomerRecord, listCustomers, lockCustomerRecord, updateCustomerContact } from './repository.ts';
import { CustomerContactUpdate, CustomerList, CustomerListQuery, CustomerRecord } from './schema.ts';

const params = knownParams('customerId', 'Id of the customer.');

export const customerDashboardRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.get(
    '/customers',
    {
      schema: {
        operationId: 'listCustomers',
        summary: 'List customers',
        description: 'Active customers, as /v1 lists them.',
        params: OrganizationParams,
        querystring: CustomerListQuery,
        response: responses({ status: 200, schema: CustomerList, description: 'A page of customers.' }),
      },
    },
    async (request, reply) => answerJson(reply, await listCustomers(request.scope, request.query)),
  );

  app.get(
    '/customers/:customerId',
    {
      schema: {
        operationId: 'getCustomer',
        summary: 'Get a customer',
        description: 'The customer as /v1 shows it, also if it is archived.',
        params,
        response: responses(
          { status: 200, schema: CustomerRecord, description: 'The customer.' },
          'CUSTOMER_NOT_FOUND',
        ),
      },
    },
    async (request, reply) =>
      answerJson(reply, await getCustomerRecord(request.scope, request.params.customerId)),
  );

  app.patch(
    '/customers/:customerId/contacts/:contactId',
    {
      schema: {
        operationId: 'updateCustomerContact',
        summary: 'Name a contact of a customer',
        description:
          'The name stays until a later conversation with the contact has one. Every other field of a contact is changed through /v1.',
        params: params.extend({ contactId: pathId('Id of the contact.') }),
        body: CustomerContactUpdate,
        response: responses(
          { status: 200, schema: CustomerRecord, description: 'The customer as it is now.' },
          'CUSTOMER_NOT_FOUND',
          'CUSTOMER_CONTACT_NOT_FOUND',
        ),
      },
    },
    async (request, reply) => {
      const { customerId, contactId } = request.params;
      return answerIfMatch(request, reply, lockCustomerRecord, customerId, (scope) =>
        updateCustomerContact(scope, customerId, contactId, request.body),
      );
    },
  );
  done();
};
