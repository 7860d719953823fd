import { expect, test } from 'vitest';
import { startProcess } from './support/process.ts';

const run = (work: string) =>
  startProcess({}, [
    '--input-type=module',
    '--eval',
    `const { startWatchdog } = await import('./src/watchdog.ts');
    startWatchdog(1_000);
    const pause = (ms) => new Promise((done) => setTimeout(done, ms));
    await pause(500);
    ${work}`,
  ]);

test('a process whose event loop stands still ends itself, and says why', async () => {
  const { child, output, ended } = run(
    'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); console.log("unreachable");',
  );
  expect(await ended).toBeNull();
  expect(child.signalCode).toBe('SIGKILL');
  expect(output()).toMatch(/^The event loop stood still for 1000 ms, and the service ends\. .*\n$/);
});

test('a process whose event loop turns lives on, and ends when it has nothing left to do', async () => {
  // A machine that stands still for a second ends it too: one of several lives on.
  const outputOfRun = async () => {
    const { output, ended } = run('await pause(3_000); console.log("done");');
    await ended;
    return output();
  };
  await expect.poll(outputOfRun).toBe('done\n');
});
