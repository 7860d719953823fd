import { randomUUID } from 'node:crypto';
import { mkdir, open, opendir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { serviceUnavailable } from '../contract/errors.ts';
import { UUID } from '../contract/fields.ts';
import type { LinkedFile } from './links.ts';

/** Where the bytes of attachments are kept. Keys are `organizationId/attachmentId`. */
export type FileStorage = {
  /**
   * Stores the whole stream under the key, or nothing.
   * @throws the error of the stream; SERVICE_UNAVAILABLE when the storage failed
   */
  put: (key: string, content: Readable) => Promise<void>;
  /** Removes the file. A missing file is no error. */
  remove: (key: string) => Promise<void>;
  /**
   * All stored files, of one organization or of this service, in no order. A file with another kind of name is not ours, and is
   * left out.
   */
  list: (organizationId?: string) => AsyncIterable<StoredEntry>;
};

export type StoredEntry = {
  key: string;
  modifiedAt: Date;
  /** Undefined for a part of an upload that did not end. */
  file: LinkedFile | undefined;
};

export const storageKey = (organizationId: string, attachmentId: string): string =>
  `${organizationId}/${attachmentId}`;

const FOLDER = new RegExp(`^${UUID}$`);
const KEY = new RegExp(`^(${UUID})/(${UUID})(\\.${UUID}\\.partial)?$`);

/** The entry of a stored key. Undefined for a key that is not ours. */
export function storedEntry(key: string, modifiedAt: Date): StoredEntry | undefined {
  // Ids are in lower case. On most disks and in S3, upper case names another file.
  const [, organizationId, attachmentId, partial] = (key === key.toLowerCase() && KEY.exec(key)) || [];
  if (organizationId === undefined || attachmentId === undefined) return undefined;
  return { key, modifiedAt, file: partial === undefined ? { organizationId, attachmentId } : undefined };
}

/** Stores a stream. A fault of the stream is thrown as it is; a fault of the storage becomes a 503. */
export async function storing(content: Readable, work: () => Promise<unknown>): Promise<void> {
  let broken: Error | undefined;
  content.once('error', (error) => {
    broken = error;
  });
  await work().catch((error) => {
    throw error === broken ? error : serviceUnavailable(error);
  });
}

/** Files in a folder. A file gets its name only when all of it is on the disk. */
export const diskStorage = (root: string): FileStorage => ({
  put: (key, content) =>
    storing(content, async () => {
      const path = join(root, key);
      const partial = `${path}.${randomUUID()}.partial`;
      try {
        await mkdir(dirname(path), { recursive: true });
        // Not a pipeline: when the disk fails, that ends the stream with the disk's error, as if it were the client's fault.
        await writeFile(partial, content, { flush: true, mode: 0o600 });
        await rename(partial, path);
        // The names too are on the disk before anybody is told of the file.
        for (const folder of [dirname(path), root]) await syncFolder(folder);
      } catch (error) {
        content.destroy();
        await rm(partial, { force: true }).catch(() => undefined);
        throw error;
      }
    }),
  async remove(key) {
    await rm(join(root, key), { force: true });
  },
  async *list(organizationId) {
    for await (const folder of organizationId === undefined ? namesIn(root) : [organizationId]) {
      if (!FOLDER.test(folder)) continue;
      for await (const name of namesIn(join(root, folder))) {
        const found = await stat(join(root, folder, name)).catch(unlessMissing);
        const entry = found && storedEntry(`${folder}/${name}`, found.mtime);
        if (entry) yield entry;
      }
    }
  },
});

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  await folder.sync().finally(() => folder.close());
}

/** For reading: files and folders may be removed in the meantime. */
function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
}

async function* namesIn(folder: string): AsyncIterable<string> {
  for await (const { name } of (await opendir(folder).catch(unlessMissing)) ?? []) yield name;
}
