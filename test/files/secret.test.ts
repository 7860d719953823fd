import crypto from 'node:crypto';
import { mkdtemp, open, readdir, rm, stat } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { replaceFile } from '../../crm/src/state.ts';
import { createToken, readToken } from '../../src/files/links.ts';
import { persistedSecret, readSecret, replaceSecret } from '../../src/files/secret.ts';
import { buildDashboard, TOKEN } from '../support/dashboard.ts';
import { useService } from '../support/service.ts';

const service = useService();

async function ownFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'crm-secret-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** So long that others read while it is written. */
const LONG = 'x'.repeat(2_000_000);

test('simultaneous starts agree on one secret, which stays, is on the disk, and which only its owner can read', async () => {
  const folder = await ownFolder();
  const handle = await open(folder);
  await handle.close();
  const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync');
  onTestFinished(() => sync.mockRestore());
  for (let round = 0; round < 3; round += 1) {
    const path = join(folder, String(round), 'secret');
    const starts = Array.from({ length: 5 }, (_, index) => persistedSecret(path, () => LONG + index));
    const [first, ...others] = await Promise.all(starts);
    expect(new Set(others)).toEqual(new Set([first]));
    expect(await persistedSecret(path, () => 'another')).toBe(first);
    expect(await readdir(join(folder, String(round)))).toEqual(['secret']);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  }
  expect(sync).toHaveBeenCalled();
});

test.each([
  ['a secret', replaceSecret],
  ['the state of an import', replaceFile],
])('%s is replaced in one step: a reader finds the old text or the new one', async (_what, replace) => {
  const path = join(await ownFolder(), 'state');
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
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  const id = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';
  const file = { organizationId: id, attachmentId: id };
  const read = ['one', 'two'].map((secret) => readToken('one', createToken(secret, file, 5)));
  expect(read).toEqual([{ ...file, expiresAt: 5 }, undefined]);
  expect(compare).toHaveBeenCalledTimes(2);
  const dashboard = await buildDashboard(service);
  for (const token of [TOKEN, 'x']) await dashboard.request('GET', '/organizations', { token });
  await dashboard.app.close();
  expect(compare).toHaveBeenCalledTimes(4);
});
