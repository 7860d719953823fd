import { type SQL, sql } from 'drizzle-orm';
import { ApiError } from '../contract/errors.ts';
import {
  inTransaction,
  isId,
  type Json,
  keyOf,
  liveQuotes,
  type OrganizationScope,
  organizations,
  type Params,
  parseJson,
  prepared,
  type Queries,
  quoteAttachments,
  quotes,
  type RecordKey,
  recordNotFound,
  recordOf,
  selectList,
  toJson,
} from '../db/index.ts';
import type { FileLinks, LinkedFile } from '../files/links.ts';
import type { AttachmentDescription } from '../files/multipart.ts';
import type { StoredFile } from '../files/upload.ts';
import { quoteRecord } from './repository.ts';
import type { DeletedQuoteAttachment, QuoteAttachment } from './schema.ts';

/** As stored; its URL is signed for each response. */
export type StoredAttachment = Omit<QuoteAttachment, 'url'>;

const attachmentFields = selectList({
  id: quoteAttachments.id,
  fileName: quoteAttachments.fileName,
  kind: quoteAttachments.kind,
  mimeType: quoteAttachments.mimeType,
  sizeBytes: sql`${quoteAttachments.sizeBytes}::float8`,
});

const attachmentsStatement = prepared(
  'quotes.list_attachments',
  ($: Params<RecordKey>) => sql<{ attachments: Json<StoredAttachment[]> }>`select coalesce((
      select json_agg(attachment) from (
        select ${attachmentFields} from ${quoteAttachments}
        where ${quoteAttachments.organizationId} = ${$.organizationId} and ${quoteAttachments.quoteId} = ${quotes.id}
        order by ${quoteAttachments.createdAt}, ${quoteAttachments.id}) attachment), '[]') as attachments
    from ${quotes} where ${recordOf(liveQuotes, $)}`,
);

export const signAttachments = (
  scope: OrganizationScope,
  attachments: readonly StoredAttachment[],
  links: FileLinks,
): Promise<QuoteAttachment[]> =>
  Promise.all(
    attachments.map(async (attachment) => ({ ...attachment, url: await links.sign(scope, attachment) })),
  );

/**
 * The attachments of a quote in any status, oldest first.
 * @throws QUOTE_NOT_FOUND
 */
export async function listAttachments(
  scope: OrganizationScope,
  id: string,
  links: FileLinks,
): Promise<Json<{ data: QuoteAttachment[] }>> {
  const { db, organizationId } = scope;
  const [row] = isId(id) ? await db.read(attachmentsStatement, { organizationId, id }) : [];
  if (!row) throw recordNotFound(liveQuotes, id);
  return toJson({ data: await signAttachments(scope, parseJson(row.attachments), links) });
}

const attachmentsOfStatement = prepared(
  'quotes.attachments_of',
  ($: Params<RecordKey>) => sql<StoredAttachment>`
    select ${attachmentFields} from ${quoteAttachments}
    where ${quoteAttachments.organizationId} = ${$.organizationId} and ${quoteAttachments.quoteId} = ${$.id}
    order by ${quoteAttachments.createdAt}, ${quoteAttachments.id}`,
);

/** The same for archived quotes too. */
export const attachmentsOf = ({ db, organizationId }: OrganizationScope, id: string) =>
  db.read(attachmentsOfStatement, { organizationId, id });

const findAttachmentStatement = prepared(
  'quotes.find_attachment',
  ($: Params<RecordKey>) => sql<StoredAttachment>`
    select ${attachmentFields} from ${quoteAttachments} join ${quotes}
      on ${quotes.organizationId} = ${quoteAttachments.organizationId} and ${quotes.id} = ${quoteAttachments.quoteId}
    where ${keyOf(quoteAttachments, $)} and ${liveQuotes.visible}`,
);

export async function findAttachment(
  { db, organizationId }: OrganizationScope,
  id: string,
): Promise<StoredAttachment | undefined> {
  const [row] = await db.read(findAttachmentStatement, { organizationId, id });
  return row;
}

const knownOrganizationsStatement = prepared(
  'quotes.organizations_of_files',
  ($: Params<{ ids: string[] }>) => sql<{ id: string }>`
    select ${organizations.id} from ${organizations} where ${organizations.id} = any(${$.ids}::uuid[])`,
);

