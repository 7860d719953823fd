import { randomUUID } from 'node:crypto';
import { mkdir, open, opendir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { serviceUnavailable } from '../contract/errors.ts';
import { UUID } from '../contract/fields.ts';
import { isId } from '../db/index.ts';

/** Stores the bytes of attachments. Keys are `organizationId/attachmentId`. */
export type FileStorage = {
  /**
   * Stores the whole stream under the key, or nothing.
   * @throws the error of the stream; SERVICE_UNAVAILABLE if the storage failed
   */
  put: (key: string, content: Readable) => Promise<void>;
  remove: (key: string) => Promise<void>;
  /** All files, or those of one organization, in no order. Files with other names are omitted: they are not ours. */
  list: (organizationId?: string) => AsyncIterable<StoredEntry>;
};

export const storageKey = (organizationId: string, attachmentId: string): string =>
  `${organizationId}/${attachmentId}`;

const KEY = new RegExp(`^(${UUID})/(${UUID})(\\.${UUID}\\.partial)?$`);

export function storedEntry(key: string, modifiedAt: Date) {
  // Ids are in lower case; on most file systems and in S3, upper case is another file.
  const [, organizationId, attachmentId, partial] = (key === key.toLowerCase() && KEY.exec(key)) || [];
  if (organizationId === undefined || attachmentId === undefined) return undefined;
  return { key, modifiedAt, file: partial === undefined ? { organizationId, attachmentId } : undefined };
}

/** `file` is undefined for an upload that was not completed. */
type StoredEntry = NonNullable<ReturnType<typeof storedEntry>>;

/** Runs `work`, which reads the stream. Throws an error of the stream unchanged; any other error becomes a 503. */
export async function storing(content: Readable, work: () => Promise<unknown>): Promise<void> {
  let broken: Error | undefined;
  content.once('error', (error) => {
    broken = error;
  });
  await work().catch((error) => {
    throw error === broken ? error : serviceUnavailable(error);
  });
}

export const diskStorage = (root: string): FileStorage => ({
  put: (key, content) =>
    storing(content, async () => {
      const path = join(root, key);
      const partial = `${path}.${randomUUID()}.partial`;
      try {
        await mkdir(dirname(path), { recursive: true });
        // Not a pipeline, which would destroy the stream with the disk's error, as if the client had failed.
        await writeFile(partial, content, { flush: true, mode: 0o600 });
        await rename(partial, path);
        // Sync the folders, so that the rename survives a crash.
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
      if (!isId(folder)) continue;
      for await (const name of namesIn(join(root, folder))) {
        const found = await stat(join(root, folder, name)).catch(unlessNotFound);
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

/** Files and folders can be removed while they are listed. */
function unlessNotFound(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
}

async function* namesIn(folder: string): AsyncIterable<string> {
  for await (const { name } of (await opendir(folder).catch(unlessNotFound)) ?? []) yield name;
}
