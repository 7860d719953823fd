import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A secret of this installation: the text of the file. The first start makes it and writes it (mode 600). */
export async function persistedSecret(path: string, make: () => string): Promise<string> {
  const stored = await readSecret(path);
  if (stored !== undefined) return stored;
  const made = make();
  await mkdir(dirname(path), { recursive: true });
  // Under its name the file is there with its text or not at all, and the second link fails: of simultaneous starts all
  // use what the first one wrote.
  const written = `${path}.${randomUUID()}`;
  await writeFile(written, `${made}\n`, { mode: 0o600 });
  await link(written, path)
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    })
    .finally(() => rm(written));
  return (await readSecret(path)) ?? made;
}

/** The text in the file; undefined when there is none. */
export async function readSecret(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text.trim() || undefined;
}
