import { expect, inject, onTestFinished, test } from 'vitest';
import { createTestDatabase } from '../support/databases.ts';
import { freePort, startProcess } from '../support/process.ts';
import { startProxy } from '../support/proxy.ts';
import { IGNORED, startForgetfulPooler } from './pgbouncer.ts';

/** What a start behind a pooler says that cannot be worked with. */
async function startBehind(settings: Record<string, string>): Promise<{ code: number | null; said: string }> {
  const database = await createTestDatabase(inject('serverUrl'));
  onTestFinished(database.drop);
  // PgBouncer runs as another user, whom the socket of the tests' PostgreSQL does not let in.
  const way = await startProxy(database.url);
  onTestFinished(way.close);
  const started = startProcess({
    DATABASE_URL: await startForgetfulPooler(way.url, settings),
    DATABASE_DIRECT_URL: database.url,
    FILE_SIGNING_SECRET: 'signing-secret-of-the-fault-tests-01',
    PORT: await freePort(),
    DASHBOARD_PORT: await freePort(),
    LOG_LEVEL: 'fatal',
  });
  onTestFinished(() => {
    started.child.kill('SIGKILL');
  });
  return { code: await started.ended, said: started.output() };
}

test.each([
  [
    'loses prepared statements',
    { ignore_startup_parameters: IGNORED },
    'The service cannot start: the pooler in DATABASE_URL loses prepared statements. Use PgBouncer 1.21 or later with max_prepared_statements = 200, or go without.\n',
  ],
  [
    'refuses the timeouts of a connection',
    {},
    'The database of DATABASE_URL cannot be used: unsupported startup parameter: statement_timeout.\n',
  ],
])('a pooler that %s is named at the start, in one line', async (_how, settings, said) => {
  expect(await startBehind(settings)).toEqual({ code: 1, said });
});
