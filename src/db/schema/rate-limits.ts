import { bigint, index, integer, pgTable, varchar } from 'drizzle-orm/pg-core';

/** Windows of the rate limit when several instances share them (RATE_LIMIT_STORE=postgres). Columns as rate-limiter-flexible expects. */
export const rateLimits = pgTable(
  'rate_limits',
  {
    key: varchar({ length: 255 }).primaryKey(),
    points: integer().notNull().default(0),
    expire: bigint({ mode: 'number' }),
  },
  // The limiter removes windows that ended.
  (table) => [index('rate_limits_expire_idx').on(table.expire)],
);
