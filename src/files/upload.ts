import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../contract/errors.ts';
import { newId } from '../db/index.ts';
import { type FileStorage, storageKey } from './storage.ts';

const MAX_FILE_BYTES = 25 * 1024 * 1024;

async function* measuring(content: Readable, measured: { bytes: number; hash: Hash }) {
  for await (const chunk of content as AsyncIterable<Buffer>) {
    measured.bytes += chunk.length;
    measured.hash.update(chunk);
    if (measured.bytes > MAX_FILE_BYTES) {
      throw new ApiError('PAYLOAD_TOO_LARGE', { part: 'file', limit: `${MAX_FILE_BYTES / 2 ** 20} MiB` });
    }
    yield chunk;
  }
}

/**
 * Streams a file to the storage. The returned id is that of the future attachment.
 * @throws PAYLOAD_TOO_LARGE; then nothing is stored
 */
export async function storeFile(storage: FileStorage, organizationId: string, content: Readable) {
  const id = newId();
  const measured = { bytes: 0, hash: createHash('sha256') };
  const passing = Readable.from(measuring(content, measured), { objectMode: false });
  await storage.put(storageKey(organizationId, id), passing);
  return { id, sizeBytes: measured.bytes, sha256: measured.hash.digest('hex') };
}

export type StoredFile = Awaited<ReturnType<typeof storeFile>>;

/** Removes a file without an attachment. If the storage fails, a job removes it later. */
export const removeFile = ({ scope, log }: FastifyRequest, storage: FileStorage, id: string): Promise<void> =>
  storage
    .remove(storageKey(scope.organizationId, id))
    .catch((err: unknown) =>
      log.warn({ err, attachmentId: id }, 'a file without an attachment stays until the next sweep'),
    );
