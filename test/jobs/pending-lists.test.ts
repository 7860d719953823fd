import { expect, inject, onTestFinished, test } from 'vitest';
import { createLogger } from '../../src/http/logging.ts';
import { keepPendingListsShort } from '../../src/jobs/pending-lists.ts';
import { administer } from '../support/databases.ts';
import { customer } from '../support/records.ts';
import { useService } from '../support/service.ts';

const service = useService();

/** The pages of the pending list, which a search of customers reads beside the index. */
const pendingPages = (): Promise<number> =>
  administer(service.ownerUrl, async (client) => {
    await client.query('create extension if not exists pgstattuple');
    const { rows } = await client.query(
      "select pending_pages from pgstatginindex('searchable_customers_search_idx')",
    );
    return rows[0].pending_pages;
  });

// On a cluster the indexes are on other servers: docs/cluster.md.
test.skipIf(inject('workerUrls').length > 0)(
  'while an instance writes, the pending lists of the search indexes are flushed',
  async () => {
    const agency = await service.agency();
    await customer(agency);
    expect(await pendingPages()).toBeGreaterThan(0);
    const lists = keepPendingListsShort({ db: service.db, logger: createLogger('silent'), every: 1 });
    onTestFinished(lists.stop);
    await customer(agency);
    await expect.poll(pendingPages).toBe(0);
  },
);

test('several failures in a row are one line in the log', async () => {
  const lines: string[] = [];
  let writes = 0;
  const stats = () => {
    writes += 1;
    return { ...service.db.stats(), written: writes };
  };
  const write = () => Promise.reject(new Error('rejected'));
  const lists = keepPendingListsShort({
    db: { ...service.db, stats, write },
    logger: createLogger('info', { write: (line: string) => lines.push(line) }),
    every: 1,
  });
  await expect.poll(() => writes).toBeGreaterThan(20);
  await lists.stop();
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
    'the pending lists of the search indexes were not emptied',
  ]);
});
