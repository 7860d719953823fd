import { type SQL, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import { customerColumns } from '../customers/repository.ts';
import {
  channelMessages,
  conversations,
  customers,
  erasedFiles,
  erasures,
  idempotencyKeys,
  inTransaction,
  isoTime,
  type Json,
  jsonRow,
  type OrganizationScope,
  opportunities,
  type Params,
  quoteAttachments,
  quotes,
  type RecordKey,
  unprepared,
  whatsappMessages,
} from '../db/index.ts';
import type { ErasedCounts, ErasedCustomer } from './schema.ts';
import { findPerson, type Ids, lockPerson } from './ties.repository.ts';

/**
 * Erases the texts of a person and of everything tied to it. Ids, timestamps, amounts, states and counts
 * stay, so that reports stay the same. Triggers update derived data.
 */

const eraseThreadsStatement = unprepared(
  'customers.erase_threads',
  ($: Params<Ids>): SQL<{ id: string }> => sql`
    update ${conversations} set contact = '', contact_name = null, contact_key = null
    where ${conversations.organizationId} = ${$.organizationId} and ${conversations.id} = any(${$.ids}::uuid[])
    returning ${conversations.id}`,
);

const messagesOf = (
  table: typeof whatsappMessages | typeof channelMessages,
  $: Params<Ids>,
  ...nulls: string[]
): SQL<{ count: number }> => {
  const names = ['sender_name', ...nulls];
  const cleared = sql.join(
    names.map((name) => sql`${sql.identifier(name)} = null`),
    sql`, `,
  );
  const isSet = sql.join(
    names.map((name) => sql`${sql.identifier(name)} is not null`),
    sql` or `,
  );
  return sql`with erased as (
      update ${table as PgTable} set content = '', ${cleared}
      where ${table.organizationId} = ${$.organizationId} and ${table.conversationId} = any(${$.ids}::uuid[])
        and (content <> '' or ${isSet})
      returning true)
    select count(*)::int as count from erased`;
};

/** A provider's id of a message identifies the person at the provider. */
const eraseMessagesStatements = [
  unprepared('customers.erase_whatsapp_messages', ($: Params<Ids>) =>
    messagesOf(whatsappMessages, $, 'provider_message_id', 'template_name'),
  ),
  unprepared('customers.erase_channel_messages', ($: Params<Ids>) =>
    messagesOf(channelMessages, $, 'external_id', 'subject'),
  ),
];

/** A check-in date is free text; only a date stays. */
const eraseOpportunitiesStatement = unprepared(
  'customers.erase_opportunities',
  ($: Params<Ids>): SQL<{ id: string }> => sql`
    update ${opportunities} set title = null, short_ref = null, destination = null,
      check_in_date = substring(check_in_date from '^\\d{4}-\\d\\d-\\d\\d')
    where ${opportunities.organizationId} = ${$.organizationId} and ${opportunities.id} = any(${$.ids}::uuid[])
    returning ${opportunities.id}`,
);

const eraseQuotesStatement = unprepared(
  'customers.erase_quotes',
  ($: Params<Ids>): SQL<{ id: string }> => sql`
    update ${quotes} set title = '', destination = null
    where ${quotes.organizationId} = ${$.organizationId} and ${quotes.id} = any(${$.ids}::uuid[])
    returning ${quotes.id}`,
);

const eraseAttachmentsStatement = unprepared(
  'customers.erase_attachments',
  ($: Params<Ids>): SQL<{ id: string }> => sql`
    delete from ${quoteAttachments}
    where ${quoteAttachments.organizationId} = ${$.organizationId} and ${quoteAttachments.quoteId} = any(${$.ids}::uuid[])
    returning ${quoteAttachments.id}`,
);

const keepFilesStatement = unprepared(
  'customers.keep_erased_files',
  ($: Params<RecordKey & Ids>) => sql`
    insert into ${erasedFiles} (organization_id, id, customer_id)
    select ${$.organizationId}::uuid, file, ${$.id}::uuid from unnest(${$.ids}::uuid[]) as file`,
);

/**
 * Stored responses that contain one of the ids. Encrypted ones cannot be searched, and only the same request
 * can read them.
 */
const eraseReplaysStatement = unprepared(
  'customers.erase_replays',
  ($: Params<Ids>): SQL<{ status: number }> => sql`
    delete from ${idempotencyKeys} where ${idempotencyKeys.organizationId} = ${$.organizationId}
      and exists (select from unnest(${$.ids}::text[]) as id
        where position(convert_to(id, 'UTF8') in ${idempotencyKeys.body}) > 0)
    returning ${idempotencyKeys.status}`,
);

const cleared = Object.values(customerColumns).map(({ name }) => sql`${sql.identifier(name)} = default`);

const eraseCustomersStatement = unprepared(
  'customers.erase',
  ($: Params<Ids>) => sql`
    update ${customers} set archived_at = least(${customers.archivedAt}, now()), ${sql.join(cleared, sql`, `)}
    where ${customers.organizationId} = ${$.organizationId} and ${customers.id} = any(${$.ids}::uuid[])`,
);

/** The first erasure keeps its counts. */
const recordStatement = unprepared(
  'customers.record_erasure',
  ($: Params<Ids & { erased: string }>) => sql`
    insert into ${erasures} (organization_id, customer_id, erased)
    select ${$.organizationId}::uuid, id, ${$.erased}::json from unnest(${$.ids}::uuid[]) id on conflict do nothing`,
);

const erasureStatement = unprepared(
  'customers.erasure',
  ($: Params<RecordKey>): SQL<{ body: Json<ErasedCustomer> }> => sql`
    select ${jsonRow<ErasedCustomer>({ id: erasures.customerId, erasedAt: isoTime(erasures.erasedAt), erased: erasures.erased })} as body
    from ${erasures} where ${erasures.organizationId} = ${$.organizationId} and ${erasures.customerId} = ${$.id}`,
);

/**
 * Erases the customer and everybody merged into it, in one transaction. The caller removes the files, which
 * are in `erased_files`.
 * @returns what the first erasure erased
 * @throws CUSTOMER_NOT_FOUND
 */
export const eraseCustomer = (scope: OrganizationScope, id: string): Promise<Json<ErasedCustomer>> =>
  inTransaction(scope, async (within) => {
    const { db, organizationId } = within;
    const key = { organizationId, id };
    const person = await findPerson(within, id);
    const tied = await lockPerson(within, person);
    const records = { organizationId, ids: person.customers };

    const erasedThreads = await db.write(eraseThreadsStatement, tied.threads);
    let messages = 0;
    for (const statement of eraseMessagesStatements)
      messages += (await db.write(statement, tied.threads))[0]?.count ?? 0;
    const erasedOpportunities = await db.write(eraseOpportunitiesStatement, tied.opportunities);
    const erasedQuotes = await db.write(eraseQuotesStatement, tied.quotes);
    const files = await db.write(eraseAttachmentsStatement, tied.quotes);
    const fileIds = files.map((file) => file.id);
    await db.write(keepFilesStatement, { ...key, ids: fileIds });
    const ids = [...person.customers, ...tied.quotes.ids, ...fileIds];
    const replays = await db.write(eraseReplaysStatement, { organizationId, ids });
    await db.write(eraseCustomersStatement, records);

    const erased: ErasedCounts = {
      contacts: person.contactKeys.length,
      conversations: erasedThreads.length,
      messages,
      opportunities: erasedOpportunities.length,
      quotes: erasedQuotes.length,
      attachments: fileIds.length,
      replays: replays.length,
    };
    await db.write(recordStatement, { ...records, erased: JSON.stringify(erased) });
    const [erasure] = await db.read(erasureStatement, key);
    if (!erasure) throw new Error('An erasure was recorded and is not there.');
    return erasure.body;
  });
