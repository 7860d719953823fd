import type { CustomerCreate, CustomerUpdate } from '../../client/src/index.ts';
import { type CrmClient, CrmError, type Customer, responseInfo } from '../../client/src/index.ts';
import { contactKeys } from './rules.ts';

/** What an update does with the customer that has a row's contact: it fills empty fields, or overwrites fields that differ. */
export type UpdateMode = 'fill' | 'overwrite';

/** What became of a row; with the id of a record that an earlier run had created. */
export type Sent = { result: 'created' | 'created before' | 'updated' | 'unchanged'; replayed?: string };

/** @param record as the create returned it */
export const sentOf = (record: { id: string }): Sent =>
  responseInfo(record)?.replayed ? { result: 'created before', replayed: record.id } : { result: 'created' };

/** New tags and contacts are added at the end; none is removed, and the primary contact stays. */
function changesOf(
  customer: Customer,
  { tags = [], contacts, ...wanted }: CustomerCreate,
  mode: UpdateMode,
): CustomerUpdate {
  const names = Object.keys(wanted) as (keyof typeof wanted)[];
  const details = names.filter((name) => {
    const isSent = wanted[name] !== undefined && wanted[name] !== null && wanted[name] !== customer[name];
    return isSent && (mode === 'overwrite' || !customer[name]);
  });
  const newTags = new Set(tags.filter((tag) => !customer.tags.includes(tag)));
  const keys = contactKeys(customer);
  const newContacts = contacts.filter((contact) =>
    contactKeys({ contacts: [contact] }).some((key) => !keys.includes(key)),
  );
  return {
    ...Object.fromEntries(details.map((name) => [name, wanted[name]])),
    ...(newTags.size > 0 && { tags: [...customer.tags, ...newTags] }),
    ...(newContacts.length > 0 && { contacts: [...customer.contacts, ...newContacts] }),
  };
}

/** The one customer that has all taken contacts. */
function holderOf(error: unknown): string | undefined {
  if (!(error instanceof CrmError && error.is('CUSTOMER_CONTACT_CONFLICT'))) return undefined;
  const [holder, ...others] = new Set(error.details.map(({ customerId }) => customerId));
  return others.length > 0 ? undefined : holder;
}

/** Others may change the customer meanwhile: also rows of the same file, as many as are under way. */
const MAX_TRIES = 50;

/**
 * Creates the customer; with a mode, updates the one that has its contact, or that an earlier run created for the row.
 * @throws CrmError also where the contacts belong to several customers
 */
export async function createOrUpdate(
  crm: CrmClient,
  body: CustomerCreate,
  options: { mode: UpdateMode | undefined; idempotencyKey: string; signal: AbortSignal },
): Promise<Sent> {
  const { mode, idempotencyKey, signal } = options;
  for (let tries = 1; ; tries += 1) {
    let sent: Sent = { result: 'unchanged' };
    let holder: string | undefined;
    try {
      sent = sentOf(await crm.customers.create(body, { idempotencyKey, signal }));
      holder = sent.replayed;
      if (!mode || !holder) return sent;
    } catch (error) {
      holder = holderOf(error);
      if (!mode || !holder) throw error;
    }
    try {
      const customer = await crm.customers.get(holder, { signal });
      const changes = changesOf(customer, body, mode);
      if (Object.keys(changes).length === 0) return sent;
      await crm.customers.update(holder, changes, { ifMatch: customer, signal });
      return { result: 'updated' };
    } catch (failure) {
      if (!(failure instanceof CrmError)) throw failure;
      // Archived since, which the caller reports, or a key that only creates.
      if (sent.replayed && [403, 404].includes(failure.status)) return sent;
      if (![404, 412].includes(failure.status) || tries === MAX_TRIES) throw failure;
    }
  }
}
