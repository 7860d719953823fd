import { type RequestOptions, responseInfo, type Send } from './request.ts';
import type { Pagination } from './types.ts';

export type Page<Row> = { data: Row[]; pagination: Pagination };

/** Iterates over rows and requests page after page; `pages()` iterates over the pages themselves. */
export type Walk<Row> = AsyncIterable<Row> & { pages: () => AsyncIterable<Page<Row>> };

/** The filters of a list. `limit` is the size of the pages, 100 by default. */
export type Filters<Query> = Omit<Query, 'offset'>;

export type SnapshotOptions = RequestOptions & {
  /** How many walks to try before giving up. Default: 10. */
  passes?: number;
};

export type ChangesOptions = SnapshotOptions & {
  /**
   * Milliseconds before `since` at which to start: a write that began earlier can become visible later. Rows of this time come
   * again. Default: 60,000.
   */
  overlap?: number;
};

/** What changed, and the `since` of the next call; undefined while the list is empty. */
export type Changes<Row> = { rows: Row[]; since: string | undefined };

type Listing = { id: string };

/** The list changed during each walk of a snapshot. */
export class UnsettledListError extends Error {
  override readonly name = 'UnsettledListError';
}

const OVERLAP_MS = 60_000;
const MAX_LIMIT = 100;

/** The latest `updatedAt`. Conversations do not show theirs: for them it is the time of the first response. */
function latestChange(pages: readonly Page<object>[]): string | undefined {
  const changes = pages.flatMap(({ data }) =>
    data.flatMap((row) => (row as { updatedAt?: string }).updatedAt ?? []),
  );
  const [first] = pages;
  const date = first && first.data.length > 0 ? responseInfo(first)?.date : undefined;
  return changes.length > 0 ? changes.sort().at(-1) : date && new Date(date).toISOString();
}

/**
 * One walk over a list; undefined when the list changed meanwhile in a way that can hide rows: a row came twice, the total
 * changed, or a page does not begin with the last row of the one before. For that, pages overlap by this row.
 */
async function settledPass<Row extends Listing>(
  pages: AsyncIterable<Page<Row>>,
): Promise<Page<Row>[] | undefined> {
  const seen = new Set<string>();
  const settled: Page<Row>[] = [];
  let last: string | undefined;
  for await (const page of pages) {
    settled.push(page);
    if (page.pagination.total !== settled[0]?.pagination.total) return undefined;
    if (last !== undefined && page.data.shift()?.id !== last) return undefined;
    last = page.data.at(-1)?.id;
    for (const { id } of page.data) {
      if (seen.has(id)) return undefined;
      seen.add(id);
    }
  }
  return settled;
}

/** @param overlap how many rows of a page come again on the next one */
async function* pagesOf<Row>(
  send: Send,
  path: string,
  filters: object = {},
  options: RequestOptions,
  overlap = 0,
): AsyncGenerator<Page<Row>> {
  const { limit = MAX_LIMIT } = filters as { limit?: number };
  const query = { ...filters, limit: limit > 0 && limit < MAX_LIMIT ? Number(limit) + overlap : limit };
  for (let offset = 0, total = 1; offset < total; ) {
    const page = (await send('GET', path, { query: { ...query, offset }, options })) as Page<Row>;
    yield page;
    offset += page.pagination.limit - overlap;
    total = page.pagination.total - overlap;
  }
}

/** Repeats a walk until nothing moved. @throws UnsettledListError */
async function settledPages<Row extends Listing>(
  send: Send,
  path: string,
  filters: object | undefined,
  { passes = 10, ...options }: SnapshotOptions,
): Promise<Page<Row>[]> {
  for (let pass = 0; pass < passes; pass += 1) {
    const pages = await settledPass<Row>(pagesOf(send, path, filters, options, 1));
    if (pages) return pages;
  }
  throw new UnsettledListError(`${path} changed during each of ${passes} walks.`);
}

const rowsOf = <Row>(pages: readonly Page<Row>[]): Row[] => pages.flatMap(({ data }) => data);

/** The operations of every list. */
export const listOperations = <Row extends Listing, Query extends { limit?: number; offset?: number | null }>(
  send: Send,
  path: string,
) => ({
  /** One page, with the total of all pages. */
  list: async (query?: Query, options: RequestOptions = {}): Promise<Page<Row>> =>
    (await send('GET', path, { query, options })) as Page<Row>,

  /** Every row, page after page. A row that changes meanwhile can come twice or be missed: see `snapshot`. */
  walk: (filters?: Filters<Query>, options: RequestOptions = {}): Walk<Row> => {
    const pages = () => pagesOf<Row>(send, path, filters, options);
    return {
      pages,
      async *[Symbol.asyncIterator]() {
        for await (const { data } of pages()) yield* data;
      },
    };
  },

  /**
   * Every row once and none missed: repeats the walk until nothing moved.
   * @throws UnsettledListError when the list changed during each of `passes` walks
   */
  snapshot: async (filters?: Filters<Query>, options: SnapshotOptions = {}): Promise<Row[]> =>
    rowsOf(await settledPages<Row>(send, path, filters, options)),

  /** The rows with these ids, 100 in a request. A row that does not come has left the list: it is archived, for example. */
  byIds: async (ids: Iterable<string>, options: RequestOptions = {}): Promise<Row[]> => {
    const wanted = [...new Set(ids)];
    const rows: Row[] = [];
    for (let at = 0; at < wanted.length; at += MAX_LIMIT) {
      const query = { ids: wanted.slice(at, at + MAX_LIMIT).join(), limit: MAX_LIMIT };
      rows.push(...((await send('GET', path, { query, options })) as Page<Row>).data);
    }
    return rows;
  },
});

/** The operation of lists whose records change. */
export const changeOperations = <Row extends Listing>(send: Send, path: string) => ({
  /**
   * What changed since a timestamp, new rows included; everything, without one. Keep the `since` that it returns for the next
   * call. Rows that left the list do not come: `byIds` finds them.
   * @throws UnsettledListError when the list changed during each of `passes` walks
   */
  changes: async (
    since?: string,
    { overlap = OVERLAP_MS, ...options }: ChangesOptions = {},
  ): Promise<Changes<Row>> => {
    const updatedSince = since && new Date(Date.parse(since) - overlap).toISOString();
    const pages = await settledPages<Row>(send, path, { updatedSince }, options);
    return { rows: rowsOf(pages), since: latestChange(pages) ?? since };
  },
});
