import { execFile } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { ownDatabase } from '../support/databases.ts';
import { freePort, startProcess } from '../support/process.ts';
import { startProxy } from '../support/proxy.ts';
import { temporaryFolder } from './instance.ts';
import { startProgram } from './program.ts';

/** PgBouncer in front of the database, for the role of its URL. Whatever its version, it loses prepared statements. */
async function startForgetfulPooler(databaseUrl: string, settings: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder();
  const listenPort = await freePort();
  const { host, port, user, password, database } = new pg.Client({ connectionString: databaseUrl });
  const { stdout } = await promisify(execFile)('pgbouncer', ['--version']);
  const withoutStatements = Number(/ 1\.(\d+)/.exec(stdout)?.[1]) >= 21 && { max_prepared_statements: '0' };
  const [file, users] = [join(folder, 'pgbouncer.ini'), join(folder, 'users.txt')];
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: listenPort,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: users,
    pool_mode: 'transaction',
    ...withoutStatements,
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  await writeFile(file, `[databases]\n* = host=${host} port=${port}\n[pgbouncer]\n${lines.join('\n')}\n`);
  await writeFile(users, `"${user}" "${password ?? ''}"\n`);
  // PgBouncer does not run as root, and reads its files as the other user.
  await chmod(folder, 0o755);
  const asUser = process.getuid?.() === 0 ? ['--user=nobody'] : [];
  onTestFinished((await startProgram('pgbouncer', [...asUser, file], /process up/)).kill);
  return `postgres://${user}@127.0.0.1:${listenPort}/${database}`;
}

test.each([
  [
    'loses prepared statements',
    { ignore_startup_parameters: 'statement_timeout,lock_timeout,idle_in_transaction_session_timeout' },
    'The service cannot start: the pooler in DATABASE_URL loses prepared statements. Use PgBouncer 1.21 or later with max_prepared_statements = 200, or go without.\n',
  ],
  [
    'rejects the timeouts of a connection',
    {},
    'The database at DATABASE_URL cannot be used: unsupported startup parameter: statement_timeout.\n',
  ],
])('a pooler that %s is named at the start, in one line', async (_how, settings, message) => {
  const database = await ownDatabase();
  // PgBouncer runs as another user, which may not use the socket of the tests' PostgreSQL.
  const proxy = await startProxy(database.url);
  onTestFinished(proxy.close);
  const { child, ended, output } = startProcess({
    DATABASE_URL: await startForgetfulPooler(proxy.url, settings),
    DATABASE_DIRECT_URL: database.url,
    FILE_SIGNING_SECRET: 'signing-secret-of-the-fault-tests-01',
    PORT: await freePort(),
    DASHBOARD_PORT: await freePort(),
    LOG_LEVEL: 'fatal',
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  expect([await ended, output()]).toEqual([1, message]);
});
