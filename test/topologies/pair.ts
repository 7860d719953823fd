import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, chown, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { administer } from '../support/databases.ts';
import { freePort } from '../support/process.ts';
import { temporaryFolder } from './instance.ts';
import { startProgram } from './program.ts';

const run = promisify(execFile);

/** A primary and a standby that has every commit before it is acknowledged; both end with the test. */
export type Pair = {
  primaryUrl: string;
  standbyUrl: string;
  killPrimary: () => Promise<void>;
  /** Makes the standby a primary, without a standby of its own. */
  promote: () => Promise<void>;
};

/** PostgreSQL's own programs, of the newest version: the embedded package lacks pg_basebackup. */
async function findPrograms(): Promise<string> {
  const root = '/usr/lib/postgresql';
  const versions = await readdir(root).catch(() => []);
  const folders = versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(root, version, 'bin'));
  const found = folders.find((folder) =>
    ['pg_basebackup', 'postgres'].every((name) => existsSync(join(folder, name))),
  );
  if (found !== undefined) return found;
  throw new Error('PostgreSQL with pg_basebackup was not found: apt-get install postgresql.');
}

/** PostgreSQL does not run as root. */
async function findUser(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const id = async (flag: string) => Number((await run('id', [flag, 'nobody'])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}

export async function startPair(): Promise<Pair> {
  const [programs, user] = [await findPrograms(), await findUser()];
  const folder = await temporaryFolder();
  if (user) await chown(folder, user.uid, user.gid);
  const program = (name: string, args: string[]) =>
    run(join(programs, name), args, { cwd: folder, ...user, env: { PATH: process.env.PATH, LANG: 'C' } });

  async function start(data: string, port: string): Promise<{ url: string; kill: () => Promise<void> }> {
    const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '' };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const ready = /ready to accept (read-only )?connections/;
    const options = { cwd: folder, ...user };
    const { kill } = await startProgram(join(programs, 'postgres'), ['-D', data, ...args], ready, options);
    onTestFinished(kill);
    return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, kill };
  }

  const [primaryData, standbyData] = [join(folder, 'primary'), join(folder, 'standby')];
  await program('initdb', ['-D', primaryData, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C']);
  const port = await freePort();
  const primary = await start(primaryData, port);
  const from = ['-h', '127.0.0.1', '-p', port, '-U', 'postgres'];
  await program('pg_basebackup', ['-D', standbyData, ...from, '-R', '-c', 'fast']);
  await appendFile(join(primaryData, 'postgresql.conf'), `synchronous_standby_names = '*'\n`);
  const standby = await start(standbyData, await freePort());
  await administer(primary.url, async (client) => {
    await client.query('select pg_reload_conf()');
    for (let isSynchronous = false; !isSynchronous; ) {
      const { rowCount } = await client.query(`select from pg_stat_replication where sync_state = 'sync'`);
      isSynchronous = rowCount === 1;
    }
  });
  return {
    primaryUrl: primary.url,
    standbyUrl: standby.url,
    killPrimary: primary.kill,
    promote: () =>
      administer(standby.url, async (client) => {
        await client.query('select pg_promote()');
      }),
  };
}
