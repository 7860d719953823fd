import { and, eq } from 'drizzle-orm';
import type { FastifyBaseLogger } from 'fastify';
import {
  as,
  type Batch,
  erasedFiles,
  isId,
  keyIs,
  type OrganizationScope,
  ofOrganization,
  type Params,
  type Queries,
  qb,
  type RecordKey,
  rowsAfter,
  unprepared,
} from '../db/index.ts';
import { type FileStorage, storageKey } from '../files/storage.ts';

/** The files of erased customers. A row stays until the storage has removed its file. */

const { organizationId, id } = erasedFiles;
const file = { organizationId, id };

const ofCustomerStatement = unprepared('erased_files.of_customer', ($: Params<RecordKey>) =>
  qb
    .select(as(file))
    .from(erasedFiles)
    .where(and(ofOrganization(erasedFiles, $), eq(erasedFiles.customerId, $.id))),
);

export const filesOfCustomer = async (
  { db, organizationId }: OrganizationScope,
  id: string,
): Promise<RecordKey[]> => (isId(id) ? db.read(ofCustomerStatement, { organizationId, id }) : []);

/** Files of all organizations that the storage still has. */
export const erasedFilesAfter = unprepared('erased_files.due', ($: Params<Batch>) =>
  rowsAfter(erasedFiles, file, $),
);

const forgetStatement = unprepared('erased_files.forget', ($: Params<RecordKey>) =>
  qb.delete(erasedFiles).where(keyIs(erasedFiles, $)),
);

/**
 * Removes the files. A file that the storage fails to remove stays for the next run of the job.
 * @returns the number of removed files
 */
export async function removeErasedFiles(
  db: Queries,
  storage: FileStorage,
  files: readonly RecordKey[],
  logger: FastifyBaseLogger,
): Promise<number> {
  let removed = 0;
  for (const { organizationId, id } of files) {
    try {
      await storage.remove(storageKey(organizationId, id));
    } catch (err) {
      logger.warn({ err, organizationId, attachmentId: id }, 'a file of an erased customer stays for now');
      continue;
    }
    await db.write(forgetStatement, { organizationId, id });
    removed += 1;
  }
  return removed;
}
