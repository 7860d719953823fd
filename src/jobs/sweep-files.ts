import { databaseNow } from '../db/index.ts';
import { type FileStorage, storageKey } from '../files/storage.ts';
import { orphanedFiles } from '../quotes/attachments.repository.ts';
import type { JobContext } from './context.ts';

/** A file is stored before its row is written, so a young file, by either clock, may still get its row. */
export const ORPHAN_AGE_MS = 24 * 60 * 60 * 1_000;

async function* batches<Item>(items: AsyncIterable<Item>, size: number): AsyncIterable<Item[]> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Removes files of uploads that failed before their row was written. */
export async function sweepFiles(context: JobContext & { storage: FileStorage }) {
  const { db, storage, logger, batchSize = 500, signal } = context;
  const now = Math.min(Date.now(), await databaseNow(db));
  const swept = { files: 0 };
  for await (const batch of batches(storage.list(), batchSize)) {
    if (signal?.aborted) break;
    const old = batch.filter(({ modifiedAt }) => modifiedAt.getTime() < now - ORPHAN_AGE_MS);
    const unfinished = old.filter(({ file }) => file === undefined).map(({ key }) => key);
    const completed = old.flatMap(({ file }) => file ?? []);
    const orphans = await orphanedFiles(db, completed);
    const orphaned = orphans.map(({ organizationId, attachmentId }) =>
      storageKey(organizationId, attachmentId),
    );
    for (const key of [...unfinished, ...orphaned]) {
      await storage.remove(key);
      logger.info({ file: key }, 'removed a file without an attachment');
      swept.files += 1;
    }
  }
  return swept;
}
