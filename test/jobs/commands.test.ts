import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { newId } from '../../src/db/sql/ids.ts';
import { diskStorage, storageKey } from '../../src/files/storage.ts';
import { withJobLock } from '../../src/jobs/lock.ts';
import { JOBS } from '../../src/jobs/schedule.ts';
import { PROGRAM } from '../support/process.ts';
import { useService } from '../support/service.ts';
import { collect } from '../support/storages.ts';

const service = useService();

/** What the program of src/cli/ prints. It fails when the program does. */
async function run(program: 'job' | 'keys' | 'demo', ...options: string[]): Promise<string> {
  const args = ['--import', './src/runtime.js', `src/cli/${program}.ts`, ...options];
  const env = { DATABASE_URL: service.url, DATA_DIR: service.dataDir, ...PROGRAM };
  return (await promisify(execFile)(process.execPath, args, { env })).stdout;
}

const runJob = async (name: string): Promise<unknown[]> =>
  (await run('job', name))
    .trim()
    .split('\n')
    .map((line) => (line.startsWith('{') ? JSON.parse(line) : line));

test('every script of the service gets its runtime first, and a signal to npm reaches it: the shell becomes the program', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const ofService = Object.entries(scripts).filter(([, command]) => command.includes(' src/'));
  expect(ofService.length).toBeGreaterThan(5);
  for (const [name, command] of ofService)
    expect(command, name).toMatch(
      /^exec (env NODE_OPTIONS="[^"]*" )?node (src\/main\.js|--import \.\/src\/runtime\.js src\/cli\/[\w-]+\.ts)[^&|;]*$/,
    );
});

test('the runtime of the service loads Drizzle as CommonJS', async () => {
  const script = `
    import { createRequire } from 'node:module';
    await import('drizzle-orm/node-postgres');
    const loaded = Object.keys(createRequire(import.meta.url).cache);
    console.log(loaded.some((path) => path.endsWith('drizzle-orm/node-postgres/index.cjs')));`;
  const args = ['--import', './src/runtime.js', '--input-type=module', '--eval', script];
  expect((await promisify(execFile)(process.execPath, args)).stdout).toBe('true\n');
});

test('a command rejects arguments that it does not know, in one line', async () => {
  const issue = ['keys', 'issue', '--organization', 'x', '--name', 'sync'] as const;
  const refused = (words: string, ...args: Parameters<typeof run>) =>
    expect(run(...args)).rejects.toMatchObject({ code: 1, stdout: '', stderr: `${words}\n` });
  await Promise.all([
    refused(`Name a job: ${Object.keys(JOBS).join(', ')}.`, 'job', 'nonsense'),
    refused('--per-minute must be an integer.', ...issue, '--per-minute', 'x'),
    refused(
      '--expires must be a number followed by d, h, m or s, such as 90d.',
      ...issue,
      '--expires',
      'soon',
    ),
  ]);
});

test('npm run keys issues a key for some resources, changes it and shows it', async () => {
  const { id: organization } = await service.agency();
  const keys = (command: string, ...options: string[]) =>
    run('keys', command, '--organization', organization, ...options);
  const issued = await keys('issue', '--name', 'site', '--access', 'read', '--resources', 'catalog,team');
  const [, key = '', id = ''] = /: (tcrm_\w+)\nId: (\S+)/.exec(issued) ?? [];
  expect((await service.client(key).get('/v1/quotes')).body.error.code).toBe('KEY_RESOURCE_NOT_ALLOWED');
  const change = (...settings: string[]) => keys('change', '--id', id, ...settings);
  const limit = async () => {
    const [row] = await service.query('select requests_per_minute as n from api_keys where id = $1', [id]);
    return row?.n;
  };
  const all = ['--resources', 'all', '--access', 'write', '--name', 'sync', '--per-minute', '7'];
  expect(await change(...all)).toMatch(new RegExp(`^${id}  .*  sync  write  all  expires never`));
  expect(await limit()).toBe(7);
  expect(await change('--access', 'create', '--expires', '90d', '--per-minute', 'default')).toMatch(
    / {2}sync {2}create {2}all {2}expires 2\d{3}-/,
  );
  expect(await limit()).toBeNull();
  expect(await change('--expires', 'never')).toContain('  expires never  ');
  const rotated = await keys('rotate', '--id', id, '--expires', '30d');
  const [, successor = ''] =
    /^Key \(shown only once\): tcrm_\w+\nId: (\S+)\nExpires: 2\d{3}-/.exec(rotated) ?? [];
  expect(await keys('list')).toMatch(
    new RegExp(`^${successor}  .*\n${id}  .*  sync  create  all  replaced by ${successor}, expires 2`),
  );
});

test('npm run keys closes an organization, issues nothing for it, and opens it again', async () => {
  const { id, key } = await service.agency('Agencia que se va');
  const named = ['--organization', 'Agencia que se va'];
  const closed = await run('keys', 'close-organization', ...named);
  expect(closed).toMatch(/^Closed at \S+, purged from \S+\n$/);
  expect(await run('keys', 'organizations')).toMatch(
    new RegExp(`${id}  Agencia que se va  closed, purged from `),
  );
  const writes = [run('keys', 'issue', ...named, '--name', 'site'), run('demo', '--organization', id)];
  const stderr = 'The organization is closed. Reopen it to write.\n';
  for (const { reason } of (await Promise.allSettled(writes)) as PromiseRejectedResult[])
    expect(reason).toMatchObject({ code: 1, stderr });
  await expect.poll(async () => (await service.client(key).get('/v1/team')).status).toBe(401);
  expect(await run('keys', 'reopen-organization', ...named)).toBe('Agencia que se va is open\n');
  expect((await service.client(key).get('/v1/team')).status).toBe(200);
});

test('npm run job -- purge removes what is due, unless another process is at it', async () => {
  const agency = await service.agency();
  const { body } = await agency.post('/v1/catalog/products', { title: 'Long gone' });
  await agency.delete(`/v1/catalog/products/${body.id}`);
  const long = "update products set archived_at = now() - interval '31 days' where id = $1";
  await service.query(long, [body.id]);
  const refused = await withJobLock(
    service.url,
    JOBS.purge.lock,
    () => runJob('purge'),
    new AbortController().signal,
  );
  expect(refused).toEqual(['Another process is already running purge.']);
  expect(await runJob('purge')).toMatchObject([
    { organizationId: agency.id, productId: body.id },
    { products: 1, variants: 0, stopped: false },
  ]);
});

test('npm run job -- sweep-files removes the orphans of the configured storage', async () => {
  const { id: organizationId } = await service.agency();
  const key = storageKey(organizationId, newId());
  const disk = diskStorage(join(service.dataDir, 'files'));
  await disk.put(key, Readable.from(['x']));
  const twoDaysAgo = new Date(Date.now() - 48 * 3_600_000);
  await utimes(join(service.dataDir, 'files', key), twoDaysAgo, twoDaysAgo);
  expect(await runJob('sweep-files')).toMatchObject([{ file: key }, { files: 1 }]);
  expect(await collect(disk.list())).toEqual([]);
});
