import { and, eq, type Placeholder, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { ApiError } from '../contract/errors.ts';
import {
  activeQuotes,
  as,
  type Ids,
  inTransaction,
  isAnyOf,
  isId,
  type Json,
  keyIn,
  keyIs,
  type OrganizationScope,
  ofOrganization,
  organizations,
  type Params,
  parseJson,
  prepared,
  type Queries,
  qb,
  quoteAttachments,
  quotes,
  type RecordKey,
  recordIs,
  recordNotFound,
  toJson,
} from '../db/index.ts';
import type { FileLinks, LinkedFile } from '../files/links.ts';
import type { AttachmentDescription } from '../files/multipart.ts';
import type { StoredFile } from '../files/upload.ts';
import { quoteRecord } from './repository.ts';
import type { DeletedQuoteAttachment, QuoteAttachment } from './schema.ts';

/** As stored; its URL is signed for each response. */
export type StoredAttachment = Omit<QuoteAttachment, 'url'>;

const { organizationId, id, quoteId, fileName, kind, mimeType } = quoteAttachments;
const sizeBytes = sql<number>`${quoteAttachments.sizeBytes}::float8`;

/** The attachments of a quote, oldest first. */
const attachmentsOfQuote = ($: Params<Pick<RecordKey, 'organizationId'>>, quote: PgColumn | Placeholder) =>
  qb
    .select(as({ id, fileName, kind, mimeType, sizeBytes }))
    .from(quoteAttachments)
    .where(and(eq(organizationId, $.organizationId), eq(quoteId, quote)))
    .orderBy(quoteAttachments.createdAt, id);

const attachmentsStatement = prepared('quotes.list_attachments', ($: Params<RecordKey>) => {
  const list = attachmentsOfQuote($, quotes.id).as('attachment');
  const attachments = sql<
    Json<StoredAttachment[]>
  >`coalesce((select json_agg(attachment) from ${list}), '[]')`;
  return qb.select(as({ attachments })).from(quotes).where(recordIs(activeQuotes, $));
});

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
  if (!row) throw recordNotFound(activeQuotes, id);
  return toJson({ data: await signAttachments(scope, parseJson(row.attachments), links) });
}

const attachmentsOfStatement = prepared('quotes.attachments_of', ($: Params<RecordKey>) =>
  attachmentsOfQuote($, $.id),
);

/** The same for archived quotes too. */
export const attachmentsOf = ({ db, organizationId }: OrganizationScope, id: string) =>
  db.read(attachmentsOfStatement, { organizationId, id });

const findAttachmentStatement = prepared('quotes.find_attachment', ($: Params<RecordKey>) =>
  qb
    .select(as({ id, fileName, kind, mimeType, sizeBytes }))
    .from(quoteAttachments)
    .innerJoin(quotes, and(eq(quotes.organizationId, organizationId), eq(quotes.id, quoteId)))
    .where(and(keyIs(quoteAttachments, $), activeQuotes.visible)),
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
  ($: Params<{ ids: string[] }>) =>
    qb
      .select(as({ id: organizations.id }))
      .from(organizations)
      .where(isAnyOf(organizations.id, $.ids)),
);

const attachmentsOfFilesStatement = prepared('quotes.attachments_of_files', ($: Params<Ids>) =>
  qb.select(as({ id })).from(quoteAttachments).where(keyIn(quoteAttachments, $)),
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
    from ${quotes} where ${ofOrganization(quotes, $)} and ${quotes.id} = ${$.quoteId}
      and ${activeQuotes.visible}
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
  if (!row) throw recordNotFound(activeQuotes, quoteId);
  return attachment;
}

const lockAttachmentStatement = prepared(
  'quotes.lock_attachment',
  ($: Params<RecordKey & { quoteId: string }>) =>
    qb
      .select(as({ id, sizeBytes }))
      .from(quoteAttachments)
      .where(and(keyIs(quoteAttachments, $), eq(quoteId, $.quoteId)))
      .for('no key update'),
);

/**
 * An attachment has no entity tag, so only `*` matches.
 * @throws QUOTE_NOT_FOUND, QUOTE_ATTACHMENT_NOT_FOUND
 */
export const lockAttachment =
  (quoteId: string) =>
  async (scope: OrganizationScope, id: string): Promise<Json<unknown>> => {
    await quoteRecord.getActive(scope, quoteId);
    const { db, organizationId } = scope;
    const [row] = isId(id) ? await db.write(lockAttachmentStatement, { organizationId, quoteId, id }) : [];
    if (!row) throw new ApiError('QUOTE_ATTACHMENT_NOT_FOUND', { id });
    return toJson(row);
  };

const deleteAttachmentStatement = prepared('quotes.delete_attachment', ($: Params<RecordKey>) =>
  qb.delete(quoteAttachments).where(keyIs(quoteAttachments, $)),
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
