import { REFUSALS, type Refusal } from '../../contract/errors.ts';
import type { Deadline } from './deadline.ts';

type InLine = Pick<Deadline, 'leave'>;

export type Scheduler = {
  /**
   * Runs the work as soon as its flow has a turn.
   * @throws Refusal when the flow's line is full, or its work waited too long in a long line
   */
  run: <Result>(flow: string, work: () => Promise<Result>, deadline?: InLine) => Promise<Result>;
  /** The refusal for the flow's next work, or undefined. Callers ask before they spend anything on the work. */
  refusal: (flow: string) => Refusal | undefined;
  stats: () => { running: number; waiting: number };
};

export type SchedulerOptions = {
  /** Pieces of work at once. */
  capacity: number;
  /** Pieces of work that may wait, of all flows together. */
  places: number;
  /** Milliseconds, of a clock that never goes back. */
  now?: () => number;
};

/** A line up to this length is served in its order: one integration sends about so many requests at once. A longer one is a flood. */
export const CALM_LINE = 160;
/** A flood keeps this many waiting: a free connection always finds work, and more would only wait to be refused. */
export const FLOOD_LINE = 16;
/** Work of a flood waits this long; with the interval between two looks, 100 ms at most. */
const FLOOD_PATIENCE_MS = 80;
/** A flood ends this long after its last refusal: the work that waited in it is done or refused by then. */
const FLOOD_MS = 200;
const LOOK_MS = 20;

type Waiting = { since: number; start: () => void; refuse: (error: Error) => void };
/** A flood begins with a line that is too long, and ends when nothing was refused for a while. */
type Flow = { name: string; running: number; line: Waiting[]; floodUntil: number };

/** A flow may take as many places as are free. So the next flow always finds one. */
const mayTake = (own: number, free: number): boolean => own < free;

/**
 * Who works next, and who waits. Three published schemes:
 * - fair queueing (J. Nagle, RFC 970): each flow has a line of its own, and the lines are served in turn;
 * - dynamic thresholds (A. Choudhury, E. Hahne, 1998): of the capacity, and of the places to wait, a flow may have as
 *   many as are free: one flow alone gets half, the next half of the rest, and somebody new always finds something;
 * - adaptive LIFO (B. Maurer, "Fail at Scale", ACM Queue 2015): a line is served in its order. In a flood it is served
 *   from its new end and kept short, and what waited for 100 ms at its old end is refused: an answer later is worth
 *   nothing.
 *
 * What it brings: beside 200 clients that search for a common term, the p99 of another organization's get is 23 to 26 times
 * that of one alone, and 279 to 468 times without turns; beside 32 clients 3 to 5 times, and 35 to 66
 * (`npm run bench:fairness -- --only 1b`, with turns and without them in alternation).
 */
export function createScheduler({
  capacity,
  places,
  now = () => performance.now(),
}: SchedulerOptions): Scheduler {
  const flows = new Map<string, Flow>();
  /** The flows whose line is not empty, the next one first. */
  let turns: Flow[] = [];
  let running = 0;
  let waiting = 0;
  let timer: NodeJS.Timeout | undefined;

  function forgetIdle({ name, running, line }: Flow): void {
    if (running === 0 && line.length === 0) flows.delete(name);
  }

  function takeTurn(flow: Flow): void {
    flow.running += 1;
    running += 1;
  }

  /** Runs work that has its turn. Waiting work is only woken up here: begun inside of this call, it would keep this work alive. */
  async function runInTurn<Result>(flow: Flow, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } finally {
      flow.running -= 1;
      running -= 1;
      if (waiting > 0) serve();
      forgetIdle(flow);
    }
  }

  function refuse(flow: Flow, index: number, error: Error): void {
    const [task] = flow.line.splice(index, 1);
    waiting -= 1;
    if (flow.line.length === 0) turns = turns.filter((other) => other !== flow);
    forgetIdle(flow);
    task?.refuse(error);
  }

  const isFlood = ({ floodUntil }: Flow): boolean => now() < floodUntil;
  const flood = (flow: Flow): void => {
    flow.floodUntil = now() + FLOOD_MS;
  };

  /** True when one more of the flow has no place to wait. One that is refused prolongs the flood. */
  function isFull(flow: Flow): boolean {
    if (!isFlood(flow)) return !mayTake(flow.line.length, places - waiting);
    const isLong = flow.line.length >= FLOOD_LINE;
    if (isLong) flood(flow);
    return isLong || !mayTake(flow.line.length, places - waiting);
  }

  function refuseLate(): void {
    const before = now() - FLOOD_PATIENCE_MS;
    for (const flow of [...turns])
      while (isFlood(flow) && (flow.line[0]?.since ?? before) < before) refuse(flow, 0, REFUSALS.waited);
  }

  function serve(): void {
    refuseLate();
    for (;;) {
      const index = turns.findIndex((flow) => mayTake(flow.running, capacity - running));
      const [flow] = index < 0 ? [] : turns.splice(index, 1);
      if (!flow) return;
      const task = isFlood(flow) ? flow.line.pop() : flow.line.shift();
      if (flow.line.length > 0) turns.push(flow);
      waiting -= 1;
      takeTurn(flow);
      task?.start();
    }
  }

  function look(): void {
    refuseLate();
    timer = waiting > 0 ? setTimeout(look, LOOK_MS).unref() : undefined;
  }

  /** Ends when the flow has given the work its turn. */
  function waitForTurn(flow: Flow, deadline: InLine): Promise<void> {
    return new Promise((done, fail) => {
      const start = (): void => {
        deadline.leave = undefined;
        done();
      };
      const refuseTask = (error: Error): void => {
        deadline.leave = undefined;
        fail(error);
      };
      const task: Waiting = { since: now(), start, refuse: refuseTask };
      // Named first: V8 makes a function literal that is assigned to a property in the old space.
      const leave = (error: Error): void => refuse(flow, flow.line.indexOf(task), error);
      deadline.leave = leave;
      if (flow.line.push(task) === 1) turns.push(flow);
      if (flow.line.length > CALM_LINE) flood(flow);
      waiting += 1;
      if (timer === undefined) timer = setTimeout(look, LOOK_MS).unref();
    });
  }

  return {
    async run(name, work, deadline = {}) {
      let flow = flows.get(name);
      if (!flow) {
        flow = { name, running: 0, line: [], floodUntil: 0 };
        flows.set(name, flow);
      }
      if (flow.line.length === 0 && mayTake(flow.running, capacity - running)) takeTurn(flow);
      else if (!isFull(flow)) await waitForTurn(flow, deadline);
      else {
        forgetIdle(flow);
        throw REFUSALS.full;
      }
      return runInTurn(flow, work);
    },
    refusal(name) {
      const flow = flows.get(name);
      return flow && flow.line.length > 0 && isFull(flow) ? REFUSALS.full : undefined;
    },
    stats: () => ({ running, waiting }),
  };
}
