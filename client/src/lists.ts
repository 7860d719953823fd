import { answerInfo, type RequestOptions, type Send } from './request.ts';
import type { Pagination } from './types.ts';

export type Page<Row> = { data: Row[]; pagination: Pagination };

/** Iterates over rows, asking for page after page; `pages()` gives the pages themselves. */
export type Walk<Row> = AsyncIterable<Row> & { pages: () => AsyncIterable<Page<Row>> };

/** The filters of a list. `limit` is the size of the pages asked for, 100 unless set. */
export type Filters<Query> = Omit<Query, 'offset'>;

export type SnapshotOptions = RequestOptions & {
  /** What an earlier call for the same filters returned: pages that are still the same are not sent again. */
  previous?: readonly object[];
  /** How many walks to try before giving up. Default: 10. */
  passes?: number;
};

export type ChangesOptions = RequestOptions & {
  /**
   * Milliseconds before `since` from which the service is asked: a write that began earlier can be seen later. What is in
   * them comes again. Default: 60,000.
   */
  overlap?: number;
  /** How many walks to try before giving up. Default: 10. */
  passes?: number;
};

/** What changed, and the moment to go on from the next time; none while there is nothing. */
export type Changes<Row> = { rows: Row[]; since: string | undefined };

type Listing = { id: string };

/** The pages that a snapshot was made of, with their tags, by the target that gave them. */
type Kept<Row> = Map<string, { etag: string; page: Page<Row> }>;

const keptPages = new WeakMap<object, Kept<never>>();

/** The last walk of a snapshot saw the list change, like all before it. */
export class UnsettledListError extends Error {
  override readonly name = 'UnsettledListError';
}

const OVERLAP = 60_000;

/** The greatest moment of a change on pages. Conversations do not show theirs: for them it is when the first page was answered. */
function momentOf(pages: readonly Page<object>[]): string | undefined {
  const moments = pages.flatMap(({ data }) =>
    data.flatMap((row) => (row as { updatedAt?: string }).updatedAt ?? []),
  );
  const [first] = pages;
  const answered = first && first.data.length > 0 ? answerInfo(first)?.date : undefined;
  return moments.length > 0 ? moments.sort().at(-1) : answered && new Date(answered).toISOString();
}

type PageReader<Row> = (offset: number, etag?: string) => Promise<Page<Row> | undefined>;

const MAX_LIMIT = 100;

async function* pagesOf<Row>(read: PageReader<Row>, limit: number): AsyncGenerator<Page<Row>> {
  for (let offset = 0; ; offset += limit) {
    const page = await read(offset);
    if (page === undefined) return;
    yield page;
    if (offset + limit >= page.pagination.total) return;
  }
}

/**
 * One walk over a list; undefined when the list changed under it in a way that loses rows. Rows are newest change first,
 * so a row that moved to the front unseen pushes one that was seen onto the next page: a row seen twice tells of it.
 */
async function settledPass<Row extends Listing>(
  pages: AsyncIterable<Page<Row>>,
): Promise<Page<Row>[] | undefined> {
  const seen = new Set<string>();
  const settled: Page<Row>[] = [];
  for await (const page of pages) {
    settled.push(page);
    if (page.pagination.total !== settled[0]?.pagination.total) return undefined;
    for (const { id } of page.data) {
      if (seen.has(id)) return undefined;
      seen.add(id);
    }
  }
  return settled;
}

/** Repeats a walk until no row showed twice and the total stood still. @throws UnsettledListError */
async function settledPages<Row extends Listing>(
  path: string,
  { walk, passes = 10 }: { walk: () => AsyncIterable<Page<Row>>; passes?: number | undefined },
): Promise<Page<Row>[]> {
  for (let pass = 0; pass < passes; pass += 1) {
    const pages = await settledPass(walk());
    if (pages) return pages;
  }
  throw new UnsettledListError(`${path} changed during each of ${passes} walks.`);
}

const rowsOf = <Row>(pages: readonly Page<Row>[]): Row[] => pages.flatMap(({ data }) => data);

/** The three ways to read a list. */
export function listOperations<Row extends Listing, Query extends { limit?: number; offset?: number | null }>(
  send: Send,
  path: string,
) {
  const reader =
    (filters: Filters<Query> | undefined, options: RequestOptions): PageReader<Row> =>
    async (offset, ifNoneMatch) => {
      const query = { limit: MAX_LIMIT, ...filters, offset };
      return (await send('GET', path, { query, options, ifNoneMatch })) as Page<Row> | undefined;
    };

  return {
    /** One page, with the total of all. */
    list: async (query?: Query, options: RequestOptions = {}): Promise<Page<Row>> =>
      (await send('GET', path, { query, options })) as Page<Row>,

    /** Every row, page after page. A row that changes meanwhile can come twice or be missed: see `snapshot`. */
    walk: (filters?: Filters<Query>, options: RequestOptions = {}): Walk<Row> => {
      const limit = (filters as { limit?: number } | undefined)?.limit ?? MAX_LIMIT;
      const pages = () => pagesOf(reader(filters, options), limit);
      return {
        pages,
        async *[Symbol.asyncIterator]() {
          for await (const { data } of pages()) yield* data;
        },
      };
    },

    /**
     * Every row once and none missed: repeats the walk until no row showed twice and the total stood still.
     * @throws UnsettledListError when the list changed during each of `passes` walks
     */
    snapshot: async (
      filters?: Filters<Query>,
      { previous, passes, ...options }: SnapshotOptions = {},
    ): Promise<Row[]> => {
      const limit = (filters as { limit?: number } | undefined)?.limit ?? MAX_LIMIT;
      const known = (previous && keptPages.get(previous)) as Kept<Row> | undefined;
      const kept: Kept<Row> = new Map(known);
      const read = reader(filters, options);
      const readAgain: PageReader<Row> = async (offset) => {
        const target = JSON.stringify([path, filters, offset]);
        const have = kept.get(target);
        const page = await read(offset, have?.etag);
        if (page === undefined) return have?.page;
        const etag = answerInfo(page)?.etag;
        if (etag !== undefined) kept.set(target, { etag, page });
        return page;
      };
      const rows = rowsOf(await settledPages(path, { walk: () => pagesOf(readAgain, limit), passes }));
      keptPages.set(rows, kept as Kept<never>);
      return rows;
    },
  };
}

/** What a list of records that change can be asked for beside that. */
export const changeOperations = <Row extends Listing>(send: Send, path: string) => ({
  /**
   * What changed since a moment, new rows too; everything, without one. Keep what it returns as `since` for the next call.
   * Rows that are gone do not come: take a `snapshot` now and then.
   * @throws UnsettledListError when the list changed during each of `passes` walks
   */
  changes: async (
    since?: string,
    { overlap = OVERLAP, passes, ...options }: ChangesOptions = {},
  ): Promise<Changes<Row>> => {
    const updatedSince = since && new Date(Date.parse(since) - overlap).toISOString();
    const read: PageReader<Row> = async (offset) =>
      (await send('GET', path, { query: { limit: MAX_LIMIT, updatedSince, offset }, options })) as Page<Row>;
    const pages = await settledPages(path, { walk: () => pagesOf(read, MAX_LIMIT), passes });
    return { rows: rowsOf(pages), since: momentOf(pages) ?? since };
  },
});
