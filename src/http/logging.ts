import type { FastifyInstance, FastifyRequest } from 'fastify';
import pino from 'pino';
import { sqlState, violatedConstraint } from '../db/run/faults.ts';
import type { OrganizationScope } from '../db/run/scope.ts';

/**
 * What a log line may have of an error. The message of a data error quotes the data, so the code and the constraint
 * must do.
 */
function serializeError(error: Error): Record<string, unknown> {
  const state = sqlState(error);
  const quotesData = state !== undefined && /^2[23]/.test(state);
  return {
    type: error.name,
    message: quotesData ? `PostgreSQL error ${state}` : error.message,
    ...(state !== undefined && { sqlState: state, constraint: violatedConstraint(error) }),
    stack: error.stack
      ?.split('\n')
      .filter((line) => line.startsWith('    at '))
      .join('\n'),
    ...(error.cause instanceof Error && { cause: serializeError(error.cause) }),
  };
}

/**
 * Writes several lines at once, at the latest after half a second and at the end of the process: a write for each
 * line costs as much as a small answer. Lines are bytes, because the stream would measure all of its text again at
 * every line.
 */
function standardOutput(): pino.DestinationStream {
  const output = pino.destination({
    dest: 1,
    sync: false,
    minLength: 32_768,
    maxWrite: 65_536,
    periodicFlush: 500,
    contentMode: 'buffer',
  });
  return { write: (line) => output.write(Buffer.from(line) as unknown as string) };
}

/** JSON lines to standard output, or to `destination`. */
export const createLogger = (level: string, destination?: pino.DestinationStream): pino.Logger =>
  pino({ level, base: null, serializers: { err: serializeError } }, destination ?? standardOutput());

/**
 * Counts what can happen thousands of times a second, and reports the counts once a second: a line for each would cost
 * more than an answer.
 */
export function everySecond<Name extends string>(write: (counts: Partial<Record<Name, number>>) => void) {
  let counts: Partial<Record<Name, number>> = {};
  let timer: NodeJS.Timeout | undefined;
  function report(): void {
    if (!timer) return;
    clearTimeout(timer);
    timer = undefined;
    const counted = counts;
    counts = {};
    write(counted);
  }
  return {
    count(name: Name): void {
      counts[name] = (counts[name] ?? 0) + 1;
      timer ??= setTimeout(report, 1_000).unref();
    },
    report,
  };
}

/** One line per request, but for refusals, which are counted. It names the route and never the address, which can hold names, numbers and signatures. */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', (request: FastifyRequest, reply, done) => {
    if (request.refused) return done();
    request.log.info(
      {
        // There is none before authentication, nor on dashboard routes without an organization.
        organizationId: (request.scope as OrganizationScope | undefined)?.organizationId,
        apiKeyId: request.apiKey?.id,
        method: request.method,
        route: request.routeOptions.url,
        status: reply.statusCode,
        milliseconds: Math.round(reply.elapsedTime * 10) / 10,
      },
      'request',
    );
    done();
  });
}
