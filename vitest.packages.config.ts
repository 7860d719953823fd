import { defineConfig } from 'vitest/config';
import suite from './vitest.config.ts';

/** The tests of the packages that use the service, against a service of their own: `npm test -w client`, crm, examples. */
export default defineConfig({
  ...suite,
  test: { ...suite.test, include: ['{client,crm,examples}/test/**/*.test.ts'] },
});
