import { randomUUID } from 'node:crypto';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, expect, test } from 'vitest';
import { newId } from '../../src/db/index.ts';
import { diskStorage, type FileStorage, storageKey } from '../../src/files/storage.ts';
import { createLogger } from '../../src/http/logging.ts';
import type { JobContext } from '../../src/jobs/context.ts';
import { ORPHAN_AGE_MS, sweepFiles } from '../../src/jobs/sweep-files.ts';
import { useDashboard } from '../support/dashboard.ts';
import { newFolder } from '../support/folder.ts';
import { ownLog } from '../support/instance.ts';
import * as records from '../support/records.ts';
import type { Agency } from '../support/service.ts';

const NOW = Date.now();
const OLD = ORPHAN_AGE_MS + 60_000;
const silent = createLogger('silent');
const { service, dashboard } = await useDashboard();

let root: string;
let storage: FileStorage;
beforeEach(async () => {
  root = await newFolder();
  storage = diskStorage(root);
});

const stored = async () => (await Array.fromAsync(storage.list())).map(({ key }) => key).sort();

async function file(key: string, age = OLD): Promise<string> {
  await storage.put(key, Readable.from([Buffer.from('x')]));
  await utimes(join(root, key), NOW / 1_000, (NOW - age) / 1_000);
  return key;
}

async function attachment(agency: Agency) {
  const { id: quoteId } = await records.quote(agency);
  const fields = { fileName: 'planted-name.pdf' };
  const { stored } = await records.attachment(agency, storage, quoteId, fields);
  const key = storageKey(agency.id, stored.id);
  await utimes(join(root, key), NOW / 1_000, (NOW - OLD) / 1_000);
  return { key, quoteId, id: stored.id };
}

const sweep = (options: Partial<JobContext> = {}) =>
  sweepFiles({ db: service.db, storage, logger: silent, ...options });

test('removes files that are older than a day and have no attachment, and logs their ids', async () => {
  const [agency, neighbour] = [await service.agency(), await service.agency()];
  const attached = await attachment(agency);
  const ofNeighbour = await attachment(neighbour);
  const ofArchivedQuote = await attachment(agency);
  await dashboard.of(agency).delete(`/quotes/${ofArchivedQuote.quoteId}`);
  const removed = [
    // The attachment with this id is the neighbour's.
    await file(storageKey(agency.id, ofNeighbour.id)),
    await file(storageKey(agency.id, newId())),
    await file(`${storageKey(agency.id, newId())}.${randomUUID()}.partial`),
  ];
  const retained = [
    ...[attached, ofNeighbour, ofArchivedQuote].map(({ key }) => key),
    await file(storageKey(agency.id, newId()), ORPHAN_AGE_MS - 60_000),
    // Of another database.
    await file(storageKey(newId(), newId())),
    await file(`${storageKey(agency.id, newId())}.${randomUUID()}.partial`, 60_000),
  ];
  const { logger, lines } = ownLog();
  expect(await sweep({ logger })).toEqual({ files: 3 });
  expect(await stored()).toEqual(retained.sort());
  expect(lines.map(({ file }) => file).sort()).toEqual(removed.sort());
  expect(JSON.stringify(lines)).not.toContain('planted');
});

test('works in batches, and the next run resumes a stopped one', async () => {
  const agency = await service.agency();
  for (let count = 0; count < 5; count += 1) await file(storageKey(agency.id, newId()));
  const stop = new AbortController();
  const { logger } = ownLog('info', () => stop.abort());
  expect(await sweep({ batchSize: 2, logger, signal: stop.signal })).toEqual({ files: 2 });
  expect(await stored()).toHaveLength(3);
  expect(await sweep({ batchSize: 2 })).toEqual({ files: 3 });
  expect(await stored()).toEqual([]);
});
