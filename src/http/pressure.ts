import { getHeapStatistics } from 'node:v8';
import underPressure from '@fastify/under-pressure';
import type { FastifyInstance } from 'fastify';
import { REJECTIONS } from '../contract/errors.ts';

/** The mean over a second: the process does nothing but one long thing after another. */
const MAX_EVENT_LOOP_DELAY_MS = 500;
const SAMPLE_INTERVAL_MS = 1_000;
/** Of the memory that there is: past it, V8 does little but collect, and the system may end the process. */
const MAX_MEMORY = 0.9;

/** Past one of these the process is not well. 0 is no limit. */
export type PressureLimits = {
  /** Milliseconds. */
  maxEventLoopDelay: number;
  maxHeapUsedBytes: number;
  maxRssBytes: number;
  /** Milliseconds between two looks. */
  sampleInterval?: number;
};

/** Of this process, on this machine. */
export function pressureLimits(): PressureLimits {
  const constrained = process.constrainedMemory();
  return {
    maxEventLoopDelay: MAX_EVENT_LOOP_DELAY_MS,
    maxHeapUsedBytes: MAX_MEMORY * getHeapStatistics().heap_size_limit,
    // 0, or more than there is, where nothing limits this process.
    maxRssBytes: constrained > 0 && constrained < Number.MAX_SAFE_INTEGER ? MAX_MEMORY * constrained : 0,
  };
}

/** Refuses requests while the process is short of time or memory. */
export async function rejectUnderPressure(app: FastifyInstance, limits: PressureLimits): Promise<void> {
  const { sampleInterval = SAMPLE_INTERVAL_MS } = limits;
  // The start holds the event loop itself. The look that has seen it counts until the next one, two intervals later.
  let started = Number.POSITIVE_INFINITY;
  app.addHook('onReady', async () => {
    started = performance.now() + 2 * sampleInterval;
  });
  await app.register(underPressure, {
    ...limits,
    sampleInterval,
    pressureHandler: (_request, _reply, type) =>
      type === 'eventLoopDelay' && performance.now() < started
        ? undefined
        : Promise.reject(REJECTIONS.process),
  });
}
