import crypto, { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { newId } from '../../src/db/sql/ids.ts';
import { diskStorage, type FileStorage, storageKey } from '../../src/files/storage.ts';
import { collect, type OpenStorage, openDiskStorage, openS3Storage } from '../support/storages.ts';

const MIB = 1024 * 1024;

/** That many blocks of a MiB, and then perhaps a fault. */
async function* blocks(count: number, fault?: Error): AsyncIterable<Buffer> {
  for (let block = 0; block < count; block += 1) yield Buffer.alloc(MIB, block);
  if (fault) throw fault;
}

const keysOf = async (storage: FileStorage): Promise<string[]> =>
  (await collect(storage.list())).map(({ key }) => key).sort();

describe.each([
  ['disk', openDiskStorage],
  ['S3', openS3Storage],
])('the %s storage', (_name, open) => {
  let opened: OpenStorage;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  /** A key in an organization of its own, and what of the storage is that organization's. */
  const newKey = () => {
    const organizationId = newId();
    const attachmentId = newId();
    const stored = async () => (await keysOf(opened.storage)).filter((key) => key.startsWith(organizationId));
    return { organizationId, attachmentId, key: storageKey(organizationId, attachmentId), stored };
  };

  test.each([0, 1, 12])('stores %i MiB as they are sent and tells whose they are', async (size) => {
    const { organizationId, attachmentId, key } = newKey();
    const before = Date.now();
    await opened.storage.put(key, Readable.from(blocks(size)));
    const entry = (await collect(opened.storage.list())).find((stored) => stored.key === key);
    expect(entry).toEqual({ key, modifiedAt: expect.any(Date), file: { organizationId, attachmentId } });
    // Stores tell seconds.
    expect(entry?.modifiedAt.getTime()).toBeGreaterThanOrEqual(before - 1_000);
    // Not toEqual: it takes seconds to compare a MiB.
    expect((await opened.read(key)).equals(Buffer.concat(await collect(blocks(size))))).toBe(true);
  });

  test.each([1, 12])(
    'of a file whose source breaks or goes away after %i MiB nothing is kept',
    async (size) => {
      const { key, stored } = newKey();
      const broken = opened.storage.put(key, Readable.from(blocks(size, new Error('larger than 25 MiB'))));
      await expect(broken).rejects.toThrow('larger than 25 MiB');
      let left = size;
      const leaving = new Readable({
        read() {
          left -= 1;
          if (left < 0) this.destroy();
          else this.push(Buffer.alloc(MIB));
        },
      });
      await expect(opened.storage.put(key, leaving)).rejects.toThrow();
      expect([await stored(), await opened.leftovers()]).toEqual([[], []]);
    },
  );

  test('a file that breaks off leaves the one before it under its key', async () => {
    const { key } = newKey();
    await opened.storage.put(key, Readable.from([Buffer.from('the first')]));
    await expect(opened.storage.put(key, Readable.from(blocks(7, new Error('broken'))))).rejects.toThrow();
    expect(await opened.read(key)).toEqual(Buffer.from('the first'));
  });

  test('removes a file and leaves its neighbours; a missing one is no error', async () => {
    const { organizationId, key, stored } = newKey();
    const neighbour = storageKey(organizationId, newId());
    for (const each of [key, neighbour]) await opened.storage.put(each, Readable.from([Buffer.from('x')]));
    await opened.storage.remove(key);
    await opened.storage.remove(key);
    await opened.storage.remove(newKey().key);
    expect(await stored()).toEqual([neighbour]);
  });

  test('does not tell of what has another name than its own files', async () => {
    const { organizationId, key, stored } = newKey();
    await opened.storage.put(key, Readable.from([Buffer.from('x')]));
    for (const other of [
      `${organizationId}/notes.txt`,
      `${organizationId}/folder/x`,
      storageKey(organizationId, newId().toUpperCase()),
      'README',
      `${key}.jpg`,
    ]) {
      await opened.storage.put(other, Readable.from([Buffer.from('x')]));
    }
    expect(await stored()).toEqual([key]);
  });
});

test('a disk that cannot take a file makes the upload fail with a 503 and stops reading it', async () => {
  const content = Readable.from(blocks(2));
  // A file stands where the folder would have to be.
  const stored = diskStorage('/dev/null').put(storageKey(newId(), newId()), content);
  await expect(stored).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  expect(content.destroyed).toBe(true);
});

test.skipIf(!existsSync('/dev/full')).each([1, 12])(
  'a disk that is full makes the upload of %i MiB fail with a 503, stops reading it and keeps nothing',
  async (size) => {
    const root = await mkdtemp(join(tmpdir(), 'crm-storage-'));
    onTestFinished(() => rm(root, { recursive: true }));
    const [organizationId, partial] = [newId(), randomUUID()];
    const key = storageKey(organizationId, newId());
    await mkdir(join(root, organizationId));
    // What is written there finds no space, as on a full disk.
    await symlink('/dev/full', join(root, `${key}.${partial}.partial`));
    vi.spyOn(crypto, 'randomUUID').mockReturnValue(partial);
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    const content = Readable.from(blocks(size));
    await expect(diskStorage(root).put(key, content)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      cause: { code: 'ENOSPC' },
    });
    expect(content.destroyed).toBe(true);
    expect(await readdir(join(root, organizationId))).toEqual([]);
  },
);
