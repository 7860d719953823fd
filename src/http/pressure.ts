import { getHeapStatistics } from 'node:v8';
import underPressure from '@fastify/under-pressure';
import type { FastifyInstance } from 'fastify';
import { REFUSALS } from '../errors.ts';

/** The mean over a second: the process does nothing but one long thing after another. */
const MAX_EVENT_LOOP_DELAY_MS = 500;
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

/** Refuses requests while the process itself is not well, whatever the database does. */
export async function refuseUnderPressure(app: FastifyInstance, limits: PressureLimits): Promise<void> {
  await app.register(underPressure, {
    ...limits,
    pressureHandler: () => Promise.reject(REFUSALS.process),
  });
}
