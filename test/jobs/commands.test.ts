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

/** The lines that the job prints. It fails when the job does. */
async function run(command: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', './src/runtime.js', 'src/cli/job.ts', command],
    {
      env: { DATABASE_URL: service.url, DATA_DIR: service.dataDir, ...PROGRAM },
    },
  );
  return stdout.trim().split('\n');
}

test('every script of package.json that runs the TypeScript gets the runtime of the service first', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const commands = Object.values(scripts).join(' && ').split(' && ');
  const ofService = commands.filter((command) => command.includes(' src/'));
  expect(ofService.length).toBeGreaterThan(7);
  for (const command of ofService)
    expect(command).toMatch(/ (--import \.\/src\/runtime\.js src\/cli\/|src\/main\.js$)/);
});

test('a signal to npm reaches what works on the database: its shell becomes the program', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const names =
    'start keys migrate db:distribute demo purge purge-organizations erase-files sweep-files sweep-idempotency-keys'.split(
      ' ',
    );
  for (const name of names) expect(scripts[name], name).toMatch(/^exec node [^&|;]+$/);
});

test('the runtime of the service loads Drizzle as CommonJS', async () => {
  const script = `
    import { createRequire } from 'node:module';
    await import('drizzle-orm/node-postgres');
    const loaded = Object.keys(createRequire(import.meta.url).cache);
    console.log(loaded.some((path) => path.endsWith('drizzle-orm/node-postgres/index.cjs')));`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...['--import', './src/runtime.js', '--input-type=module', '--eval', script],
  ]);
  expect(stdout).toBe('true\n');
});

test('a job that is not there is refused in one line', async () => {
  await expect(run('nonsense')).rejects.toMatchObject({
    code: 1,
    stderr:
      'Name one of the jobs: purge, purge-organizations, erase-files, sweep-files, sweep-idempotency-keys.\n',
  });
});

test('npm run keys issues a key for some resources, changes it and shows it', async () => {
  const { id: organization } = await service.agency();
  const keys = async (command: string, ...options: string[]) => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        '--import',
        './src/runtime.js',
        'src/cli/keys.ts',
        command,
        '--organization',
        organization,
        ...options,
      ],
      { env: { DATABASE_URL: service.url, ...PROGRAM } },
    );
    return stdout;
  };
  const issued = await keys('issue', '--name', 'site', '--access', 'read', '--resources', 'catalog,team');
  const [, key = ''] = /: (tcrm_\w+)/.exec(issued) ?? [];
  const [, id = ''] = /Id: (\S+)/.exec(issued) ?? [];
  expect((await service.client(key).get('/v1/quotes')).body.error.code).toBe('KEY_RESOURCE_NOT_ALLOWED');
  expect(await keys('list')).toContain('site  read  catalog,team  expires never');
  const changed = await keys(
    'change',
    '--id',
    id,
    '--resources',
    'all',
    '--access',
    'write',
    '--name',
    'sync',
    '--per-minute',
    '7',
  );
  expect(changed).toMatch(new RegExp(`^${id}  .*  sync  write  all  expires never`));
  expect(await service.query('select requests_per_minute from api_keys where id = $1', [id])).toEqual([
    { requests_per_minute: 7 },
  ]);
  await keys('change', '--id', id, '--per-minute', 'default');
  expect(await service.query('select requests_per_minute from api_keys where id = $1', [id])).toEqual([
    { requests_per_minute: null },
  ]);
  await expect(keys('change', '--id', id)).rejects.toMatchObject({
    stderr: expect.stringMatching(/^Name a setting to change/),
  });
});

