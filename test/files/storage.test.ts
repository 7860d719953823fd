import crypto, { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open as openFile, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { newId, scopeTo } from '../../src/db/index.ts';
import { readToken } from '../../src/files/links.ts';
import { openFiles } from '../../src/files/open.ts';
import { openS3, type S3Options } from '../../src/files/s3.ts';
import { diskStorage, type FileStorage, storageKey } from '../../src/files/storage.ts';
import { newFolder } from '../support/folder.ts';
import { startS3 } from '../support/s3.ts';
import { portOf } from '../support/socket.ts';

const MIB = 1024 * 1024;

/** Blocks of a MiB, and then the error. */
async function* blocks(count: number, error?: Error): AsyncIterable<Buffer> {
  for (let block = 0; block < count; block += 1) yield Buffer.alloc(MIB, block);
  if (error) throw error;
}

const text = (content = 'x') => Readable.from([Buffer.from(content)]);

/** An empty storage of either kind, with access to its internal state. */
type OpenStorage = {
  storage: FileStorage;
  /** The content of a download. */
  read: (organizationId: string, id: string) => Promise<Buffer>;
  /** The remains of interrupted uploads. */
  leftovers: () => Promise<string[]>;
};

async function openDisk(): Promise<OpenStorage> {
  const root = await newFolder();
  return {
    storage: diskStorage(root),
    read: (organizationId, id) => readFile(join(root, storageKey(organizationId, id))),
    leftovers: async () =>
      (await readdir(root, { recursive: true })).filter((path) => path.endsWith('.partial')),
  };
}

const scopeOf = (organizationId: string) => scopeTo({ for: () => ({}) as never }, organizationId);

const server = await startS3();
afterAll(server.close);
function setVariables(changed: Record<string, string | undefined> = {}): void {
  for (const [name, value] of Object.entries({ ...server.variables, ...changed })) vi.stubEnv(name, value);
}
function openStore(options: Partial<S3Options> = {}, changed?: Record<string, string | undefined>) {
  setVariables(changed);
  return openS3({ ...server, prefix: 'crm/', ttlSeconds: 300, ...options });
}

async function openBucket(): Promise<OpenStorage> {
  const { storage, links, close } = await openStore({ prefix: 'crm/production/' });
  afterAll(close);
  return {
    storage,
    read: async (organizationId, id) => {
      const attachment = { id, fileName: 'a.bin', mimeType: 'application/octet-stream' };
      const response = await fetch(await links.sign(scopeOf(organizationId), attachment, Date.now()));
      if (!response.ok) throw new Error(`The download of ${id} returned ${response.status}.`);
      return Buffer.from(await response.arrayBuffer());
    },
    leftovers: server.openUploads,
  };
}

describe.each([
  ['disk', await openDisk()],
  ['S3', await openBucket()],
])('the %s storage', (_name, opened) => {
  /** A key in a new organization, and the stored keys of that organization. */
  function newKey() {
    const [organizationId, attachmentId] = [newId(), newId()];
    const stored = async () => {
      const keys = (await Array.fromAsync(opened.storage.list())).map(({ key }) => key);
      return keys.filter((key) => key.startsWith(organizationId));
    };
    const read = () => opened.read(organizationId, attachmentId);
    return { organizationId, attachmentId, key: storageKey(organizationId, attachmentId), stored, read };
  }

  test.each([0, 12])('stores %i MiB, and lists the file with its ids and its date', async (size) => {
    const { organizationId, attachmentId, key, read } = newKey();
    const before = Date.now();
    await opened.storage.put(key, Readable.from(blocks(size)));
    // The date is of the upload, whenever it is listed.
    vi.useFakeTimers({ toFake: ['Date'], now: before + 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    const entry = (await Array.fromAsync(opened.storage.list())).find((stored) => stored.key === key);
    expect(entry).toEqual({ key, modifiedAt: expect.any(Date), file: { organizationId, attachmentId } });
    // S3 rounds dates to seconds.
    expect(entry?.modifiedAt.getTime()).toBeGreaterThanOrEqual(before - 1_000);
    expect(entry?.modifiedAt.getTime()).toBeLessThan(before + 1_800_000);
    // Not toEqual, which takes seconds for a MiB.
    expect((await read()).equals(Buffer.concat(await Array.fromAsync(blocks(size))))).toBe(true);
  });

  test.each([1, 12])(
    'stores nothing of an upload that fails after %i MiB, and keeps a file under its key',
    async (size) => {
      const { key, stored, read } = newKey();
      const fail = async () => {
        const failing = Readable.from(blocks(size, new Error('larger than 25 MiB')));
        await expect(opened.storage.put(key, failing)).rejects.toThrow('larger than 25 MiB');
      };
      await fail();
      expect([await stored(), await opened.leftovers()]).toEqual([[], []]);
      await opened.storage.put(key, text('the first'));
      await fail();
      expect(String(await read())).toBe('the first');
    },
  );

  test('stores nothing of an upload whose client disconnects', async () => {
    const { key, stored } = newKey();
    const disconnecting = new Readable({ read: () => undefined });
    disconnecting.push(Buffer.alloc(MIB));
    setImmediate(() => disconnecting.destroy());
    await expect(opened.storage.put(key, disconnecting)).rejects.toThrow();
    expect([await stored(), await opened.leftovers()]).toEqual([[], []]);
  });

  test('lists files with the names of attachments alone, and removes one; to remove a file that does not exist is no error', async () => {
    const { organizationId, key, stored } = newKey();
    const neighbour = storageKey(organizationId, newId());
    const inUpperCase = storageKey(organizationId, newId().toUpperCase());
    for (const each of [key, neighbour, `${organizationId}/folder/x`, inUpperCase, 'README', `${key}.jpg`])
      await opened.storage.put(each, text());
    expect((await stored()).sort()).toEqual([key, neighbour].sort());
    for (const each of [key, key, newKey().key]) await opened.storage.remove(each);
    expect(await stored()).toEqual([neighbour]);
  });
});

const organizationId = newId();

describe('S3', () => {
  const scope = scopeOf(organizationId);
  const attachment = (fileName: string) => ({ id: newId(), fileName, mimeType: 'application/pdf' });

  test('a signed URL downloads the file from the store under its name, with its type and without caching, for its lifetime', async () => {
    const { storage, links } = await openStore();
    const file = attachment("Cotización & (O'Higgins) *v2* ~ 50%+1.pdf");
    const encoded = `"Cotizaci?n & (O'Higgins) *v2* ~ 50%+1.pdf"; filename*=UTF-8''Cotizaci%C3%B3n%20%26%20%28O%27Higgins%29%20%2Av2%2A%20~%2050%25%2B1.pdf`;
    await storage.put(storageKey(organizationId, file.id), text('%PDF-1.7'));
    const response = await fetch(await links.sign(scope, file, Date.now()));
    expect([response.status, await response.text()]).toEqual([200, '%PDF-1.7']);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/pdf',
      'content-disposition': `attachment; filename=${encoded}`,
      'cache-control': 'no-store',
    });
    expect((await fetch(await links.sign(scope, file, Date.now() - 301_000))).status).toBe(403);
  });

  test('files under another prefix of the bucket are neither listed nor removed', async () => {
    const key = storageKey(organizationId, newId());
    const [one, other] = [await openStore({ prefix: 'one/' }), await openStore({ prefix: 'two/' })];
    await one.storage.put(key, text('one'));
    expect(await Array.fromAsync(other.storage.list())).toEqual([]);
    await other.storage.remove(key);
    expect(await Array.fromAsync(one.storage.list())).toMatchObject([{ key }]);
  });

  test('an upload that the store rejects fails with 503 and is not read further', async () => {
    const { storage } = await openStore({}, { AWS_ACCESS_KEY_ID: 'other' });
    for (const size of [1, 12]) {
      const content = Readable.from(blocks(size));
      const stored = storage.put(storageKey(organizationId, newId()), content);
      await expect(stored).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
      expect(content.destroyed).toBe(true);
    }
  });

  test('a page of a proxy in place of a response of the store is neither an empty list nor a stored file', async () => {
    const proxy = createServer((_request, response) => response.end('<html><body>Login</body></html>'));
    onTestFinished(() => void proxy.close());
    const { storage } = await openStore({ endpoint: `http://127.0.0.1:${await portOf(proxy)}` });
    await expect(Array.fromAsync(storage.list())).rejects.toThrow('not come from an S3 store');
    const stored = storage.put(storageKey(organizationId, newId()), text());
    await expect(stored).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  test('a start without a region or credentials names their variables', async () => {
    for (const name of ['AWS_DEFAULT_REGION', 'AWS_PROFILE']) vi.stubEnv(name, undefined);
    for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) vi.stubEnv(name, '/dev/null');
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    for (const missing of ['AWS_REGION', 'AWS_ACCESS_KEY_ID'])
      await expect(openStore({}, { [missing]: undefined })).rejects.toThrow(
        /^S3: .+\. Set AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY\.$/,
      );
  });

  test('is configured by FILE_STORAGE and the usual variables of AWS', async () => {
    setVariables();
    const FILE_STORAGE = `s3://${server.bucket}/from/environment`;
    const store = { FILE_STORAGE, AWS_ENDPOINT_URL_S3: server.endpoint };
    const config = readConfig({ ...store, SIGNED_URL_TTL_SECONDS: '60' });
    const { storage, links, serve, close } = await openFiles(config, 'http://localhost:3000');
    const file = attachment('a.pdf');
    await storage.put(storageKey(organizationId, file.id), text('from the environment'));
    const url = new URL(await links.sign(scope, file, Date.now()));
    expect(url.pathname).toBe(`/${server.bucket}/from/environment/${organizationId}/${file.id}`);
    expect(url.searchParams.get('X-Amz-Expires')).toBe('60');
    expect(await (await fetch(url)).text()).toBe('from the environment');
    expect(serve).toBeUndefined();
    await close();
  });
});

describe('on a disk', () => {
  test('an upload is there, with the names of its folders, before it is confirmed, and only its owner can read it', async () => {
    const root = await newFolder();
    const handle = await openFile(root);
    await handle.close();
    const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync');
    onTestFinished(() => sync.mockRestore());
    const key = storageKey(newId(), newId());
    await diskStorage(root).put(key, text());
    expect(sync).toHaveBeenCalledTimes(3);
    expect((await stat(join(root, key))).mode & 0o777).toBe(0o600);
  });

  test('a signed URL lives as long as SIGNED_URL_TTL_SECONDS says', async () => {
    const config = readConfig({ DATA_DIR: await newFolder(), SIGNED_URL_TTL_SECONDS: '60' });
    const { links, serve } = await openFiles(config, 'http://localhost:3000');
    const url = await links.sign(scopeOf(organizationId), { id: newId(), fileName: 'a', mimeType: 'a/b' }, 5);
    expect(readToken(serve?.secret ?? '', url.split('/').at(-1) ?? '')).toMatchObject({ expiresAt: 60_005 });
  });

  test.skipIf(!existsSync('/dev/full'))(
    'an upload that cannot be written, or fills the disk, fails with 503, is not read further and stores nothing',
    async () => {
      const root = await newFolder();
      const partial = randomUUID();
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
      for (const [folder, cause] of [
        [root, 'ENOSPC'],
        // A file in place of the folder.
        ['/dev/null', 'ENOTDIR'],
      ] as const) {
        const content = Readable.from(blocks(12));
        const stored = diskStorage(folder).put(key, content);
        await expect(stored).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', cause: { code: cause } });
        expect(content.destroyed).toBe(true);
      }
      expect(await readdir(join(root, organizationId))).toEqual([]);
    },
  );
});
