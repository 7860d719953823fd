import { defineConfig } from 'vitest/config';
import suite from './vitest.config.ts';

/** The whole suite on a cluster, and what only a cluster has. */
export default defineConfig({ test: { ...suite.test, exclude: ['test/topologies/**', 'test/recipes/**'] } });
