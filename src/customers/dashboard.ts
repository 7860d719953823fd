import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { knownParams, OrganizationParams } from '../dashboard/params.ts';
import { answerJson } from '../http/answers.ts';
import { responses } from '../http/openapi/responses.ts';
import { getCustomerRecord, listCustomers } from './repository.ts';
import { CustomerList, CustomerListQuery, CustomerRecord } from './schema.ts';

const tags = ['Customers'];
const params = knownParams('customerId', 'Id of the customer.');

export const customerDashboardRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.get(
    '/customers',
    {
      schema: {
        operationId: 'listCustomers',
        tags,
        summary: 'List customers',
        description: 'The active book as /v1 lists it.',
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
        tags,
        summary: 'Get a customer',
        description: 'The customer as /v1 shows it, also an archived one.',
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
  done();
};
