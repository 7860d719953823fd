import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { withJobLock } from '../../src/jobs/lock.ts';
import { JOBS } from '../../src/jobs/schedule.ts';
import { closeOrganization } from '../../src/organizations/repository.ts';
import { PROGRAM } from '../support/process.ts';
import { product } from '../support/records.ts';
import { useService } from '../support/service.ts';

const service = useService();

/** The output of a program of src/cli/; rejects if the program fails. */
async function runWith(environment: object, program: string, ...options: string[]): Promise<string> {
  const args = ['--import', './src/runtime.js', `src/cli/${program}.ts`, ...options];
  const env = { ...environment, ...PROGRAM };
  return (await promisify(execFile)(process.execPath, args, { env })).stdout;
}
const run = (...command: [program: string, ...options: string[]]) =>
  runWith({ DATABASE_URL: service.url, DATA_DIR: service.dataDir }, ...command);

test('every script of the service loads the runtime first, and replaces the shell, so that a signal to npm reaches the program', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const ofService = Object.entries(scripts).filter(([, command]) => command.includes(' src/'));
  expect(ofService.length).toBeGreaterThan(5);
  for (const [name, command] of ofService)
    expect(command, name).toMatch(
      /^exec (env NODE_OPTIONS="[^"]*" )?node (src\/main\.js|--import \.\/src\/runtime\.js src\/cli\/[\w-]+\.ts)[^&|;]*$/,
    );
});

test('a command rejects arguments that it does not know, in one line', async () => {
  const issue = 'keys issue --organization x --name sync';
  const rejected = {
    'job nonsense': `Name a job: ${Object.keys(JOBS).join(', ')}.`,
    [`${issue} --per-minute x`]: '--per-minute must be an integer.',
    [`${issue} --expires soon`]: '--expires must be a number followed by d, h, m or s, such as 90d.',
  };
  await Promise.all(
    Object.entries(rejected).map(([command, message]) => {
      const [program = '', ...options] = command.split(' ');
      const error = { code: 1, stdout: '', stderr: `${message}\n` };
      return expect(run(program, ...options)).rejects.toMatchObject(error);
    }),
  );
});

test('a command without DATABASE_URL works on the database of a service that runs here, or fails and creates none', async () => {
  const DATA_DIR = join(service.dataDir, 'nothing');
  const stderr = expect.stringMatching(/^DATABASE_URL is not set, and .* Set DATABASE_URL to .*\n$/);
  const commands = ['job purge-organizations', 'keys organizations', 'migrate', 'demo'];
  await Promise.all(
    commands.map((command) => {
      const [program = '', ...options] = command.split(' ');
      const error = { code: 1, stdout: '', stderr };
      return expect(runWith({ DATA_DIR }, program, ...options)).rejects.toMatchObject(error);
    }),
  );
  expect(existsSync(DATA_DIR)).toBe(false);
});

test('npm run keys issues, rotates and lists keys', async () => {
  const { id: organization } = await service.agency();
  const keys = (command: string) => run('keys', ...command.split(' '), '--organization', organization);
  const issued = await keys(
    'issue --name site --access read --resources catalog,team --expires 90d --per-minute 7',
  );
  const [, key = '', id = ''] = /: (tcrm_\w+)\nId: (\S+)\nExpires: 2\d{3}-/.exec(issued) ?? [];
  const { headers, body } = await service.client(key).get('/v1/quotes');
  expect([headers['x-ratelimit-limit'], body.error.code]).toEqual(['7', 'KEY_RESOURCE_NOT_ALLOWED']);
  const rotated = await keys(`rotate --id ${id} --expires 30d`);
  const [, successor = ''] =
    /^Key \(shown only once\): tcrm_\w+\nId: (\S+)\nExpires: 2\d{3}-/.exec(rotated) ?? [];
  expect(await keys('list')).toMatch(
    new RegExp(`^${successor}  .*\n${id}  .*  site  read  catalog,team  replaced by ${successor}, expires 2`),
  );
});

test('npm run keys lists a closed organization, and issues no key for it', async () => {
  const { id, scope } = await service.agency('Agencia que se va');
  await closeOrganization(scope);
  const issue = run('keys', 'issue', '--organization', 'Agencia que se va', '--name', 'site');
  const error = { code: 1, stderr: 'The organization is closed. Reopen it to write.\n' };
  const [organizations] = await Promise.all([
    run('keys', 'organizations'),
    expect(issue).rejects.toMatchObject(error),
  ]);
  expect(organizations).toMatch(new RegExp(`${id}  Agencia que se va  closed, purged from `));
});

test('npm run job -- purge deletes what is due, unless another process is running the job', async () => {
  const agency = await service.agency();
  const { id: productId } = await product(agency);
  const archive = "update products set archived_at = now() - interval '31 days' where id = $1";
  await service.query(archive, [productId]);
  const { signal } = new AbortController();
  const rejected = await withJobLock(service.url, JOBS.purge.lock, () => run('job', 'purge'), signal);
  expect(rejected).toBe('Another process is already running purge.\n');
  const lines = (await run('job', 'purge')).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { organizationId: agency.id, productId },
    { job: 'purge', products: 1, variants: 0 },
  ]);
});
