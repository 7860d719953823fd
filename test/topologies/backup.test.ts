import { execFile } from 'node:child_process';
import { chown, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { migrateDatabase } from '../../src/db/index.ts';
import { administer, asService, withDatabase } from '../support/databases.ts';
import { documentAt } from '../support/documents.ts';
import { COMPARE } from '../support/drift.ts';
import { newFolder } from '../support/folder.ts';
import { freePort, startProcess } from '../support/process.ts';
import { end, openAgency } from './instance.ts';

/** The blocks of docs/operating.md, by psql, pg_dump and pg_restore. */

const MANUAL = documentAt('docs/operating.md');
const blockOf = (name: string): string => MANUAL.split(`\n\`\`\`sh ${name}\n`)[1]?.split('```')[0] ?? '';
const [, DB = ''] = /^(db\(\) \{ "\$@".*)$/m.exec(MANUAL) ?? [];

/** A server of the version of the installed programs: Debian's, of the newest version. */
async function startPostgres(): Promise<string> {
  const [version] = (await readdir('/usr/lib/postgresql')).sort((a, b) => Number(b) - Number(a));
  const [folder, port] = [await newFolder(), await freePort()];
  // PostgreSQL does not run as root.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
  if (user) await chown(folder, user.uid, user.gid);
  const options = { cwd: folder, ...user };
  const program = (name: string) => join(`/usr/lib/postgresql/${version}/bin`, name);
  const access = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C'];
  await promisify(execFile)(program('initdb'), ['-D', 'data', ...access], options);
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
  const args = ['-D', 'data', ...settings.flatMap((setting) => ['-c', setting])];
  const server = startProcess({}, args, program('postgres'), options);
  onTestFinished(() => end(server, 'SIGKILL'));
  await server.until('ready to accept connections');
  return `postgres://postgres@127.0.0.1:${port}/postgres`;
}

test('a backup is restored over its own database and into an empty one, and the role of the service works there', async () => {
  const serverUrl = await startPostgres();
  const folder = await newFolder();
  const run = (script: string, OWNER_URL: string) =>
    promisify(execFile)('bash', ['-euc', `${DB}\n${script.replace('deploy/', `${process.cwd()}/deploy/`)}`], {
      cwd: folder,
      env: { PATH: process.env.PATH, OWNER_URL, SERVICE_PASSWORD: 'crm_service' },
    });
  const urlOf = (name: string) => withDatabase(serverUrl, name);
  await administer(serverUrl, async (client) => {
    for (const name of ['used', 'blank']) await client.query(`create database ${name}`);
  });
  await run(blockOf('restore').split('\n')[0] ?? '', urlOf('used'));
  await migrateDatabase(urlOf('used'));
  const { id } = await openAgency(asService(urlOf('used')));
  await run(blockOf('backup'), urlOf('used'));
  await openAgency(asService(urlOf('used')));

  for (const name of ['used', 'blank']) {
    await run(blockOf('restore'), urlOf(name));
    await administer(asService(urlOf(name)), async (client) => {
      expect((await client.query('select id from organizations')).rows).toEqual([{ id }]);
      expect((await client.query(COMPARE)).rows).toEqual([]);
      await client.query(`update organizations set name = 'Renamed'`);
      await expect(client.query('truncate organizations')).rejects.toThrow('permission denied');
    });
    // No migration is pending, so the role of the service can start it.
    await migrateDatabase(asService(urlOf(name)));
  }
});
