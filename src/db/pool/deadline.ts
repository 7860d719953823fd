import { REJECTIONS } from '../../contract/errors.ts';
import { DatabaseTimeout, type Phase, type Spent } from './errors.ts';
import type { Caller } from './scope.ts';

/** The time limit of a piece of work: waiting, connecting and running together. */
export type Deadline = {
  /** The phase of the work, since when, and the milliseconds that each phase took so far. */
  clock: Record<Phase, number> & { at: Phase; since: number };
  /** The name of the statement that was sent last. */
  statement: string;
  /** Why the work was given up; nobody waits for its result any more. */
  over?: Error;
  /** Takes the work out of its queue; set while it waits in one. */
  leave?: ((error: Error) => void) | undefined;
  /** Ends the statement that runs; set while the work has a connection. */
  cancel?: (() => void) | undefined;
};

const newDeadline = (): Deadline => ({
  clock: { at: 'queue', since: performance.now(), queue: 0, connection: 0, running: 0, pause: 0 },
  statement: '',
});

/** Begins a phase. */
export function enter({ clock }: Deadline, phase: Phase): void {
  const now = performance.now();
  clock[clock.at] += now - clock.since;
  clock.at = phase;
  clock.since = now;
}

function spentOf({ clock, statement }: Deadline): Spent {
  const { at, queue, connection, running, pause } = clock;
  const spent = { queue, connection, running, pause };
  spent[at] += performance.now() - clock.since;
  for (const phase of Object.keys(spent) as Phase[]) spent[phase] = Math.round(spent[phase]);
  return { at, statements: statement, ...spent };
}

type DeadlineOptions = {
  caller: Caller | undefined;
  /** True for work that takes too little time to end it when its caller has gone. */
  isShort?: boolean | undefined;
  /** False for writes: once begun, they are not ended because their caller has gone. */
  canEnd: boolean;
};

/** Gives work so many milliseconds in all, and ends it earlier when its caller has gone. */
export function withDeadline<Result>(
  milliseconds: number,
  { caller, isShort = false, canEnd }: DeadlineOptions,
  work: (deadline: Deadline) => Promise<Result>,
): Promise<Result> {
  return new Promise((done, fail) => {
    const deadline = newDeadline();
    const reportTime = (): void => {
      if (deadline.over) return;
      const { at, running, since } = deadline.clock;
      caller?.addDatabaseTime(running + (at === 'running' ? performance.now() - since : 0));
    };
    const giveUp = (error: Error, rejection: Error): void => {
      reportTime();
      deadline.over = error;
      if (deadline.leave) deadline.leave(rejection);
      else {
        deadline.cancel?.();
        fail(error);
      }
    };
    const timer = setTimeout(
      () => giveUp(new DatabaseTimeout(milliseconds, spentOf(deadline)), REJECTIONS.waited),
      milliseconds,
    );
    const signal = isShort ? undefined : caller?.signal();
    const gone = (): void => {
      if (canEnd || deadline.leave) giveUp(REJECTIONS.gone, REJECTIONS.gone);
    };
    signal?.addEventListener('abort', gone);
    const ended = (): void => {
      reportTime();
      clearTimeout(timer);
      signal?.removeEventListener('abort', gone);
    };
    work(deadline).finally(ended).then(done, fail);
  });
}
