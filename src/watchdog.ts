import { Worker } from 'node:worker_threads';

/** Runs in a thread of its own: nothing in the stuck thread would run. */
const WATCH = `
  const { writeSync } = require('node:fs');
  const { beats, limit } = require('node:worker_threads').workerData;
  const isSilent = (ms, seen) => Atomics.wait(beats, 0, seen, ms) === 'timed-out';
  for (;;) {
    const seen = Atomics.load(beats, 0);
    // Twice: a process that was suspended needs a moment for its next beat.
    if (isSilent(limit, seen) && isSilent(limit / 10, seen)) {
      writeSync(2, 'The event loop stood still for ' + limit + ' ms, and the service ends. Its supervisor starts it again.\\n');
      process.kill(process.pid, 'SIGKILL');
    }
  }`;

/** Ends the process when its event loop stands still for `limit` milliseconds. */
export function startWatchdog(limit = 20_000): void {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  setInterval(() => {
    Atomics.add(beats, 0, 1);
    Atomics.notify(beats, 0);
  }, limit / 10).unref();
  const resourceLimits = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 8 };
  new Worker(WATCH, { eval: true, execArgv: [], workerData: { beats, limit }, resourceLimits }).unref();
}
