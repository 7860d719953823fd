import { and, eq, sql } from 'drizzle-orm';
import { keyOnChannel } from '../../rules/contact-key.ts';
import {
  activeCustomers,
  as,
  type Batch,
  conversations,
  customers,
  type Database,
  type Json,
  keyIs,
  type Params,
  parseJson,
  qb,
  type RecordKey,
  recordIs,
  rowsAfter,
  unprepared,
} from '../db/index.ts';
import { contactColumns, contactOwners, keyOfContact } from './contacts.repository.ts';
import type { CustomerContact } from './schema.ts';

/** Contact keys that an earlier release computed. */

type Thread = RecordKey & { channel: string; contact: string; contactKey: string | null };

export const threadsAfter = unprepared('conversations.stored_keys', ($: Params<Batch>) => {
  const { organizationId, id, channel, contact, contactKey } = conversations;
  return rowsAfter(conversations, { organizationId, id, channel, contact, contactKey }, $);
});

const rekeyThreadStatement = unprepared('conversations.rekey', ($: Params<Thread>) => {
  const { channel, contact } = conversations;
  return qb
    .update(conversations)
    .set({ contactKey: sql`${$.contactKey}` })
    .where(and(keyIs(conversations, $), eq(channel, $.channel), eq(contact, $.contact)));
});

/** A contact that the rules reject now keeps its key. */
export async function rekeyThread(db: Database, thread: Thread): Promise<boolean> {
  const contactKey = keyOnChannel(thread.channel, thread.contact);
  if (contactKey === null || contactKey === thread.contactKey) return false;
  await db.write(rekeyThreadStatement, { ...thread, contactKey });
  return true;
}

type Stored = RecordKey & { contacts: Json<CustomerContact[]>; contactKeys: string[] };

export const customersAfter = unprepared('customers.stored_keys', ($: Params<Batch>) => {
  const { organizationId, id, contactKeys } = customers;
  const contacts = sql<Json<CustomerContact[]>>`${customers.contacts}`;
  return rowsAfter(customers, { organizationId, id, contacts, contactKeys }, $);
});

type Rekeyed = RecordKey & {
  contacts: string;
  contactKeys: readonly string[];
  contactSearch: string;
  previous: readonly string[];
};

const rekeyCustomerStatement = unprepared('customers.rekey', ($: Params<Rekeyed>) =>
  qb
    .update(customers)
    .set({
      contacts: sql`${$.contacts}::json`,
      contactKeys: sql`${$.contactKeys}::text[]`,
      contactSearch: sql`${$.contactSearch}`,
    })
    .where(and(recordIs(activeCustomers, $), sql`${customers.contactKeys} = ${$.previous}::text[]`))
    .returning(as({ id: customers.id })),
);

/**
 * Two contacts of the customer that have become one are one contact, the first.
 * @returns the customers that have these contacts too; then nothing is written
 */
export async function rekeyCustomer(
  db: Database,
  { organizationId, id, contacts: json, contactKeys }: Stored,
): Promise<{ isWritten: boolean; sameContacts: string[] }> {
  const contacts = parseJson(json);
  const keys = contacts.map(keyOfContact);
  if (keys.join() === contactKeys.join()) return { isWritten: false, sameContacts: [] };
  const kept = contacts.filter((_, index) => keys.indexOf(String(keys[index])) === index);
  const columns = contactColumns(kept);
  const named = columns.contacts.map((contact, index) => ({
    ...contact,
    id: kept[index]?.id,
    displayName: kept[index]?.displayName,
  }));
  const [row] = await db.write(rekeyCustomerStatement, {
    ...columns,
    organizationId,
    id,
    contacts: JSON.stringify(named),
    previous: contactKeys,
  });
  if (row) return { isWritten: true, sameContacts: [] };
  const owners = await contactOwners(db, { organizationId, id, contactKeys: columns.contactKeys });
  return { isWritten: false, sameContacts: owners.map(({ customerId }) => customerId) };
}
