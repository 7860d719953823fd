import { recordView } from '../http/record-routes.ts';
import { customerRecord } from './archived.repository.ts';
import { customerCodes } from './routes.ts';
import {
  ArchivedCustomer,
  CustomerCreate,
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
