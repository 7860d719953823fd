import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { type ApiError, validationFailed } from '../contract/errors.ts';
import { answerConditionally } from './conditional.ts';
import { answerClientError, answerFrameworkError, answerTunnel, handleErrors } from './error-handler.ts';
import { everyAnswer } from './headers.ts';
import { reportIgnoredParameters } from './ignored-parameters.ts';
import {
  answerHalfClosed,
  boundConnections,
  endConnections,
  openConnections,
  PATIENCE,
  type Patience,
  slowClientLimits,
} from './load/connections.ts';
import { readJsonBodies } from './load/json-bodies.ts';
import { answerInOrder, answerTunnels } from './load/pipelining.ts';
import { boundUnsent } from './load/unsent.ts';
import { everySecond, logRequests } from './logging.ts';
import { type Metrics, observeRequests } from './metrics.ts';
import { validatorCompiler } from './validation.ts';

export type HttpServerOptions = {
  logger: FastifyBaseLogger;
  /** Fastify's trustProxy: which proxies may say who the client is. */
  trustProxy?: boolean | string;
  /** Counts the requests. */
  metrics?: Pick<Metrics, 'answered'> | undefined;
  /** How long a client may take to send its request. */
  patience?: Patience;
  /** Connections at a time; as many as fit into the memory, without it. */
  maxConnections?: number;
  /** Aborted when the service is about to end: answers then say so, and their connections close. */
  leaving?: AbortSignal | undefined;
};

const CLIENT_REQUEST_ID = /^[\w-]{8,64}$/;
const BODY_LIMIT = 1024 * 1024;

/** Of the request line and the headers together: what a request that has not begun may hold, without a key. */
export const MAX_HEADER_BYTES = 8 * 1024;
const MAX_HEADERS = 64;

function requestId(raw: Pick<IncomingMessage, 'headers'>): string {
  const sent = raw.headers['x-request-id'];
  return typeof sent === 'string' && CLIENT_REQUEST_ID.test(sent) ? sent : randomUUID();
}

/** The application that both APIs start from: request ids, logs, JSON bodies, validation, one error shape. */
export function createHttpServer(options: HttpServerOptions) {
  const { logger, trustProxy = false, metrics, patience = PATIENCE, maxConnections, leaving } = options;
  const app = fastify({
    loggerInstance: logger,
    trustProxy,
    genReqId: requestId,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: BODY_LIMIT,
    requestTimeout: patience.request,
    http: { requireHostHeader: false, maxHeaderSize: MAX_HEADER_BYTES, ...slowClientLimits(patience) },
    // Requests that arrive on open connections during a shutdown are answered, not refused.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // An id is at most as long as a request line: too long a one is unknown (404), not another kind of error.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    frameworkErrors: answerFrameworkError,
    clientErrorHandler: (error, socket) => {
      // A request that is not complete because we do not read on is not slow.
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && requests.hasLine(socket)) return;
      // A client takes the first answer for that to its first request: bytes behind it do not answer in its place.
      const owed = socket.writable ? requests.owed(socket) : undefined;
      if (owed) owed.shouldKeepAlive = false;
      else answerClientError(error, socket, randomUUID(), logger);
    },
  }).withTypeProvider<ZodTypeProvider>();

  app.setValidatorCompiler(validatorCompiler);
  // Success bodies are JSON text when they get here; nothing is serialised twice.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  // Node leaves out the headers beyond this: one more than a request may have shows that there are too many.
  app.server.maxHeadersCount = MAX_HEADERS + 1;
  const requests = answerInOrder(app);
  answerTunnels(app, requests, (socket, request) => answerTunnel(socket, requestId(request)));

  const routeNotFound = handleErrors(app);
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(everyAnswer(request.id));
    const { httpVersion, headers, rawHeaders } = request.raw;
    if (rawHeaders.length > 2 * MAX_HEADERS) return done(tooManyHeaders());
    if (httpVersion === '1.1' && headers.host === undefined) return done(missingHost());
    // An unknown path is 404 before anything else is looked at; the body is not read.
    done(request.is404 ? routeNotFound(request) : undefined);
  });
  answerConditionally(app);
  answerHalfClosed(app, requests);
  const open = openConnections(app);
  const closed = everySecond<'closed'>((counts) =>
    logger.warn(counts, 'more connections than fit: those that waited longest were closed'),
  );
  boundConnections(app, requests, open, () => closed.count('closed'), maxConnections);
  endConnections(app, requests, open, leaving);
  boundUnsent(app);
  logRequests(app);
  if (metrics) observeRequests(app, metrics);
  readJsonBodies(app);
  reportIgnoredParameters(app);
  return app;
}

const tooManyHeaders = (): ApiError =>
  validationFailed([{ path: 'header', message: `must be at most ${MAX_HEADERS} headers` }]);
const missingHost = (): ApiError => validationFailed([{ path: 'header.host', message: 'is required' }]);
