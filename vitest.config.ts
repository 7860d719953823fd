import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // They take minutes, packages of the system or a cluster: npm run test:topologies, test:recipes, test:citus.
    exclude: ['test/topologies/**', 'test/recipes/**', 'test/cluster/**'],
    globalSetup: ['test/support/postgres.ts'],
    pool: 'forks',
    // Node reads TypeScript itself, as when the service runs: nothing is transformed before.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // The workspaces are tested as sources; what they build may not be there.
    execArgv: [
      '--import',
      new URL('src/runtime.js', import.meta.url).href,
      '--conditions=travel-agency-crm-source',
    ],
    // Loading the modules takes longer than most files: a worker loads them once for all of its files.
    isolate: false,
    // A worker waits half of the time, for PostgreSQL, programs and clocks: one more than cores keeps them busy.
    maxWorkers: availableParallelism() + 1,
    // What is waited for comes at last, however slow the machine is. These ends are for what never comes.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
  },
});
