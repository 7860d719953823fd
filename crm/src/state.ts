import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { CountryCode } from 'libphonenumber-js/max';
import type { Columns } from './columns.ts';
import { CommandError } from './context.ts';
import type { UpdateMode } from './update.ts';

/** What happens to a contact that is none: only it is left out, or its row. */
export type OnBadContact = 'skip' | 'reject';

/** How far an import is, saved beside its file for --resume. */
export type ImportState = {
  resource: string;
  fingerprint: string;
  delimiter: string;
  /** Another mapping would create other records, with other idempotency keys. */
  columns: Columns;
  map: string[];
  /** Rows that are settled, from the first on. */
  rows: number;
  /** How many rows were created, updated, rejected and so on. */
  counts: Record<string, number>;
  update?: UpdateMode | undefined;
  country?: CountryCode | undefined;
  onBadContact?: OnBadContact | undefined;
  /** Length of the file of rejected rows. */
  rejectionBytes: number;
};

/** `leads.csv` → `leads.csv.crm-import` */
export const statePath = (path: string): string => `${path}.crm-import`;

/** The JSON of a file; undefined where there is no file. */
export async function readJson<Value>(path: string): Promise<Value | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Value;
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined;
    if (error instanceof SyntaxError) throw new CommandError(`${path} is broken: delete it, and start over.`);
    throw error;
  }
}

/** Replaces the file in one step: a crash leaves the old one or the new one. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await writeFile(temporary, text);
  await rename(temporary, path).catch((error: { code?: string }) => {
    // Another import of the same file at the same time has renamed it.
    if (error.code !== 'ENOENT') throw error;
  });
}

export const removeState = (path: string): Promise<void> => rm(statePath(path), { force: true });
