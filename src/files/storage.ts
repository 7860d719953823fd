import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Where the bytes of attachments are kept. Keys are `organizationId/attachmentId`. */
export type FileStorage = {
  /** Stores the whole stream under the key, or nothing at all. */
  put: (key: string, content: Readable) => Promise<void>;
  /** Removes the file; a missing one is no error. */
  remove: (key: string) => Promise<void>;
};

export const storageKey = (organizationId: string, attachmentId: string): string =>
  `${organizationId}/${attachmentId}`;

/** Files in a folder. A file appears under its name only when all of it is on the disk. */
export const diskStorage = (root: string): FileStorage => ({
  async put(key, content) {
    const path = join(root, key);
    await mkdir(dirname(path), { recursive: true });
    const partial = `${path}.${randomUUID()}.partial`;
    try {
      await pipeline(content, createWriteStream(partial, { flush: true, mode: 0o600 }));
      await rename(partial, path);
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
  },
  async remove(key) {
    await rm(join(root, key), { force: true });
  },
});
