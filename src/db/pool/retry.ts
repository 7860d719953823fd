import { setTimeout as pause } from 'node:timers/promises';
import { type Deadline, enter } from './deadline.ts';
import { isSafeToRepeat, isTransient } from './errors.ts';

const WRITE_RETRIES = 3;

/** 25 to 400 ms; random, so that clients do not retry at the same time. */
const backoff = (attempt: number): number => Math.min(400, 50 * 2 ** attempt) * (0.5 + Math.random() / 2);

export async function retry<Result>(
  kind: 'read' | 'write',
  work: () => Promise<Result>,
  deadline: Deadline,
): Promise<Result> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const isRepeated =
        kind === 'read'
          ? isTransient(error) || isSafeToRepeat(error)
          : isSafeToRepeat(error) && attempt < WRITE_RETRIES;
      if (!isRepeated || deadline.abandoned) throw error;
      enter(deadline, 'pause');
      await pause(backoff(attempt));
      enter(deadline, 'queue');
      if (deadline.abandoned) throw deadline.abandoned;
    }
  }
}
