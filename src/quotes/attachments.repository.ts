import { and, eq, sql } from 'drizzle-orm';
import { invalid } from '../contract/errors.ts';
import {
  activeQuotes,
  columns,
  defineCreate,
  defineGet,
  type IdempotencyKey,
  type Ids,
  includingArchived,
  isId,
  isoTime,
  isVisible,
  type Json,
  keyIs,
  nowInMs,
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
  viewOf,
} from '../db/index.ts';
import type { FileLinks, LinkedFile } from '../files/links.ts';
import type { AttachmentDescription } from '../files/multipart.ts';
import type { StoredFile } from '../files/upload.ts';
import { type DeletedQuoteAttachment, QuoteAttachment } from './schema.ts';

/** As stored; its URL is signed for each response. */
type StoredAttachment = Omit<QuoteAttachment, 'url'>;

const { id, quoteId, fileName, kind, mimeType } = quoteAttachments;
const sizeBytes = sql<number>`${quoteAttachments.sizeBytes}::float8`;
const stored = columns({ id, fileName, kind, mimeType, sizeBytes });

/** The function returns the attachments of a quote in any status, oldest first. It throws QUOTE_NOT_FOUND. */
function defineAttachments(name: string, view: Resource) {
  const statement = prepared(
    name,
    ($: Params<RecordKey>) => {
      const list = qb
        .select(stored)
        .from(quoteAttachments)
        .where(and(ofOrganization(quoteAttachments), eq(quoteId, quotes.id)))
        .orderBy(quoteAttachments.createdAt, id)
        .as('attachment');
      const attachments = sql<
        Json<StoredAttachment[]>
      >`coalesce((select json_agg(attachment) from ${list}), '[]')`;
      return qb
        .select(columns({ attachments, now: nowInMs }))
        .from(quotes)
        .where(isVisible(view, $));
    },
    { isShort: true },
  );
  return async (scope: OrganizationScope, id: string, links: FileLinks): Promise<QuoteAttachment[]> => {
    const [row] = isId(id) ? await scope.read(statement, { id }) : [];
    if (!row) throw recordNotFound(view, id);
    const sign = async (attachment: StoredAttachment) => ({
      ...attachment,
      url: await links.sign(scope, attachment, row.now),
    });
    return Promise.all(parseJson(row.attachments).map(sign));
  };
}

export const listAttachments = defineAttachments('quotes.list_attachments', activeQuotes);

export const listAttachmentsIncludingArchived = defineAttachments(
  'quotes.attachments_of',
  includingArchived(activeQuotes),
);

const attachments = {
  table: quoteAttachments,
  visible: sql`exists (select from ${quotes}
    where ${ofOrganization(quotes)} and ${quotes.id} = ${quoteId} and ${activeQuotes.visible})`,
  notFound: 'QUOTE_ATTACHMENT_NOT_FOUND',
} satisfies Resource;

const attachmentView = viewOf(attachments, QuoteAttachment.omit({ url: true }), {});

/** @throws QUOTE_ATTACHMENT_NOT_FOUND */
export const getAttachment = defineGet('quotes.get_attachment', attachmentView);

const findStatement = prepared('quotes.find_attachment', ($: Params<RecordKey & { until: number }>) =>
  qb
    .select(stored)
    .from(quoteAttachments)
    .where(and(isVisible(attachments, $), sql`${nowInMs} < ${$.until}::float8`)),
);

/** @param until milliseconds since 1970, by the database's clock: later, nothing is found */
export async function findAttachment(
  scope: OrganizationScope,
  id: string,
  until: number,
): Promise<StoredAttachment | undefined> {
  const [row] = await scope.read(findStatement, { id, until });
  return row;
}

/** None of an unknown organization: another database may share the storage. */
const orphanedStatement = prepared(
  'quotes.orphaned_files',
  ($: Params<Ids>) => sql<LinkedFile>`
    select ${organizations.id} as "organizationId", file as "attachmentId"
    from ${organizations} cross join unnest(${$.ids}::uuid[]) as file
    where ${organizations.id} = ${$.organizationId} and not exists (
      select from ${quoteAttachments} where ${ofOrganization(quoteAttachments)} and ${id} = file)`,
);

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

type NewAttachment = AttachmentDescription & Pick<StoredFile, 'id' | 'sizeBytes'>;

export const createAttachment = defineCreate('quotes.create_attachment', attachmentView, {
  quoteId,
  fileName,
  kind,
  mimeType,
  sizeBytes: quoteAttachments.sizeBytes,
});

const countStatement = prepared('quotes.count_attachments', ($: Params<{ quoteId: string }>) =>
  qb
    .select(columns({ count: sql<number>`count(*)::int` }))
    .from(quoteAttachments)
    .where(and(ofOrganization(quoteAttachments), eq(quoteId, $.quoteId))),
);

const touchStatement = prepared('quotes.touch', ($: Params<RecordKey>) =>
  qb
    .update(quotes)
    .set({ updatedAt: TOUCHED })
    .where(isVisible(activeQuotes, $))
    .returning(columns({ id: quotes.id })),
);

/** Moves `updatedAt` of the quote, and locks it. */
async function touchQuote(scope: OrganizationScope, id: string): Promise<void> {
  const [row] = await scope.write(touchStatement, { id });
  if (!row) throw recordNotFound(activeQuotes, id);
}

/** @throws QUOTE_NOT_FOUND, VALIDATION_FAILED; the caller then removes the file */
export const addAttachment = (
  scope: OrganizationScope,
  quoteId: string,
  attachment: NewAttachment,
  key?: IdempotencyKey,
): Promise<Json<StoredAttachment>> =>
  scope.transaction(async (within) => {
    await touchQuote(within, quoteId);
    const [present] = await within.read(countStatement, { quoteId });
    if (present && present.count >= MAX_ATTACHMENTS)
      throw invalid('body.file', `is too many: a quote has at most ${MAX_ATTACHMENTS} attachments`);
    return createAttachment(within, attachment.id, { ...attachment, quoteId }, key);
  });

const deleteStatement = prepared('quotes.delete_attachment', ($: Params<RecordKey & { quoteId: string }>) =>
  returningJson<DeletedQuoteAttachment>(
    { table: quoteAttachments, fields: { id, deletedAt: isoTime(sql`now()`) } },
    qb.delete(quoteAttachments).where(and(keyIs(quoteAttachments, $), eq(quoteId, $.quoteId))),
  ),
);

/** @throws QUOTE_NOT_FOUND, QUOTE_ATTACHMENT_NOT_FOUND; else the caller removes the file */
export const deleteAttachment = (scope: OrganizationScope, quoteId: string, id: string) =>
  scope.transaction(async (within) => {
    await touchQuote(within, quoteId);
    const [deleted] = await within.write(deleteStatement, { quoteId, id });
    if (!deleted) throw recordNotFound(attachments, id);
    return deleted.body;
  });
