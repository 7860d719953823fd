import { and, eq, not, type Placeholder, sql } from 'drizzle-orm';
import { randomBase62 } from '../contract/base62.ts';
import { ApiError, invalid } from '../contract/errors.ts';
import { isErased, survivorOf } from '../customers/repository.ts';
import {
  activeCustomers,
  activeOpportunities,
  activeQuotes,
  byId,
  changeFilters,
  columns,
  columnsOf,
  contains,
  customerName,
  customers,
  type Database,
  defineList,
  defineRecord,
  defineRowLock,
  equals,
  isVisible,
  type Json,
  keyIs,
  named,
  newestFirst,
  type OrganizationScope,
  ofOrganization,
  opportunities,
  organizations,
  type Params,
  type Put,
  parseJson,
  prepared,
  qb,
  quotes,
  type RecordKey,
  returningJson,
  rowsInOrder,
  scopeTo,
  searchableQuotes,
  toJson,
  viewOf,
} from '../db/index.ts';
import { isFound } from '../organizations/repository.ts';
import { Quote, QuoteListQuery, QuotePut, QuoteRecord, QuoteRecordListQuery } from './schema.ts';

/** The current name, even if the customer is archived. */
const derived = { customerName: named(customerName, customers, quotes.customerId) };

export const quoteView = viewOf(activeQuotes, Quote, derived);

export const quoteRecordView = viewOf(activeQuotes, QuoteRecord, derived);

const quoteLists = {
  query: QuoteListQuery,
  order: newestFirst(quotes, quotes.updatedAt),
  filters: {
    ...changeFilters(activeQuotes),
    ...byId('customerId', quotes.customerId, survivorOf),
    ...byId('opportunityId', quotes.opportunityId),
    opened: { where: ($: Placeholder) => sql`(${quotes.openCount} > 0) = ${$}::boolean` },
    query: contains(activeQuotes.searchedText, searchableQuotes.search),
    status: equals(quotes.status),
  },
};

export const listQuotes = defineList('quotes.list', quoteView, quoteLists);

const lockTokenStatement = prepared(
  'quotes.lock_token',
  ($: Params<{ token: string }>) =>
    sql`select pg_advisory_xact_lock(hashtextextended(concat('quote token ', ${$.token}::text), 0))`,
);

/** The quotes with this token, archived or not, of all organizations that are not to be purged. */
const quotesOfTokenStatement = prepared('quotes.of_token', ($: Params<{ token: string }>) =>
  qb
    .select(columns({ organizationId: quotes.organizationId, id: quotes.id }))
    .from(quotes)
    .innerJoin(organizations, eq(organizations.id, quotes.organizationId))
    .where(and(eq(quotes.token, $.token), isFound)),
);

const tokenTaken = () => invalid('body.token', 'is already the token of another quote');

/**
 * A lock for the tokens of other organizations, because a cluster has unique indexes by organization only.
 * @throws VALIDATION_FAILED
 */
async function rejectTakenToken(scope: OrganizationScope, token: string): Promise<void> {
  await scope.write(lockTokenStatement, { token });
  const found = await scope.read(quotesOfTokenStatement, { token });
  if (found.some(({ organizationId }) => organizationId !== scope.organizationId)) throw tokenTaken();
}

const defined = defineRecord(quoteRecordView, {
  lists: {
    ...quoteLists,
    query: QuoteRecordListQuery,
    filters: { ...quoteLists.filters, token: { ...equals(quotes.token), isShort: true } },
  },
  columns: columnsOf(QuotePut, quotes),
  fixed: ['token'],
  taken: tokenTaken,
  insertOnly: ['openCount', 'firstOpenedAt', 'lastOpenedAt'],
  references: { opportunityId: activeOpportunities },
  derived: { column: quotes.customerId, resource: activeCustomers },
});

type Moved = { opportunityId?: string | null | undefined };

/** The opportunity of the quote, and the one that it moves to. */
const lockOpportunitiesStatement = prepared(
  'quotes.lock_opportunities',
  ($: Params<RecordKey & { opportunityId: string | null }>) => {
    const opportunityId = sql`(select ${quotes.opportunityId} from ${quotes} where ${keyIs(quotes, $)})`;
    const isOfQuote = sql`${opportunities.id} in (${opportunityId}, ${$.opportunityId}::uuid)`;
    return rowsInOrder(opportunities, and(ofOrganization(opportunities), isOfQuote)).for('share');
  },
);

/** Opportunities are locked before their quotes. */
const lockFor =
  (lock: typeof defined.lockToPut) =>
  async (scope: OrganizationScope, id: string, input: Moved): Promise<Json<QuoteRecord>> => {
    const { opportunityId = null } = input;
    await scope.write(lockOpportunitiesStatement, { id, opportunityId });
    return lock(scope, id, input);
  };

export const quoteRecord = {
  ...defined,

  lockToUpdate: lockFor(defined.lockToUpdate),
  lockToPut: lockFor(defined.lockToPut),

  put: async (scope: OrganizationScope, id: string, input: QuotePut): Promise<Put<QuoteRecord>> => {
    const { token } = input;
    const whole = { token: randomBase62(), openCount: 0, ...input };
    if (token === undefined) return defined.put(scope, id, whole, input);
    return scope.transaction(async (within) => {
      await rejectTakenToken(within, token);
      return defined.put(within, id, whole, input);
    });
  },
};

/**
 * The quote of a public link, which names no organization.
 * @throws QUOTE_NOT_FOUND
 */
export async function findQuote(db: Database, token: string) {
  const found = await db.read(quotesOfTokenStatement, { token });
  for (const { organizationId, id } of found) {
    const quote = parseJson(await quoteRecord.get(scopeTo(db, organizationId), id));
    if (quote.archivedAt === null) return toJson({ ...quote, organizationId });
  }
  throw new ApiError('QUOTE_NOT_FOUND', { id: token });
}

const lockRow = defineRowLock(quotes);

const isOpenable = and(eq(quotes.status, 'published'), not(isErased(quotes.customerId)));

const openStatement = prepared('quotes.open', ($: Params<RecordKey & { openedAt: string }>) =>
  returningJson(
    quoteRecordView,
    qb
      .update(quotes)
      .set({
        openCount: sql`least(${quotes.openCount}, 2147483646) + 1`,
        firstOpenedAt: sql`least(${quotes.firstOpenedAt}, ${$.openedAt}::timestamptz)`,
        lastOpenedAt: sql`greatest(${quotes.lastOpenedAt}, ${$.openedAt}::timestamptz)`,
      })
      .where(and(isVisible(activeQuotes, $), isOpenable)),
  ),
);

/**
 * @param openedAt ISO 8601; PostgreSQL reads the default as its clock
 * @throws QUOTE_NOT_FOUND, QUOTE_NOT_PUBLISHED
 */
export const openQuote = (scope: OrganizationScope, id: string, openedAt = 'now') =>
  scope.transaction(async (within) => {
    // The statements behind the lock see an erasure that it waited for.
    lockRow(within, id);
    const [row] = await within.write(openStatement, { id, openedAt });
    if (row) return row.body;
    await quoteRecord.getActive(within, id);
    throw new ApiError('QUOTE_NOT_PUBLISHED');
  });
