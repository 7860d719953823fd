import { bigint, index, integer, pgTable, varchar } from 'drizzle-orm/pg-core';

/** Counts of instances of the release before, which may run beside this one. The next release drops the table. */
export const rateLimits = pgTable(
  'rate_limits',
  {
    key: varchar({ length: 255 }).primaryKey(),
    points: integer().notNull().default(0),
    expire: bigint({ mode: 'number' }),
  },
  (table) => [index('rate_limits_expire_idx').on(table.expire)],
);
