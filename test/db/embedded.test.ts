import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { startEmbeddedPostgres } from '../../src/db/index.ts';
import { newFolder } from '../support/folder.ts';

const isRoot = process.getuid?.() === 0;
const SETTINGS = { fsync: 'off' };

const folder = await newFolder();
// Another user may reach the socket; the server rejects the connection.
await chmod(folder, 0o711);
/** The data of a server that was started once. */
const data = join(folder, 'postgres');
await (await startEmbeddedPostgres(data, SETTINGS)).stop();
afterAll(() => rm(folder, { recursive: true, force: true }));
function start(path = data, settings: Record<string, string> = SETTINGS) {
  const starting = startEmbeddedPostgres(path, settings);
  onTestFinished(() => starting.then(({ stop }) => stop()).catch(() => undefined));
  return starting;
}

describe('the embedded server', () => {
  test.skipIf(!isRoot)(
    'rejects another user of the machine who reaches its socket, also when pg_hba.conf was edited; its log is private',
    async () => {
      await writeFile(join(data, 'pg_hba.conf'), 'local all all trust\n');
      const { host } = await start();
      expect((await stat(join(host, 'server.log'))).mode & 0o777).toBe(0o600);
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
    },
  );

  test.skipIf(!isRoot)('starts as the root of a container, which has fewer capabilities', async () => {
    const kept = 'chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap'.replaceAll(/\w+/g, '+$&');
    const script = `const { startEmbeddedPostgres } = await import('./src/db/server/embedded.ts');
      await (await startEmbeddedPostgres(${JSON.stringify(join(folder, 'container'))}, { fsync: 'off' })).stop();`;
    const args = [`--bounding-set=-all,${kept}`, process.execPath, '--input-type=module', '-e', script];
    await promisify(execFile)('setpriv', args, { cwd: new URL('../..', import.meta.url).pathname });
  });

  test('does not start while another program has the process id of its pid file, and leaves that program alone', async () => {
    const { uid, gid } = await stat(data);
    const other = spawn('sleep', ['600'], { stdio: 'ignore', ...(isRoot && { uid, gid }) });
    await once(other, 'spawn');
    onTestFinished(() => void other.kill('SIGKILL'));
    const pidFile = join(data, 'postmaster.pid');
    onTestFinished(() => rm(pidFile, { force: true }));
    await writeFile(pidFile, `${other.pid}\n${data}\n1\n5432\n${data}\n\n\n`);
    await expect(start()).rejects.toThrow(
      /^The embedded PostgreSQL did not start: FATAL: .*"postmaster.pid" already exists$|^The embedded PostgreSQL did not start: .*postmaster.pid.*$/,
    );
    expect([other.exitCode, other.signalCode]).toEqual([null, null]);
    await rm(pidFile);
    await start();
  });
});

test.each([
  ['a rejected setting', 'postgres', /^The embedded PostgreSQL did not start: .*shared_buffers.*$/],
  ['a long path', 'x'.repeat(100), /x+ is too long for a socket: set DATA_DIR to .*, or DATABASE_URL\.$/],
])('%s is reported in one line', async (_what, name, line) => {
  await expect(start(join(folder, name), { ...SETTINGS, shared_buffers: '1kB' })).rejects.toThrow(line);
});

test('of two first starts in one folder, one gets the database, and the other says that it is in use', async () => {
  const path = join(folder, 'twice');
  const starts = await Promise.allSettled([start(path), start(path)]);
  expect(starts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(starts.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { message: 'The data directory is in use by another instance of this service.' },
  });
});

test.skipIf(!isRoot)('a disk that is full says so first, and leaves nothing behind', async () => {
  const disk = join(folder, 'disk');
  await mkdir(disk);
  const mounted = await promisify(execFile)('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'disk', disk]).then(
    () => true,
    () => false,
  );
  // A container may not mount.
  if (!mounted) return;
  onTestFinished(() => promisify(execFile)('umount', ['--lazy', disk]).then(() => undefined));
  await expect(start(join(disk, 'postgres'))).rejects.toThrow(
    /^The embedded PostgreSQL could not be created: .*No space left on device/,
  );
  expect(await readdir(disk)).toEqual([]);
});
