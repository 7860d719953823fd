import { defineConfig } from 'vitest/config';
import suite from './vitest.config.ts';

/** The tests that guard the files of stryker.config.json. */
export default defineConfig({
  ...suite,
  test: {
    ...suite.test,
    include: [
      'test/keys/authentication.test.ts',
      'test/rules/contact-key.test.ts',
      'test/contract/tenancy.test.ts',
      'test/db/scheduler.test.ts',
      'test/files/links.test.ts',
      'test/keys/access.test.ts',
      'test/keys/revocation.test.ts',
      'test/quotes.test.ts',
      'test/repeats/idempotency.test.ts',
    ],
  },
});
