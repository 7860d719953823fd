import crypto from 'node:crypto';
import files, { readdir, stat } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { replaceFile } from '../../crm/src/state.ts';
import { generateKey } from '../../src/api-keys/api-key.ts';
import { readConfig } from '../../src/config.ts';
import { createToken, readToken } from '../../src/files/links.ts';
import { openFiles } from '../../src/files/open.ts';
import { persistedSecret, readSecret, replaceSecret } from '../../src/files/secret.ts';
import { ownDashboard, TOKEN } from '../support/dashboard.ts';
import { newFolder } from '../support/folder.ts';
import { quote } from '../support/records.ts';
import { useService } from '../support/service.ts';

const service = await useService();
const agency = await service.agency();

function restoreBuiltins(): void {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
}

/** So long that others read while it is written. */
const LONG = 'x'.repeat(2_000_000);

type Secret = [what: string, source: 'randomBytes' | 'randomUUID', generate: (folder: string) => unknown];

const linkSecret = async (DATA_DIR: string) => (await openFiles(readConfig({ DATA_DIR }), '')).serve?.secret;
const countedHeader = async (folder: string) =>
  (await import(`../../src/http/rate-limit.ts?${folder}`)).COUNTED_ALREADY['x-counted-request'];

/** Every secret that the service generates, but for one in test/server.test.ts. A module with a query is loaded anew. */
const SECRETS: Secret[] = [
  ['an API key', 'randomBytes', generateKey],
  ['the token of a quote', 'randomBytes', async () => (await quote(agency)).token],
  ['the secret of signed links', 'randomBytes', linkSecret],
  ['the header of counted requests', 'randomUUID', countedHeader],
];

test.each(SECRETS)('%s is long, and is random by %s of node:crypto', async (_what, source, generate) => {
  const [one, other] = [await generate(await newFolder()), await generate(await newFolder())];
  expect(one).not.toBe(other);
  for (const secret of [one, other]) expect(secret).toMatch(/^[\w-]{36,}$/);
  vi.spyOn(crypto, source).mockImplementation(() => {
    throw new Error('no randomness');
  });
  syncBuiltinESMExports();
  onTestFinished(restoreBuiltins);
  const folder = await newFolder();
  await expect((async () => generate(folder))()).rejects.toThrow('no randomness');
});

test('simultaneous starts agree on the first secret, which stays, is on the disk, and which only its owner can read', async () => {
  const path = join(await newFolder(), 'data', 'secret');
  const { writeFile } = files;
  const write = vi.spyOn(files, 'writeFile').mockImplementation(async (file, text, options) => {
    if (text === 'late\n') await early;
    return writeFile(file, text, options);
  });
  syncBuiltinESMExports();
  onTestFinished(restoreBuiltins);
  const early = persistedSecret(path, () => 'early');
  const late = persistedSecret(path, () => 'late');
  expect([await early, await late, await persistedSecret(path, () => 'another')]).toEqual(
    Array(3).fill('early'),
  );
  expect(await readdir(dirname(path))).toEqual(['secret']);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  for (const [, , options] of write.mock.calls) expect(options).toMatchObject({ flush: true });
});

test('a secret that cannot be stored leaves no file', async () => {
  const folder = await newFolder();
  for (const name of ['link', 'rename'] as const) vi.spyOn(files, name).mockRejectedValue(new Error('EXDEV'));
  syncBuiltinESMExports();
  onTestFinished(restoreBuiltins);
  await expect(persistedSecret(join(folder, 'a'), () => 'x')).rejects.toThrow('EXDEV');
  await expect(replaceSecret(join(folder, 'b'), 'x')).rejects.toThrow('EXDEV');
  expect(await readdir(folder)).toEqual([]);
});

test.each([
  ['a secret', replaceSecret],
  ['the state of an import', replaceFile],
])('%s is replaced in one step: a reader finds the old text or the new one', async (_what, replace) => {
  const path = join(await newFolder(), 'state');
  const texts = [`${LONG}a`, `${LONG}b`];
  await replace(path, `${LONG}b`);
  for (const text of [...texts, ...texts]) {
    let isReplaced = false;
    const replaced = replace(path, text).finally(() => {
      isReplaced = true;
    });
    while (!isReplaced) expect(texts.includes((await readSecret(path)) ?? '')).toBe(true);
    await replaced;
    expect(await readSecret(path)).toBe(text);
  }
});

test('a token is valid with the secret that signed it alone, and is compared in constant time, right or wrong', async () => {
  const compare = vi.spyOn(crypto, 'timingSafeEqual');
  syncBuiltinESMExports();
  onTestFinished(restoreBuiltins);
  const id = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';
  const file = { organizationId: id, attachmentId: id };
  const read = ['one', 'two'].map((secret) => readToken('one', createToken(secret, file, 5)));
  expect(read).toEqual([{ ...file, expiresAt: 5 }, undefined]);
  expect(createToken('one', file, 5)).toMatch(/\.[\w-]{43}$/);
  expect(compare).toHaveBeenCalledTimes(2);
  const dashboard = await ownDashboard(service);
  for (const token of [TOKEN, 'x']) await dashboard.request('GET', '/organizations', { token });
  expect(compare).toHaveBeenCalledTimes(4);
});
