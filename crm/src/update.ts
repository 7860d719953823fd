import {
  type CrmClient,
  CrmError,
  type Customer,
  type CustomerCreate,
  type CustomerUpdate,
  responseInfo,
} from '../../client/src/index.ts';

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
  { mode, taken }: { mode: UpdateMode; taken: ReadonlySet<number> },
): CustomerUpdate {
  const names = Object.keys(wanted) as (keyof typeof wanted)[];
  const details = names.filter((name) => {
    const isSent = wanted[name] !== undefined && wanted[name] !== null && wanted[name] !== customer[name];
    return isSent && (mode === 'overwrite' || !customer[name]);
  });
  const newTags = new Set(tags.filter((tag) => !customer.tags.includes(tag)));
  const newContacts = contacts.filter((_contact, index) => !taken.has(index));
  return {
    ...Object.fromEntries(details.map((name) => [name, wanted[name]])),
    ...(newTags.size > 0 && { tags: [...customer.tags, ...newTags] }),
    ...(newContacts.length > 0 && { contacts: [...customer.contacts, ...newContacts] }),
  };
}

/** The one customer that has all taken contacts, and the indexes of these contacts in the body. */
function holderOf(error: unknown): { id: string; taken: Set<number> } | undefined {
  if (!(error instanceof CrmError && error.is('CUSTOMER_CONTACT_CONFLICT'))) return undefined;
  const [first, ...others] = error.details;
  if (!first || others.some(({ customerId }) => customerId !== first.customerId)) return undefined;
  const taken = error.details.map(({ path }) => Number(/\[(\d+)\]$/.exec(path)?.[1]));
  return { id: first.customerId, taken: new Set(taken) };
}

/** Others may change the customer meanwhile: also rows of the same file, as many as are under way. */
const MAX_TRIES = 50;

/**
 * Creates the customer; with a mode, updates the one that has its contact.
 * @throws CrmError also where the contacts belong to several customers
 */
export async function createOrUpdate(
  crm: CrmClient,
  body: CustomerCreate,
  options: { mode: UpdateMode | undefined; idempotencyKey: string; signal: AbortSignal },
): Promise<Sent> {
  const { mode, idempotencyKey, signal } = options;
  for (let tries = 1; ; tries += 1) {
    try {
      const customer = await crm.customers.create(body, { idempotencyKey, signal });
      return sentOf(customer);
    } catch (error) {
      const holder = mode && holderOf(error);
      if (!holder) throw error;
      try {
        const customer = await crm.customers.get(holder.id, { signal });
        const changes = changesOf(customer, body, { mode, taken: holder.taken });
        if (Object.keys(changes).length === 0) return { result: 'unchanged' };
        await crm.customers.update(holder.id, changes, { ifMatch: customer, signal });
        return { result: 'updated' };
      } catch (failure) {
        const isOutdated = failure instanceof CrmError && [404, 412].includes(failure.status);
        if (!isOutdated || tries === MAX_TRIES) throw failure;
      }
    }
  }
}
