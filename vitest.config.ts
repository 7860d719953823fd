import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import type { Reporter } from 'vitest/reporters';

const suite = {
  globalSetup: ['test/support/postgres.ts'],
  pool: 'forks',
  // Node loads TypeScript itself, as in the service. Workspaces are tested from their sources, not their builds.
  experimental: { viteModuleRunner: false, nodeLoader: false },
  execArgv: [
    '--import',
    new URL('src/runtime.js', import.meta.url).href,
    '--conditions=travel-agency-crm-source',
  ],
  // Loading the modules takes longer than most test files: each worker loads them once.
  isolate: false,
  // Workers spend half of their time waiting for PostgreSQL, programs and clocks: one more than cores keeps the cores busy.
  maxWorkers: availableParallelism() + 1,
  // Long enough for the slowest machine: only a test that hangs reaches them.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 120_000 } },
  // A machine that stands still for a minute fails a test. What fails twice is red, what fails once is printed.
  retry: 1,
  // Messages show the whole difference, also in reports that have only the message.
  chaiConfig: { truncateThreshold: 2_000 },
} as const;

/** Tests that need the whole machine for minutes. */
const minutes = {
  pool: 'forks',
  fileParallelism: false,
  testTimeout: 1_200_000,
  hookTimeout: 120_000,
} as const;

const project = (name: string, test: object): TestProjectInlineConfiguration => ({
  test: { name, ...test },
});

/** `vitest run` runs the first project, `--project NAME` another one. */
const PROJECTS = [
  project('suite', {
    ...suite,
    include: ['test/**/*.test.ts'],
    exclude: ['test/topologies/**', 'test/cluster/**'],
  }),
  // Distributed tables on a Citus cluster: docs/cluster.md.
  project('cluster', { ...suite, include: ['test/cluster/**/*.test.ts'] }),
  // The client, the command and the examples, each against its own service: `npm test -w client`, crm, examples.
  project('packages', { ...suite, include: ['{client,crm,examples}/test/**/*.test.ts'] }),
  // Real processes, which are killed under load.
  project('topologies', {
    ...minutes,
    include: ['test/topologies/**/*.test.ts'],
    globalSetup: ['test/support/postgres.ts'],
  }),
  // The guide and the reference page in a real browser.
  project('page', {
    include: ['tools/page/**/*.page.ts'],
    globalSetup: ['test/support/postgres.ts'],
    testTimeout: 180_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
  }),
  // The node in n8n's engine.
  project('importers', { ...suite, include: ['tools/importers/*.import.ts'] }),
];

const printRetried: Reporter = {
  onTestCaseResult(test) {
    if (!test.diagnostic()?.flaky) return;
    const errors = test.result().errors ?? [];
    const causes = errors.map(({ stack, message }) => stack ?? message);
    process.stderr.write(`\nFailed once: ${test.fullName}\n${causes.join('\n')}\n`);
  },
};

const isChosen = process.argv.some((argument) => argument.startsWith('--project'));

export default defineConfig({
  test: {
    projects: isChosen ? PROJECTS : PROJECTS.slice(0, 1),
    // A dot for each test, and what fails as a whole.
    reporters: ['dot', printRetried],
    silent: 'passed-only',
  },
});
