import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { everySecond } from '../../src/http/logging.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('what is counted for several owners is told of each', () => {
  const told: [string | undefined, object][] = [];
  const { count } = everySecond((counts, owner) => told.push([owner, counts]));
  for (const owner of ['a', 'b', 'a', undefined]) count('full', owner);
  count('gone', 'b');
  vi.advanceTimersByTime(1_000);
  expect(told).toEqual([
    ['a', { full: 2 }],
    ['b', { full: 1, gone: 1 }],
    [undefined, { full: 1 }],
  ]);
});

test('what happens thousands of times is told once a second, each time what is new, and the rest at the end', () => {
  const told: object[] = [];
  const { count, report } = everySecond((counts) => told.push(counts));
  for (let second = 1; second <= 3; second += 1) {
    for (let times = 0; times < 1_000; times += 1) count(second === 2 ? 'gone' : 'full');
    vi.advanceTimersByTime(999);
    expect(told).toHaveLength(second - 1);
    vi.advanceTimersByTime(1);
  }
  count('full');
  report();
  report();
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual([{ full: 1_000 }, { gone: 1_000 }, { full: 1_000 }, { full: 1 }]);
});
