import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { withJobLock } from '../../src/jobs/lock.ts';
import { JOBS } from '../../src/jobs/schedule.ts';
import { closeOrganization } from '../../src/organizations/repository.ts';
import { hold } from '../support/databases.ts';
import { PROGRAM, runProgram } from '../support/process.ts';
import { product } from '../support/records.ts';
import { useService } from '../support/service.ts';

const service = await useService();

const access = () => ({ DATABASE_URL: service.url, DATA_DIR: service.dataDir });

/** Runs a program of src/cli/. */
async function run(command: string, environment: Record<string, string> = access()) {
  const [program = '', ...options] = command.split(' ');
  return runProgram(`src/cli/${program}.ts`, options, environment);
}

test('every script of the service loads the runtime first, and replaces the shell, so that a signal to npm reaches the program', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const ofService = Object.entries(scripts).filter(([, command]) => command.includes(' src/'));
  expect(ofService.length).toBeGreaterThan(5);
  for (const [name, command] of ofService)
    expect(command, name).toMatch(
      /^exec (env NODE_OPTIONS="[^"]*" )?node (src\/main\.js|--import \.\/src\/runtime\.js src\/cli\/[\w-]+\.ts)[^&|;]*$/,
    );
});

test.each([
  ['job nonsense', `Name a job: ${Object.keys(JOBS).join(', ')}.`],
  ['keys issue --organization x --name sync --per-minute x', '--per-minute must be an integer.'],
  ['keys issue --organization x --name sync --per-minute=-1', '--per-minute must be at least 0.'],
  ['keys issue --organization x --name sync --expires 0d', '--expires must be in the future.'],
  ['keys rotate --organization x --id x --overlap 31d', '--overlap must be at most 2592000.'],
  [`keys create-organization --name ${'x'.repeat(256)}`, '--name must have at most 255 characters.'],
  [
    'keys issue --organization x --name sync --expires soon',
    '--expires must be a number followed by d, h, m or s, such as 90d.',
  ],
])('%s is rejected in one line', async (command, message) => {
  expect(await run(command)).toEqual({ code: 1, stdout: '', stderr: `${message}\n` });
});

test.each(['job purge-organizations', 'keys organizations', 'migrate', 'demo'])(
  '%s without DATABASE_URL works on the database of a service that runs here, or fails and creates none',
  async (command) => {
    const DATA_DIR = join(service.dataDir, 'nothing');
    const stderr = expect.stringMatching(/^DATABASE_URL is not set, and .* Set DATABASE_URL to .*\n$/);
    expect(await run(command, { DATA_DIR })).toEqual({ code: 1, stdout: '', stderr });
    expect(existsSync(DATA_DIR)).toBe(false);
  },
);

test('npm run keys issues, rotates and lists keys, waits for a lock as long as a request, and issues none for a closed organization', async () => {
  const { id: organization, scope } = await service.agency();
  const keys = async (command: string) =>
    (await run(`keys ${command} --organization ${organization}`)).stdout;
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
  const commit = await hold(service.ownerUrl, 'select from api_keys where id = $1 for update', [successor]);
  const impatient = { ...access(), DATABASE_TIMEOUT_MS: '100' };
  const waiting = await run(`keys rotate --id ${successor} --organization ${organization}`, impatient);
  expect(waiting).toMatchObject({ code: 1, stderr: expect.stringContaining('lock timeout') });
  await commit();
  await closeOrganization(scope);
  expect(await run(`keys issue --organization ${organization} --name site`)).toMatchObject({
    code: 1,
    stderr: 'The organization is closed. Reopen it to write.\n',
  });
  expect((await run('keys organizations')).stdout).toMatch(
    new RegExp(`${organization}  Agency  closed, purged from `),
  );
});

test('npm run job -- purge deletes what is due, unless another process is running the job', async () => {
  const agency = await service.agency();
  const { id: productId } = await product(agency);
  const archive = "update products set archived_at = now() - interval '31 days' where id = $1";
  await service.query(archive, [productId]);
  const { signal } = new AbortController();
  const rejected = await withJobLock(service.url, JOBS.purge.lock, () => run('job purge'), signal);
  expect(rejected).toMatchObject({ code: 0, stdout: 'Another process is already running purge.\n' });
  // As a process, as a timer of the operator starts it.
  const env = { ...access(), ...PROGRAM };
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'job', '--', 'purge'], { env });
  const lines = stdout.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { organizationId: agency.id, productId },
    { job: 'purge', products: 1 },
  ]);
});
