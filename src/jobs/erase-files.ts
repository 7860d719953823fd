import type { FileStorage } from '../files/storage.ts';
import { erasedFilesAfter, NO_FILE, removeErasedFiles } from '../person/erased-files.repository.ts';
import { inBatches, type JobContext } from './context.ts';

/** Removes files of erased customers that could not be removed at once. A file that fails again is retried in the next run. */
export async function eraseFiles(
  context: JobContext & { storage: FileStorage },
): Promise<{ erasedFiles: number }> {
  const { db, storage, logger } = context;
  const done = { erasedFiles: 0 };
  let [left, last] = [0, NO_FILE];
  await inBatches(context, 200, async (limit) => {
    const batch = await erasedFilesAfter(db, last, limit);
    const removed = await removeErasedFiles(db, storage, batch, logger);
    done.erasedFiles += removed;
    left += batch.length - removed;
    last = batch.at(-1) ?? last;
    return batch.length;
  });
  if (done.erasedFiles + left > 0) logger.info({ ...done, left }, 'removed files of erased customers');
  return done;
}
