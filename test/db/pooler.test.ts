import { sql } from 'drizzle-orm';
import { expect, inject, test } from 'vitest';
import { checkPooler } from '../../src/db/server/pooler.ts';
import { type Params, prepared, unprepared } from '../../src/db/sql/statement.ts';
import { pooled } from '../support/databases.ts';
import { useService } from '../support/service.ts';

/** With npm run test:pooler the way to the database leads through one. */

const service = useService();

const DIVIDE = prepared(
  'test.divide',
  ($: Params<{ by: number }>) => sql<{ quotient: number }>`select 6 / ${$.by}::int as quotient`,
);
const AFTER = prepared(
  'test.after_divide',
  ($: Params<{ by: number }>) => sql<{ after: string }>`select ${$.by}::text as after`,
);

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

test('a statement that failed is prepared the next time, and so is the one after it', async () => {
  const divide = (by: number) =>
    service.db.transaction(async ({ read }) => [await read(DIVIDE, { by }), await read(AFTER, { by })]);
  for (let attempt = 0; attempt < 2; attempt += 1)
    await expect(divide(0)).rejects.toMatchObject({ code: '22012' });
  expect(await divide(3)).toEqual([[{ quotient: 2 }], [{ after: '3' }]]);
});

test('PostgreSQL ends what takes too long by itself, should the service be gone, and gives a request one process', async () => {
  expect(await service.db.read(SETTINGS, {})).toEqual([
    // A second after the service ends it.
    { statement: '241s', lock: '241s', idle: '30s', workers: '0' },
  ]);
});
