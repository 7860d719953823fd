import { type SQL, sql } from 'drizzle-orm';
import { keyOnChannel } from '../../rules/contact-key.ts';
import {
  conversations,
  customers,
  type Database,
  type Json,
  liveCustomers,
  type Params,
  parseJson,
  type RecordKey,
  rowOf,
  threads,
  unprepared,
} from '../db/index.ts';
import { contactColumns, contactOwners, keyOfContact } from './contacts.repository.ts';
import type { CustomerContact } from './schema.ts';

/** Contact keys that an earlier release computed. */

type Batch = RecordKey & { limit: number };

/** The rows of all organizations, by key. */
const batchOf = (table: typeof conversations | typeof customers, $: Params<Batch>): SQL => sql`from ${table}
  where (${table.organizationId}, ${table.id}) > (${$.organizationId}::uuid, ${$.id}::uuid)
  order by ${table.organizationId}, ${table.id} limit ${$.limit}`;

type Thread = RecordKey & { channel: string; contact: string; contactKey: string | null };

const threadsStatement = unprepared(
  'conversations.stored_keys',
  ($: Params<Batch>): SQL<Thread> => sql`
    select ${conversations.organizationId} as "organizationId", ${conversations.id}, ${conversations.channel},
      ${conversations.contact}, ${conversations.contactKey} as "contactKey" ${batchOf(conversations, $)}`,
);

const rekeyThreadStatement = unprepared(
  'conversations.rekey',
  ($: Params<Thread>) => sql`
    update ${conversations} set contact_key = ${$.contactKey}
    where ${rowOf(threads, $)} and ${conversations.channel} = ${$.channel} and ${conversations.contact} = ${$.contact}`,
);

export const threadsAfter = (db: Database, last: RecordKey, limit: number) =>
  db.read(threadsStatement, { ...last, limit });

/** A contact that the rules reject now keeps its key. */
export async function rekeyThread(db: Database, thread: Thread): Promise<boolean> {
  const contactKey = keyOnChannel(thread.channel, thread.contact);
  if (contactKey === null || contactKey === thread.contactKey) return false;
  await db.write(rekeyThreadStatement, { ...thread, contactKey });
  return true;
}

type Stored = RecordKey & { contacts: Json<CustomerContact[]>; contactKeys: string[] };

const customersStatement = unprepared(
  'customers.stored_keys',
  ($: Params<Batch>): SQL<Stored> => sql`
    select ${customers.organizationId} as "organizationId", ${customers.id}, ${customers.contacts},
      ${customers.contactKeys} as "contactKeys" ${batchOf(customers, $)}`,
);

type Rekeyed = RecordKey & {
  contacts: string;
  contactKeys: readonly string[];
  contactSearch: string;
  previous: readonly string[];
};

const rekeyCustomerStatement = unprepared(
  'customers.rekey',
  ($: Params<Rekeyed>): SQL<{ id: string }> => sql`
    update ${customers} set contacts = ${$.contacts}::json, contact_keys = ${$.contactKeys}::text[],
      contact_search = ${$.contactSearch}
    where ${rowOf(liveCustomers, $)} and ${customers.contactKeys} = ${$.previous}::text[] returning ${customers.id}`,
);

export const customersAfter = (db: Database, last: RecordKey, limit: number) =>
  db.read(customersStatement, { ...last, limit });

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
