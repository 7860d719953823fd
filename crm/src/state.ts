import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { Columns } from './columns.ts';
import type { UpdateMode } from './update.ts';

/** How far an import is, kept beside its file so that it can go on. */
export type ImportState = {
  resource: string;
  fingerprint: string;
  delimiter: string;
  /** What each column fills: another mapping would make other records, and other keys. */
  columns: Columns;
  maps: string[];
  /** Rows that are settled, from the first on. */
  rows: number;
  /** How many rows became what. */
  counts: Record<string, number>;
  update?: UpdateMode | undefined;
  /** Length of the file of refused rows. */
  refusalBytes: number;
};

/** `leads.csv` → `leads.csv.crm-import` */
export const statePath = (path: string): string => `${path}.crm-import`;

/** The JSON of a file; undefined where there is none. */
export async function readJson<Value>(path: string): Promise<Value | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Value;
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Replaces the file in one step: a crash leaves the old one or the new one. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await writeFile(temporary, text);
  await rename(temporary, path);
}

export const readState = (path: string): Promise<ImportState | undefined> => readJson(statePath(path));

export const writeState = (path: string, state: ImportState): Promise<void> =>
  replaceFile(statePath(path), JSON.stringify(state));

export const removeState = (path: string): Promise<void> => rm(statePath(path), { force: true });
