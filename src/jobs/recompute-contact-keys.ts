import {
  customersAfter,
  rekeyCustomer,
  rekeyThread,
  threadsAfter,
} from '../customers/stored-keys.repository.ts';
import type { Database, RecordKey } from '../db/index.ts';
import type { JobContext } from './context.ts';

const NO_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Recomputes the stored contact keys, after a release with other rules. Customers that have become the same contact are logged, not
 * merged. Conversations come first, so that a contact with a new key gets the name of its conversation.
 */
export async function recomputeContactKeys({ db, logger, batchSize = 500, signal }: JobContext) {
  const done = { rekeyedConversations: 0, rekeyedCustomers: 0, sameContacts: 0 };
  async function walk<Row extends RecordKey>(
    rowsAfter: (db: Database, last: RecordKey, limit: number) => Promise<Row[]>,
    work: (row: Row) => Promise<void>,
  ) {
    let last: RecordKey | undefined = { organizationId: NO_ID, id: NO_ID };
    while (last && !signal?.aborted) {
      const batch: Row[] = await rowsAfter(db, last, batchSize);
      for (const row of batch) await work(row);
      last = batch.at(-1);
    }
  }
  await walk(threadsAfter, async (thread) => {
    if (await rekeyThread(db, thread)) done.rekeyedConversations += 1;
  });
  await walk(customersAfter, async (customer) => {
    const { isWritten, sameContacts } = await rekeyCustomer(db, customer);
    if (isWritten) done.rekeyedCustomers += 1;
    if (sameContacts.length === 0) return;
    done.sameContacts += 1;
    const { organizationId, id: customerId } = customer;
    logger.warn({ organizationId, customerId, sameContacts }, 'customers have the same contact: merge them');
  });
  logger.info({ ...done, stopped: signal?.aborted ?? false }, 'recomputed contact keys');
  return done;
}
