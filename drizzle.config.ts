import type { Config } from 'drizzle-kit';

/** Where the tables and the migrations are, for drizzle-kit and for `npm run migration`. */
export default {
  dialect: 'postgresql',
  schema: './src/db/schema/index.ts',
  out: './migrations',
} satisfies Config;
