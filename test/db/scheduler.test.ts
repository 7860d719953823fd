import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { REJECTIONS } from '../../src/contract/errors.ts';
import { CALM_LENGTH, createScheduler, FLOOD_LENGTH, type Scheduler } from '../../src/db/pool/scheduler.ts';

/** A scheduler, the order in which its tasks began, and `end`, which ends a task. */
function scheduled(capacity = 1, maxWaiting = 1_000) {
  const scheduler = createScheduler({ capacity, maxWaiting });
  const began: string[] = [];
  const ends = new Map<string, () => void>();
  const rejected = new Map<string, unknown>();
  /** Adds a task to the queue of its letters. */
  const add = (name: string, queue = name.replace(/\d+$/, '')) => {
    const deadline: { leave?: ((error: Error) => void) | undefined } = {};
    const done = Promise.withResolvers<void>();
    const run = () => {
      began.push(name);
      ends.set(name, done.resolve);
      return done.promise;
    };
    scheduler.run(queue, run, deadline).catch((error) => rejected.set(name, error));
    return deadline;
  };
  /** Ends tasks that run, and waits until the next tasks have begun. */
  const end = async (...names: string[]): Promise<void> => {
    for (const name of names) ends.get(name)?.();
    await vi.advanceTimersByTimeAsync(0);
  };
  const runs = (queue: string): number => began.filter((name) => name.startsWith(queue)).length;
  return { ...scheduler, began, rejected, add, end, runs };
}

