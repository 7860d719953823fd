import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { json } from '../http/records.ts';
import {
  customerRecordStatements,
  getCustomerRecord,
  listCustomerRecords,
  restoreCustomer,
} from './repository.ts';
import type { CustomerView } from './routes.ts';
import { CustomerParams, CustomerRecord, CustomerRecordListQuery } from './schema.ts';

export const customerRecords: CustomerView = {
  customer: CustomerRecord,
  query: CustomerRecordListQuery,
  list: listCustomerRecords,
  get: getCustomerRecord,
  statements: customerRecordStatements,
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
        params: CustomerParams,
        response: { 200: json(CustomerRecord, 'The customer as it is now.') },
      },
    },
    async ({ scope, params }) => restoreCustomer(scope, params.customerId),
  );
};
