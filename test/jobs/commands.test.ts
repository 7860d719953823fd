import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sql } from 'drizzle-orm';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runCommand } from '../../src/cli/database.ts';
import { type Database, unprepared } from '../../src/db/index.ts';
import { withJobLock } from '../../src/jobs/lock.ts';
import { JOBS } from '../../src/jobs/schedule.ts';
import { PROGRAM, runProgram } from '../support/process.ts';
import { product } from '../support/records.ts';
import { useService } from '../support/service.ts';

const service = await useService();

const access = () => ({ DATABASE_URL: service.url, DATA_DIR: service.dataDir });
async function run(command: string, environment: Record<string, string> = access()) {
  const [program = '', ...options] = command.split(' ');
  return runProgram(`src/cli/${program}.ts`, options, environment);
}

test('every script of the service loads the runtime first, and replaces the shell, so that a signal to npm reaches the program', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const ofService = Object.entries(scripts).filter(([, command]) => command.includes(' src/'));
  expect(ofService.length).toBeGreaterThan(4);
  for (const [name, command] of ofService)
    expect(command, name).toMatch(
      /^exec (env NODE_OPTIONS="[^"]*" )?node (src\/main\.js|--import \.\/src\/runtime\.js src\/cli\/[\w-]+\.ts)[^&|;]*$/,
    );
});

test('an argument that a command does not know is rejected in one line, and nothing is done', async () => {
  const stderr = `Name a job: ${Object.keys(JOBS).join(', ')}.\n`;
  for (const names of ['nonsense', 'constructor', 'purge purge'])
    expect(await run(`job ${names}`)).toEqual({ code: 1, stdout: '', stderr });
  for (const command of ['job purge --dry-run', 'migrate --help', 'demo demo', 'distribute --help'])
    expect(await run(command)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^Un.* '.*\n$/),
    });
});

test.each(['job purge-organizations', 'migrate', 'demo'])(
  '%s without DATABASE_URL works on the database of a service that runs here, or fails and creates none',
  async (command) => {
    const DATA_DIR = join(service.dataDir, 'nothing');
    const stderr = expect.stringMatching(/^DATABASE_URL is not set, and .* Set DATABASE_URL to .*\n$/);
    expect(await run(command, { DATA_DIR })).toEqual({ code: 1, stdout: '', stderr });
    expect(existsSync(DATA_DIR)).toBe(false);
  },
);

test('a command has the timeout of DATABASE_TIMEOUT_MS, and names the variable of a database that cannot be used', async () => {
  onTestFinished(() => void Object.assign(process, { exitCode: undefined }));
  onTestFinished(() => void vi.unstubAllEnvs());
  onTestFinished(() => void vi.restoreAllMocks());
  for (const [name, value] of Object.entries({ ...access(), DATABASE_TIMEOUT_MS: '4600' }))
    vi.stubEnv(name, value);
  const printed = vi.spyOn(console, 'error').mockReturnValue();
  const timeout = unprepared('test.timeout', () => sql<object>`show statement_timeout`);
  const work = vi.fn(async (_options: unknown, db: Database) => db.read(timeout, {}));
  await runCommand(() => undefined, work as never);
  expect(await work.mock.results[0]?.value).toEqual([{ statement_timeout: '4600ms' }]);
  work.mockImplementationOnce((_options, db) =>
    db
      .for('')
      .read(timeout, {})
      .then(() => Promise.reject(new Error('no'))),
  );
  await runCommand(() => undefined, work as never);
  expect(work.mock.calls[1]?.[1].stats().total).toBe(0);
  vi.stubEnv('DATABASE_DIRECT_URL', 'postgres://127.0.0.1:1/crm');
  await runCommand(() => undefined, work as never);
  const message = 'The database at DATABASE_DIRECT_URL cannot be used: connect ECONNREFUSED 127.0.0.1:1.';
  expect(printed.mock.calls).toEqual([['The command failed: no'], [message]]);
});

test('npm run job -- purge deletes what is due, without the pooler, unless another process is running the job', async () => {
  const agency = await service.agency();
  const { id: productId } = await product(agency);
  const archive = "update products set archived_at = now() - interval '31 days' where id = $1";
  await service.query(archive, [productId]);
  const { signal } = new AbortController();
  const rejected = await withJobLock(service.url, JOBS.purge.lock, () => run('job purge'), signal);
  expect(rejected).toMatchObject({ code: 0, stdout: 'Another process is already running purge.\n' });
  // As a process, as a timer of the operator starts it.
  const urls = { DATABASE_URL: 'postgres://pooler.invalid/crm', DATABASE_DIRECT_URL: service.url };
  const env = { ...access(), ...urls, ...PROGRAM };
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'job', '--', 'purge'], { env });
  const lines = stdout.trim().split('\n');
  const purged = { organizationId: agency.id, productId };
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([purged, { job: 'purge', products: 1 }]);
});
