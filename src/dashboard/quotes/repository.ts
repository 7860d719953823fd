import type { Readable } from 'node:stream';
import { sql } from 'drizzle-orm';
import { defineArchive } from '../../db/archive.ts';
import { builder, named } from '../../db/builder.ts';
import { isTransient, sqlState } from '../../db/faults.ts';
import { columnsOf } from '../../db/fields.ts';
import { defineGet } from '../../db/get.ts';
import { isId, newId } from '../../db/ids.ts';
import { isoTime, type Json } from '../../db/json.ts';
import { definePut } from '../../db/put.ts';
import { missing, type RecordKey, recordOf, rowOf } from '../../db/resource.ts';
import {
  liveCustomers,
  liveOpportunities,
  liveQuotes,
  opportunities,
  quoteAttachments,
  quotes,
} from '../../db/schema/index.ts';
import { inTransaction, type OrganizationScope } from '../../db/scope.ts';
import { type Params, prepared } from '../../db/statement.ts';
import { notFound } from '../../errors.ts';
import type { AttachmentDescription } from '../../files/multipart.ts';
import { type FileStorage, storageKey } from '../../files/storage.ts';
import { storeFile } from '../../files/upload.ts';
import { randomBase62 } from '../../keys/api-key.ts';
import { quoteView, type StoredAttachment } from '../../quotes/repository.ts';
import type { Quote } from '../../quotes/schema.ts';
import { type DeletedQuoteAttachment, QuotePut } from './schema.ts';

const getQuote = defineGet(quoteView);

const customerOfStatement = prepared('opportunities.customer', ($: Params<RecordKey>) =>
  builder
    .select(named({ customerId: opportunities.customerId }))
    .from(opportunities)
    .where(rowOf(liveOpportunities, $)),
);

/** Taken over from the opportunity, where it is a stored reference: good even when that customer is archived. */
async function customerOf({ db, organizationId }: OrganizationScope, opportunityId: string) {
  const [opportunity] = await db.read(customerOfStatement, { organizationId, id: opportunityId });
  return opportunity?.customerId ?? null;
}

/**
 * Creates the quote with a token of its own, or replaces what the body has.
 * @throws VALIDATION_FAILED naming a reference to no live record of the organization
 */
export const putQuote = definePut(quoteView, getQuote, {
  columns: columnsOf(QuotePut, quotes),
  madeOnce: { token: quotes.token },
  references: { opportunityId: liveOpportunities, customerId: liveCustomers },
  complete: async (scope, input) => ({
    ...input,
    token: randomBase62(32),
    ...(input.customerId === undefined && {
      customerId: await customerOf(scope, String(input.opportunityId)),
    }),
  }),
});

/** @throws QUOTE_NOT_FOUND */
export const archiveQuote = defineArchive(liveQuotes);

const openStatement = prepared('quotes.open', ($: Params<RecordKey & { openedAt: string }>) =>
  builder
    .update(quotes)
    .set({
      openCount: sql`${quotes.openCount} + 1`,
      firstOpenedAt: sql`least(${quotes.firstOpenedAt}, ${$.openedAt}::timestamptz)`,
      lastOpenedAt: sql`greatest(${quotes.lastOpenedAt}, ${$.openedAt}::timestamptz)`,
    })
    .where(recordOf(liveQuotes, $)),
);

/**
 * Counts one more time that the customer opened the quote. No change of the quote: `updatedAt` stays.
 * @param openedAt ISO 8601
 * @throws QUOTE_NOT_FOUND
 */
export const openQuote = (scope: OrganizationScope, id: string, openedAt: string): Promise<Json<Quote>> =>
  inTransaction(scope, async (within) => {
    if (isId(id))
      await within.db.write(openStatement, { organizationId: within.organizationId, id, openedAt });
    return getQuote(within, id);
  });

const findQuoteStatement = prepared('quotes.find', ($: Params<RecordKey>) =>
  builder
    .select(named({ id: quotes.id }))
    .from(quotes)
    .where(recordOf(liveQuotes, $)),
);

/** @throws QUOTE_NOT_FOUND */
async function requireQuote({ db, organizationId }: OrganizationScope, id: string): Promise<void> {
  const [quote] = isId(id) ? await db.read(findQuoteStatement, { organizationId, id }) : [];
  if (!quote) throw missing(liveQuotes, id);
}

export type StoredFile = { id: string; sizeBytes: number };

/**
 * Streams a file to the storage under the id of an attachment to be.
 * @throws QUOTE_NOT_FOUND, PAYLOAD_TOO_LARGE; nothing is stored then
 */
export async function storeAttachment(
  scope: OrganizationScope,
  storage: FileStorage,
  quoteId: string,
  content: Readable,
): Promise<StoredFile> {
  await requireQuote(scope, quoteId);
  const id = newId();
  return { id, sizeBytes: await storeFile(storage, scope.organizationId, id, content) };
}

type AttachmentValues = AttachmentDescription & StoredFile & { organizationId: string; quoteId: string };

const insertAttachmentStatement = prepared(
  'quotes.create_attachment',
  ($: Params<AttachmentValues>) => sql<{ id: string }>`
    insert into ${quoteAttachments} as attachment (organization_id, id, quote_id, file_name, kind, mime_type, size_bytes)
    select ${quotes.organizationId}, ${$.id}::uuid, ${quotes.id}, ${$.fileName}, ${$.kind}, ${$.mimeType}, ${$.sizeBytes}
    from ${quotes} where ${quotes.organizationId} = ${$.organizationId} and ${quotes.id} = ${$.quoteId}
      and ${liveQuotes.visible}
    returning attachment.id`,
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
  throw missing(liveQuotes, quoteId);
}

const deleteAttachmentStatement = prepared(
  'quotes.delete_attachment',
  ($: Params<RecordKey & { quoteId: string }>) =>
    builder
      .delete(quoteAttachments)
      .where(
        sql`${quoteAttachments.organizationId} = ${$.organizationId} and ${quoteAttachments.id} = ${$.id}
          and ${quoteAttachments.quoteId} = ${$.quoteId}`,
      )
      .returning({
        ...named({ id: quoteAttachments.id }),
        deletedAt: isoTime(sql`now()`).as('deletedAt'),
      }),
);

/**
 * Deletes an attachment, and then its file.
 * @throws QUOTE_NOT_FOUND, QUOTE_ATTACHMENT_NOT_FOUND
 */
export async function deleteAttachment(
  scope: OrganizationScope,
  storage: FileStorage,
  quoteId: string,
  id: string,
): Promise<DeletedQuoteAttachment> {
  const { organizationId } = scope;
  const deleted = await inTransaction(scope, async (within) => {
    await requireQuote(within, quoteId);
    const [row] = isId(id)
      ? await within.db.write(deleteAttachmentStatement, { organizationId, quoteId, id })
      : [];
    if (!row) throw notFound('QUOTE_ATTACHMENT_NOT_FOUND', 'quote attachment', id);
    return row;
  });
  await storage.remove(storageKey(organizationId, id));
  return deleted;
}
