import { setTimeout as pause } from 'node:timers/promises';
import { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify';
import pino from 'pino';
import { isId, type OrganizationScope, sqlState, violatedConstraint } from '../db/index.ts';

/** Without the message of a data error (SQLSTATE 22, 23), which quotes data of a customer. */
function serializeError(error: Error): Record<string, unknown> {
  const state = sqlState(error);
  const quotesData = state !== undefined && /^2[23]/.test(state);
  return {
    type: error.name,
    message: quotesData ? `PostgreSQL error ${state}` : error.message,
    ...(state !== undefined && { sqlState: state, constraint: violatedConstraint(error) }),
    ...('statement' in error && { statement: error.statement }),
    stack: error.stack
      ?.split('\n')
      .filter((line) => line.startsWith('    at '))
      .join('\n'),
    ...(error.cause instanceof Error && { cause: serializeError(error.cause) }),
  };
}

/** For the last flush. A reader that has stopped would keep the process from ending. */
const LAST_FLUSH_MS = 2_000;

let processOutput: pino.DestinationStream | undefined;

/** Asynchronously, so that a slow reader of the log delays no request. What cannot be written is lost. */
function standardOutput(): pino.DestinationStream {
  if (processOutput) return processOutput;
  let deadline = Number.POSITIVE_INFINITY;
  const retryEAGAIN = () => performance.now() < deadline;
  const bounds = { minLength: 4_096, periodicFlush: 500, maxLength: 2 ** 24, retryEAGAIN };
  const output = pino.destination({ sync: false, ...bounds });
  const flush = output.flushSync.bind(output);
  output.flushSync = () => {
    deadline = performance.now() + LAST_FLUSH_MS;
    try {
      flush();
    } catch {}
  };
  const fail = () => {
    output.flushSync = () => undefined;
  };
  // Without listeners, a full disk would end the process, whose last flush would then wait for the disk.
  process.stdout.on('error', fail);
  processOutput = output.on('error', fail);
  return processOutput;
}

export const createLogger = (level: string, destination?: pino.DestinationStream): pino.Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      // @fastify/multipart logs the headers of an upload, with the token, at level trace.
      serializers: { err: serializeError, busboyOptions: () => undefined },
    },
    destination ?? standardOutput(),
  );

const FLUSH_MS = 500;

/** Before the end: pino's own flush at the exit would wait for a full disk; this one learns of it. */
export const flushLog = (logger: pino.Logger): Promise<unknown> =>
  Promise.race([new Promise((done) => logger.flush(done)), pause(FLUSH_MS)]);

/** For events of which there can be thousands a second: each kind is one line a second, with its count. */
export function countInLog(log: FastifyBaseLogger, message: string) {
  const counts = new Map<string, number>();
  function report(): void {
    for (const [fields, count] of counts) log.warn({ ...JSON.parse(fields), count }, message);
    counts.clear();
  }
  return {
    count(fields: object): void {
      if (counts.size === 0) setTimeout(report, 1_000).unref();
      const kind = JSON.stringify(fields);
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    },
    report,
  };
}

/** The organization of the key; on dashboard routes that of the path, which may not exist. */
function organizationOf({ scope, params }: FastifyRequest): string | undefined {
  const id = (params as { organizationId?: string } | undefined)?.organizationId;
  return (scope as OrganizationScope | undefined)?.organizationId ?? (isId(id ?? '') ? id : undefined);
}

export const logFields = (request: FastifyRequest) => ({
  organizationId: organizationOf(request),
  apiKeyId: request.apiKey?.id,
  actor: request.actor,
  method: request.method,
  route: request.routeOptions.url,
});

/** Without Fastify's own lines. What breaks off a response is logged here alone; a client that disconnects breaks it off too. */
export class RequestLog extends LogController {
  override streamError(err: Error, request: FastifyRequest): void {
    if (!request.raw.socket.destroyed)
      request.log.error({ ...logFields(request), err }, 'the response broke off');
  }
}

const rounded = (milliseconds: number): number => Math.round(milliseconds * 10) / 10;

/** One line per request, except rejections, which are counted. Never the URL: it can contain personal data and signatures. */
export function logRequests(app: FastifyInstance): void {
  app.decorateRequest('databaseMilliseconds', 0);
  // Fastify's onRequestAbort does not see a client that disconnects after its body arrived, and `writableFinished` is false
  // after each request of app.inject.
  app.addHook('onRequest', (request, { raw }, done) => {
    const logClosed = () => request.log.info(logFields(request), 'the connection closed before the response');
    raw.once('close', logClosed).once('finish', () => raw.off('close', logClosed));
    done();
  });
  app.addHook('onResponse', (request: FastifyRequest, reply, done) => {
    if (request.rejected) return done();
    request.log.info(
      {
        ...logFields(request),
        status: reply.statusCode,
        milliseconds: rounded(reply.elapsedTime),
        databaseMilliseconds: rounded(request.databaseMilliseconds),
      },
      'request',
    );
    done();
  });
}
