import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { randomBase62 } from '../contract/base62.ts';

/** Writes a complete file (mode 600), which `move` brings to its path in one step. */
async function store(path: string, secret: string, move: typeof rename): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const written = `${path}.${randomUUID()}`;
  try {
    await writeFile(written, `${secret}\n`, { mode: 0o600, flush: true });
    await move(written, path);
  } finally {
    await rm(written, { force: true });
  }
}

/** A crash leaves the old secret or the new one. */
export const replaceSecret = (path: string, secret: string): Promise<void> => store(path, secret, rename);

/** The secret in the file, which the first start writes. A link fails if the file exists: of simultaneous starts, the first one wins. */
export async function persistedSecret(path: string, generate = randomBase62): Promise<string> {
  const stored = await readSecret(path);
  if (stored !== undefined) return stored;
  const generated = generate();
  await store(path, generated, link).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  return (await readSecret(path)) ?? generated;
}

export async function readSecret(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text.trim() || undefined;
}
