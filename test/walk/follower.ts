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

  async function walk(list: string, query: Record<string, string>): Promise<Fields[]> {
    const found: Fields[] = [];
    for (;;) {
      const page = new URLSearchParams({ ...query, limit: '100', offset: String(found.length) });
      const { data, pagination } = (await agency.get(`/v1/${list}?${page}`)).body;
      found.push(...data);
      if (found.length >= pagination.total) return found;
    }
  }

  async function transcriptOf(id: string): Promise<unknown> {
    const path = `/v1/conversations/${id}/messages?limit=200`;
    let { data, total } = (await agency.get(path)).body;
    while (data.length < total)
      data = [...(await agency.get(`${path}&before=${data[0].id}`)).body.data, ...data];
    return { data, total };
  }

  /** Reads what has changed since the last call. */
  async function follow(): Promise<void> {
    // Nobody writes meanwhile, so that the copy needs no overlap.
    const [clock] = await service.query<{ now: string }>(
      `select to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now`,
    );
    for (const [list, copy] of copies)
      for (const record of await walk(list, since === undefined ? {} : { updatedSince: since })) {
        copy.set(record.id, record);
        if (list === 'conversations') transcripts.set(record.id, await transcriptOf(record.id));
      }
    since = clock?.now;
  }

  const withoutNames = (record: Fields) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !NAMES.includes(name)));
  const byId = (records: Iterable<Fields>) =>
    Object.fromEntries([...records].map((one) => [one.id, withoutNames(one)]));

  /** Compares the copy with every list and every transcript. */
  async function compare(): Promise<void> {
    await follow();
    for (const [list, copy] of copies) {
      const ids = [...copy.keys()];
      const there = new Set<string>();
      for (let start = 0; start < ids.length; start += 100)
        for (const { id } of await walk(list, { ids: ids.slice(start, start + 100).join(',') }))
          there.add(id);
      const kept = [...copy.values()].filter(({ id }) => there.has(id));
      expect(byId(kept), `the copy of ${list}`).toEqual(byId(await walk(list, {})));
    }
    for (const { id } of await walk('conversations', {}))
      expect(transcripts.get(id), `the copy of transcript ${id}`).toEqual(await transcriptOf(id));
  }

  return { follow, compare };
}
