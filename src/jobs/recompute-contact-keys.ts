import {
  customersAfter,
  rekeyCustomer,
  rekeyThread,
  threadsAfter,
} from '../customers/stored-keys.repository.ts';
import { inOrderOfKeys, type JobContext } from './context.ts';

/**
 * Recomputes the stored contact keys, after a release with other rules. Customers that have become the same contact are logged, not
 * merged. Conversations come first, so that a contact with a new key gets the name of its conversation.
 */
export async function recomputeContactKeys(context: JobContext) {
  const { db, logger, signal } = context;
  const done = { rekeyedConversations: 0, rekeyedCustomers: 0, sameContacts: 0 };
  await inOrderOfKeys(context, 500, threadsAfter, async (threads) => {
    for (const thread of threads) if (await rekeyThread(db, thread)) done.rekeyedConversations += 1;
  });
  await inOrderOfKeys(context, 500, customersAfter, async (customers) => {
    for (const customer of customers) {
      const { isWritten, sameContacts } = await rekeyCustomer(db, customer);
      if (isWritten) done.rekeyedCustomers += 1;
      if (sameContacts.length === 0) continue;
      done.sameContacts += 1;
      const { organizationId, id: customerId } = customer;
      logger.warn(
        { organizationId, customerId, sameContacts },
        'customers have the same contact: merge them',
      );
    }
  });
  logger.info({ ...done, stopped: signal?.aborted ?? false }, 'recomputed contact keys');
  return done;
}
