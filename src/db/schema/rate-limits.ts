import { bigint, index, integer, pgTable, varchar } from 'drizzle-orm/pg-core';

/**
 * The windows of the rate limit, when several instances share them (RATE_LIMIT_STORE=postgres). rate-limiter-flexible
 * expects these columns.
 */
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
