import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ApiError } from '../errors.ts';
import { type FileStorage, storageKey } from './storage.ts';

/** The largest file that is taken, in bytes. */
const MAX_FILE_BYTES = 25 * 1024 * 1024;

/** Passes bytes on, counts and hashes them. It fails at the first byte too many. */
async function* measuring(
  content: Readable,
  measured: { bytes: number; hash: Hash },
): AsyncGenerator<Buffer> {
  for await (const chunk of content as AsyncIterable<Buffer>) {
    measured.bytes += chunk.length;
    measured.hash.update(chunk);
    if (measured.bytes > MAX_FILE_BYTES) {
      throw new ApiError('PAYLOAD_TOO_LARGE', `The file is larger than ${MAX_FILE_BYTES} bytes.`);
    }
    yield chunk;
  }
}

/**
 * Streams a file to the storage under the id of an attachment.
 * @returns its size in bytes, and its SHA-256 in hexadecimal digits
 * @throws PAYLOAD_TOO_LARGE as soon as it is too large; nothing is stored then
 */
export async function storeFile(
  storage: FileStorage,
  organizationId: string,
  attachmentId: string,
  content: Readable,
): Promise<{ sizeBytes: number; sha256: string }> {
  const measured = { bytes: 0, hash: createHash('sha256') };
  const passing = Readable.from(measuring(content, measured), { objectMode: false });
  await storage.put(storageKey(organizationId, attachmentId), passing);
  return { sizeBytes: measured.bytes, sha256: measured.hash.digest('hex') };
}
