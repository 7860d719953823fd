import { parentPort } from 'node:worker_threads';
import scalar from '@scalar/fastify-api-reference';
import fastify from 'fastify';

const app = fastify();
// Without a url, the package registers no route.
app.register(scalar, { routePrefix: '/', configuration: { url: '/' } });
parentPort.postMessage((await app.inject('/js/scalar.js')).body);
