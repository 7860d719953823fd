import { defineConfig } from 'vitest/config';

/** The reference page in a real browser: `npm run test:page`. Apart from `npm test`, which needs none. */
export default defineConfig({
  test: {
    include: ['tools/page/**/*.page.ts'],
    globalSetup: ['test/support/postgres.ts'],
    // A browser on a busy machine is slow.
    testTimeout: 180_000,
    expect: { poll: { timeout: 15_000 } },
    hookTimeout: 120_000,
  },
});
