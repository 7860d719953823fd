import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import { PROGRAM } from '../../test/support/process.ts';
import { type Agency, type Service, useService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

export type Ended = { code: number | null; stdout: string; stderr: string };

export type Started = { child: ChildProcess; ended: Promise<Ended> };

/** Starts the command as a process of its own, outside of any terminal. */
export function startCrm(args: readonly string[], at: { url?: string; key?: string } = {}): Started {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: {
      ...PROGRAM,
      ...(at.url !== undefined && { CRM_URL: at.url }),
      ...(at.key !== undefined && { CRM_API_KEY: at.key }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    output.stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    output.stderr += text;
  });
  const ended = new Promise<Ended>((done) => child.on('close', (code) => done({ code, ...output })));
  return { child, ended };
}

export const crm = (args: readonly string[], at?: { url?: string; key?: string }): Promise<Ended> =>
  startCrm(args, at).ended;

/** A folder for the tests of one file. */
export function useFolder(): (name: string) => string {
  const folder = mkdtempSync(join(tmpdir(), 'crm-command-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return (name) => join(folder, name);
}

/** A service for the tests of one file, a folder, and where the command finds both. */
export function useCrm() {
  const service = useService();
  let url = '';
  beforeAll(async () => {
    url = (await listen(service)).origin;
  });
  return {
    service,
    file: useFolder(),
    origin: () => url,
    at: ({ key }: Pick<Agency, 'key'>, by = url) => ({ url: by, key }),
  };
}

/** Customers of this many rows, each with a contact of its own. */
export const leads = (count: number): string =>
  [
    'name,email',
    ...Array.from({ length: count }, (_, index) => `Lead ${index},lead${index}@example.com`),
  ].join('\n');

/** The names that those rows have. */
export const leadNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `Lead ${index}`).sort();

export async function storedNames({ query }: Service, { id }: Agency): Promise<string[]> {
  const rows = await query<{ name: string }>(
    'select first_name as name from customers where organization_id = $1',
    [id],
  );
  return rows.map(({ name }) => name).sort();
}
