import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

const suite = {
  globalSetup: ['test/support/postgres.ts'],
  pool: 'forks',
  // Node reads TypeScript itself, as when the service runs. The workspaces are tested as sources, not as builds.
  experimental: { viteModuleRunner: false, nodeLoader: false },
  execArgv: [
    '--import',
    new URL('src/runtime.js', import.meta.url).href,
    '--conditions=travel-agency-crm-source',
  ],
  // Loading the modules takes longer than most files: a worker loads them once for all of its files.
  isolate: false,
  // A worker waits half of the time, for PostgreSQL, programs and clocks: one more than cores keeps them busy.
  maxWorkers: availableParallelism() + 1,
  // These timeouts are for what never comes: what a test waits for comes at last, however slow the machine is.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 120_000 } },
  // A message names what differs, also where only the message is kept.
  chaiConfig: { truncateThreshold: 2_000 },
} as const;

/** Tests that need the whole machine, for minutes. */
const minutes = {
  pool: 'forks',
  fileParallelism: false,
  testTimeout: 1_200_000,
  hookTimeout: 120_000,
} as const;

const project = (name: string, test: object): TestProjectInlineConfiguration => ({
  test: { name, ...test },
});

/** `vitest run` runs the first; `--project NAME` another. */
const PROJECTS = [
  project('suite', {
    ...suite,
    include: ['test/**/*.test.ts'],
    exclude: ['test/topologies/**', 'test/recipes/**', 'test/cluster/**'],
  }),
  // The places of tables on a Citus cluster: docs/cluster.md.
  project('cluster', { ...suite, include: ['test/cluster/**/*.test.ts'] }),
  // The client, the command and the examples, against a service of their own: `npm test -w client`, crm, examples.
  project('packages', { ...suite, include: ['{client,crm,examples}/test/**/*.test.ts'] }),
  // Real processes, killed on purpose under load.
  project('topologies', {
    ...minutes,
    include: ['test/topologies/**/*.test.ts'],
    globalSetup: ['test/support/postgres.ts'],
  }),
  // Each recipe of docs/changing-it.md, done to a copy of the tree, which is then tested itself.
  project('recipes', { ...minutes, include: ['test/recipes/**/*.test.ts'] }),
  // Guide and reference page in a real browser.
  project('page', {
    include: ['tools/page/**/*.page.ts'],
    globalSetup: ['test/support/postgres.ts'],
    testTimeout: 180_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
  }),
];

const isChosen = process.argv.some((argument) => argument.startsWith('--project'));

export default defineConfig({ test: { projects: isChosen ? PROJECTS : PROJECTS.slice(0, 1) } });
