import { sql } from 'drizzle-orm';
import { customerName } from '../customers/repository.ts';
import type { Queries } from '../db/client.ts';
import { idOrNone, isId } from '../db/ids.ts';
import { type Fields, isoTime } from '../db/json.ts';
import { defineList, newestFirst, searchFilter } from '../db/list.ts';
import { liveTotal } from '../db/live-count.ts';
import { customers, organizations, quoteAttachments, quotes } from '../db/schema/index.ts';
import type { OrganizationScope } from '../db/scope.ts';
import { planned, prepared } from '../db/statement.ts';
import { notFound } from '../errors.ts';
import type { LinkedFile } from '../files/links.ts';
import type { Quote } from './schema.ts';

export const quoteFields: Fields<Quote> = {
  id: quotes.id,
  opportunityId: quotes.opportunityId,
  title: quotes.title,
  status: quotes.status,
  destination: quotes.destination,
  customerId: quotes.customerId,
  customerName: customerName,
  price: quotes.price,
  currency: quotes.currency,
  token: quotes.token,
  openCount: quotes.openCount,
  firstOpenedAt: isoTime(quotes.firstOpenedAt),
  lastOpenedAt: isoTime(quotes.lastOpenedAt),
  publishedAt: isoTime(quotes.publishedAt),
  createdAt: isoTime(quotes.createdAt),
  updatedAt: isoTime(quotes.updatedAt),
};

/** The name comes from the customer itself, an archived one too. */
export const quoteJoins = sql`
  left join ${customers} on ${customers.organizationId} = ${quotes.organizationId} and ${customers.id} = ${quotes.customerId}`;

export const liveQuote = sql`${quotes.archivedAt} is null`;

const list = defineList<Quote, 'opportunityId' | 'query' | 'status'>({
  name: 'list_quotes',
  table: quotes,
  fields: quoteFields,
  joins: quoteJoins,
  visible: liveQuote,
  order: [newestFirst(quotes.updatedAt), newestFirst(quotes.id)],
  filters: {
    opportunityId: sql`${quotes.opportunityId} = ${sql.placeholder('opportunityId')}`,
    query: searchFilter(quotes.search),
    status: sql`${quotes.status} = ${sql.placeholder('status')}`,
  },
  plannedFor: ['query'],
  total: liveTotal('quotes'),
});

export const listQuotes: typeof list = (scope, query) =>
  list(scope, { ...query, opportunityId: idOrNone(query.opportunityId) });

/** An attachment as it is stored; its URL is signed for each answer. */
export type StoredAttachment = {
  id: string;
  fileName: string;
  kind: string;
  mimeType: string;
  sizeBytes: number;
};

const attachmentColumns = sql`${quoteAttachments.id} as "id", ${quoteAttachments.fileName} as "fileName",
  ${quoteAttachments.kind} as "kind", ${quoteAttachments.mimeType} as "mimeType",
  ${quoteAttachments.sizeBytes}::float8 as "sizeBytes"`;

const attachmentsStatement = prepared<
  { attachments: StoredAttachment[] },
  { organizationId: string; id: string }
>(
  'list_quote_attachments',
  sql`select coalesce((
      select json_agg(attachment) from (
        select ${attachmentColumns} from ${quoteAttachments}
        where ${quoteAttachments.organizationId} = ${quotes.organizationId} and ${quoteAttachments.quoteId} = ${quotes.id}
        order by ${quoteAttachments.createdAt}, ${quoteAttachments.id}) attachment), '[]') as attachments
    from ${quotes} where ${quotes.organizationId} = ${sql.placeholder('organizationId')}
      and ${quotes.id} = ${sql.placeholder('id')} and ${liveQuote}`,
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
  if (!row) throw notFound('QUOTE_NOT_FOUND', 'quote', id);
  return row.attachments;
}

const findAttachmentStatement = prepared<StoredAttachment, { organizationId: string; id: string }>(
  'find_quote_attachment',
  sql`select ${attachmentColumns} from ${quoteAttachments}
    join ${quotes} on ${quotes.organizationId} = ${quoteAttachments.organizationId} and ${quotes.id} = ${quoteAttachments.quoteId}
    where ${quoteAttachments.organizationId} = ${sql.placeholder('organizationId')}
      and ${quoteAttachments.id} = ${sql.placeholder('id')} and ${liveQuote}`,
);

/** An attachment of a live quote. */
export async function findAttachment(
  { db, organizationId }: OrganizationScope,
  id: string,
): Promise<StoredAttachment | undefined> {
  const [row] = await db.read(findAttachmentStatement, { organizationId, id });
  return row;
}

const orphanedStatement = planned<LinkedFile, { files: string }>(
  sql`select file."organizationId", file."attachmentId"
    from jsonb_to_recordset(${sql.placeholder('files')}::jsonb) as file("organizationId" uuid, "attachmentId" uuid)
    join ${organizations} on ${organizations.id} = file."organizationId"
    where not exists (select from ${quoteAttachments}
      where ${quoteAttachments.organizationId} = file."organizationId" and ${quoteAttachments.id} = file."attachmentId")`,
);

/**
 * Those of the files that no attachment has. Files of organizations that are not in this database are not judged: they
 * may belong to another one that shares the storage.
 */
export const orphanedFiles = (db: Queries, files: readonly LinkedFile[]): Promise<LinkedFile[]> =>
  db.read(orphanedStatement, { files: JSON.stringify(files) });
