import { expect, onTestFinished, test, vi } from 'vitest';
import { countInLog, createLogger } from '../../src/http/logging.ts';

test('frequent events are one line a second for each kind, with its count, and the rest on demand', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line) => lines.push(line) });
  const { count, report } = countInLog(logger, 'rejected');
  for (let times = 0; times < 1_000; times += 1) count({ reason: 'full' });
  vi.advanceTimersByTime(999);
  expect(lines).toEqual([]);
  vi.advanceTimersByTime(1);
  count({ reason: 'gone' });
  vi.advanceTimersByTime(1_000);
  for (const organizationId of ['a', 'b', 'a']) count({ organizationId, reason: 'full' });
  report();
  vi.advanceTimersByTime(60_000);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { reason: 'full', count: 1_000, msg: 'rejected' },
    { reason: 'gone', count: 1 },
    { organizationId: 'a', reason: 'full', count: 2 },
    { organizationId: 'b', reason: 'full', count: 1 },
  ]);
  expect(lines).toHaveLength(4);
});
