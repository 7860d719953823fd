import { mkdtemp, readdir, readFile, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scopeTo } from '../../src/db/index.ts';
import { openS3 } from '../../src/files/s3.ts';
import { diskStorage, type FileStorage, storedEntry } from '../../src/files/storage.ts';
import { startS3 } from './s3.ts';

/** An empty storage of either kind, with access to its internal state. */
export type OpenStorage = {
  storage: FileStorage;
  /** The content of a download. */
  read: (key: string) => Promise<Buffer>;
  /** Sets the file's timestamp. */
  age: (key: string, modifiedAt: Date) => Promise<void>;
  /** The remains of interrupted uploads. */
  leftovers: () => Promise<string[]>;
  close: () => Promise<void>;
};

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

export async function openDiskStorage(): Promise<OpenStorage> {
  const root = await mkdtemp(join(tmpdir(), 'crm-storage-'));
  return {
    storage: diskStorage(root),
    read: (key) => readFile(join(root, key)),
    age: (key, modifiedAt) => utimes(join(root, key), modifiedAt, modifiedAt),
    leftovers: async () =>
      (await readdir(root, { recursive: true })).filter((path) => path.endsWith('.partial')),
    close: () => rm(root, { recursive: true, force: true }),
  };
}

export async function openS3Storage(): Promise<OpenStorage> {
  const server = await startS3();
  const prefix = 'crm/production/';
  const s3 = await openS3({ ...server, prefix, ttlSeconds: 300 });
  return {
    storage: s3.storage,
    read: async (key) => {
      const file = storedEntry(key, new Date())?.file;
      if (!file) throw new Error(`${key} is not the key of a file.`);
      const scope = scopeTo({ for: () => ({}) as never }, file.organizationId);
      const attachment = { id: file.attachmentId, fileName: 'a.bin', mimeType: 'application/octet-stream' };
      const response = await fetch(await s3.links.sign(scope, attachment, Date.now()));
      if (!response.ok) throw new Error(`The download of ${key} returned ${response.status}.`);
      return Buffer.from(await response.arrayBuffer());
    },
    age: (key, modifiedAt) => server.age(prefix + key, modifiedAt),
    leftovers: server.openUploads,
    close: async () => {
      await s3.close();
      await server.close();
    },
  };
}
