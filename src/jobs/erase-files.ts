import type { FileStorage } from '../files/storage.ts';
import { erasedFilesAfter, removeErasedFiles } from '../person/erased-files.repository.ts';
import { inOrderOfKeys, type JobContext } from './context.ts';

/** Removes files of erased customers that could not be removed at once. A file that fails again is retried in the next run. */
export async function eraseFiles(
  context: JobContext & { storage: FileStorage },
): Promise<{ erasedFiles: number }> {
  const { db, storage, logger } = context;
  const done = { erasedFiles: 0 };
  let left = 0;
  await inOrderOfKeys(context, 200, erasedFilesAfter, async (files) => {
    const removed = await removeErasedFiles(db, storage, files, logger);
    done.erasedFiles += removed;
    left += files.length - removed;
  });
  if (done.erasedFiles + left > 0) logger.info({ ...done, left }, 'removed files of erased customers');
  return done;
}