const attachmentsOfFilesStatement = prepared(
  'quotes.attachments_of_files',
  ($: Params<{ organizationId: string; ids: string[] }>) => sql<{ id: string }>`
    select ${quoteAttachments.id} from ${quoteAttachments}
    where ${quoteAttachments.organizationId} = ${$.organizationId} and ${quoteAttachments.id} = any(${$.ids}::uuid[])`,
);

/**
 * Files without an attachment. Files of unknown organizations are left out: another database may share the
 * storage.
 */
export async function orphanedFiles(db: Queries, files: readonly LinkedFile[]): Promise<LinkedFile[]> {
  const ofOrganization = Map.groupBy(files, ({ organizationId }) => organizationId);
  const known = await db.read(knownOrganizationsStatement, { ids: [...ofOrganization.keys()] });
  const orphans: LinkedFile[] = [];
  for (const { id: organizationId } of known) {
    const stored = ofOrganization.get(organizationId) ?? [];
    const ids = stored.map(({ attachmentId }) => attachmentId);
    const rows = await db.read(attachmentsOfFilesStatement, { organizationId, ids });
    const attached = new Set(rows.map(({ id }) => id));
    orphans.push(...stored.filter(({ attachmentId }) => !attached.has(attachmentId)));
  }
  return orphans;
}

type AttachmentValues = AttachmentDescription &
  Pick<StoredFile, 'id' | 'sizeBytes'> & { organizationId: string; quoteId: string };

const insertAttachmentStatement = prepared(
  'quotes.create_attachment',
  ($: Params<AttachmentValues>) => sql<{ recorded: boolean }>`
    insert into ${quoteAttachments} (organization_id, id, quote_id, file_name, kind, mime_type, size_bytes)
    select ${quotes.organizationId}, ${$.id}::uuid, ${quotes.id}, ${$.fileName}, ${$.kind}, ${$.mimeType}, ${$.sizeBytes}
    from ${quotes} where ${quotes.organizationId} = ${$.organizationId} and ${quotes.id} = ${$.quoteId}
      and ${liveQuotes.visible}
    returning true as recorded`,
);

/** @throws QUOTE_NOT_FOUND; the caller then removes the file */
export async function recordAttachment(
  { db, organizationId }: OrganizationScope,
  quoteId: string,
  { id, sizeBytes }: Pick<StoredFile, 'id' | 'sizeBytes'>,
  { kind, fileName, mimeType }: AttachmentDescription,
): Promise<StoredAttachment> {
  const attachment = { id, fileName, kind, mimeType, sizeBytes };
  const [row] = await db.write(insertAttachmentStatement, { ...attachment, organizationId, quoteId });
  if (!row) throw recordNotFound(liveQuotes, quoteId);
  return attachment;
}

const lockAttachmentStatement = prepared(
  'quotes.lock_attachment',
  ($: Params<RecordKey & { quoteId: string }>): SQL<{ id: string; sizeBytes: number }> => sql`
    select ${quoteAttachments.id}, ${quoteAttachments.sizeBytes}::float8 as "sizeBytes" from ${quoteAttachments}
    where ${keyOf(quoteAttachments, $)} and ${quoteAttachments.quoteId} = ${$.quoteId} for no key update`,
);

/**
 * An attachment has no entity tag, so only `*` matches.
 * @throws QUOTE_NOT_FOUND, QUOTE_ATTACHMENT_NOT_FOUND
 */
export const lockAttachment =
  (quoteId: string) =>
  async (scope: OrganizationScope, id: string): Promise<Json<unknown>> => {
    await quoteRecord.get(scope, quoteId);
    const { db, organizationId } = scope;
    const [row] = isId(id) ? await db.write(lockAttachmentStatement, { organizationId, quoteId, id }) : [];
    if (!row) throw new ApiError('QUOTE_ATTACHMENT_NOT_FOUND', { id });
    return toJson(row);
  };

const deleteAttachmentStatement = prepared(
  'quotes.delete_attachment',
  ($: Params<RecordKey>) => sql`delete from ${quoteAttachments} where ${keyOf(quoteAttachments, $)}`,
);

/**
 * The caller then removes the file.
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
