import { expect, onTestFinished, test, vi } from 'vitest';
import { everySecond } from '../../src/http/logging.ts';

test('frequent events are reported at most once a second for each owner, and the rest on demand', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const reported: [owner: string | undefined, object][] = [];
  const { count, report } = everySecond((counts, owner) => reported.push([owner, counts]));
  for (let times = 0; times < 1_000; times += 1) count('full');
  vi.advanceTimersByTime(999);
  expect(reported).toEqual([]);
  vi.advanceTimersByTime(1);
  count('gone');
  vi.advanceTimersByTime(1_000);
  for (const owner of ['a', 'b', 'a']) count('full', owner);
  count('gone', 'b');
  report();
  // Nothing is left to report.
  report();
  vi.advanceTimersByTime(60_000);
  expect(reported).toEqual([
    [undefined, { full: 1_000 }],
    [undefined, { gone: 1 }],
    ['a', { full: 2 }],
    ['b', { full: 1, gone: 1 }],
  ]);
});
