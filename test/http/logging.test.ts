import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { countInLog } from '../../src/http/logging.ts';
import { ownLog } from '../support/instance.ts';

test('frequent events are one line a second for each kind, with its count, and the rest on demand', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { logger, lines } = ownLog();
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
  expect(lines).toMatchObject([
    { reason: 'full', count: 1_000, msg: 'rejected' },
    { reason: 'gone', count: 1 },
    { organizationId: 'a', reason: 'full', count: 2 },
    { organizationId: 'b', reason: 'full', count: 1 },
  ]);
  expect(new Set(lines.map(({ time }) => time)).size).toBe(2);
});

/** A process that logs so many lines of 1 KiB, turns its event loop for a second, logs one more, and ends with 7. */
function startLogging(lines: number, stdout: number | 'pipe') {
  const script = `import { createLogger } from ${JSON.stringify(new URL('../../src/http/logging.ts', import.meta.url))};
    const logger = createLogger('info');
    // Like the first lines of the service.
    process.stdout.write('\\n');
    const line = 'x'.repeat(1_000);
    for (let times = 0; times < ${lines}; times += 1) logger.info(line);
    setTimeout(() => { logger.info(line); process.exit(7); }, 1_000)`;
  const args = ['--input-type=module', '--eval', script];
  const child = spawn(process.execPath, args, { stdio: ['ignore', stdout, 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

test.skipIf(!existsSync('/dev/full'))('a log on a full disk neither ends nor holds the process', async () => {
  const [code] = await once(startLogging(10, openSync('/dev/full', 'w')), 'exit');
  expect(code).toBe(7);
});

test('a log that nobody reads keeps no process from ending', async () => {
  const [code] = await once(startLogging(1_000, 'pipe'), 'exit');
  expect(code).toBe(7);
});

test('of a log that nobody reads, at most 16 MiB wait', async () => {
  const child = startLogging(40_000, 'pipe');
  await pause(100);
  let bytes = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  await once(child, 'close');
  expect(bytes).toBeGreaterThan(8 * 2 ** 20);
  expect(bytes).toBeLessThan(18 * 2 ** 20);
});
