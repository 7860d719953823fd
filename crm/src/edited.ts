import { type CrmClient, CrmError, type Customer, type CustomerUpdate } from '../../client/src/index.ts';
import { entityTag } from '../../rules/entity-tag.ts';
import { type Body, type Columns, type Contact, RowError } from './columns.ts';
import type { Row } from './source.ts';

/** Rows of an export that was edited by hand: each customer becomes equal to its row. */

/** The customer of a row, and when it was last changed as the row was exported. */
type Identity = { id: string; updatedAt: string };

/** A row's customer; null: not found, or archived, or merged into another one, as `merged` says. */
export type Edited = { identity: Identity; customer: Customer | null; merged?: string | undefined };

const ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The format of exports. A timestamp in another format, as a spreadsheet writes it, is not compared. */
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Returns a function that reads the identity of a row; undefined for a row or a file that is not from an export. */
export function identityReader(columns: Columns): (row: Row) => Identity | undefined {
  const [id, updatedAt] = ['id', 'updatedAt'].map((name) =>
    columns.findIndex(({ header, field }) => header === name && field === undefined),
  ) as [number, number];
  return ({ cells, object }) => {
    const [named, changed] = object ? [object.id, object.updatedAt] : [cells[id], cells[updatedAt]];
    const isOurs = typeof named === 'string' && typeof changed === 'string' && ID.test(named.trim());
    return isOurs ? { id: named.trim().toLowerCase(), updatedAt: changed.trim() } : undefined;
  };
}

/** The service's sentence about a merged customer, with the id of its survivor; undefined for any other. */
async function mergedInto(crm: CrmClient, id: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    await crm.customers.get(id, { signal });
  } catch (error) {
    if (!(error instanceof CrmError && error.status === 404)) throw error;
    if (/merged into/.test(error.message)) return error.message;
  }
  return undefined;
}

const MAX_IDS = 100;

/** Each row with its customer, a hundred of them in a request. */
export async function* withCustomers<Item extends { row: Row }>(
  crm: CrmClient,
  items: AsyncIterable<Item>,
  identify: (row: Row) => Identity | undefined,
  signal: AbortSignal,
): AsyncGenerator<Item & { edited?: Edited }> {
  let held: { item: Item; identity: Identity | undefined }[] = [];
  async function* complete() {
    const ids = held.flatMap(({ identity }) => identity?.id ?? []);
    const found = await crm.customers.byIds(ids, { signal });
    const customers = new Map(found.map((customer) => [customer.id, customer]));
    for (const { item, identity } of held) {
      const customer = customers.get(identity?.id ?? '') ?? null;
      const merged = identity && !customer ? await mergedInto(crm, identity.id, signal) : undefined;
      yield identity ? { ...item, edited: { customer, identity, merged } } : item;
    }
    held = [];
  }
  for await (const item of items) {
    held.push({ item, identity: identify(item.row) });
    if (held.length === MAX_IDS) yield* complete();
  }
  yield* complete();
}

const isSame = (one: Contact, other: Contact): boolean =>
  one.identifierType === other.identifierType && one.identifierValue === other.identifierValue;

/** The customer's contacts that the row still has, in their order, then the row's new ones: a table has no order across channels. */
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
  const have: Body = { ...customer, contacts: plain(customer.contacts) };
  const differs = ([name, value]: [string, unknown]) => JSON.stringify(value) !== JSON.stringify(have[name]);
  return Object.fromEntries(Object.entries(fields).filter(differs)) as CustomerUpdate;
}

const changedSince = (changes: CustomerUpdate): RowError =>
  new RowError(
    `the customer has changed since the export, and ${Object.keys(changes).join(', ')} would get their old values back: export it again`,
    { code: 'PRECONDITION_FAILED' },
  );

/**
 * What the row changes in its customer: an empty cell clears its field; tags and contacts that the row lacks are removed.
 * @throws RowError when the customer is not found, or was changed since the export
 */
export function changesOf(
  { customer, identity, merged }: Edited,
  body: Body,
  isTable: boolean,
): { customer: Customer; changes: CustomerUpdate } {
  const notFound = 'no customer of this organization has this id, or the customer is archived';
  if (!customer) throw new RowError(merged ?? notFound, { code: 'CUSTOMER_NOT_FOUND' });
  const changes = differences(customer, body, isTable);
  const isCurrent = !TIMESTAMP.test(identity.updatedAt) || identity.updatedAt === customer.updatedAt;
  if (!isCurrent && Object.keys(changes).length > 0) throw changedSince(changes);
  return { customer, changes };
}

/** Sends the changes, unless somebody else has changed the customer meanwhile. @throws RowError, CrmError */
export async function applyChanges(
  crm: CrmClient,
  { customer, changes }: { customer: Customer; changes: CustomerUpdate },
  signal: AbortSignal,
): Promise<'updated' | 'unchanged'> {
  if (Object.keys(changes).length === 0) return 'unchanged';
  const update = (ifMatch: object | string) =>
    crm.customers.update(customer.id, changes, { ifMatch, signal });
  try {
    await update(entityTag(JSON.stringify(customer)));
  } catch (error) {
    if (!(error instanceof CrmError && error.is('PRECONDITION_FAILED'))) throw error;
    const now = await crm.customers.get(customer.id, { signal });
    // Nobody has changed it: a proxy, or another version of the service, sends other tags.
    if (now.updatedAt === customer.updatedAt) await update(now);
    // The first attempt may have changed it, and its response was lost.
    else if (Object.keys(differences(now, changes, false)).length > 0) throw changedSince(changes);
  }
  return 'updated';
}
