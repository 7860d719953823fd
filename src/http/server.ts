import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import fastify, { type FastifyBaseLogger } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { invalid } from '../contract/errors.ts';
import { MAX_HEADER_BYTES } from '../contract/fields.ts';
import { sendConditionally } from './conditional.ts';
import { connectionLimits, endConnections, MAX_HEADERS } from './connections.ts';
import { handleErrors, routeNotFound, sendClientError, sendFrameworkError } from './error-handler.ts';
import { commonHeaders } from './headers.ts';
import { reportIgnoredParameters } from './ignored-parameters.ts';
import { readJsonBodies } from './json-bodies.ts';
import { logRequests, RequestLog } from './logging.ts';
import type { Metrics } from './metrics.ts';
import { rejectBadEscapes, validatorCompiler } from './validation.ts';

export type HttpServerOptions = {
  logger: FastifyBaseLogger;
  trustProxy?: boolean | string;
  metrics?: Pick<Metrics, 'countRequest'> | undefined;
  /** Milliseconds that a client may take to send its request. */
  requestTimeout?: number;
  /** Milliseconds that a request may wait for the database. */
  databaseMs?: number;
  /** Milliseconds for which open connections are still served when the server closes. */
  drainMs?: number | undefined;
};

const CLIENT_REQUEST_ID = /^[\w-]{8,64}$/;
const BODY_LIMIT = 256 * 1024;

function requestId(raw: Pick<IncomingMessage, 'headers'>): string {
  const sent = raw.headers['x-request-id'];
  return typeof sent === 'string' && CLIENT_REQUEST_ID.test(sent) ? sent : randomUUID();
}

/** In place of Fastify's own compilers, which load Ajv: 16 MiB, and a twentieth of the start. */
function replaced(): never {
  throw new Error('`createHttpServer` sets the compilers.');
}

export function createHttpServer(options: HttpServerOptions) {
  const { logger, trustProxy = false, metrics, requestTimeout, databaseMs, drainMs } = options;
  const app = fastify({
    loggerInstance: logger,
    trustProxy,
    genReqId: requestId,
    logController: new RequestLog({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: BODY_LIMIT,
    ...connectionLimits(requestTimeout, databaseMs),
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    frameworkErrors: sendFrameworkError,
    clientErrorHandler: (error, socket) => sendClientError(error, socket, randomUUID(), logger),
    schemaController: { compilersFactory: { buildValidator: replaced, buildSerializer: replaced } },
  }).withTypeProvider<ZodTypeProvider>();

  app.setValidatorCompiler(validatorCompiler);
  // Successful responses are JSON text already (the type `Json`).
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  rejectBadEscapes(app);
  app.server.maxHeadersCount = MAX_HEADERS + 1;
  // Node's own 417 has no body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));

  handleErrors(app);
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(commonHeaders(request.id));
    const { httpVersion, headers, rawHeaders } = request.raw;
    if (rawHeaders.length > 2 * MAX_HEADERS)
      return done(invalid('header', `must have at most ${MAX_HEADERS} fields`));
    if (httpVersion === '1.1' && headers.host === undefined)
      return done(invalid('header.host', 'is required'));
    done(request.is404 ? routeNotFound(request) : undefined);
  });
  sendConditionally(app);
  endConnections(app, drainMs);
  logRequests(app);
  if (metrics)
    app.addHook('onResponse', (request, reply, done) => {
      metrics.countRequest(request, reply);
      done();
    });
  readJsonBodies(app);
  reportIgnoredParameters(app);
  return app;
}
