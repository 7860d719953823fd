import { and, eq, or, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import { invalid, validationFailed } from '../contract/errors.ts';
import { object, uuid } from '../contract/fields.ts';
import { keyOfContact, rejectTakenContacts } from '../customers/contacts.repository.ts';
import {
  customerColumns,
  customerRecordStatements,
  getCustomerRecord,
  isErased,
} from '../customers/repository.ts';
import { CUSTOMER_BOUNDS, type CustomerRecord } from '../customers/schema.ts';
import {
  activeCustomers,
  columnList,
  columns,
  commaSeparated,
  conversations,
  customers,
  isFirstThread,
  isId,
  isVisible,
  type Json,
  keyIs,
  type OrganizationScope,
  ofOrganization,
  opportunities,
  type Params,
  parseJson,
  qb,
  rowsInOrder,
  unprepared,
} from '../db/index.ts';

/** Two customers who are the same person become one. */

export const CustomerMerge = object('CustomerMerge', {
  from: uuid().describe('Id of the customer to merge into this one.'),
});

/** A person of 10,000 conversations takes some seconds. */
const TIMEOUT_MS = 60_000;

type Merge = { id: string; from: string };

/** What belongs to `from`; quotes follow their opportunity. */
const threadsOfFrom = ($: Params<Merge>) =>
  and(ofOrganization(conversations), eq(conversations.customerId, $.from));
const opportunitiesOfFrom = ($: Params<Merge>) =>
  and(ofOrganization(opportunities), eq(opportunities.customerId, $.from));

const lockThreads = unprepared('customers.lock_merged_conversations', ($: Params<Merge>) =>
  rowsInOrder(conversations, threadsOfFrom($), isFirstThread).for('no key update'),
);
const lockOpportunities = unprepared('customers.lock_merged_opportunities', ($: Params<Merge>) =>
  rowsInOrder(opportunities, opportunitiesOfFrom($)).for('no key update'),
);

/** Whoever names one of the customers waits: see the trigger `follow_merge`. */
const lockCustomers = unprepared('customers.lock_merged', ($: Params<Merge>) => {
  const isOne = or(sql`${customers.id} in (${$.id}, ${$.from})`, eq(customers.mergedInto, $.from));
  return rowsInOrder(customers, and(ofOrganization(customers), isOne)).for('update');
});

const stateOfFrom = unprepared('customers.merge_from', ($: Params<Merge>) =>
  qb
    .select(
      columns({
        isMerged: sql<boolean>`${customers.mergedInto} is not distinct from ${$.id}::uuid`,
        isMergeable: sql<boolean>`${customers.mergedInto} is null and not ${isErased(customers.id)}`,
      }),
    )
    .from(customers)
    .where(keyIs(customers, { id: $.from })),
);

/** Includes customers merged into it earlier: `merged_into` always names the active customer. */
const archiveFrom = unprepared('customers.archive_merged', ($: Params<Merge>) => {
  const { id, mergedInto, archivedAt } = customers;
  return qb
    .update(customers)
    .set({ archivedAt: sql`least(${archivedAt}, now())`, mergedInto: sql`${$.id}` })
    .where(and(ofOrganization(customers), or(eq(id, $.from), eq(mergedInto, $.from))));
});

const other = alias(customers, 'other');

/** Fields that combine both customers, each contact once. Any other field takes the value of `from` where it is null. */
const combined: Readonly<Record<string, SQL>> = {
  tags: sql`${customers.tags} || array(
    select tag from unnest(${other.tags}) with ordinality as sent(tag, place) where tag <> all (${customers.tags}) order by place)`,
  summary: sql`coalesce(nullif(concat_ws(E'\n\n', nullif(${customers.summary}, ''), nullif(${other.summary}, '')), ''), ${customers.summary})`,
  contacts: sql`(select concat('[', string_agg(contact::text, ',' order by list, place), ']')::json from (
    select 1, * from json_array_elements(${customers.contacts}) with ordinality
    union all select 2, * from json_array_elements(${other.contacts}) with ordinality) as of_both(list, contact, place)
    where list = 1 or ${other.contactKeys}[place] <> all (${customers.contactKeys}))`,
  contactKeys: sql`${customers.contactKeys} || array(select key from unnest(${other.contactKeys}) with ordinality as sent(key, place)
    where key <> all (${customers.contactKeys}) order by place)`,
  contactSearch: sql`concat_ws(chr(31), ${customers.contactSearch}, ${other.contactSearch})`,
};

const merged = Object.entries(customerColumns).map(
  ([field, column]) => combined[field] ?? sql`coalesce(${column}, other.${sql.identifier(column.name)})`,
);

/** With a subselect: Citus accepts no function of a column in `set` that is not immutable, such as `concat`. */
const mergeFields = unprepared(
  'customers.merge',
  ($: Params<Merge>): SQL<typeof CUSTOMER_BOUNDS> => sql`
    update ${customers} set (${columnList(customerColumns)}) = (
      select ${commaSeparated(merged)} from ${customers} as ${other}
      where ${ofOrganization(other)} and ${other.id} = ${$.from})
    where ${isVisible(activeCustomers, $)}
    returning cardinality(${customers.contactKeys}) as contacts, cardinality(${customers.tags}) as tags,
      coalesce(char_length(${customers.summary}), 0) as summary`,
);

const moveThreads = unprepared('customers.merge_conversations', ($: Params<Merge>) =>
  qb
    .update(conversations)
    .set({ customerId: sql`${$.id}` })
    .where(threadsOfFrom($)),
);
const moveOpportunities = unprepared('customers.merge_opportunities', ($: Params<Merge>) =>
  qb
    .update(opportunities)
    .set({ customerId: sql`${$.id}` })
    .where(opportunitiesOfFrom($)),
);

/** @throws VALIDATION_FAILED naming the limits that the merged customer would exceed */
function checkBounds(merged: typeof CUSTOMER_BOUNDS): void {
  const names = Object.keys(CUSTOMER_BOUNDS) as (keyof typeof CUSTOMER_BOUNDS)[];
  const exceeded = names.filter((name) => merged[name] > CUSTOMER_BOUNDS[name]);
  if (exceeded.length === 0) return;
  throw validationFailed(
    exceeded.map((name) => ({
      path: 'body.from',
      message: `would bring ${name} to ${merged[name]}; the maximum is ${CUSTOMER_BOUNDS[name]}${name === 'summary' ? ' characters' : ''}`,
    })),
  );
}

/** Locks are taken in the order of src/db/README.md. */
async function merge(scope: OrganizationScope, id: string, from: string): Promise<Json<CustomerRecord>> {
  if (id.toLowerCase() === from.toLowerCase()) throw invalid('body.from', 'must be another customer');
  const both = { id, from };
  if (isId(id))
    for (const lock of [lockThreads, lockOpportunities, lockCustomers]) await scope.write(lock, both);
  const customer = await customerRecordStatements.get(scope, id);
  const [state] = await scope.read(stateOfFrom, both);
  if (state?.isMerged) return customer;
  if (!state?.isMergeable)
    throw invalid('body.from', 'must be a customer of this organization that was neither merged nor erased');

  await scope.write(archiveFrom, both);
  const [bounded] = await scope.write(mergeFields, both);
  if (!bounded) {
    const { contacts } = parseJson(await getCustomerRecord(scope, from));
    return rejectTakenContacts(scope, id, contacts.map(keyOfContact), 'from.contacts');
  }
  checkBounds(bounded);
  for (const move of [moveThreads, moveOpportunities]) await scope.write(move, both);
  return customerRecordStatements.get(scope, id);
}

/**
 * Merges the customer `from`, archived or not, into the customer, all or nothing. Repeating it changes nothing.
 * @throws CUSTOMER_NOT_FOUND, VALIDATION_FAILED naming `from`, CUSTOMER_CONTACT_CONFLICT
 */
export const mergeCustomer = (
  scope: OrganizationScope,
  id: string,
  { from }: z.infer<typeof CustomerMerge>,
): Promise<Json<CustomerRecord>> => scope.transaction((within) => merge(within, id, from), TIMEOUT_MS);
