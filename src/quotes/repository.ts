import { sql } from 'drizzle-orm';
import { customerName } from '../customers/repository.ts';
import { changeFilters, contains, defineList, equals, newestFirst } from '../db/define/list.ts';
import { keyOf, missing, named, type RecordKey, recordOf } from '../db/define/view.ts';
import type { OrganizationScope, Queries } from '../db/run/scope.ts';
import { customers, liveQuotes, organizations, quoteAttachments, quotes } from '../db/schema/index.ts';
import { fieldsOf } from '../db/sql/field-columns.ts';
import { isId } from '../db/sql/ids.ts';
import { selectList } from '../db/sql/json.ts';
import { type Params, prepared } from '../db/sql/statement.ts';
import type { LinkedFile } from '../files/links.ts';
import { Quote, type QuoteAttachment, QuoteListQuery } from './schema.ts';

/** The name comes from the customer itself, also when it is archived. */
export const quoteView = {
  ...liveQuotes,
  fields: fieldsOf(Quote, quotes, { customerName: named(customerName, customers, quotes.customerId) }),
};

export const listQuotes = defineList(quoteView, {
  query: QuoteListQuery,
  order: newestFirst('updatedAt'),
  filters: {
    ...changeFilters,
    customerId: equals('customerId'),
    opportunityId: equals('opportunityId'),
    query: contains(),
    status: equals('status'),
  },
});

/** An attachment as it is stored. Its URL is signed anew for each answer. */
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
  ($: Params<RecordKey>) => sql<{ attachments: StoredAttachment[] }>`select coalesce((
      select json_agg(attachment) from (
        select ${attachmentFields} from ${quoteAttachments}
        where ${quoteAttachments.organizationId} = ${$.organizationId} and ${quoteAttachments.quoteId} = ${quotes.id}
        order by ${quoteAttachments.createdAt}, ${quoteAttachments.id}) attachment), '[]') as attachments
    from ${quotes} where ${recordOf(liveQuotes, $)}`,
);

/**
 * The attachments of a quote of any status, oldest first.
 * @throws QUOTE_NOT_FOUND
 */
export async function listAttachments(
  { db, organizationId }: OrganizationScope,
  id: string,
): Promise<StoredAttachment[]> {
  const [row] = isId(id) ? await db.read(attachmentsStatement, { organizationId, id }) : [];
  if (!row) throw missing(liveQuotes, id);
  return row.attachments;
}

const findAttachmentStatement = prepared(
  'quotes.find_attachment',
  ($: Params<RecordKey>) => sql<StoredAttachment>`
    select ${attachmentFields} from ${quoteAttachments} join ${quotes}
      on ${quotes.organizationId} = ${quoteAttachments.organizationId} and ${quotes.id} = ${quoteAttachments.quoteId}
    where ${keyOf(quoteAttachments, $)} and ${liveQuotes.visible}`,
);

/** An attachment of a live quote. */
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
 * The given files that no attachment has. Files of organizations that this database does not know are left out: they
 * may belong to another database that shares the storage.
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
