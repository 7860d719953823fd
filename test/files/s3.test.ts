import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { newId, scopeTo } from '../../src/db/index.ts';
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
const attachment = (fileName: string) => ({ id: newId(), fileName, mimeType: 'application/pdf' });
const text = (content: string) => Readable.from([Buffer.from(content)]);

test('a signed URL downloads the file from the store under its name, with its type and without caching, for its lifetime', async () => {
  const { storage, links } = await open();
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

test.each([1, 12])(
  'an upload of %i MiB that the store rejects fails with 503 and is not read further',
  async (size) => {
    const { storage } = await open({ credentials: { accessKeyId: 'other', secretAccessKey: 'test' } });
    const content = Readable.from(Array.from({ length: size }, () => Buffer.alloc(1024 * 1024)));
    await expect(storage.put(storageKey(organizationId, newId()), content)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
    });
    expect(content.destroyed).toBe(true);
  },
);

test('files under another prefix of the bucket are neither listed nor removed', async () => {
  const key = storageKey(organizationId, newId());
  const [one, other] = [await open({ prefix: 'one/' }), await open({ prefix: 'two/' })];
  await one.storage.put(key, text('one'));
  expect(await collect(other.storage.list())).toEqual([]);
  await other.storage.remove(key);
  expect(await collect(one.storage.list())).toMatchObject([{ key }]);
});

test('FILE_STORAGE and the usual variables of AWS configure the store', async () => {
  vi.stubEnv('AWS_REGION', server.region);
  vi.stubEnv('AWS_ACCESS_KEY_ID', server.credentials.accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', server.credentials.secretAccessKey);
  const config = readConfig({
    FILE_STORAGE: `s3://${server.bucket}/from/environment`,
    AWS_ENDPOINT_URL_S3: server.endpoint,
  });
  const { storage, links, serve, close } = await openFiles(config, 'http://localhost:3000');
  const file = attachment('a.pdf');
  await storage.put(storageKey(organizationId, file.id), text('from the environment'));
  const url = new URL(await links.sign(scope, file, Date.now()));
  expect(url.pathname).toBe(`/${server.bucket}/from/environment/${organizationId}/${file.id}`);
  expect(url.searchParams.get('X-Amz-Expires')).toBe('300');
  expect(await (await fetch(url)).text()).toBe('from the environment');
  expect(serve).toBeUndefined();
  await close();
});
