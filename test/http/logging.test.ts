import { expect, onTestFinished, test, vi } from 'vitest';
import { everySecond } from '../../src/http/logging.ts';

test('what happens thousands of times is told once a second of each owner, each time what is new, and the rest at the end', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const told: [owner: string | undefined, object][] = [];
  const { count, report } = everySecond((counts, owner) => told.push([owner, counts]));
  for (let second = 1; second <= 3; second += 1) {
    for (let times = 0; times < 1_000; times += 1) count(second === 2 ? 'gone' : 'full');
    vi.advanceTimersByTime(999);
    expect(told).toHaveLength(second - 1);
    vi.advanceTimersByTime(1);
  }
  for (const owner of ['a', 'b', 'a']) count('full', owner);
  count('gone', 'b');
  report();
  report();
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual([
    [undefined, { full: 1_000 }],
    [undefined, { gone: 1_000 }],
    [undefined, { full: 1_000 }],
    ['a', { full: 2 }],
    ['b', { full: 1, gone: 1 }],
  ]);
});
