import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Service } from './service.ts';

/** Searches for a word wherever the service and PostgreSQL store text. */

/** Whether the text contains the word, in plain text, hexadecimal or base64. */
export function hasWord(text: string, word: string): boolean {
  const bytes = Buffer.from(word);
  const spellings = [word, bytes.toString('hex'), bytes.toString('base64').slice(0, -4)];
  return spellings.some((each) => text.toLowerCase().includes(each.toLowerCase()));
}

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

/** The files of a folder whose name or content contains the word. */
export async function inFiles(folder: string, word: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (hasWord(path, word) || (entry.isFile() && hasWord(await readFile(path, 'utf8'), word)))
      found.push(path);
  }
  return found;
}

/**
 * What PostgreSQL has logged until now; undefined if its log is not a file of this machine (a container, a cluster). A statement
 * fails first, with a marker as its value: once the marker is in the log, everything before it is there too, values included.
 */
export async function postgresLog({ query }: Pick<Service, 'query'>): Promise<string | undefined> {
  const [{ path } = { path: '' }] = await query<{ path: string }>(
    `select current_setting('data_directory') || '/server.log' as path`,
  );
  if (!existsSync(path)) return undefined;
  const marker = randomUUID();
  await query('select $1::text::integer', [marker]).catch(() => undefined);
  const read = async () =>
    (await readFile(`${path}.1`, 'utf8').catch(() => '')) + (await readFile(path, 'utf8'));
  await expect.poll(read).toContain(marker);
  return read();
}
