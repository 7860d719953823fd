import { sql } from 'drizzle-orm';
import { contactKey, type IdentifierType, phoneNumber, searchText } from '../../rules/contact-key.ts';
import { missing, type RecordKey, recordOf } from '../db/define/view.ts';
import { LostRace, refusalOf } from '../db/run/faults.ts';
import type { OrganizationScope } from '../db/run/scope.ts';
import { customerContacts, customers, liveCustomers } from '../db/schema/customers.ts';
import { newId } from '../db/sql/ids.ts';
import { nextUpdatedAt, placeholdersOf, rowValues } from '../db/sql/row.ts';
import { builder, named, type Params, prepared, type Step, step } from '../db/sql/statement.ts';
import { ApiError } from '../errors.ts';
import type { ContactInput } from './schema.ts';

/**
 * The contacts of a customer, as steps of the customer's writes. Within an organization a live contact belongs to one customer.
 */

const contactColumns = {
  id: customerContacts.id,
  position: customerContacts.position,
  identifierType: customerContacts.identifierType,
  identifierValue: customerContacts.identifierValue,
  contactKey: customerContacts.contactKey,
  phoneNumber: customerContacts.phoneNumber,
};

type NewContact = ContactInput & {
  id: string;
  position: number;
  contactKey: string;
  phoneNumber: string | null;
};

export const newContacts = (inputs: readonly ContactInput[]): NewContact[] =>
  inputs.map(({ identifierType, identifierValue }, position) => {
    const key = contactKey(identifierType, identifierValue);
    if (key === null) throw new Error('A contact passed validation without having a contact key.');
    const number = phoneNumber(identifierType, identifierValue);
    return { id: newId(), position, identifierType, identifierValue, contactKey: key, phoneNumber: number };
  });

export const searchOf = (contacts: readonly NewContact[]): string => contacts.map(searchText).join('\u001f');

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Always in the same order. Two bodies with the same contacts would otherwise wait for each other for ever. */
const inOrder = (contacts: readonly NewContact[]): NewContact[] =>
  contacts.toSorted(
    (a, b) => compare(a.identifierType, b.identifierType) || compare(a.contactKey, b.contactKey),
  );

type ContactTypes = { types: readonly IdentifierType[]; keys: readonly string[] };

const typesAndKeys = (contacts: readonly NewContact[]): ContactTypes => ({
  types: contacts.map(({ identifierType }) => identifierType),
  keys: contacts.map(({ contactKey: key }) => key),
});

/** The contacts of a request, as types and keys. */
const sentContacts = ($: Params<ContactTypes>) =>
  sql`unnest(${$.types}::text[], ${$.keys}::text[]) sent(type, key)`;

const ownersStatement = prepared('customers.contact_owners', ($: Params<RecordKey & ContactTypes>) =>
  builder
    .select(
      named({
        identifierType: customerContacts.identifierType,
        contactKey: customerContacts.contactKey,
        customerId: customerContacts.customerId,
      }),
    )
    .from(customerContacts)
    .innerJoin(
      sentContacts($),
      sql`${customerContacts.identifierType} = sent.type and ${customerContacts.contactKey} = sent.key`,
    )
    .where(
      sql`${customerContacts.organizationId} = ${$.organizationId} and ${customerContacts.archivedAt} is null
          and ${customerContacts.customerId} <> ${$.id}`,
    ),
);

function contactConflict(
  contacts: readonly NewContact[],
  owners: readonly { identifierType: string; contactKey: string; customerId: string }[],
): ApiError {
  const details = contacts.flatMap(({ identifierType, contactKey: key }, index) => {
    const owner = owners.find((taken) => taken.identifierType === identifierType && taken.contactKey === key);
    return owner ? [{ path: `body.contacts[${index}]`, customerId: owner.customerId }] : [];
  });
  const list = details.map(({ path, customerId }) => `${path} belongs to customer ${customerId}`).join('; ');
  return new ApiError('CUSTOMER_CONTACT_CONFLICT', `A contact can belong to one customer only: ${list}.`, {
    details,
  });
}

const contactsOfCustomer = ($: Params<RecordKey>) =>
  sql`${customerContacts.organizationId} = ${$.organizationId} and ${customerContacts.customerId} = ${$.id}`;

type ContactValues = { organizationId: string; customerId: string } & Record<
  keyof typeof contactColumns,
  unknown
>;

/**
 * Adds one contact. It makes no row where a customer has the contact already; `refuseTakenStatement` then refuses. A
 * violation of the unique index would write the contact into PostgreSQL's log.
 */
const addContactStatement = prepared('customers.add_contact', ($: Params<ContactValues>) =>
  builder
    .insert(customerContacts)
    .values({
      ...placeholdersOf($, contactColumns),
      organizationId: $.organizationId,
      customerId: $.customerId,
    } as never)
    .onConflictDoNothing(),
);

