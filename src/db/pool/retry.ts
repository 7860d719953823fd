import { setTimeout as pause } from 'node:timers/promises';
import { type Deadline, enter } from './deadline.ts';
import { isSafeToRepeat, isTransient } from './faults.ts';

/** Repeats what failed for a reason that passes. */

const WRITE_RETRIES = 3;

/** 50 to 400 ms, growing. The random part keeps those who wait from coming back all at once. */
const backoff = (attempt: number): number => Math.min(400, 50 * 2 ** attempt) * (0.5 + Math.random() / 2);

async function rest(deadline: Deadline, attempt: number): Promise<void> {
  // From here on this work goes its own way.
  deadline.clock = { ...deadline.clock };
  enter(deadline, 'pause');
  await pause(backoff(attempt));
  enter(deadline, 'line');
}

/** Repeats a read until it is given up, so that a restart of PostgreSQL costs it nothing. */
export async function retryRead<Result>(read: () => Promise<Result>, deadline: Deadline): Promise<Result> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      const passes = isTransient(error) || isSafeToRepeat(error);
      if (!passes || deadline.over) throw error;
      await rest(deadline, attempt);
    }
  }
}

/** Repeats work that certainly wrote nothing: connections never made, deadlocks, serialization failures. */
export async function retryWrite<Result>(work: () => Promise<Result>, deadline: Deadline): Promise<Result> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isSafeToRepeat(error) || deadline.over || attempt >= WRITE_RETRIES) throw error;
      await rest(deadline, attempt);
      if (deadline.over) throw deadline.over;
    }
  }
}
