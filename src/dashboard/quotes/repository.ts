import { type SQL, sql } from 'drizzle-orm';
import { randomBase62 } from '../../api-keys/api-key.ts';
import { defineRecord } from '../../db/define/put.ts';
import { bodyOf, keyOf, missing, type RecordKey, recordOf, rowOf } from '../../db/define/view.ts';
import { inTransaction, type OrganizationScope } from '../../db/run/scope.ts';
import {
  liveCustomers,
  liveOpportunities,
  liveQuotes,
  opportunities,
  quoteAttachments,
  quotes,
} from '../../db/schema/index.ts';
import { columnsOf } from '../../db/sql/field-columns.ts';
import { isId } from '../../db/sql/ids.ts';
import { type Json, toJson } from '../../db/sql/json.ts';
import { type Params, prepared } from '../../db/sql/statement.ts';
import { notFound } from '../../errors.ts';
import type { AttachmentDescription } from '../../files/multipart.ts';
import type { StoredFile } from '../../files/upload.ts';
import { quoteView, type StoredAttachment } from '../../quotes/repository.ts';
import type { Quote } from '../../quotes/schema.ts';
import { type DeletedQuoteAttachment, QuotePut } from './schema.ts';

const customerOfStatement = prepared(
  'opportunities.customer',
  ($: Params<RecordKey>): SQL<{ customerId: string | null }> => sql`
    select ${opportunities.customerId} as "customerId" from ${opportunities} where ${rowOf(liveOpportunities, $)}`,
);

/** The opportunity's customer. It is a stored reference, and stays good when that customer is archived. */
async function customerOf({ db, organizationId }: OrganizationScope, opportunityId: string) {
  const [opportunity] = await db.read(customerOfStatement, { organizationId, id: opportunityId });
  return opportunity?.customerId ?? null;
}

/**
 * PUT creates the quote with a token of its own, or replaces it; the token stays. It throws VALIDATION_FAILED naming a
 * reference to no live record of the organization.
 */
export const quoteRecord = defineRecord(quoteView, {
  columns: columnsOf(QuotePut, quotes),
  insertOnly: { token: quotes.token },
  references: { opportunityId: liveOpportunities, customerId: liveCustomers },
  complete: async (scope, input) => ({
    ...input,
    token: randomBase62(32),
    ...(input.customerId === undefined && {
      customerId: await customerOf(scope, String(input.opportunityId)),
    }),
  }),
});

const openStatement = prepared(
  'quotes.open',
  ($: Params<RecordKey & { openedAt: string }>): SQL<{ body: Json<Quote> }> => sql`
    update ${quotes} set open_count = ${quotes.openCount} + 1,
      first_opened_at = least(${quotes.firstOpenedAt}, ${$.openedAt}::timestamptz),
      last_opened_at = greatest(${quotes.lastOpenedAt}, ${$.openedAt}::timestamptz)
    where ${recordOf(liveQuotes, $)} returning ${bodyOf(quoteView)} as body`,
);

/**
 * Counts that the customer opened the quote once more.
 * @param openedAt ISO 8601
 * @throws QUOTE_NOT_FOUND
 */
export async function openQuote(
  { db, organizationId }: OrganizationScope,
  id: string,
  openedAt: string,
): Promise<Json<Quote>> {
  const [row] = isId(id) ? await db.write(openStatement, { organizationId, id, openedAt }) : [];
  if (!row) throw missing(liveQuotes, id);
  return row.body;
}

type AttachmentValues = AttachmentDescription &
  Pick<StoredFile, 'id' | 'sizeBytes'> & { organizationId: string; quoteId: string };

const insertAttachmentStatement = prepared(
  'quotes.create_attachment',
  ($: Params<AttachmentValues>) => sql<{ id: string }>`
    insert into ${quoteAttachments} as attachment (organization_id, id, quote_id, file_name, kind, mime_type, size_bytes)
    select ${quotes.organizationId}, ${$.id}::uuid, ${quotes.id}, ${$.fileName}, ${$.kind}, ${$.mimeType}, ${$.sizeBytes}
    from ${quotes} where ${quotes.organizationId} = ${$.organizationId} and ${quotes.id} = ${$.quoteId}
      and ${liveQuotes.visible}
    returning attachment.id`,
);

/**
 * Records a stored file as an attachment.
 * @throws QUOTE_NOT_FOUND; the caller then removes the file
 */
export async function recordAttachment(
  { db, organizationId }: OrganizationScope,
  quoteId: string,
  { id, sizeBytes }: Pick<StoredFile, 'id' | 'sizeBytes'>,
  { kind, fileName, mimeType }: AttachmentDescription,
): Promise<StoredAttachment> {
  const attachment = { id, fileName, kind, mimeType, sizeBytes };
  const [row] = await db.write(insertAttachmentStatement, { ...attachment, organizationId, quoteId });
  if (!row) throw missing(liveQuotes, quoteId);
  return attachment;
}

const lockAttachmentStatement = prepared(
  'quotes.lock_attachment',
  ($: Params<RecordKey & { quoteId: string }>): SQL<{ id: string; sizeBytes: number }> => sql`
    select ${quoteAttachments.id}, ${quoteAttachments.sizeBytes}::float8 as "sizeBytes" from ${quoteAttachments}
    where ${keyOf(quoteAttachments, $)} and ${quoteAttachments.quoteId} = ${$.quoteId} for update`,
);

/**
 * Makes the function that locks an attachment of the quote. No answer gives the tag of one: only `*` matches it.
 * @throws QUOTE_NOT_FOUND, QUOTE_ATTACHMENT_NOT_FOUND
 */
export const lockAttachment =
  (quoteId: string) =>
  async (scope: OrganizationScope, id: string): Promise<Json<unknown>> => {
    await quoteRecord.get(scope, quoteId);
    const { db, organizationId } = scope;
    const [row] = isId(id) ? await db.write(lockAttachmentStatement, { organizationId, quoteId, id }) : [];
    if (!row) throw notFound('QUOTE_ATTACHMENT_NOT_FOUND', 'quote attachment', id);
    return toJson(row);
  };

const deleteAttachmentStatement = prepared(
  'quotes.delete_attachment',
  ($: Params<RecordKey>) => sql`delete from ${quoteAttachments} where ${keyOf(quoteAttachments, $)}`,
);

/**
 * Deletes an attachment; its file is then the caller's to remove.
 * @throws QUOTE_NOT_FOUND, QUOTE_ATTACHMENT_NOT_FOUND
 */
export const deleteAttachment = (
  scope: OrganizationScope,
  quoteId: string,
  id: string,
): Promise<DeletedQuoteAttachment> =>
  inTransaction(scope, async (within) => {
    await lockAttachment(quoteId)(within, id);
    await within.db.write(deleteAttachmentStatement, { organizationId: within.organizationId, id });
    return { id: id.toLowerCase(), deletedAt: new Date().toISOString() };
  });
