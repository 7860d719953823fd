import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** The load generator, a process of its own. It renders and parses next to nothing: the processors are for the servers. */

export type Job = {
  port: number;
  /** Whole requests, head and body, repeated from the first one. */
  requests: readonly string[];
  clients: number;
  /** Requests of one client at once, on the same connection; default 1. */
  pipelined?: number;
  /** Ends after this many seconds, or this many requests. */
  seconds?: number;
  count?: number | undefined;
  /** Requests per second, whatever the server does: latency counts from the intended time. */
  rate?: number;
};

/** Latencies in milliseconds by status, and the body of the first response. */
type Responses = { count: number; p50: number; p99: number; max: number };
export type Result = { count: number; seconds: number; statuses: Record<string, Responses>; body: string };

/** The quantile of a share from 0 to 1. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

type Response = { status: string; body: Buffer };
const BROKEN: Response = { status: 'broken', body: Buffer.alloc(0) };
const HEAD_END = Buffer.from('\r\n\r\n');

function openConnection(port: number) {
  const waiting: PromiseWithResolvers<Response>[] = [];
  let held: Buffer = Buffer.alloc(0);
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => undefined);
  socket.on('close', () => waiting.splice(0).forEach(({ resolve }) => void resolve(BROKEN)));
  socket.on('data', (chunk) => {
    held = held.length > 0 ? Buffer.concat([held, chunk]) : chunk;
    for (let end = held.indexOf(HEAD_END); end !== -1; end = held.indexOf(HEAD_END)) {
      const head = held.toString('latin1', 0, end);
      const start = end + HEAD_END.length;
      const whole = start + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (held.length < whole) return;
      waiting.shift()?.resolve({ status: head.slice(9, 12), body: held.subarray(start, whole) });
      held = held.subarray(whole);
    }
  });
  const send = (request: string): Promise<Response> => {
    if (socket.destroyed) return Promise.resolve(BROKEN);
    const response = Promise.withResolvers<Response>();
    waiting.push(response);
    socket.write(request);
    return response.promise;
  };
  return { send, close: () => socket.destroy() };
}

async function run(job: Job): Promise<Result> {
  const { port, requests, clients, pipelined = 1, seconds = 600, count, rate } = job;
  const times = new Map<string, number[]>();
  let [sent, first] = [0, ''];
  const start = performance.now();
  const total = rate === undefined ? (count ?? Number.POSITIVE_INFINITY) : rate * seconds;
  const until = rate === undefined ? start + seconds * 1_000 : Number.POSITIVE_INFINITY;
  async function worker(connection: { now: ReturnType<typeof openConnection> }): Promise<void> {
    while (sent < total && performance.now() < until) {
      const index = sent++;
      const intended = rate === undefined ? performance.now() : start + (index / rate) * 1_000;
      if (intended > performance.now()) await pause(intended - performance.now());
      const { status, body } = await connection.now.send(requests[index % requests.length] ?? '');
      if (index === 0) first = body.toString();
      if (status === BROKEN.status) connection.now = openConnection(port);
      if (!times.has(status)) times.set(status, []);
      times.get(status)?.push(performance.now() - intended);
    }
  }
  const connections = Array.from({ length: clients }, () => ({ now: openConnection(port) }));
  const workers = connections.flatMap((connection) => Array<typeof connection>(pipelined).fill(connection));
  await Promise.all(workers.map(worker));
  for (const { now } of connections) now.close();
  const elapsed = (performance.now() - start) / 1_000;
  const statuses = [...times].map(([status, took]) => {
    const [p50 = 0, p99 = 0, max = 0] = [0.5, 0.99, 1].map((share) => percentile(took, share));
    return [status, { count: took.length, p50, p99, max }];
  });
  return { count: sent, seconds: elapsed, statuses: Object.fromEntries(statuses), body: first };
}

/** Starts the load generator, which does one job at a time. */
export function startLoad() {
  const child = fork(new URL(import.meta.url), ['load'], { serialization: 'advanced' });
  const run = async (job: Job): Promise<Result> => {
    child.send(job);
    const [result] = await once(child, 'message');
    return result;
  };
  return { run, stop: async () => void child.kill() };
}

if (process.argv[2] === 'load') process.on('message', async (job: Job) => process.send?.(await run(job)));
