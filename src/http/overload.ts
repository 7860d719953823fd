import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyInstance } from 'fastify';
import { REJECTIONS } from '../contract/errors.ts';

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
