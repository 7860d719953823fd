import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Service } from './service.ts';

/** Looks for a word wherever the service and PostgreSQL keep text. */

/** Whether the text has the word: as it is, in hexadecimal digits or in base64. */
export function hasWord(text: string, word: string): boolean {
  const bytes = Buffer.from(word);
  const spellings = [word, bytes.toString('hex'), bytes.toString('base64').slice(0, -4)];
  return spellings.some((each) => text.toLowerCase().includes(each.toLowerCase()));
}

/** The columns of the whole database in which the word stands. */
export async function inDatabase({ query }: Pick<Service, 'query'>, word: string): Promise<Set<string>> {
  const columns = await query<{ table: string; column: string }>(
    `select table_name as table, column_name as column from information_schema.columns where table_schema = 'public'`,
  );
  const found = new Set<string>();
  for (const { table, column } of columns) {
    const rows = await query<{ value: string }>(
      `select "${column}"::text as value from "${table}" where "${column}" is not null`,
    );
    if (rows.some(({ value }) => hasWord(value, word))) found.add(`${table}.${column}`);
  }
  return found;
}

/** The files of a folder whose name or content has the word. */
export async function inFiles(folder: string, word: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (hasWord(path, word) || (entry.isFile() && hasWord(await readFile(path, 'utf8'), word)))
      found.push(path);
  }
  return found;
}

let asked = 0;

/**
 * What PostgreSQL has logged until now. Undefined where its log is no file of this machine: a container, a cluster. A statement that
 * fails comes first, with a word of its own: the log has values, and all that was said before stands in it too.
 */
export async function postgresLog({ query }: Pick<Service, 'query'>): Promise<string | undefined> {
  // Each project of a run has a server of its own.
  const [{ path } = { path: '' }] = await query<{ path: string }>(
    `select current_setting('data_directory') || '/server.log' as path`,
  );
  if (!existsSync(path)) return undefined;
  asked += 1;
  const control = `control ${process.pid} ${asked}`;
  await query('select $1::text::integer', [control]).catch(() => undefined);
  const read = async () =>
    (await readFile(`${path}.1`, 'utf8').catch(() => '')) + (await readFile(path, 'utf8'));
  await expect.poll(read).toContain(control);
  return read();
}
