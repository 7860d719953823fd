import { sql } from 'drizzle-orm';
import { expect, inject, test } from 'vitest';
import { checkPooler } from '../../src/db/pooler.ts';
import { unprepared } from '../../src/db/statement.ts';
import { pooled } from '../support/databases.ts';
import { useService } from '../support/service.ts';

/** With npm run test:pooler the way to the database leads through one. */

const service = useService();

const SETTINGS = unprepared(
  'test.settings',
  () => sql<Record<string, string>>`
    select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
      current_setting('idle_in_transaction_session_timeout') as idle,
      current_setting('max_parallel_workers_per_gather') as workers`,
);

test('the way to the database keeps prepared statements', async () => {
  await checkPooler(pooled(service.url, inject('poolerUrl')));
});

test('PostgreSQL ends what takes too long by itself, should the service be gone, and gives a request one process', async () => {
  expect(await service.db.read(SETTINGS, {})).toEqual([
    { statement: '10s', lock: '10s', idle: '30s', workers: '0' },
  ]);
});
