import {
  answerInfo,
  type CrmClient,
  CrmError,
  type Customer,
  type CustomerCreate,
  type CustomerUpdate,
} from '../../client/src/index.ts';

/** What becomes of the customer that has a row's contact: only empty fields are filled, or the row wins. */
export type UpdateMode = 'fill' | 'overwrite';

/** Tags and contacts that are new are added at the end; none is taken away, and the first contact stays the primary one. */
function changesOf(
  customer: Customer,
  { tags = [], contacts, ...wanted }: CustomerCreate,
  { mode, taken }: { mode: UpdateMode; taken: ReadonlySet<number> },
): CustomerUpdate {
  const names = Object.keys(wanted) as (keyof typeof wanted)[];
  const details = names.filter((name) => {
    const isGiven = wanted[name] !== undefined && wanted[name] !== null && wanted[name] !== customer[name];
    return isGiven && (mode === 'overwrite' || !customer[name]);
  });
  const newTags = new Set(tags.filter((tag) => !customer.tags.includes(tag)));
  const newContacts = contacts.filter((_contact, index) => !taken.has(index));
  return {
    ...Object.fromEntries(details.map((name) => [name, wanted[name]])),
    ...(newTags.size > 0 && { tags: [...customer.tags, ...newTags] }),
    ...(newContacts.length > 0 && { contacts: [...customer.contacts, ...newContacts] }),
  };
}

/** The one customer that has all contacts that are taken, and which these are. */
function holderOf(error: unknown): { id: string; taken: Set<number> } | undefined {
  if (!(error instanceof CrmError && error.is('CUSTOMER_CONTACT_CONFLICT'))) return undefined;
  const [first, ...others] = error.details;
  if (!first || others.some(({ customerId }) => customerId !== first.customerId)) return undefined;
  const taken = error.details.map(({ path }) => Number(/\[(\d+)\]$/.exec(path)?.[1]));
  return { id: first.customerId, taken: new Set(taken) };
}

/** How often others may change the customer in between: rows of the same file, too, as many as are under way. */
const MAX_TRIES = 50;

/**
 * Creates the customer; with a mode, changes the one that has its contact.
 * @throws CrmError also where the contacts belong to several customers
 */
export async function createOrUpdate(
  crm: CrmClient,
  body: CustomerCreate,
  options: { mode: UpdateMode | undefined; idempotencyKey: string; signal: AbortSignal },
): Promise<'created' | 'repeated' | 'updated' | 'unchanged'> {
  const { mode, idempotencyKey, signal } = options;
  for (let tries = 1; ; tries += 1) {
    try {
      const made = await crm.customers.create(body, { idempotencyKey, signal });
      return answerInfo(made)?.replayed ? 'repeated' : 'created';
    } catch (error) {
      const holder = mode && holderOf(error);
      if (!holder) throw error;
      try {
        const customer = await crm.customers.get(holder.id, { signal });
        const changes = changesOf(customer, body, { mode, taken: holder.taken });
        if (Object.keys(changes).length === 0) return 'unchanged';
        await crm.customers.update(holder.id, changes, { ifMatch: customer, signal });
        return 'updated';
      } catch (fault) {
        const isOutdated = fault instanceof CrmError && [404, 412].includes(fault.status);
        if (!isOutdated || tries === MAX_TRIES) throw fault;
      }
    }
  }
}
