import { setTimeout as pause } from 'node:timers/promises';
import { isSafeToRepeat, isTransient } from './errors.ts';
import type { Kind } from './slots.ts';

const WRITE_RETRIES = 3;

/** 25 to 400 ms; random, so that clients do not retry at the same time. */
const backoff = (attempt: number): number => Math.min(400, 25 * 2 ** attempt) * (0.5 + Math.random() / 2);

/** Repeats a read until `deadline`, and a write if the error proves that nothing was written. */
export async function retry<Result>(
  kind: Kind,
  deadline: number,
  work: (attempt: number) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      const isRepeated =
        kind === 'read'
          ? isTransient(error) || isSafeToRepeat(error)
          : isSafeToRepeat(error) && attempt <= WRITE_RETRIES;
      const wait = backoff(attempt);
      if (!isRepeated || performance.now() + wait > deadline) throw error;
      await pause(wait);
    }
  }
}
