import { defineConfig } from 'vitest/config';

/** The recipes of docs/changing-it.md, each done to a copy of the tree, which is then tested itself: minutes. */
export default defineConfig({
  test: {
    include: ['test/recipes/**/*.test.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 1_200_000,
    hookTimeout: 120_000,
  },
});
