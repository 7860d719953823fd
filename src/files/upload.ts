import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../contract/errors.ts';
import { newId } from '../db/index.ts';
import { type FileStorage, storageKey } from './storage.ts';

const MAX_FILE_BYTES = 25 * 1024 * 1024;

/**
 * Streams a file to the storage. The returned id is that of the future attachment.
 * @throws PAYLOAD_TOO_LARGE; then nothing is stored
 */
export async function storeFile(storage: FileStorage, organizationId: string, content: Readable) {
  const id = newId();
  const hash = createHash('sha256');
  let sizeBytes = 0;
  async function* measured() {
    for await (const chunk of content as AsyncIterable<Buffer>) {
      sizeBytes += chunk.length;
      hash.update(chunk);
      if (sizeBytes > MAX_FILE_BYTES)
        throw new ApiError('PAYLOAD_TOO_LARGE', { part: 'file', limit: `${MAX_FILE_BYTES / 2 ** 20} MiB` });
      yield chunk;
    }
  }
  await storage.put(storageKey(organizationId, id), Readable.from(measured(), { objectMode: false }));
  return { id, sizeBytes, sha256: hash.digest('hex') };
}
export type StoredFile = Awaited<ReturnType<typeof storeFile>>;

/** Removes a file without an attachment. If the storage fails, a job removes it later. */
export const removeFile = ({ scope, log }: FastifyRequest, storage: FileStorage, id: string): Promise<void> =>
  storage
    .remove(storageKey(scope.organizationId, id))
    .catch((err: unknown) =>
      log.warn({ err, attachmentId: id }, 'a file without an attachment stays until the next sweep'),
    );
