import { REFUSALS } from '../../contract/errors.ts';
import { DatabaseTimeout, type Phase, type Spent } from './faults.ts';
import type { Caller } from './scope.ts';

/** What work is at, since when, and the milliseconds that it was at each before. */
type Clock = Record<Phase, number> & { at: Phase; since: number };

/**
 * The time limit of a piece of work: waiting, connecting and running together. The line or the connection that has the work
 * sets how to end it.
 */
export type Deadline = {
  clock: Clock;
  /** The name of the statement that was sent last. */
  statement: string;
  /** Why the work was given up; nobody waits for its result any more. */
  over?: Error;
  /** Takes the work out of the line that it waits in. */
  leave?: ((error: Error) => void) | undefined;
  /** Ends the statement that runs on the work's connection. */
  cancel?: (() => void) | undefined;
};

const newDeadline = (): Deadline => ({
  clock: { at: 'line', since: performance.now(), line: 0, connection: 0, running: 0, pause: 0 },
  statement: '',
});

/** Says what the work is at from now on. */
export function enter({ clock }: Deadline, phase: Phase): void {
  const now = performance.now();
  clock[clock.at] += now - clock.since;
  clock.at = phase;
  clock.since = now;
}

const spentAt = ({ clock }: Deadline, phase: Phase): number =>
  clock[phase] + (clock.at === phase ? performance.now() - clock.since : 0);

const spentOf = (deadline: Deadline): Spent => ({
  at: deadline.clock.at,
  statements: deadline.statement,
  line: Math.round(spentAt(deadline, 'line')),
  connection: Math.round(spentAt(deadline, 'connection')),
  running: Math.round(spentAt(deadline, 'running')),
  pause: Math.round(spentAt(deadline, 'pause')),
});

/**
 * Gives work so many milliseconds in all, and ends it earlier when its caller has gone.
 * @param isShort true for work that is not worth hearing whether its caller has gone
 * @param canEnd false for writes, which once begun are not ended because nobody listens
 */
export function withDeadline<Result>(
  milliseconds: number,
  {
    caller,
    isShort = false,
    canEnd,
  }: { caller: Caller | undefined; isShort?: boolean | undefined; canEnd: boolean },
  work: (deadline: Deadline) => Promise<Result>,
): Promise<Result> {
  return new Promise((done, fail) => {
    const deadline = newDeadline();
    let isTold = false;
    const tellCaller = (): void => {
      if (!isTold) caller?.ran(spentAt(deadline, 'running'));
      isTold = true;
    };
    const giveUp = (error: Error, refusal: Error): void => {
      deadline.over = error;
      tellCaller();
      if (deadline.leave) deadline.leave(refusal);
      else {
        deadline.cancel?.();
        fail(error);
      }
    };
    const timer = setTimeout(
      () => giveUp(new DatabaseTimeout(milliseconds, spentOf(deadline)), REFUSALS.waited),
      milliseconds,
    );
    const signal = isShort ? undefined : caller?.signal();
    const gone = (): void => {
      if (canEnd || deadline.leave) giveUp(REFUSALS.gone, REFUSALS.gone);
    };
    signal?.addEventListener('abort', gone);
    const ended = (): void => {
      tellCaller();
      clearTimeout(timer);
      signal?.removeEventListener('abort', gone);
    };
    work(deadline).finally(ended).then(done, fail);
  });
}