const many = (queue: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${queue}${n}`);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('capacity', () => {
  test('is shared by halves of what is free, so that a new queue finds a slot', () => {
    const { add, runs } = scheduled(10);
    for (const queue of ['a', 'b', 'c', 'd', 'e']) for (const name of many(queue, 20)) add(name);
    expect(['a', 'b', 'c', 'd', 'e'].map(runs)).toEqual([5, 3, 1, 1, 0]);
  });

  test('that another queue frees does not go to a queue that has its share', async () => {
    const { add, began, end, stats } = scheduled(4);
    for (const name of ['a0', 'a1', 'a2', 'b0']) add(name);
    expect(began).toEqual(['a0', 'a1', 'b0']);
    await end('b0');
    expect(began).toEqual(['a0', 'a1', 'b0']);
    expect(stats()).toEqual({ running: 2, waiting: 1 });
    await end('a0');
    expect(began).toEqual(['a0', 'a1', 'b0', 'a2']);
  });

  test('is kept by a large result until it is sent, and a queue whose latest result was large has an eighth', async () => {
    const { run, stats } = createScheduler({ capacity: 16, maxWaiting: 100 });
    const sent: (() => void)[] = [];
    const keep = (rows: readonly unknown[]) =>
      rows.length > 1 ? new Promise<void>((done) => void sent.push(done)) : undefined;
    const read = (rows: unknown[]) => run('a', async () => rows, { keep });
    await read([1, 2]);
    expect(stats().running).toBe(1);
    for (let count = 0; count < 6; count += 1) read([1, 2]);
    await vi.advanceTimersByTimeAsync(0);
    expect(stats()).toEqual({ running: 2, waiting: 5 });
    run('b', () => new Promise(() => undefined));
    expect(stats().running).toBe(3);
    for (let count = 0; count < 7; count += 1) {
      sent[count]?.();
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(stats()).toEqual({ running: 1, waiting: 0 });
    await read([1]);
    expect(stats().running).toBe(1);
  });

  test('is freed by a task that fails', async () => {
    const scheduler = createScheduler({ capacity: 1, maxWaiting: 10 });
    for (let round = 0; round < 3; round += 1)
      await expect(scheduler.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(scheduler.stats()).toMatchObject({ running: 0, waiting: 0 });
  });
});

describe('queues', () => {
  test('are served round-robin, each in its order, however long another one is', async () => {
    const { add, began, end, stats } = scheduled();
    for (const name of ['first', ...many('a', 6), ...many('b', 2), ...many('c', 2)]) add(name);
    for (let step = 0; step < 11; step += 1) {
      expect(stats()).toEqual({ running: 1, waiting: 10 - step });
      await end(began[step] ?? '');
    }
    expect(began).toEqual(['first', 'a0', 'b0', 'c0', 'a1', 'b1', 'c1', 'a2', 'a3', 'a4', 'a5']);
    expect(stats()).toEqual({ running: 0, waiting: 0 });
  });

  test('get one slot each in a round, also if their only task is new', async () => {
    const { add, began, end } = scheduled();
    for (const name of ['a0', 'b0', 'a1']) add(name);
    await end('a0');
    for (const name of ['a2', 'c0']) add(name);
    for (const name of ['b0', 'a1', 'c0', 'a2']) await end(name);
    expect(began).toEqual(['a0', 'b0', 'a1', 'c0', 'a2']);
  });

  test('share the waiting tasks as they share the capacity; further tasks are rejected at once', async () => {
    const { add, end, rejected } = scheduled(1, 8);
    for (const name of [...many('a', 10), ...many('b', 10)]) add(name);
    await end();
    // Of a, one runs and four wait; of b, two wait.
    expect([...rejected.keys()]).toEqual([...many('a', 10).slice(5), ...many('b', 10).slice(2)]);
    expect(new Set(rejected.values())).toEqual(new Set([REJECTIONS.full]));
  });

  test('drop a task that leaves before it begins; a task that runs or has left cannot leave', async () => {
    const { add, began, end, rejected, stats } = scheduled();
    const deadlines = ['a0', 'b0', 'a1', 'c0', 'a2', 'd0'].map((name) => add(name));
    expect(deadlines.map(({ leave }) => leave !== undefined)).toEqual([false, true, true, true, true, true]);
    // One of two tasks of a, and the only task of c.
    for (const index of [2, 3]) deadlines[index]?.leave?.(REJECTIONS.gone);
    expect(stats()).toEqual({ running: 1, waiting: 3 });
    for (const name of ['a0', 'b0', 'a2']) await end(name);
    expect(deadlines.map(({ leave }) => leave)).toEqual(deadlines.map(() => undefined));
    await end('d0');
    expect(began).toEqual(['a0', 'b0', 'a2', 'd0']);
    expect([...rejected.keys()]).toEqual(['a1', 'c0']);
    expect(new Set(rejected.values())).toEqual(new Set([REJECTIONS.gone]));
    expect(stats()).toEqual({ running: 0, waiting: 0 });
  });
});

describe('a queue', () => {
  test('that is short is served in order, however long it waits', async () => {
    const { add, began, end, rejected } = scheduled();
    const names = many('a', CALM_LENGTH + 1);
    for (const name of names) add(name);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(rejected.size).toBe(0);
    for (const name of names) await end(name);
    expect(began).toEqual(names);
  });

  test('that is flooded serves its newest task first, and rejects its oldest within 100 ms', async () => {
    const { add, began, end, rejected } = scheduled();
    const names = many('a', CALM_LENGTH + 2);
    for (const name of names) add(name);
    await end('a0');
    expect(began).toEqual(['a0', names.at(-1)]);
    expect(rejected.size).toBe(0);
    await vi.advanceTimersByTimeAsync(80);
    expect(rejected.size).toBe(0);
    await vi.advanceTimersByTimeAsync(20);
    expect([...rejected.keys()]).toEqual(names.slice(1, -1));
    expect(new Set(rejected.values())).toEqual(new Set([REJECTIONS.waited]));
  });

  test('that is flooded and long rejects the next task, and reports that before the task is sent', async () => {
    const { add, rejected, rejection } = scheduled();
    const names = many('a', CALM_LENGTH + 1);
    for (const name of names) add(name);
    expect(rejection('a')).toBeUndefined();
    add('flood', 'a');
    expect(rejection('a')).toBe(REJECTIONS.full);
    expect(rejection('b')).toBeUndefined();
    add('more', 'a');
    await vi.advanceTimersByTimeAsync(0);
    expect([...rejected]).toEqual([['more', REJECTIONS.full]]);
  });

  test('that is flooded and short accepts tasks up to its maximum length', async () => {
    const { add, end, runs, stats } = scheduled();
    const names = many('a', CALM_LENGTH + 2);
    for (const name of names) add(name);
    for (const name of ['a0', ...names.slice(FLOOD_LENGTH).toReversed()]) await end(name);
    expect(stats().waiting).toBe(FLOOD_LENGTH - 2);
    for (const name of many('b', 5)) add(name, 'a');
    expect(stats().waiting).toBe(FLOOD_LENGTH);
    expect(runs('b')).toBe(0);
  });

  test('that was flooded is calm again 200 ms after the last rejection', async () => {
    const { add, began, end, rejected, stats, rejection } = scheduled();
    for (const name of many('a', CALM_LENGTH + 2)) add(name);
    await vi.advanceTimersByTimeAsync(60);
    expect(rejection('a')).toBe(REJECTIONS.full);
    await vi.advanceTimersByTimeAsync(199);
    for (const name of many('b', FLOOD_LENGTH + 1)) add(name, 'a');
    await vi.advanceTimersByTimeAsync(0);
    expect(rejected.get(`b${FLOOD_LENGTH}`)).toBe(REJECTIONS.full);
    await vi.advanceTimersByTimeAsync(200);
    expect(stats().waiting).toBe(0);
    const calm = many('c', FLOOD_LENGTH + 2);
    for (const name of calm) add(name, 'a');
    expect(rejection('a')).toBeUndefined();
    for (const name of ['a0', ...calm]) await end(name);
    expect(began).toEqual(['a0', ...calm]);
  });

  test('can be flooded again; a single timer runs, and only while tasks wait', async () => {
    const { add, end, rejected } = scheduled();
    for (const round of ['first', 'second']) {
      rejected.clear();
      for (const name of many(round, CALM_LENGTH + 2)) add(name, 'a');
      expect(vi.getTimerCount()).toBe(1);
      await vi.advanceTimersByTimeAsync(100);
      expect(rejected.size).toBe(CALM_LENGTH + 1);
      await end(`${round}0`);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  test('under steady overload serves its newest tasks, which hardly wait', async () => {
    const scheduler = createScheduler({ capacity: 4, maxWaiting: 500 });
    const waits: number[] = [];
    let rejections = 0;
    // Each millisecond two tasks of a millisecond end, and four arrive, for two seconds.
    for (let time = 0; time < 2_000; time += 1) {
      for (let count = 0; count < 4; count += 1) {
        const arrivedAt = performance.now();
        scheduler
          .run('a', () => {
            if (time > 500) waits.push(performance.now() - arrivedAt);
            return new Promise((done) => setTimeout(done, 1));
          })
          .catch(() => {
            rejections += 1;
          });
      }
      await vi.advanceTimersByTimeAsync(1);
    }
    waits.sort((one, other) => one - other);
    expect(waits[waits.length >> 1]).toBeLessThanOrEqual(2);
    expect(Math.max(...waits)).toBeLessThanOrEqual(100);
    expect(waits.length).toBeGreaterThan(0.9 * 2 * 1_500);
    expect(rejections).toBeGreaterThan(0.9 * 2 * 1_500);
  });
});

const endless = () => new Promise<void>(() => undefined);

test.each<[string, maxWaiting: number, use: (scheduler: Scheduler, queue: string) => Promise<void>]>([
  ['has ended', 0, ({ run }, queue) => run(queue, () => Promise.resolve())],
  ['was rejected', 0, ({ run }, queue) => run(queue, endless)],
  [
    'has left',
    10,
    ({ run }, queue) => {
      const deadline: { leave?: (error: Error) => void } = {};
      const left = run(queue, endless, deadline);
      deadline.leave?.(REJECTIONS.gone);
      return left;
    },
  ],
])('a queue whose task %s is removed from memory', async (what, maxWaiting, use) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const scheduler = createScheduler({ capacity: 1, maxWaiting });
  if (what !== 'has ended') scheduler.run('the only slot', endless);
  collect();
  const before = process.memoryUsage().heapUsed;
  const ends = new Set<unknown>();
  // The names of the queues would take 30 MB.
  for (let queue = 0; queue < 3_000; queue += 1) {
    const result = use(scheduler, Buffer.alloc(10_000, `${queue} `).toString('latin1'));
    ends.add(await result.catch((error) => error));
  }
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
  expect(ends.size).toBe(1);
  expect(scheduler.stats().waiting).toBe(0);
});