test('npm run keys closes an organization, issues nothing for it, and opens it again', async () => {
  const { id, key } = await service.agency('Agencia que se va');
  const keys = async (command: string, ...options: string[]) =>
    (
      await promisify(execFile)(
        process.execPath,
        ['--import', './src/runtime.js', 'src/cli/keys.ts', command, ...options],
        { env: { DATABASE_URL: service.url, ...PROGRAM } },
      )
    ).stdout;
  const named = ['--organization', 'Agencia que se va'];
  expect(await keys('close-organization', ...named)).toMatch(/^Closed at \S+, purged from \S+\n$/);
  expect(await keys('organizations')).toMatch(new RegExp(`${id}  Agencia que se va  closed, purged from `));
  expect(await keys('list', ...named)).toContain('test  write  all');
  for (const command of [
    ['issue', '--name', 'site'],
    ['change', '--id', id, '--name', 'site'],
    ['rotate', '--id', id],
    ['revoke', '--id', id],
  ])
    await expect(keys(command[0] ?? '', ...named, ...command.slice(1))).rejects.toMatchObject({
      code: 1,
      stderr: 'The organization is closed; open it again before anything is written.\n',
    });
  const demo = promisify(execFile)(
    process.execPath,
    ['--import', './src/runtime.js', 'src/cli/demo.ts', '--organization', id],
    { env: { DATABASE_URL: service.url, DATA_DIR: service.dataDir, ...PROGRAM } },
  );
  await expect(demo).rejects.toMatchObject({
    stderr: 'The organization is closed; open it again before anything is written.\n',
  });
  await expect.poll(async () => (await service.client(key).get('/v1/team')).status).toBe(401);
  expect(await keys('reopen-organization', ...named)).toBe('Agencia que se va is open\n');
  expect((await service.client(key).get('/v1/team')).status).toBe(200);
});

test('npm run keys refuses a bad option in the words of the API', async () => {
  const keys = (...options: string[]) =>
    promisify(execFile)(
      process.execPath,
      ['--import', './src/runtime.js', 'src/cli/keys.ts', 'issue', '--organization', 'x', ...options],
      {
        env: { DATABASE_URL: service.url, ...PROGRAM },
      },
    );
  for (const [options, words] of [
    [['--per-minute', 'x'], '--per-minute must be an integer.'],
    [
      ['--resources', 'files'],
      '--resources must be one of catalog, customers, opportunities, conversations, quotes, team.',
    ],
    [
      ['--per-minute', '0', '--expires', 'soon'],
      '--expires must be a number with d, h, m or s, such as 90d.',
    ],
  ] as const) {
    const refused = keys('--name', 'sync', ...options);
    await expect(refused).rejects.toMatchObject({ code: 1, stdout: '', stderr: `${words}\n` });
  }
});

test('npm run purge removes what is due, unless another process is at it', async () => {
  const agency = await service.agency();
  const { body } = await agency.post('/v1/catalog/products', { title: 'Long gone' });
  await agency.delete(`/v1/catalog/products/${body.id}`);
  await service.query("update products set archived_at = now() - interval '31 days' where id = $1", [
    body.id,
  ]);
  const rows = () => service.query('select id from products where id = $1', [body.id]);

  await withJobLock(
    service.url,
    JOBS.purge.lock,
    async () => expect(await run('purge')).toEqual(['A purge is running already, in another process.']),
    new AbortController().signal,
  );
  expect(await rows()).toHaveLength(1);
  expect((await run('purge')).map((line) => JSON.parse(line))).toMatchObject([
    { organizationId: agency.id, productId: body.id },
    { products: 1, variants: 0, stopped: false },
  ]);
  expect(await rows()).toEqual([]);
});

test('npm run sweep-files removes the orphans of the configured storage', async () => {
  const agency = await service.agency();
  const key = storageKey(agency.id, newId());
  const disk = diskStorage(join(service.dataDir, 'files'));
  await disk.put(key, Readable.from(['x']));
  const twoDaysAgo = new Date(Date.now() - 48 * 3_600_000);
  await utimes(join(service.dataDir, 'files', key), twoDaysAgo, twoDaysAgo);
  expect((await run('sweep-files')).map((line) => JSON.parse(line))).toMatchObject([
    { file: key },
    { files: 1 },
  ]);
  expect(await collect(disk.list())).toEqual([]);
});

test('npm run sweep-idempotency-keys removes what is past its day', async () => {
  const agency = await service.agency();
  const create = (key: string) =>
    agency.post('/v1/catalog/products', { title: 'x' }, { headers: { 'idempotency-key': key } });
  await create('old');
  await service.query("update idempotency_keys set created_at = now() - interval '25 hours'");
  await create('new');
  const command = async () =>
    (await run('sweep-idempotency-keys')).map((line) => JSON.parse(line)) as unknown[];
  expect(await command()).toMatchObject([{ keys: 1, stopped: false }]);
  expect(await service.query('select from idempotency_keys')).toHaveLength(1);
});
