import { REFUSALS } from '../../errors.ts';
import { DatabaseTimeout } from './faults.ts';
import type { Caller } from './scope.ts';

/**
 * The time limit of a piece of work: waiting, connecting and running together. The line or the connection that has the work
 * sets how to end it.
 */
export type Deadline = {
  /** Why the work was given up; nobody waits for its result any more. */
  over?: Error;
  /** Takes the work out of the line that it waits in. */
  leave?: ((error: Error) => void) | undefined;
  /** Ends the statement that runs on the work's connection. */
  cancel?: (() => void) | undefined;
};

/**
 * Gives work so many milliseconds in all, and ends it earlier when its caller has gone.
 * @param canEnd false for writes, which once begun are not ended because nobody listens
 */
export function withDeadline<Result>(
  milliseconds: number,
  { caller, canEnd }: { caller: Caller | undefined; canEnd: boolean },
  work: (deadline: Deadline) => Promise<Result>,
): Promise<Result> {
  return new Promise((done, fail) => {
    const deadline: Deadline = {};
    const giveUp = (error: Error, refusal: Error): void => {
      deadline.over = error;
      if (deadline.leave) deadline.leave(refusal);
      else {
        deadline.cancel?.();
        fail(error);
      }
    };
    const timer = setTimeout(() => giveUp(new DatabaseTimeout(milliseconds), REFUSALS.waited), milliseconds);
    const signal = caller?.signal;
    const gone = (): void => {
      if (canEnd || deadline.leave) giveUp(REFUSALS.gone, REFUSALS.gone);
    };
    signal?.addEventListener('abort', gone);
    const ended = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', gone);
    };
    work(deadline).finally(ended).then(done, fail);
  });
}
