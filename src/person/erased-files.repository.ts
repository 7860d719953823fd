import { and, eq } from 'drizzle-orm';
import type { FastifyBaseLogger } from 'fastify';
import {
  as,
  erasedFiles,
  isId,
  keyAfter,
  keyIs,
  type OrganizationScope,
  ofOrganization,
  type Params,
  type Queries,
  qb,
  type RecordKey,
  unprepared,
} from '../db/index.ts';
import { type FileStorage, storageKey } from '../files/storage.ts';

/** The files of erased customers. A row stays until the storage has removed its file. */

type ErasedFile = { organizationId: string; id: string };

const file = as({ organizationId: erasedFiles.organizationId, id: erasedFiles.id });

const ofCustomerStatement = unprepared('erased_files.of_customer', ($: Params<RecordKey>) =>
  qb
    .select(file)
    .from(erasedFiles)
    .where(and(ofOrganization(erasedFiles, $), eq(erasedFiles.customerId, $.id))),
);

export const filesOfCustomer = async (
  { db, organizationId }: OrganizationScope,
  id: string,
): Promise<ErasedFile[]> => (isId(id) ? db.read(ofCustomerStatement, { organizationId, id }) : []);

const dueStatement = unprepared('erased_files.due', ($: Params<ErasedFile & { limit: number }>) =>
  qb
    .select(file)
    .from(erasedFiles)
    .where(keyAfter(erasedFiles, $))
    .orderBy(erasedFiles.organizationId, erasedFiles.id)
    .limit($.limit),
);

/** Sorts before every file. */
export const NO_FILE: ErasedFile = {
  organizationId: '00000000-0000-0000-0000-000000000000',
  id: '00000000-0000-0000-0000-000000000000',
};

/** Files of all organizations that the storage still has, by key. */
export const erasedFilesAfter = (db: Queries, last: ErasedFile, limit: number): Promise<ErasedFile[]> =>
  db.read(dueStatement, { ...last, limit });

const forgetStatement = unprepared('erased_files.forget', ($: Params<ErasedFile>) =>
  qb.delete(erasedFiles).where(keyIs(erasedFiles, $)),
);

/**
 * Removes the files. A file that the storage fails to remove stays for the next run of the job.
 * @returns the number of removed files
 */
export async function removeErasedFiles(
  db: Queries,
  storage: FileStorage,
  files: readonly ErasedFile[],
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
