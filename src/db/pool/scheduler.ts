import { REJECTIONS, type Rejection } from '../../contract/errors.ts';
import type { Deadline } from './deadline.ts';

type Leaving = Pick<Deadline, 'leave' | 'keep'>;

export type Scheduler = ReturnType<typeof createScheduler>;

export type SchedulerOptions = {
  /** Tasks that may run at once, and that may wait, in all queues together. */
  capacity: number;
  maxWaiting: number;
  now?: () => number;
};

/** A longer queue is flooded. One integration sends about so many requests at once. */
export const CALM_LENGTH = 160;
/** The maximum length of a flooded queue: a free connection still finds a task. */
export const FLOOD_LENGTH = 16;
/** A task of a flooded queue waits no longer than this and `CHECK_INTERVAL_MS`. */
const FLOOD_TIMEOUT_MS = 80;
/** A flood ends this long after its last rejection. */
const FLOOD_MS = 200;
const CHECK_INTERVAL_MS = 20;
/** A queue whose latest result was large has an eighth of the slots: reading 12 MB blocks the event loop for 50 ms and more. */
const LARGE_WEIGHT = 8;

type Task = { since: number; start: () => void; reject: (error: Error) => void };
type Queue = { name: string; running: number; waiting: Task[]; floodedUntil: number; weight: number };

const mayTake = (own: number, free: number): boolean => own < free;

/**
 * Decides which task runs next, by three published schemes:
 * - fair queueing (J. Nagle, RFC 970): the queues are served round-robin;
 * - dynamic thresholds (A. Choudhury, E. Hahne, 1998): a queue may have as many slots as are free: a single queue gets half,
 *   and a new queue always finds one; waiting tasks likewise;
 * - adaptive LIFO (B. Maurer, "Fail at Scale", ACM Queue 2015): a flooded queue serves its newest task first, and rejects
 *   its oldest.
 *
 * While 200 clients search for a common term, another organization's get has 23 to 26 times the p99 of a get alone; without
 * the scheduler 279 to 468 times (`npm run bench:fairness -- --only 1b`, with and without it in alternation).
 */
export function createScheduler({ capacity, maxWaiting, now = () => performance.now() }: SchedulerOptions) {
  const queues = new Map<string, Queue>();
  let waitingQueues: Queue[] = [];
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

  function leaveSlot(queue: Queue): void {
    queue.running -= 1;
    running -= 1;
    if (waiting > 0) serve();
    forgetIdle(queue);
  }

  /** `serve` only resolves promises: a task that began inside this call would keep this task's objects alive. */
  async function runInSlot<Result>(
    queue: Queue,
    work: () => Promise<Result>,
    { keep }: Leaving,
  ): Promise<Result> {
    let kept: Promise<void> | undefined;
    try {
      const result = await work();
      if (keep && Array.isArray(result)) kept = keep(result);
      queue.weight = kept ? LARGE_WEIGHT : 1;
      return result;
    } finally {
      if (kept) kept.then(() => leaveSlot(queue));
      else leaveSlot(queue);
    }
  }

  function reject(queue: Queue, index: number, error: Error): void {
    const [task] = queue.waiting.splice(index, 1);
    waiting -= 1;
    if (queue.waiting.length === 0) waitingQueues = waitingQueues.filter((other) => other !== queue);
    forgetIdle(queue);
    task?.reject(error);
  }

  const isFlooded = ({ floodedUntil }: Queue): boolean => now() < floodedUntil;
  function flood(queue: Queue): void {
    queue.floodedUntil = now() + FLOOD_MS;
  }

  function isFull(queue: Queue): boolean {
    const isLong = isFlooded(queue) && queue.waiting.length >= FLOOD_LENGTH;
    if (isLong) flood(queue);
    return isLong || !mayTake(queue.waiting.length, maxWaiting - waiting);
  }

  function rejectLate(): void {
    const before = now() - FLOOD_TIMEOUT_MS;
    for (const queue of [...waitingQueues])
      while (isFlooded(queue) && (queue.waiting[0]?.since ?? before) < before)
        reject(queue, 0, REJECTIONS.waited);
  }

  function serve(): void {
    rejectLate();
    for (;;) {
      const index = waitingQueues.findIndex((queue) =>
        mayTake(queue.running * queue.weight, capacity - running),
      );
      const [queue] = index < 0 ? [] : waitingQueues.splice(index, 1);
      if (!queue) return;
      const task = isFlooded(queue) ? queue.waiting.pop() : queue.waiting.shift();
      if (queue.waiting.length > 0) waitingQueues.push(queue);
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
      // V8 allocates a function literal in the old space if it is assigned to a property.
      const leave = (error: Error): void => reject(queue, queue.waiting.indexOf(task), error);
      deadline.leave = leave;
      if (queue.waiting.push(task) === 1) waitingQueues.push(queue);
      if (queue.waiting.length > CALM_LENGTH) flood(queue);
      waiting += 1;
      if (timer === undefined) timer = setTimeout(rejectWaiting, CHECK_INTERVAL_MS).unref();
    });
  }

  function queueOf(name: string): Queue {
    const queue = queues.get(name) ?? { name, running: 0, waiting: [], floodedUntil: 0, weight: 1 };
    queues.set(name, queue);
    return queue;
  }

  return {
    /** @throws Rejection if the queue is full, or if the work waited too long in a flooded queue */
    async run<Result>(name: string, work: () => Promise<Result>, deadline: Leaving = {}): Promise<Result> {
      const queue = queueOf(name);
      if (queue.waiting.length === 0 && mayTake(queue.running * queue.weight, capacity - running))
        takeSlot(queue);
      else if (!isFull(queue)) await waitForSlot(queue, deadline);
      else {
        forgetIdle(queue);
        throw REJECTIONS.full;
      }
      return runInSlot(queue, work, deadline);
    },
    /** Why the next task of the queue would be rejected, or undefined. */
    rejection(name: string): Rejection | undefined {
      const queue = queues.get(name);
      return queue && queue.waiting.length > 0 && isFull(queue) ? REJECTIONS.full : undefined;
    },
    stats: () => ({ running, waiting }),
  };
}
