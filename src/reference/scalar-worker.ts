import { parentPort, workerData } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import scalar from '@scalar/fastify-api-reference';
import fastify from 'fastify';
import type { RenderedPage, ScalarConfiguration } from './page.ts';

/** Renders the page once, as Scalar's own plugin serves it, and ends. In a thread of its own: the package takes 42 MB. */

const app = fastify();
await app.register(scalar, { routePrefix: '/docs', configuration: workerData as ScalarConfiguration });
const page = await app.inject('/docs/');
const script = await app.inject('/docs/js/scalar.js');
await app.close();
const rendered: RenderedPage = { html: page.body, script: gzipSync(script.rawPayload, { level: 9 }) };
parentPort?.postMessage(rendered);
