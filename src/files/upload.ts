import { Readable } from 'node:stream';
import { ApiError } from '../errors.ts';
import { type FileStorage, storageKey } from './storage.ts';

/** The largest file that is taken, in bytes. */
const MAX_FILE_BYTES = 25 * 1024 * 1024;

/** Passes bytes on and counts them; fails as soon as there are too many. */
async function* counting(content: Readable, count: { bytes: number }): AsyncGenerator<Buffer> {
  for await (const chunk of content as AsyncIterable<Buffer>) {
    count.bytes += chunk.length;
    if (count.bytes > MAX_FILE_BYTES) {
      throw new ApiError('PAYLOAD_TOO_LARGE', `The file is larger than ${MAX_FILE_BYTES} bytes.`);
    }
    yield chunk;
  }
}

/**
 * Streams a file to the storage under the id of an attachment.
 * @returns its size in bytes
 * @throws PAYLOAD_TOO_LARGE as soon as it is too large; nothing is stored then
 */
export async function storeFile(
  storage: FileStorage,
  organizationId: string,
  attachmentId: string,
  content: Readable,
): Promise<number> {
  const count = { bytes: 0 };
  const counted = Readable.from(counting(content, count), { objectMode: false });
  await storage.put(storageKey(organizationId, attachmentId), counted);
  return count.bytes;
}
