import { Readable } from 'node:stream';
import { sql } from 'drizzle-orm';
import { isTransient, sqlState } from '../../db/faults.ts';
import { isId, newId } from '../../db/ids.ts';
import { isoTime, type Json, jsonRows } from '../../db/json.ts';
import { defineArchive, definePut, type Put } from '../../db/put.ts';
import { writable } from '../../db/record.ts';
import { customers, opportunities, quoteAttachments, quotes } from '../../db/schema/index.ts';
import type { OrganizationScope } from '../../db/scope.ts';
import { prepared, rendered } from '../../db/statement.ts';
import { ApiError, notFound } from '../../errors.ts';
import { type FileStorage, storageKey } from '../../files/storage.ts';
import { randomBase62 } from '../../keys/api-key.ts';
import { liveQuote, quoteFields, quoteJoins, type StoredAttachment } from '../../quotes/repository.ts';
import type { Quote } from '../../quotes/schema.ts';
import type { AttachmentDescription, DeletedQuoteAttachment, QuotePut } from './schema.ts';

const organizationId = sql.placeholder('organizationId');
const quoteId = sql.placeholder('quoteId');

const put = definePut<Quote>({
  table: quotes,
  fields: quoteFields,
  joins: quoteJoins,
  columns: writable({
    opportunityId: quotes.opportunityId,
    title: quotes.title,
    status: quotes.status,
    destination: quotes.destination,
    customerId: quotes.customerId,
    price: quotes.price,
    currency: quotes.currency,
    publishedAt: quotes.publishedAt,
  }),
  madeOnce: writable({ token: quotes.token }),
  // Taken over from the opportunity, where it is a stored reference: good even when that customer is archived.
  presets: sql`jsonb_build_object('customer_id', (
    select ${opportunities.customerId} from ${opportunities}
    where ${opportunities.organizationId} = ${organizationId}
      and ${opportunities.id} = (sent.record ->> 'opportunity_id')::uuid))`,
  references: {
    opportunityId: {
      column: quotes.opportunityId,
      to: opportunities,
      foreignKey: 'quotes_opportunity_fkey',
    },
    customerId: { column: quotes.customerId, to: customers, foreignKey: 'quotes_customer_fkey' },
  },
  counted: 'quotes',
});

/**
 * Creates the quote with a token of its own, or replaces what the body has.
 * @throws VALIDATION_FAILED naming a reference to no live record of the organization
 */
export const putQuote = (scope: OrganizationScope, id: string, input: QuotePut): Promise<Put<Quote>> =>
  put(scope, id, input, { token: randomBase62(32) });

const quoteNotFound = (id: string): ApiError => notFound('QUOTE_NOT_FOUND', 'quote', id);

/** @throws QUOTE_NOT_FOUND */
export const archiveQuote = defineArchive({
  table: quotes,
  counted: 'quotes',
  missing: { code: 'QUOTE_NOT_FOUND', what: 'quote' },
});

const oneQuote = sql`${quotes.organizationId} = ${organizationId} and ${quotes.id} = ${quoteId} and ${liveQuote}`;

const openedAt = sql`${sql.placeholder('openedAt')}::timestamptz`;

const openStatement = rendered<Quote, { organizationId: string; quoteId: string; openedAt: string }>(
  'open_quote',
  sql`with quotes as (
      update ${quotes} set open_count = ${quotes.openCount} + 1,
        first_opened_at = least(${quotes.firstOpenedAt}, ${openedAt}),
        last_opened_at = greatest(${quotes.lastOpenedAt}, ${openedAt})
      where ${oneQuote} returning *)
    ${jsonRows(quoteFields, sql`from quotes ${quoteJoins}`)}`,
);

/**
 * Counts one more time that the customer opened the quote. No change of the quote: `updatedAt` stays.
 * @param at ISO 8601
 * @throws QUOTE_NOT_FOUND
 */
export async function openQuote(scope: OrganizationScope, id: string, at: string): Promise<Json<Quote>> {
  const values = { organizationId: scope.organizationId, quoteId: id, openedAt: at };
  const [row] = isId(id) ? await scope.db.write(openStatement, values) : [];
  if (!row) throw quoteNotFound(id);
  return row.body;
}

/** The largest file that is taken, in bytes. */
const MAX_ATTACHMENT_BYTES = 25 * 1024 * 1024;

/** Passes bytes on and counts them; fails as soon as there are too many. */
async function* counting(content: Readable, count: { bytes: number }): AsyncGenerator<Buffer> {
  for await (const chunk of content as AsyncIterable<Buffer>) {
    count.bytes += chunk.length;
    if (count.bytes > MAX_ATTACHMENT_BYTES) {
      throw new ApiError('PAYLOAD_TOO_LARGE', `The file is larger than ${MAX_ATTACHMENT_BYTES} bytes.`);
    }
    yield chunk;
  }
}

