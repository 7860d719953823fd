import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { json } from '../http/records.ts';
import * as repository from './repository.ts';
import type { CustomerView } from './routes.ts';
import * as schema from './schema.ts';

export const customerRecords: CustomerView = {
  customer: schema.CustomerRecord,
  query: schema.CustomerRecordListQuery,
  list: repository.listCustomerRecords,
  get: repository.getCustomerRecord,
  statements: repository.customerRecordStatements,
};

export const customerDashboardRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/customers/:customerId/restore',
    {
      config: {
        errorCodes: [
          'CUSTOMER_NOT_FOUND',
          'CUSTOMER_NOT_ARCHIVED',
          'CUSTOMER_CONTACT_CONFLICT',
          'CUSTOMER_ERASED',
          'CUSTOMER_MERGED',
        ],
      },
      schema: {
        operationId: 'restoreCustomer',
        summary: 'Restore an archived customer',
        description:
          'The customer is active again, with all its fields. 409: `CUSTOMER_CONTACT_CONFLICT` names the customers that have its contacts now; `CUSTOMER_NOT_ARCHIVED`, `CUSTOMER_ERASED` and `CUSTOMER_MERGED` say why there is nothing to restore.',
        params: schema.CustomerParams,
        response: { 200: json(schema.CustomerRecord, 'The customer as it is now.') },
      },
    },
    async ({ scope, params }) => repository.restoreCustomer(scope, params.customerId),
  );
};
