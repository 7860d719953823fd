import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The secret in the file, which the first start writes (mode 600). */
export async function persistedSecret(path: string, generate: () => string): Promise<string> {
  const stored = await readSecret(path);
  if (stored !== undefined) return stored;
  const generated = generate();
  await mkdir(dirname(path), { recursive: true });
  // The link makes the complete file appear at once, and fails if it exists: of simultaneous starts, the first one wins.
  const written = `${path}.${randomUUID()}`;
  await writeFile(written, `${generated}\n`, { mode: 0o600, flush: true });
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
