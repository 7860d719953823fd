import { setTimeout as pause } from 'node:timers/promises';
import { isSafeToRepeat, isTransient } from './faults.ts';

/** Repeats what failed for a reason that passes. */

const READ_BUDGET_MS = 5_000;
const WRITE_RETRIES = 3;

/** 50 to 400 ms, growing. The random part keeps those who wait from coming back all at once. */
const backoff = (attempt: number): number => Math.min(400, 50 * 2 ** attempt) * (0.5 + Math.random() / 2);

/** Repeats a read for up to five seconds. No read fails because PostgreSQL restarts. */
export async function retryRead<Result>(read: () => Promise<Result>): Promise<Result> {
  const deadline = Date.now() + READ_BUDGET_MS;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      const passes = isTransient(error) || isSafeToRepeat(error);
      if (!passes || Date.now() > deadline) throw error;
      await pause(backoff(attempt));
    }
  }
}

/**
 * Repeats work only when the failure proves that it wrote nothing: no connection, a deadlock, a serialization
 * failure.
 */
export async function retryWrite<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isSafeToRepeat(error) || attempt >= WRITE_RETRIES) throw error;
      await pause(backoff(attempt));
    }
  }
}