const findQuoteStatement = prepared<{ id: string }, { organizationId: string; quoteId: string }>(
  'find_live_quote',
  sql`select ${quotes.id} as "id" from ${quotes} where ${oneQuote}`,
);

export type StoredFile = { id: string; sizeBytes: number };

/**
 * Streams a file to the storage under the id of an attachment to be.
 * @throws QUOTE_NOT_FOUND, PAYLOAD_TOO_LARGE as soon as it is too large; nothing is stored then
 */
export async function storeFile(
  { db, organizationId }: OrganizationScope,
  storage: FileStorage,
  quoteId: string,
  content: Readable,
): Promise<StoredFile> {
  const [quote] = isId(quoteId) ? await db.read(findQuoteStatement, { organizationId, quoteId }) : [];
  if (!quote) throw quoteNotFound(quoteId);
  const id = newId();
  const count = { bytes: 0 };
  const counted = Readable.from(counting(content, count), { objectMode: false });
  await storage.put(storageKey(organizationId, id), counted);
  return { id, sizeBytes: count.bytes };
}

const insertAttachmentStatement = prepared<
  { id: string },
  AttachmentDescription & StoredFile & { organizationId: string; quoteId: string }
>(
  'create_quote_attachment',
  sql`insert into ${quoteAttachments} (organization_id, id, quote_id, file_name, kind, mime_type, size_bytes)
    select ${quotes.organizationId}, ${sql.placeholder('id')}::uuid, ${quotes.id}, ${sql.placeholder('fileName')},
      ${sql.placeholder('kind')}, ${sql.placeholder('mimeType')}, ${sql.placeholder('sizeBytes')}
    from ${quotes} where ${oneQuote}
    returning id`,
);

/** Whether the server itself undid the write; of a broken connection nobody knows, and then the file must stay. */
const certainlyUndone = (error: unknown): boolean => sqlState(error) !== undefined && !isTransient(error);

/**
 * Records a stored file as an attachment. The file goes again when the quote has.
 * @throws QUOTE_NOT_FOUND
 */
export async function recordAttachment(
  { db, organizationId }: OrganizationScope,
  storage: FileStorage,
  quoteId: string,
  file: StoredFile,
  { kind, fileName, mimeType }: AttachmentDescription,
): Promise<StoredAttachment> {
  const attachment = { ...file, kind, fileName, mimeType };
  const removeFile = () => storage.remove(storageKey(organizationId, file.id));
  const [row] = await db
    .write(insertAttachmentStatement, { ...attachment, organizationId, quoteId })
    .catch(async (error) => {
      if (certainlyUndone(error)) await removeFile();
      throw error;
    });
  if (row) return { id: file.id, fileName, kind, mimeType, sizeBytes: file.sizeBytes };
  await removeFile();
  throw quoteNotFound(quoteId);
}

/**
 * Stores a file and then records it: there is never an attachment without its file.
 * @throws QUOTE_NOT_FOUND, PAYLOAD_TOO_LARGE
 */
export async function createAttachment(
  scope: OrganizationScope,
  storage: FileStorage,
  quoteId: string,
  description: AttachmentDescription,
  content: Readable,
): Promise<StoredAttachment> {
  const file = await storeFile(scope, storage, quoteId, content);
  return recordAttachment(scope, storage, quoteId, file, description);
}

const deleteAttachmentStatement = prepared<
  { body: Json<DeletedQuoteAttachment> | null; quote: boolean },
  { organizationId: string; quoteId: string; id: string }
>(
  'delete_quote_attachment',
  sql`with quote as (select ${quotes.id} from ${quotes} where ${oneQuote}),
    deleted as (
      delete from ${quoteAttachments} using quote
      where ${quoteAttachments.organizationId} = ${organizationId} and ${quoteAttachments.id} = ${sql.placeholder('id')}
        and ${quoteAttachments.quoteId} = quote.id
      returning ${quoteAttachments.id})
    select (${jsonRows<DeletedQuoteAttachment>(
      { id: sql`deleted.id`, deletedAt: isoTime(sql`now()`) },
      sql`from deleted`,
    )}) as body, exists (select from quote) as quote`,
);

/**
 * Deletes an attachment, and then its file.
 * @throws QUOTE_NOT_FOUND, QUOTE_ATTACHMENT_NOT_FOUND
 */
export async function deleteAttachment(
  { db, organizationId }: OrganizationScope,
  storage: FileStorage,
  quoteId: string,
  id: string,
): Promise<Json<DeletedQuoteAttachment>> {
  const [row] =
    isId(quoteId) && isId(id)
      ? await db.write(deleteAttachmentStatement, { organizationId, quoteId, id })
      : [];
  if (!row?.quote) throw quoteNotFound(quoteId);
  if (!row.body) throw notFound('QUOTE_ATTACHMENT_NOT_FOUND', 'quote attachment', id);
  await storage.remove(storageKey(organizationId, id));
  return row.body;
}
