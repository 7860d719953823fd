import { defineConfig } from 'vitest/config';

/** Real processes, killed on purpose under load: one after another, for they need the machine. */
export default defineConfig({
  test: {
    include: ['test/topologies/**/*.test.ts'],
    globalSetup: ['test/support/postgres.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 1_200_000,
    hookTimeout: 120_000,
  },
});
