import { execFile } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { freePort } from '../support/process.ts';
import { temporaryFolder } from './instance.ts';
import { startProgram } from './program.ts';

/** What the settings of the service's connections need. */
export const IGNORED = 'statement_timeout,lock_timeout,idle_in_transaction_session_timeout';

async function version(): Promise<number> {
  const { stdout } = await promisify(execFile)('pgbouncer', ['--version']);
  return Number(/ 1\.(\d+)/.exec(stdout)?.[1]);
}

/**
 * PgBouncer before the database of the URL, for the role of the URL, until the test ends; of any version, it keeps no prepared
 * statements.
 * @returns its URL
 */
export async function startForgetfulPooler(
  databaseUrl: string,
  settings: Record<string, string> = {},
): Promise<string> {
  const folder = await temporaryFolder();
  const listenPort = await freePort();
  const { host, port, user, password, database } = new pg.Client({ connectionString: databaseUrl });
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: listenPort,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: join(folder, 'users.txt'),
    pool_mode: 'transaction',
    ...((await version()) >= 21 && { max_prepared_statements: '0' }),
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(file, `[databases]\n* = host=${host} port=${port}\n[pgbouncer]\n${lines.join('\n')}\n`);
  await writeFile(all.auth_file, `"${user}" "${password ?? ''}"\n`);
  // It refuses to be root, and reads its files as whom it became.
  await chmod(folder, 0o755);
  const asUser = process.getuid?.() === 0 ? ['--user=nobody'] : [];
  onTestFinished((await startProgram('pgbouncer', [...asUser, file], /process up/)).kill);
  return `postgres://${user}@127.0.0.1:${listenPort}/${database}`;
}
