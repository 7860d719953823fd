import { type SQL, sql } from 'drizzle-orm';
import type { FastifyBaseLogger } from 'fastify';
import {
  erasedFiles,
  isId,
  type OrganizationScope,
  type Params,
  type Queries,
  type RecordKey,
  unprepared,
} from '../db/index.ts';
import { type FileStorage, storageKey } from '../files/storage.ts';

/** The files of erased customers. A row stays until the storage has removed its file. */

type ErasedFile = { organizationId: string; id: string };

const file = sql`${erasedFiles.organizationId} as "organizationId", ${erasedFiles.id}`;

const ofCustomerStatement = unprepared(
  'erased_files.of_customer',
  ($: Params<RecordKey>): SQL<ErasedFile> => sql`
    select ${file} from ${erasedFiles}
    where ${erasedFiles.organizationId} = ${$.organizationId} and ${erasedFiles.customerId} = ${$.id}`,
);

export const filesOfCustomer = async (
  { db, organizationId }: OrganizationScope,
  id: string,
): Promise<ErasedFile[]> => (isId(id) ? db.read(ofCustomerStatement, { organizationId, id }) : []);

const dueStatement = unprepared(
  'erased_files.due',
  ($: Params<ErasedFile & { limit: number }>): SQL<ErasedFile> => sql`
    select ${file} from ${erasedFiles}
    where (${erasedFiles.organizationId}, ${erasedFiles.id}) > (${$.organizationId}::uuid, ${$.id}::uuid)
    order by ${erasedFiles.organizationId}, ${erasedFiles.id} limit ${$.limit}`,
);

/** Sorts before every file. */
export const NO_FILE: ErasedFile = {
  organizationId: '00000000-0000-0000-0000-000000000000',
  id: '00000000-0000-0000-0000-000000000000',
};

/** Files of all organizations that the storage still has, by key. */
export const erasedFilesAfter = (db: Queries, last: ErasedFile, limit: number): Promise<ErasedFile[]> =>
  db.read(dueStatement, { ...last, limit });

const forgetStatement = unprepared(
  'erased_files.forget',
  ($: Params<ErasedFile>) => sql`
    delete from ${erasedFiles}
    where ${erasedFiles.organizationId} = ${$.organizationId} and ${erasedFiles.id} = ${$.id}`,
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
