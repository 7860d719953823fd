import { execFile, spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { linkLibraries, MAX_LOG_BYTES, startEmbeddedPostgres } from '../../src/db/index.ts';
import { administer } from '../support/databases.ts';

const isRoot = process.getuid?.() === 0;
const SETTINGS = { fsync: 'off' };

let folder: string;
/** The data of a server that was started once. */
let data: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crm-embedded-'));
  // Another user may reach the socket; the server rejects the connection.
  await chmod(folder, 0o711);
  data = join(folder, 'postgres');
  await (await startEmbeddedPostgres(data, SETTINGS)).stop();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Starts a server that stops when the test ends. */
function start(path = data, settings: Record<string, string> = SETTINGS) {
  const starting = startEmbeddedPostgres(path, settings);
  onTestFinished(() => starting.then(({ stop }) => stop()).catch(() => undefined));
  return starting;
}

const rows = (url: string, text: string) =>
  administer(url, async (client) => (await client.query(text)).rows);

test('an install without scripts gets the links to its shared libraries at the first start', async () => {
  const links = [
    { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' },
    { source: 'native/lib/libpq.so.5.18', target: 'native/libpq.so' },
  ];
  const root = join(folder, 'package');
  await mkdir(join(root, 'native/lib'), { recursive: true });
  await writeFile(join(root, 'native/lib/libpq.so.5.18'), 'library');
  await writeFile(join(root, 'native/pg-symlinks.json'), JSON.stringify(links));
  for (const start of ['first', 'second']) {
    await linkLibraries(root);
    for (const { target } of links) expect(await readFile(join(root, target), 'utf8'), start).toBe('library');
  }
});

describe('the embedded server', () => {
  test('accepts only its own user and root, identified by the kernel, also when pg_hba.conf was edited', async () => {
    await writeFile(join(data, 'pg_hba.conf'), 'local all all trust\n');
    const { url } = await start();
    expect(
      await rows(url, 'select type, database, user_name, auth_method, options from pg_hba_file_rules'),
    ).toEqual([
      { type: 'local', database: ['all'], user_name: ['all'], auth_method: 'peer', options: ['map=service'] },
    ]);
    const mapped = await rows(url, 'select sys_name, pg_username from pg_ident_file_mappings');
    expect(mapped).toContainEqual({ sys_name: 'root', pg_username: 'all' });
    expect(mapped.length).toBeLessThanOrEqual(2);
  });

  test.skipIf(!isRoot)('rejects another user of the machine who reaches its socket', async () => {
    const { host } = await start();
    onTestFinished(() => chmod(host, 0o700));
    await chmod(host, 0o711);
    await chmod(join(host, '.s.PGSQL.5432'), 0o777);
    // A program of another user could not read the folders of root, so only the connection changes its user.
    const connectAs = (user: number) => {
      const client = new pg.Client({ host, user: 'postgres', database: 'postgres' });
      process.seteuid?.(user);
      try {
        return client.connect().finally(() => client.end());
      } finally {
        process.seteuid?.(0);
      }
    };
    await connectAs(0);
    await expect(connectAs(1)).rejects.toMatchObject({ code: '28000' });
  });

  test.skipIf(!isRoot)('starts as the root of a container, which has fewer capabilities', async () => {
    const capabilities = 'chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap'.replaceAll(
      /\w+/g,
      '+$&',
    );
    const script = `const { startEmbeddedPostgres } = await import('./src/db/server/embedded.ts');
      await (await startEmbeddedPostgres(${JSON.stringify(join(folder, 'container'))}, { fsync: 'off' })).stop();`;
    const args = [
      `--bounding-set=-all,${capabilities}`,
      process.execPath,
      '--input-type=module',
      '-e',
      script,
    ];
    await promisify(execFile)('setpriv', args, { cwd: new URL('../..', import.meta.url).pathname });
  });

  test('starts a new log when the last one is long, and keeps the last one', async () => {
    const [log, previous] = [join(data, 'server.log'), join(data, 'server.log.1')];
    await writeFile(log, 'x'.repeat(MAX_LOG_BYTES + 1));
    await writeFile(previous, 'older');
    const { url } = await start();
    await rows(url, 'select first').catch(() => undefined);
    await expect.poll(() => readFile(log, 'utf8')).toContain('column "first" does not exist');
    expect((await stat(log)).size).toBeLessThan(MAX_LOG_BYTES);
    expect((await stat(previous)).size).toBe(MAX_LOG_BYTES + 1);
  });

  test('does not start while another program has the process id of its pid file, and leaves that program alone', async () => {
    const { uid, gid } = await stat(data);
    const other = spawn('sleep', ['600'], { stdio: 'ignore', ...(isRoot && { uid, gid }) });
    await once(other, 'spawn');
    onTestFinished(() => void other.kill('SIGKILL'));
    const pidFile = join(data, 'postmaster.pid');
    onTestFinished(() => rm(pidFile, { force: true }));
    await writeFile(pidFile, `${other.pid}\n${data}\n1\n5432\n${data}\n\n\n`);
    await expect(start()).rejects.toMatchObject({
      message: `The embedded PostgreSQL did not start: process ${other.pid} is running, and ${data}/postmaster.pid says that it is the server, but it does not respond. If it is another program, delete that file; if it is PostgreSQL, end it. Then start again.`,
    });
    expect([other.exitCode, other.signalCode]).toEqual([null, null]);
    await rm(pidFile);
    await start();
  });

  test('reports in one line why it does not start', async () => {
    await expect(start(data, { ...SETTINGS, shared_buffers: '1kB' })).rejects.toThrow(
      /^The embedded PostgreSQL did not start: .*shared_buffers.*$/,
    );
    await start();
  });
});

describe('for a data folder whose path is too long for a socket', () => {
  const longData = () => join(folder, 'x'.repeat(100));
  const socketFolder = () => join(tmpdir(), `crm-${hash('sha256', longData()).slice(0, 12)}`);
  const REJECTED =
    /crm-\w+, for the socket .* is no folder of this user with mode 700: remove it, or choose a shorter DATA_DIR\.$/;

  const FOLDERS: [string, (path: string) => Promise<unknown>][] = [
    ['that others may enter', (path) => mkdir(path, { mode: 0o755 })],
    ['that is a link', (path) => symlink(folder, path)],
    ['that is a file', (path) => writeFile(path, '', { mode: 0o700 })],
    ['of root', (path) => mkdir(path, { mode: 0o700 })],
  ];
  test.each(FOLDERS.filter(([name]) => isRoot || name !== 'of root'))(
    'a folder %s is rejected',
    async (_name, create) => {
      await create(socketFolder());
      onTestFinished(() => rm(socketFolder(), { recursive: true, force: true }));
      await expect(start(longData())).rejects.toThrow(REJECTED);
    },
  );

  test('a separate folder for the socket is created, used and removed', async () => {
    const first = await start(longData());
    expect(first.host).toBe(socketFolder());
    expect((await stat(first.host)).mode & 0o777).toBe(0o700);
    await first.stop();
    await expect(stat(first.host)).rejects.toThrow('ENOENT');
  });
});
