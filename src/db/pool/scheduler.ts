import { REJECTIONS, type Rejection } from '../../contract/errors.ts';
import type { Deadline } from './deadline.ts';

type Leaving = Pick<Deadline, 'leave'>;

export type Scheduler = {
  /**
   * Runs the work as soon as its queue has a turn.
   * @throws Refusal when the queue is full, or the work waited too long in a flooded queue
   */
  run: <Result>(queue: string, work: () => Promise<Result>, deadline?: Leaving) => Promise<Result>;
  /** Why the next work of the queue would be rejected, or undefined. */
  rejection: (queue: string) => Rejection | undefined;
  stats: () => { running: number; waiting: number };
};

export type SchedulerOptions = {
  /** Pieces of work at once. */
  capacity: number;
  /** Pieces of work that may wait, in all queues together. */
  maxWaiting: number;
  /** Milliseconds, of a clock that never goes back. */
  now?: () => number;
};

/** A queue up to this length is served in its order: one integration sends about so many requests at once. A longer one is flooded. */
export const CALM_LENGTH = 160;
/** A flooded queue is kept this long: a free connection always finds work, and more would only wait to be rejected. */
export const FLOOD_LENGTH = 16;
/** Work of a flooded queue waits this long; with the interval between two looks, 100 ms at most. */
const FLOOD_TIMEOUT_MS = 80;
/** A flood ends this long after its last rejection: the work that waited in it is done or rejected by then. */
const FLOOD_MS = 200;
const CHECK_INTERVAL_MS = 20;

type Task = { since: number; start: () => void; reject: (error: Error) => void };
/** The work of one tenant, of one kind. */
type Queue = { name: string; running: number; waiting: Task[]; floodedUntil: number };

/** A queue may have as much of a resource as is free: the next queue always finds some. */
const mayTake = (own: number, free: number): boolean => own < free;

/**
 * Who works next, and who waits. Three published schemes:
 * - fair queueing (J. Nagle, RFC 970): the queues are served in turn;
 * - dynamic thresholds (A. Choudhury, E. Hahne, 1998): of the capacity, and of the work that may wait, a queue may have as much as
 *   is free: one queue alone gets half, the next half of the rest, and a new one always finds something;
 * - adaptive LIFO (B. Maurer, "Fail at Scale", ACM Queue 2015): a queue is served in its order. When flooded, it is served
 *   from its new end and kept short, and what waited for 100 ms at its old end is rejected: a later response is worth nothing.
 *
 * Beside 200 clients that search for a common term, the p99 of another organization's get is 23 to 26 times that of one alone,
 * and 279 to 468 times without turns; beside 32 clients 3 to 5 times, and 35 to 66
 * (`npm run bench:fairness -- --only 1b`, with turns and without them in alternation).
 */
export function createScheduler({
  capacity,
  maxWaiting,
  now = () => performance.now(),
}: SchedulerOptions): Scheduler {
  const queues = new Map<string, Queue>();
  /** The queues in which work waits, the next one first. */
  let turns: Queue[] = [];
  let running = 0;
  let waiting = 0;
  let timer: NodeJS.Timeout | undefined;

  function forgetIdle({ name, running, waiting }: Queue): void {
    if (running === 0 && waiting.length === 0) queues.delete(name);
  }

  function takeSlot(queue: Queue): void {
    queue.running += 1;
    running += 1;
  }

  /** Runs work that has a slot. Waiting work is only woken up here: begun inside of this call, it would keep this work alive. */
  async function runInSlot<Result>(queue: Queue, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } finally {
      queue.running -= 1;
      running -= 1;
      if (waiting > 0) serve();
      forgetIdle(queue);
    }
  }

  function reject(queue: Queue, index: number, error: Error): void {
    const [task] = queue.waiting.splice(index, 1);
    waiting -= 1;
    if (queue.waiting.length === 0) turns = turns.filter((other) => other !== queue);
    forgetIdle(queue);
    task?.reject(error);
  }

  const isFlooded = ({ floodedUntil }: Queue): boolean => now() < floodedUntil;
  function flood(queue: Queue): void {
    queue.floodedUntil = now() + FLOOD_MS;
  }

  /** True when no more work of the queue may wait. Work that a flooded queue rejects prolongs the flood. */
  function isFull(queue: Queue): boolean {
    const isLong = isFlooded(queue) && queue.waiting.length >= FLOOD_LENGTH;
    if (isLong) flood(queue);
    return isLong || !mayTake(queue.waiting.length, maxWaiting - waiting);
  }

  function rejectLate(): void {
    const before = now() - FLOOD_TIMEOUT_MS;
    for (const queue of [...turns])
      while (isFlooded(queue) && (queue.waiting[0]?.since ?? before) < before)
        reject(queue, 0, REJECTIONS.waited);
  }

  function serve(): void {
    rejectLate();
    for (;;) {
      const index = turns.findIndex((queue) => mayTake(queue.running, capacity - running));
      const [queue] = index < 0 ? [] : turns.splice(index, 1);
      if (!queue) return;
      const task = isFlooded(queue) ? queue.waiting.pop() : queue.waiting.shift();
      if (queue.waiting.length > 0) turns.push(queue);
      waiting -= 1;
      takeSlot(queue);
      task?.start();
    }
  }

  function rejectWaiting(): void {
    rejectLate();
    timer = waiting > 0 ? setTimeout(rejectWaiting, CHECK_INTERVAL_MS).unref() : undefined;
  }

  function waitForSlot(queue: Queue, deadline: Leaving): Promise<void> {
    return new Promise((done, fail) => {
      const task: Task = {
        since: now(),
        start() {
          deadline.leave = undefined;
          done();
        },
        reject(error) {
          deadline.leave = undefined;
          fail(error);
        },
      };
      // Named first: V8 puts a function literal that is assigned to a property into the old space.
      const leave = (error: Error): void => reject(queue, queue.waiting.indexOf(task), error);
      deadline.leave = leave;
      if (queue.waiting.push(task) === 1) turns.push(queue);
      if (queue.waiting.length > CALM_LENGTH) flood(queue);
      waiting += 1;
      if (timer === undefined) timer = setTimeout(rejectWaiting, CHECK_INTERVAL_MS).unref();
    });
  }

  function queueOf(name: string): Queue {
    const queue = queues.get(name) ?? { name, running: 0, waiting: [], floodedUntil: 0 };
    queues.set(name, queue);
    return queue;
  }

  return {
    async run(name, work, deadline = {}) {
      const queue = queueOf(name);
      if (queue.waiting.length === 0 && mayTake(queue.running, capacity - running)) takeSlot(queue);
      else if (!isFull(queue)) await waitForSlot(queue, deadline);
      else {
        forgetIdle(queue);
        throw REJECTIONS.full;
      }
      return runInSlot(queue, work);
    },
    rejection(name) {
      const queue = queues.get(name);
      return queue && queue.waiting.length > 0 && isFull(queue) ? REJECTIONS.full : undefined;
    },
    stats: () => ({ running, waiting }),
  };
}
