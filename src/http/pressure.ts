import { getHeapStatistics } from 'node:v8';
import underPressure from '@fastify/under-pressure';
import type { FastifyInstance } from 'fastify';
import { REJECTIONS } from '../contract/errors.ts';

const MAX_EVENT_LOOP_DELAY_MS = 500;
const SAMPLE_INTERVAL_MS = 1_000;
/** Fraction of the limit. Beyond it, V8 mostly collects garbage, and the kernel may kill the process. */
const MAX_MEMORY = 0.9;

export type PressureLimits = {
  /** Milliseconds. */
  maxEventLoopDelay: number;
  maxHeapUsedBytes: number;
  maxRssBytes: number;
  /** Milliseconds. */
  sampleInterval?: number;
};

export function pressureLimits(): PressureLimits {
  const constrained = process.constrainedMemory();
  return {
    maxEventLoopDelay: MAX_EVENT_LOOP_DELAY_MS,
    maxHeapUsedBytes: MAX_MEMORY * getHeapStatistics().heap_size_limit,
    // Without a limit, constrainedMemory() is 0 or a huge number.
    maxRssBytes: constrained > 0 && constrained < Number.MAX_SAFE_INTEGER ? MAX_MEMORY * constrained : 0,
  };
}

export async function rejectUnderPressure(app: FastifyInstance, limits: PressureLimits): Promise<void> {
  const { sampleInterval = SAMPLE_INTERVAL_MS } = limits;
  // The start itself blocks the event loop: the first two samples do not count.
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
