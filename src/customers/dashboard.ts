import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { pathId } from '../contract/fields.ts';
import { ifMatch } from '../http/conditional.ts';
import { recordView } from '../http/record-routes.ts';
import { json } from '../openapi/responses.ts';
import { customerRecord } from './archived.repository.ts';
import { updateCustomerContact } from './repository.ts';
import { customerCodes } from './routes.ts';
import {
  ArchivedCustomer,
  CustomerContactUpdate,
  CustomerCreate,
  CustomerParams,
  CustomerRecord,
  CustomerRecordListQuery,
  CustomerUpdate,
} from './schema.ts';

export const customerRecords = recordView({
  schemas: {
    record: CustomerRecord,
    query: CustomerRecordListQuery,
    create: CustomerCreate,
    patch: CustomerUpdate,
    archived: ArchivedCustomer,
  },
  functions: customerRecord,
  codes: {
    ...customerCodes,
    restore: ['CUSTOMER_CONTACT_CONFLICT', 'CUSTOMER_ERASED', 'CUSTOMER_MERGED'],
  },
  descriptions: {
    restore:
      '409: `CUSTOMER_CONTACT_CONFLICT` names the customers that have its contacts now; `CUSTOMER_NOT_ARCHIVED`, `CUSTOMER_ERASED` and `CUSTOMER_MERGED` say why there is nothing to restore.',
  },
});

export const customerDashboardRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.patch(
    '/customers/:customerId/contacts/:contactId',
    {
      config: { errorCodes: ['CUSTOMER_NOT_FOUND', 'CUSTOMER_CONTACT_NOT_FOUND'] },
      schema: {
        operationId: 'updateCustomerContact',
        summary: 'Name a contact of a customer',
        description:
          'The name stays until a later conversation with the contact has one. The PATCH of the customer changes every other field of a contact.',
        params: CustomerParams.extend({ contactId: pathId('Id of the contact.') }),
        body: CustomerContactUpdate,
        response: { 200: json(CustomerRecord, 'The customer as it is now.') },
      },
    },
    async (request) => {
      const { customerId, contactId } = request.params;
      return ifMatch(request, customerRecord.lock, customerId, (scope) =>
        updateCustomerContact(scope, customerId, contactId, request.body),
      );
    },
  );
  done();
};
