import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { REJECTIONS } from '../contract/errors.ts';
import type { Database } from '../db/index.ts';

const MAX_EVENT_LOOP_DELAY_MS = 500;
const SAMPLE_INTERVAL_MS = 1_000;
const RESOLUTION_MS = 10;

export type Pressure = { isHigh: () => boolean; stop: () => Promise<void> };

/**
 * Measures once a second how late the event loop is. Memory has no limit here: the sizes of requests and responses bound it,
 * and a process that only rejects allocates nothing, so V8 would not collect and it would reject for ever.
 */
export function watchPressure(maxDelayMs = MAX_EVENT_LOOP_DELAY_MS): Pressure {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  // The start itself blocks the event loop: the first two samples do not count.
  let ignored = 2;
  let isHigh = false;
  const timer = setInterval(() => {
    isHigh = ignored <= 0 && delays.mean / 1e6 - RESOLUTION_MS > maxDelayMs;
    ignored -= 1;
    delays.reset();
  }, SAMPLE_INTERVAL_MS).unref();
  return {
    isHigh: () => isHigh,
    stop: async () => {
      clearInterval(timer);
      delays.disable();
    },
  };
}

export function rejectUnderPressure(app: FastifyInstance, { isHigh }: Pressure): void {
  app.addHook('onRequest', (_request, _reply, done) => done(isHigh() ? REJECTIONS.process : undefined));
}

const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD';

/** Delays the 503: clients that retry immediately would keep the process busy. */
const REJECTION_DELAY_MS = 80;
const BATCH_SIZE = 32;

function createRejections(): (reject: () => void) => void {
  const waiting: (() => void)[] = [];

  function next(): void {
    for (const reject of waiting.splice(0, BATCH_SIZE)) reject();
    if (waiting.length > 0) setImmediate(next);
  }

  return (reject) => {
    if (waiting.push(reject) === 1) setTimeout(next, REJECTION_DELAY_MS).unref();
  };
}

/** Returns 503, before the body is read, while the queue of the organization is full. Needs an authenticated request. */
export function rejectFloods(app: FastifyInstance, db: Database, reads = isRead): void {
  const rejectLate = createRejections();
  app.addHook('onRequest', (request, _reply, done) => {
    const rejection = db.rejection(request.scope.organizationId, reads(request) ? 'reads' : 'writes');
    if (rejection) rejectLate(() => done(rejection));
    else done();
  });
}
