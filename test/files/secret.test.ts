import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { persistedSecret } from '../../src/files/secret.ts';

test('simultaneous starts agree on one secret, which stays and which only its owner can read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'crm-secret-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  // So long that the starts are still writing when others read.
  const text = 'x'.repeat(2_000_000);
  for (let round = 0; round < 3; round += 1) {
    const path = join(folder, String(round), 'secret');
    const starts = Array.from({ length: 5 }, (_, index) => persistedSecret(path, () => text + index));
    const [first, ...others] = await Promise.all(starts);
    expect(new Set(others)).toEqual(new Set([first]));
    expect(await persistedSecret(path, () => 'another')).toBe(first);
    expect(await readdir(join(folder, String(round)))).toEqual(['secret']);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  }
});
