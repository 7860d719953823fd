import { type SQL, sql } from 'drizzle-orm';
import { type ContactKeys, sentContacts } from '../customers/contacts.repository.ts';
import type { RecordKey } from '../db/repository/view.ts';
import type { Params } from '../db/sql/statement.ts';
import { conversations, customerContactKeys, opportunities, quotes } from '../db/tables/index.ts';

/** What is tied to a customer, archived records too: conditions on the rows of a table. `$.id` is the customer. */

export const opportunitiesOf = ($: Params<RecordKey>): SQL => sql`
  ${opportunities.organizationId} = ${$.organizationId} and ${opportunities.customerId} = ${$.id}`;

/** Its own, and those of its opportunities that name nobody. */
export const quotesOf = ($: Params<RecordKey>): SQL => sql`
  ${quotes.organizationId} = ${$.organizationId}
    and (${quotes.customerId} = ${$.id} or ${quotes.customerId} is null and ${quotes.opportunityId} in (
      select ${opportunities.id} from ${opportunities} where ${opportunitiesOf($)}))`;

/**
 * The threads of the customer, and of nobody, in the chains that it has written in: those that are its own, and those with a contact
 * that it has, or had and no other customer has now.
 */
export const threadsOf = ($: Params<RecordKey & ContactKeys>): SQL => sql`
  ${conversations.organizationId} = ${$.organizationId}
    and (${conversations.customerId} = ${$.id} or ${conversations.customerId} is null)
    and ${conversations.chainId} = any(array(
      select ${conversations.chainId} from ${conversations}
      where ${conversations.organizationId} = ${$.organizationId} and ${conversations.customerId} = ${$.id}
      union
      select ${conversations.chainId} from ${conversations} join ${sentContacts($)}
        on ${conversations.contactKey} = sent.key and ${conversations.channel} = sent.type
      where ${conversations.organizationId} = ${$.organizationId} and ${conversations.customerId} is null
        and not exists (select from ${customerContactKeys}
          where ${customerContactKeys.organizationId} = ${$.organizationId} and ${customerContactKeys.customerId} <> ${$.id}
            and ${customerContactKeys.identifierType} = sent.type and ${customerContactKeys.contactKey} = sent.key)))`;
