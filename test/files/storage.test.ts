import crypto, { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open as openFile, readdir, rm, symlink } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { newId } from '../../src/db/index.ts';
import { diskStorage, storageKey } from '../../src/files/storage.ts';
import { collect, type OpenStorage, openDiskStorage, openS3Storage } from '../support/storages.ts';

const MIB = 1024 * 1024;

/** Blocks of a MiB, and then the error. */
async function* blocks(count: number, error?: Error): AsyncIterable<Buffer> {
  for (let block = 0; block < count; block += 1) yield Buffer.alloc(MIB, block);
  if (error) throw error;
}

const small = (text = 'x') => Readable.from([Buffer.from(text)]);

describe.each([
  ['disk', openDiskStorage],
  ['S3', openS3Storage],
])('the %s storage', (_name, open) => {
  let opened: OpenStorage;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  /** A key in a new organization, and the stored keys of that organization. */
  function newKey() {
    const [organizationId, attachmentId] = [newId(), newId()];
    const stored = async () => {
      const keys = (await collect(opened.storage.list())).map(({ key }) => key);
      return keys.filter((key) => key.startsWith(organizationId));
    };
    return { organizationId, attachmentId, key: storageKey(organizationId, attachmentId), stored };
  }

  test.each([0, 12])('stores %i MiB, and lists the file with its ids and its date', async (size) => {
    const { organizationId, attachmentId, key } = newKey();
    const before = Date.now();
    await opened.storage.put(key, Readable.from(blocks(size)));
    const entry = (await collect(opened.storage.list())).find((stored) => stored.key === key);
    expect(entry).toEqual({ key, modifiedAt: expect.any(Date), file: { organizationId, attachmentId } });
    // S3 rounds dates to seconds.
    expect(entry?.modifiedAt.getTime()).toBeGreaterThanOrEqual(before - 1_000);
    // Not toEqual, which takes seconds for a MiB.
    expect((await opened.read(key)).equals(Buffer.concat(await collect(blocks(size))))).toBe(true);
  });

  test.each([1, 12])('stores nothing of an upload that fails after %i MiB', async (size) => {
    const { key, stored } = newKey();
    const failing = Readable.from(blocks(size, new Error('larger than 25 MiB')));
    await expect(opened.storage.put(key, failing)).rejects.toThrow('larger than 25 MiB');
    expect([await stored(), await opened.leftovers()]).toEqual([[], []]);
  });

  test('stores nothing of an upload whose client disconnects', async () => {
    const { key, stored } = newKey();
    const disconnecting = new Readable({ read: () => undefined });
    disconnecting.push(Buffer.alloc(MIB));
    setImmediate(() => disconnecting.destroy());
    await expect(opened.storage.put(key, disconnecting)).rejects.toThrow();
    expect([await stored(), await opened.leftovers()]).toEqual([[], []]);
  });

  test('a failed upload does not change the file under the same key', async () => {
    const { key } = newKey();
    await opened.storage.put(key, small('the first'));
    await expect(opened.storage.put(key, Readable.from(blocks(7, new Error('broken'))))).rejects.toThrow();
    expect(await opened.read(key)).toEqual(Buffer.from('the first'));
  });

  test('removes one file; to remove a file that does not exist is no error', async () => {
    const { organizationId, key, stored } = newKey();
    const neighbour = storageKey(organizationId, newId());
    for (const each of [key, neighbour]) await opened.storage.put(each, small());
    await opened.storage.remove(key);
    await opened.storage.remove(key);
    await opened.storage.remove(newKey().key);
    expect(await stored()).toEqual([neighbour]);
  });

  test('does not list files with other names than those of attachments', async () => {
    const { organizationId, key, stored } = newKey();
    const inUpperCase = storageKey(organizationId, newId().toUpperCase());
    for (const each of [key, `${organizationId}/folder/x`, inUpperCase, 'README', `${key}.jpg`])
      await opened.storage.put(each, small());
    expect(await stored()).toEqual([key]);
  });
});

test('an upload is on the disk, with the names of its folders, before it is confirmed', async () => {
  const root = await mkdtemp(join(tmpdir(), 'crm-storage-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const handle = await openFile(root);
  await handle.close();
  const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync');
  onTestFinished(() => sync.mockRestore());
  await diskStorage(root).put(storageKey(newId(), newId()), small());
  expect(sync).toHaveBeenCalledTimes(3);
});

test('an upload to a disk that cannot be written fails with 503 and is not read further', async () => {
  const content = Readable.from(blocks(2));
  // A file in place of the folder.
  const stored = diskStorage('/dev/null').put(storageKey(newId(), newId()), content);
  await expect(stored).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  expect(content.destroyed).toBe(true);
});

test.skipIf(!existsSync('/dev/full'))(
  'an upload to a full disk fails with 503, is not read further and stores nothing',
  async () => {
    const root = await mkdtemp(join(tmpdir(), 'crm-storage-'));
    onTestFinished(() => rm(root, { recursive: true }));
    const [organizationId, partial] = [newId(), randomUUID()];
    const key = storageKey(organizationId, newId());
    await mkdir(join(root, organizationId));
    // The device fails like a full disk.
    await symlink('/dev/full', join(root, `${key}.${partial}.partial`));
    vi.spyOn(crypto, 'randomUUID').mockReturnValue(partial);
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    const content = Readable.from(blocks(12));
    await expect(diskStorage(root).put(key, content)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      cause: { code: 'ENOSPC' },
    });
    expect(content.destroyed).toBe(true);
    expect(await readdir(join(root, organizationId))).toEqual([]);
  },
);
