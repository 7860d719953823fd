import { type CrmClient, CrmError, type Customer, type CustomerUpdate } from '../../client/src/index.ts';
import { entityTag } from '../../rules/entity-tag.ts';
import { type Body, type Columns, RowError } from './columns.ts';
import type { Row } from './source.ts';

/** Rows of an export that a person has edited: each is what its customer is to be. */

/** The customer that a row is of, and when it was last changed as the row was exported. */
export type Identity = { id: string; updatedAt: string };

const ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** As exports have it. A spreadsheet may have written the moment in its own way: then it tells nothing. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Makes the function that tells whose row it is; undefined for a row, or a file, that is no export's. */
export function identityOf(columns: Columns): (row: Row) => Identity | undefined {
  const [id, updatedAt] = ['id', 'updatedAt'].map((name) =>
    columns.findIndex(({ header, field }) => header === name && field === undefined),
  ) as [number, number];
  return ({ cells, object }) => {
    const [named, moment] = object ? [object.id, object.updatedAt] : [cells[id], cells[updatedAt]];
    const isOurs = typeof named === 'string' && typeof moment === 'string' && ID.test(named.trim());
    return isOurs ? { id: named.trim().toLowerCase(), updatedAt: moment.trim() } : undefined;
  };
}

const MOST_IDS = 100;

/** Each row with its customer, a hundred of them read at once. Null: there is none, or it is archived. */
export async function* withCustomers<Item extends { row: Row }>(
  crm: CrmClient,
  items: AsyncIterable<Item>,
  identify: (row: Row) => Identity | undefined,
  signal: AbortSignal,
): AsyncGenerator<Item & { edited?: { customer: Customer | null; identity: Identity } }> {
  let held: { item: Item; identity: Identity | undefined }[] = [];
  async function* complete() {
    const ids = held.flatMap(({ identity }) => identity?.id ?? []);
    const { data } =
      ids.length > 0
        ? await crm.customers.list({ ids: ids.join(), limit: MOST_IDS }, { signal })
        : { data: [] };
    const customers = new Map(data.map((customer) => [customer.id, customer]));
    for (const { item, identity } of held)
      yield identity
        ? { ...item, edited: { customer: customers.get(identity.id) ?? null, identity } }
        : { ...item };
    held = [];
  }
  for await (const item of items) {
    held.push({ item, identity: identify(item.row) });
    if (held.length === MOST_IDS) yield* complete();
  }
  yield* complete();
}

type Contact = { identifierType: string; identifierValue: string };

const isSame = (one: Contact, other: Contact): boolean =>
  one.identifierType === other.identifierType && one.identifierValue === other.identifierValue;

/** Those of the customer that the row still has, in their order, then the row's new ones: a table knows no order across channels. */
const contactsOf = ({ contacts }: Customer, wanted: readonly Contact[]): Contact[] => [
  ...contacts.filter((contact) => wanted.some((one) => isSame(one, contact))),
  ...wanted.filter((one) => !contacts.some((contact) => isSame(one, contact))),
];

const plain = (contacts: readonly Contact[]) =>
  contacts.map(({ identifierType, identifierValue }) => ({ identifierType, identifierValue }));

/** The fields that differ. */
function differences(customer: Customer, { contacts, ...body }: Body, isTable: boolean): CustomerUpdate {
  const wanted = contacts as Contact[] | undefined;
  const asked = wanted && (isTable ? contactsOf(customer, wanted) : wanted);
  const fields = { ...body, ...(asked && { contacts: plain(asked) }) };
  const have = { ...customer, contacts: plain(customer.contacts) };
  return Object.fromEntries(
    Object.entries(fields).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(have[name as keyof typeof have]),
    ),
  ) as CustomerUpdate;
}

const changedSince = (names: readonly string[]): RowError =>
  new RowError(
    `the customer was changed since the export, and ${names.join(', ')} would be set back: export it again`,
    { code: 'PRECONDITION_FAILED' },
  );

/**
 * Makes the customer what its row says: an empty cell clears its field, tags and contacts that are gone go. A change that
 * somebody else made since the export is not set back.
 * @throws RowError, CrmError
 */
export async function applyEdit(
  crm: CrmClient,
  { customer, identity }: { customer: Customer | null; identity: Identity },
  body: Body,
  options: { isTable: boolean; signal: AbortSignal },
): Promise<'updated' | 'unchanged'> {
  const { isTable, signal } = options;
  if (!customer)
    throw new RowError('there is no customer with this id: it is archived, or of another organization', {
      code: 'CUSTOMER_NOT_FOUND',
    });
  const changes = differences(customer, body, isTable);
  const names = Object.keys(changes);
  if (names.length === 0) return 'unchanged';
  if (MOMENT.test(identity.updatedAt) && identity.updatedAt !== customer.updatedAt) throw changedSince(names);
  const update = (ifMatch: object | string) =>
    crm.customers.update(customer.id, changes, { ifMatch, signal });
  try {
    await update(entityTag(JSON.stringify(customer)));
  } catch (error) {
    if (!(error instanceof CrmError && error.is('PRECONDITION_FAILED'))) throw error;
    const now = await crm.customers.get(customer.id, { signal });
    // Nobody has changed it: a proxy, or another version of the service, makes other tags.
    if (now.updatedAt !== customer.updatedAt) {
      // The first try may have done it, and its answer was lost.
      if (Object.keys(differences(now, body, isTable)).length === 0) return 'updated';
      throw changedSince(names);
    }
    await update(now);
  }
  return 'updated';
}
