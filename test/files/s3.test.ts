import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { scopeTo } from '../../src/db/pool/scope.ts';
import { newId } from '../../src/db/sql/ids.ts';
import { openFiles } from '../../src/files/open.ts';
import { openS3, type S3Options } from '../../src/files/s3.ts';
import { storageKey } from '../../src/files/storage.ts';
import { type S3Server, startS3 } from '../support/s3.ts';
import { collect } from '../support/storages.ts';

let server: S3Server;
beforeAll(async () => {
  server = await startS3();
});
afterAll(() => server.close());

const open = (options: Partial<S3Options> = {}) =>
  openS3({ ...server, prefix: 'crm/', ttlSeconds: 300, ...options });

const organizationId = newId();
const scope = scopeTo({ for: () => ({}) as never }, organizationId);
const attachment = (fileName: string, mimeType = 'application/pdf') => ({ id: newId(), fileName, mimeType });
const text = (content: string) => Readable.from([Buffer.from(content)]);

describe('links to an S3 store', () => {
  test.each([
    ['itinerary.pdf', 'itinerary.pdf'],
    [
      "Cotización & (O'Higgins) *v2* ~ 50%+1.pdf",
      `"Cotizaci?n & (O'Higgins) *v2* ~ 50%+1.pdf"; filename*=UTF-8''Cotizaci%C3%B3n%20%26%20%28O%27Higgins%29%20%2Av2%2A%20~%2050%25%2B1.pdf`,
    ],
    ['旅程表.pdf', `"???.pdf"; filename*=UTF-8''%E6%97%85%E7%A8%8B%E8%A1%A8.pdf`],
  ])('download %s from the store under its own name and type, kept by nobody', async (name, named) => {
    const { storage, links } = await open();
    const file = attachment(name);
    await storage.put(storageKey(organizationId, file.id), text('%PDF-1.7'));
    const response = await fetch(await links.sign(scope, file));
    expect([response.status, await response.text()]).toEqual([200, '%PDF-1.7']);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/pdf',
      'content-disposition': `attachment; filename=${named}`,
      'cache-control': 'no-store',
    });
    const part = await fetch(await links.sign(scope, file), { headers: { range: 'bytes=1-3' } });
    expect([part.status, await part.text()]).toEqual([206, 'PDF']);
  });

  test('are refused by the store after their lifetime', async () => {
    const file = attachment('one.pdf');
    const [now, before] = [await open(), await open({ now: () => Date.now() - 301_000 })];
    await now.storage.put(storageKey(organizationId, file.id), text('x'));
    const statusOf = async ({ links }: typeof now) => (await fetch(await links.sign(scope, file))).status;
    expect([await statusOf(now), await statusOf(before)]).toEqual([200, 403]);
  });
});

describe('an S3 store', () => {
  test('that refuses an upload makes it fail and stops reading what is uploaded', async () => {
    const { storage } = await open({ credentials: { accessKeyId: 'other', secretAccessKey: 'test' } });
    for (const size of [1, 12]) {
      const content = Readable.from(Array.from({ length: size }, () => Buffer.alloc(1024 * 1024)));
      await expect(storage.put(storageKey(organizationId, newId()), content)).rejects.toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
      });
      expect(content.destroyed).toBe(true);
    }
  });

  test('holds the files of other prefixes of the bucket, which are not ours', async () => {
    const key = storageKey(organizationId, newId());
    const [here, there] = [await open({ prefix: 'one/' }), await open({ prefix: 'two/' })];
    await here.storage.put(key, text('here'));
    expect(await collect(there.storage.list())).toEqual([]);
    await there.storage.remove(key);
    expect((await collect(here.storage.list())).map((entry) => entry.key)).toEqual([key]);
  });

  test('is opened by FILE_STORAGE and the usual variables of AWS', async () => {
    vi.stubEnv('AWS_REGION', server.region);
    vi.stubEnv('AWS_ACCESS_KEY_ID', server.credentials.accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', server.credentials.secretAccessKey);
    const config = readConfig({
      FILE_STORAGE: `s3://${server.bucket}/from/environment`,
      AWS_ENDPOINT_URL: 'http://localhost:1',
      AWS_ENDPOINT_URL_S3: server.endpoint,
    });
    const { storage, links, serve, close } = await openFiles(config, 'http://localhost:3000');
    const file = attachment('a.pdf');
    await storage.put(storageKey(organizationId, file.id), text('from the environment'));
    const url = new URL(await links.sign(scope, file));
    expect(url.pathname).toBe(`/${server.bucket}/from/environment/${organizationId}/${file.id}`);
    expect(url.searchParams.get('X-Amz-Expires')).toBe('300');
    expect(await (await fetch(url)).text()).toBe('from the environment');
    expect(serve).toBeUndefined();
    await close();
  });
});
