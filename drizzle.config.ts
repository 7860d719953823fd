import type { Config } from 'drizzle-kit';

/** For `npx drizzle-kit generate`; `npm run migrate` applies the migrations. */
export default {
  dialect: 'postgresql',
  schema: './src/db/tables/index.ts',
  out: './migrations',
} satisfies Config;