/** Ends the write unless the customer has all contacts that were sent: another customer has one. */
const refuseTakenStatement = prepared(
  'customers.refuse_taken_contacts',
  ($: Params<RecordKey & { contacts: number }>) => sql`
    select refuse_unless(count(*) = ${$.contacts}::integer, 'CUSTOMER_CONTACT_CONFLICT')
    from ${customerContacts} where ${contactsOfCustomer($)}`,
);

export const addSteps = (key: RecordKey, contacts: readonly NewContact[]): Step[] => [
  ...inOrder(contacts).map((contact) =>
    step(addContactStatement, {
      ...rowValues(contactColumns, contact),
      organizationId: key.organizationId,
      customerId: key.id,
    }),
  ),
  step(refuseTakenStatement, { ...key, contacts: contacts.length }),
];

/** A contact can be taken at the first attempt and free at the second. */
const ATTEMPTS = 3;

/**
 * Runs a write that claims contacts.
 * @throws CUSTOMER_CONTACT_CONFLICT naming the customers that have them, CUSTOMER_NOT_FOUND
 */
export async function claimingContacts<Result>(
  scope: OrganizationScope,
  id: string,
  contacts: readonly NewContact[],
  write: () => Promise<Result>,
): Promise<Result> {
  const { db, organizationId } = scope;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === 'CUSTOMER_NOT_FOUND') throw missing(liveCustomers, id);
      if (refusal !== 'CUSTOMER_CONTACT_CONFLICT') throw error;
      const owners = await db.read(ownersStatement, { organizationId, id, ...typesAndKeys(contacts) });
      if (owners.length > 0) throw contactConflict(contacts, owners);
    }
  }
  throw new LostRace('The contacts kept changing hands.');
}

/** Ends the write unless there is such a customer: the contacts of an archived one stay as they are. */
const refuseMissingStatement = prepared(
  'customers.refuse_missing',
  ($: Params<RecordKey>) => sql`
    select refuse_unless(count(*) = 1, 'CUSTOMER_NOT_FOUND') from ${customers} where ${recordOf(liveCustomers, $)}`,
);

/** A change of the contacts is a change of their customer. */
const contactsChangeStatement = prepared(
  'customers.contacts_change',
  ($: Params<RecordKey & { contacts: readonly string[] }>) => sql`
    update ${customers} set updated_at = ${nextUpdatedAt(customers.updatedAt)}
    where ${recordOf(liveCustomers, $)} and array(
      select concat_ws(' ', ${customerContacts.identifierType}, ${customerContacts.identifierValue})
      from ${customerContacts} where ${contactsOfCustomer($)} order by ${customerContacts.position}) <> ${$.contacts}::text[]`,
);

const removeContactsStatement = prepared('customers.remove_contacts', ($: Params<RecordKey & ContactTypes>) =>
  builder.delete(customerContacts).where(
    sql`${contactsOfCustomer($)} and (${customerContacts.identifierType}, ${customerContacts.contactKey}) not in (
          select sent.type, sent.key from ${sentContacts($)})`,
  ),
);

/** The stored contact of the same account gets the place and the spelling that were sent. Its id stays. */
const keepContactStatement = prepared(
  'customers.keep_contact',
  ($: Params<ContactValues>) => sql`
    update ${customerContacts} set position = ${$.position}, identifier_value = ${$.identifierValue}, phone_number = ${$.phoneNumber}
    where ${customerContacts.organizationId} = ${$.organizationId} and ${customerContacts.customerId} = ${$.customerId}
      and ${customerContacts.identifierType} = ${$.identifierType} and ${customerContacts.contactKey} = ${$.contactKey}
      and (${customerContacts.position}, ${customerContacts.identifierValue}) is distinct from (${$.position}, ${$.identifierValue})`,
);

/** Makes these the customer's contacts. The customer is locked: two lists at once do not mix. */
export const replaceSteps = (key: RecordKey, contacts: readonly NewContact[]): Step[] => [
  step(refuseMissingStatement, key),
  step(contactsChangeStatement, {
    ...key,
    contacts: contacts.map(({ identifierType, identifierValue }) => `${identifierType} ${identifierValue}`),
  }),
  step(removeContactsStatement, { ...key, ...typesAndKeys(contacts) }),
  ...inOrder(contacts).map((contact) =>
    step(keepContactStatement, {
      ...rowValues(contactColumns, contact),
      organizationId: key.organizationId,
      customerId: key.id,
    }),
  ),
  ...addSteps(key, contacts),
];

/** An archived customer releases its contacts. */
export const releaseContactsStatement = prepared(
  'customers.release_contacts',
  ($: Params<RecordKey>) => sql`
    update ${customerContacts} set archived_at = now() where ${contactsOfCustomer($)} and ${customerContacts.archivedAt} is null`,
);
