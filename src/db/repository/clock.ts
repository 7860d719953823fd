import { sql } from 'drizzle-orm';
import type { Queries } from '../pool/scope.ts';
import { prepared } from '../sql/statement.ts';

/** Milliseconds since 1970, by the database's clock: stored timestamps are compared with no other. */
export const nowInMs = sql<number>`floor(extract(epoch from now()) * 1000)::float8`;

/** What was archived or closed is kept for 30 days. In hours: a PostgreSQL day has 23 or 25 hours across a clock change. */
export const RETENTION = sql`interval '720 hours'`;

const clockStatement = prepared('clock.now', () => sql<{ now: number }>`select ${nowInMs} as now`, {
  isShort: true,
});

export async function databaseNow(db: Pick<Queries, 'read'>): Promise<number> {
  const [row] = await db.read(clockStatement, {});
  return Number(row?.now);
}
