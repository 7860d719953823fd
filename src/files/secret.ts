import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

async function writeBeside(path: string, secret: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  const written = `${path}.${randomUUID()}`;
  await writeFile(written, `${secret}\n`, { mode: 0o600, flush: true });
  return written;
}

/** Replaces the file in one step (mode 600): a crash leaves the old secret or the new one. */
export async function replaceSecret(path: string, secret: string): Promise<void> {
  await rename(await writeBeside(path, secret), path);
}

/** The secret in the file, which the first start writes (mode 600). */
export async function persistedSecret(path: string, generate: () => string): Promise<string> {
  const stored = await readSecret(path);
  if (stored !== undefined) return stored;
  const generated = generate();
  const written = await writeBeside(path, generated);
  // The link makes the complete file appear at once, and fails if it exists: of simultaneous starts, the first one wins.
  await link(written, path)
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    })
    .finally(() => rm(written));
  return (await readSecret(path)) ?? generated;
}

export async function readSecret(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text.trim() || undefined;
}
