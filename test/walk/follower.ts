import { expect } from 'vitest';
import type { Agency, Service } from '../support/service.ts';

type Fields = { [name: string]: unknown; id: string };

/** A copy of what /v1 has, kept as docs/guide/syncing.md says: by `updatedSince`, and `ids` for what is gone. */

const LISTS = ['catalog/products', 'customers', 'opportunities', 'conversations', 'quotes'];

/** Names of other records: a change of these is read once a day. */
const NAMES = ['customerName', 'sellerName'];

export function followerOf(service: Pick<Service, 'query'>, agency: Agency) {
  const copies = new Map(LISTS.map((list) => [list, new Map<string, Fields>()]));
  const transcripts = new Map<string, unknown>();
  let since: string | undefined;

  /** A walk makes fewer records than a page has. */
  async function read(list: string, query: Record<string, string> = {}): Promise<Fields[]> {
    const page = new URLSearchParams({ ...query, limit: '100' });
    const { data, pagination } = (await agency.get(`/v1/${list}?${page}`)).body;
    expect(data).toHaveLength(pagination.total);
    return data;
  }

  async function transcriptOf(id: string): Promise<unknown> {
    const { body } = await agency.get(`/v1/conversations/${id}/messages?limit=200`);
    expect(body.data).toHaveLength(body.total);
    return body;
  }

  async function follow(): Promise<void> {
    // Nobody writes meanwhile, so that the copy needs no overlap.
    const [clock] = await service.query<{ now: string }>(
      `select to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now`,
    );
    for (const [list, copy] of copies)
      for (const record of await read(list, since === undefined ? {} : { updatedSince: since })) {
        copy.set(record.id, record);
        if (list === 'conversations') transcripts.set(record.id, await transcriptOf(record.id));
      }
    since = clock?.now;
  }

  const withoutNames = (record: Fields) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !NAMES.includes(name)));
  const byId = (records: Iterable<Fields>) =>
    Object.fromEntries([...records].map((one) => [one.id, withoutNames(one)]));

  async function compare(): Promise<void> {
    await follow();
    for (const [list, copy] of copies) {
      const ids = [...copy.keys()].join();
      const there = byId(ids === '' ? [] : await read(list, { ids }));
      const kept = [...copy.values()].filter(({ id }) => id in there);
      expect(byId(kept), `the copy of ${list}`).toEqual(byId(await read(list)));
    }
    for (const { id } of await read('conversations'))
      expect(transcripts.get(id), `the copy of transcript ${id}`).toEqual(await transcriptOf(id));
  }

  return { follow, compare };
}
