import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, appendFile, chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { administer } from '../support/databases.ts';
import { freePort } from '../support/process.ts';

const run = promisify(execFile);

type Server = { url: string; stop: () => Promise<void> };

/** A primary and a standby that has every commit before it is acknowledged. */
export type Pair = {
  primaryUrl: string;
  standbyUrl: string;
  killPrimary: () => Promise<void>;
  /** Makes the standby a primary, which waits for no other. */
  promote: () => Promise<void>;
  close: () => Promise<void>;
};

/** PostgreSQL's own programs, of the newest version: the embedded package lacks pg_basebackup. */
async function findPrograms(): Promise<string> {
  const root = '/usr/lib/postgresql';
  const versions = await readdir(root).catch(() => []);
  for (const version of versions.sort((a, b) => Number(b) - Number(a))) {
    const folder = join(root, version, 'bin');
    if (
      await access(join(folder, 'pg_basebackup'))
        .then(() => access(join(folder, 'postgres')))
        .then(
          () => true,
          () => false,
        )
    )
      return folder;
  }
  throw new Error('PostgreSQL with pg_basebackup is missing: apt-get install postgresql.');
}

/** PostgreSQL refuses to be root. */
async function findUser(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const id = async (flag: string) => Number((await run('id', [flag, 'nobody'])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}

export async function startPair(): Promise<Pair> {
  const [programs, user] = [await findPrograms(), await findUser()];
  const folder = await mkdtemp(join(tmpdir(), 'crm-pair-'));
  if (user) await chown(folder, user.uid, user.gid);
  const program = (name: string, args: string[]) =>
    run(join(programs, name), args, { cwd: folder, ...user, env: { PATH: process.env.PATH, LANG: 'C' } });

  async function start(data: string, port: string): Promise<Server> {
    const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '' };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(join(programs, 'postgres'), ['-D', data, ...args], {
      cwd: folder,
      ...user,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = once(child, 'exit');
    await new Promise<void>((done, fail) => {
      let said = '';
      child.stderr.on('data', (chunk) => {
        said += chunk;
        if (/ready to accept (read-only )?connections/.test(said)) done();
      });
      ended.then(() => fail(new Error(`PostgreSQL ended:\n${said}`)), fail);
    });
    return {
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      stop: async () => {
        child.kill('SIGKILL');
        await ended;
      },
    };
  }

  const [primaryData, standbyData] = [join(folder, 'primary'), join(folder, 'standby')];
  await program('initdb', ['-D', primaryData, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C']);
  const port = await freePort();
  const primary = await start(primaryData, port);
  await program('pg_basebackup', [
    '-D',
    standbyData,
    '-h',
    '127.0.0.1',
    '-p',
    port,
    '-U',
    'postgres',
    '-R',
    '-c',
    'fast',
  ]);
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
    killPrimary: primary.stop,
    promote: () =>
      administer(standby.url, async (client) => {
        await client.query('select pg_promote()');
      }),
    close: async () => {
      await Promise.all([primary.stop(), standby.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
