import { REJECTIONS } from '../../contract/errors.ts';
import { DatabaseTimeout, type Phase, type Spent } from './errors.ts';
import type { Caller } from './scope.ts';

/** The time limit of a task, from the queue to the result. */
export type Deadline = {
  /** The current phase, when it began, and the milliseconds of each phase before. */
  clock: Record<Phase, number> & { at: Phase; since: number };
  statement: string;
  /** Of a transaction: the latest statement. */
  sent?: Promise<unknown> | undefined;
  /** Set when nobody waits for the result any more. */
  abandoned?: Error;
  /** Set while the task waits in a queue. */
  leave?: ((error: Error) => void) | undefined;
  /** Keeps the slot of a task with a large result until this promise resolves. */
  keep?: (rows: readonly unknown[]) => Promise<void> | undefined;
  /** Set while the task has a connection: ends its statement. */
  cancel?: (() => void) | undefined;
};

const newDeadline = (): Deadline => ({
  clock: { at: 'queue', since: performance.now(), queue: 0, connection: 0, running: 0, pause: 0 },
  statement: '',
});

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
  /** Not cancelled when its caller disconnects: it takes too little time. */
  isShort?: boolean | undefined;
  /** False for writes: once they run, they are not cancelled when their caller disconnects. */
  canEnd: boolean;
};

export function withDeadline<Result>(
  milliseconds: number,
  { caller, isShort = false, canEnd }: DeadlineOptions,
  work: (deadline: Deadline) => Promise<Result>,
): Promise<Result> {
  return new Promise((done, fail) => {
    const deadline = newDeadline();
    const reportTime = (): void => {
      if (deadline.abandoned) return;
      const { at, running, since } = deadline.clock;
      caller?.addDatabaseTime(running + (at === 'running' ? performance.now() - since : 0));
    };
    const abandon = (error: Error, rejection: Error): void => {
      reportTime();
      deadline.abandoned = error;
      if (deadline.leave) deadline.leave(rejection);
      else {
        deadline.cancel?.();
        fail(error);
      }
    };
    const timer = setTimeout(
      () => abandon(new DatabaseTimeout(milliseconds, spentOf(deadline)), REJECTIONS.waited),
      milliseconds,
    );
    const signal = isShort ? undefined : caller?.signal();
    const onAbort = (): void => {
      if (canEnd || deadline.leave) abandon(REJECTIONS.gone, REJECTIONS.gone);
    };
    signal?.addEventListener('abort', onAbort);
    const finish = (): void => {
      reportTime();
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    work(deadline).finally(finish).then(done, fail);
  });
}
