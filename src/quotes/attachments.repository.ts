import { and, eq, type SQL, sql } from 'drizzle-orm';
import { ApiError, invalid } from '../contract/errors.ts';
import {
  activeQuotes,
  columns,
  type IdempotencyKey,
  type Ids,
  insertOnce,
  inTransaction,
  isId,
  isoTime,
  isVisible,
  type Json,
  keyIs,
  nowInMs,
  type Once,
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
  type Resource,
  recordNotFound,
  returningJson,
  TOUCHED,
  toJson,
  writeOnce,
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

/** The function returns the attachments of a quote in any status, oldest first. It throws QUOTE_NOT_FOUND. */
function defineAttachments(name: string, view: Resource) {
  const compose = ($: Params<RecordKey>) => {
    const list = qb
      .select(columns({ id, fileName, kind, mimeType, sizeBytes }))
      .from(quoteAttachments)
      .where(and(ofOrganization(quoteAttachments, $), eq(quoteId, quotes.id)))
      .orderBy(quoteAttachments.createdAt, id)
      .as('attachment');
    const attachments = sql<
      Json<StoredAttachment[]>
    >`coalesce((select json_agg(attachment) from ${list}), '[]')`;
    return qb
      .select(columns({ attachments, now: nowInMs }))
      .from(quotes)
      .where(isVisible(view, $));
  };
  const statement = prepared(name, compose, { isShort: true });
  return async (scope: OrganizationScope, id: string, links: FileLinks): Promise<QuoteAttachment[]> => {
    const { db, organizationId } = scope;
    const [row] = isId(id) ? await db.read(statement, { organizationId, id }) : [];
    if (!row) throw recordNotFound(view, id);
    const sign = async (stored: StoredAttachment) => ({
      ...stored,
      url: await links.sign(scope, stored, row.now),
    });
    return Promise.all(parseJson(row.attachments).map(sign));
  };
}

/** @throws QUOTE_NOT_FOUND */
export const listAttachments = defineAttachments('quotes.list_attachments', activeQuotes);

/** Of an archived quote too. */
export const listAttachmentsIncludingArchived = defineAttachments('quotes.attachments_of', {
  ...activeQuotes,
  visible: sql`true`,
});

const findAttachmentStatement = prepared(
  'quotes.find_attachment',
  ($: Params<RecordKey & { until: number }>) =>
    qb
      .select(columns({ id, fileName, kind, mimeType, sizeBytes }))
      .from(quoteAttachments)
      .innerJoin(quotes, and(eq(quotes.organizationId, organizationId), eq(quotes.id, quoteId)))
      .where(and(keyIs(quoteAttachments, $), activeQuotes.visible, sql`${nowInMs} < ${$.until}::float8`)),
);

/** @param until milliseconds since 1970, by the database's clock: later, nothing is found */
export async function findAttachment(
  { db, organizationId }: OrganizationScope,
  id: string,
  until = Number.POSITIVE_INFINITY,
): Promise<StoredAttachment | undefined> {
  const [row] = await db.read(findAttachmentStatement, { organizationId, id, until });
  return row;
}

/** @throws QUOTE_ATTACHMENT_NOT_FOUND */
export async function getAttachment(scope: OrganizationScope, id: string): Promise<Json<StoredAttachment>> {
  const attachment = await findAttachment(scope, id);
  if (!attachment) throw new ApiError('QUOTE_ATTACHMENT_NOT_FOUND', { id });
  return toJson(attachment);
}

/** None of an unknown organization: another database may share the storage. */
const orphanedStatement = prepared(
  'quotes.orphaned_files',
  ($: Params<Ids>) => sql<LinkedFile>`
    select ${organizations.id} as "organizationId", file as "attachmentId"
    from ${organizations} cross join unnest(${$.ids}::uuid[]) as file
    where ${organizations.id} = ${$.organizationId} and not exists (
      select from ${quoteAttachments} where ${ofOrganization(quoteAttachments, $)} and ${id} = file)`,
);

/** Files without an attachment. */
export async function orphanedFiles(db: Queries, files: readonly LinkedFile[]): Promise<LinkedFile[]> {
  const orphans: LinkedFile[] = [];
  for (const [organizationId, stored] of Map.groupBy(files, (file) => file.organizationId)) {
    const ids = stored.map(({ attachmentId }) => attachmentId);
    orphans.push(...(await db.read(orphanedStatement, { organizationId, ids })));
  }
  return orphans;
}

/** A list of attachments has no pages. */
export const MAX_ATTACHMENTS = 200;

type AttachmentValues = AttachmentDescription &
  Pick<StoredFile, 'id' | 'sizeBytes'> & { organizationId: string; quoteId: string };

const insertInto = ($: Params<AttachmentValues>, condition: SQL) => sql`
  insert into ${quoteAttachments} (organization_id, id, quote_id, file_name, kind, mime_type, size_bytes)
  select ${$.organizationId}::uuid, ${$.id}::uuid, ${$.quoteId}::uuid, ${$.fileName}, ${$.kind}, ${$.mimeType}, ${$.sizeBytes}
  where ${condition} and ${sql.raw(String(MAX_ATTACHMENTS))} > (
    select count(*) from ${quoteAttachments} where ${ofOrganization(quoteAttachments, $)} and ${quoteId} = ${$.quoteId})
  returning *`;

const insertStatement = prepared(
  'quotes.create_attachment',
  ($: Params<AttachmentValues>) => sql`${insertInto($, sql`true`)}`,
);

const insertOnceStatement = prepared('quotes.create_attachment_once', ($: Params<AttachmentValues & Once>) =>
  insertOnce(
    $,
    (isFree) => insertInto($, isFree),
    sql<{ isWritten: boolean }>`exists (select from written) as "isWritten"`,
  ),
);

/** @throws VALIDATION_FAILED; the caller has locked the quote */
export async function insertAttachment(
  scope: OrganizationScope,
  quoteId: string,
  { id, sizeBytes }: Pick<StoredFile, 'id' | 'sizeBytes'>,
  { kind, fileName, mimeType }: AttachmentDescription,
  key?: IdempotencyKey,
): Promise<StoredAttachment> {
  const { db, organizationId } = scope;
  const attachment = { id, fileName, kind, mimeType, sizeBytes };
  const values = { ...attachment, organizationId, quoteId };
  const isWritten = key
    ? (await writeOnce(scope, insertOnceStatement, { ...values, ...key })).isWritten
    : (await db.write(insertStatement, values)).length === 1;
  if (!isWritten)
    throw invalid('body.file', `is too many: a quote has at most ${MAX_ATTACHMENTS} attachments`);
  return attachment;
}

const touchStatement = prepared('quotes.touch', ($: Params<RecordKey>) =>
  qb
    .update(quotes)
    .set({ updatedAt: TOUCHED })
    .where(isVisible(activeQuotes, $))
    .returning(columns({ id: quotes.id })),
);

/** Moves `updatedAt` of the quote, and locks it. */
async function touchQuote({ db, organizationId }: OrganizationScope, id: string): Promise<void> {
  const [row] = isId(id) ? await db.write(touchStatement, { organizationId, id }) : [];
  if (!row) throw recordNotFound(activeQuotes, id);
}

/** @throws QUOTE_NOT_FOUND, VALIDATION_FAILED; the caller then removes the file */
export const addAttachment = (
  scope: OrganizationScope,
  quoteId: string,
  file: Pick<StoredFile, 'id' | 'sizeBytes'>,
  description: AttachmentDescription,
  key?: IdempotencyKey,
): Promise<StoredAttachment> =>
  inTransaction(scope, async (within) => {
    await touchQuote(within, quoteId);
    return insertAttachment(within, quoteId, file, description, key);
  });

const attachmentNotFound = (id: string) => new ApiError('QUOTE_ATTACHMENT_NOT_FOUND', { id });

const lockAttachmentStatement = prepared(
  'quotes.lock_attachment',
  ($: Params<RecordKey & { quoteId: string }>) =>
    qb
      .select(columns({ id, sizeBytes }))
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
    await quoteRecord.lock(scope, quoteId);
    const { db, organizationId } = scope;
    const [row] = isId(id) ? await db.write(lockAttachmentStatement, { organizationId, quoteId, id }) : [];
    if (!row) throw attachmentNotFound(id);
    return toJson(row);
  };

const deleteAttachmentStatement = prepared('quotes.delete_attachment', ($: Params<RecordKey>) =>
  returningJson<DeletedQuoteAttachment>(
    { table: quoteAttachments, fields: { id, deletedAt: isoTime(sql`now()`) } },
    qb.delete(quoteAttachments).where(keyIs(quoteAttachments, $)),
  ),
);

/**
 * The caller then removes the file.
 * @throws QUOTE_NOT_FOUND, QUOTE_ATTACHMENT_NOT_FOUND
 */
export const deleteAttachment = (
  scope: OrganizationScope,
  quoteId: string,
  id: string,
): Promise<Json<DeletedQuoteAttachment>> =>
  inTransaction(scope, async (within) => {
    const { db, organizationId } = within;
    await touchQuote(within, quoteId);
    await lockAttachment(quoteId)(within, id);
    const [deleted] = await db.write(deleteAttachmentStatement, { organizationId, id });
    if (!deleted) throw attachmentNotFound(id);
    return deleted.body;
  });
