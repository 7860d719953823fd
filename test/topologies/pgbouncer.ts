import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from '../support/process.ts';

export type Pooler = { url: string; close: () => Promise<void> };

/** What the settings of the service's connections need. */
export const IGNORED = 'statement_timeout,lock_timeout,idle_in_transaction_session_timeout';

async function version(): Promise<number> {
  const said = await promisify(execFile)('pgbouncer', ['--version']).catch((cause) => {
    throw new Error('pgbouncer is missing: apt-get install pgbouncer.', { cause });
  });
  return Number(/ 1\.(\d+)/.exec(said.stdout)?.[1]);
}

/** PgBouncer before the database of the URL, for the role of the URL; of any version, it keeps no prepared statements. */
export async function startForgetfulPooler(
  databaseUrl: string,
  settings: Record<string, string> = {},
): Promise<Pooler> {
  const folder = await mkdtemp(join(tmpdir(), 'crm-pgbouncer-'));
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
  const child = spawn('pgbouncer', [...asUser, file], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  let said = '';
  await new Promise<void>((done, fail) => {
    child.stderr.on('data', (chunk) => {
      said += chunk;
      if (said.includes('process up')) done();
    });
    ended.then(() => fail(new Error(`PgBouncer ended:\n${said}`)), fail);
  });
  return {
    url: `postgres://${user}@127.0.0.1:${listenPort}/${database}`,
    close: async () => {
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
