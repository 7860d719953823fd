import { openConnection } from './connection.ts';
import { percentile } from './statistics.ts';

/**
 * The load generator, a separate process. Each connection sends its next request when it has the previous response.
 * Requests are rendered before the clock starts, and only the status and length of a response are read, so that almost
 * all processor time is left for the servers.
 */

export type Job = {
  port: number;
  connections: number;
  /** Whole requests, head and body. They are repeated from the first one, unless `isOnce`. */
  requests: readonly string[];
  isOnce: boolean;
  status: number;
  /** Ends after this many seconds, or this many requests. */
  seconds?: number;
  count?: number;
};

export type Result = {
  count: number;
  /** From the first request to the last response. */
  seconds: number;
  /** Latency of a request in milliseconds. */
  p99: number;
  /** The fraction of one core that this process used. */
  busy: number;
};

async function run({
  port,
  connections,
  requests,
  isOnce,
  status,
  seconds = 600,
  count = Number.POSITIVE_INFINITY,
}: Job): Promise<Result> {
  const opened = await Promise.all(Array.from({ length: connections }, () => openConnection(port)));
  const amount = isOnce ? Math.min(count, requests.length) : count;
  const times: number[] = [];
  let next = 0;
  const cpu = process.cpuUsage();
  const start = performance.now();
  const deadline = start + seconds * 1_000;
  await Promise.all(
    opened.map(async ({ send, close }) => {
      for (let before = performance.now(); before < deadline && next < amount; ) {
        const request = requests[next % requests.length] ?? '';
        next += 1;
        const got = await send(request);
        if (got !== status) throw new Error(`Expected ${status}, got ${got}: ${request}`);
        const after = performance.now();
        times.push(after - before);
        before = after;
      }
      close();
    }),
  );
  const elapsed = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return {
    count: times.length,
    seconds: elapsed / 1_000,
    p99: percentile(times, 0.99),
    busy: (user + system) / 1_000 / elapsed,
  };
}

process.on('message', (job: Job) => {
  run(job).then(
    (result) => process.send?.({ result }),
    (error: Error) => process.send?.({ error: error.message }),
  );
});
process.on('disconnect', () => process.exit(0));
