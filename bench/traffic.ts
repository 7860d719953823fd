import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { type Connection, openConnection } from './connection.ts';
import { percentile } from './statistics.ts';

/** Traffic of several clients from a separate process, and the latency of one well-behaved client beside it. */

export type Responses = { statuses: Record<number, number>; p50: number; p99: number; max: number };

/** A load, run in a separate process, which reports its measurements. */
export type Load =
  | { kind: 'closed'; port: number; request: string; clients: number; seconds: number }
  | { kind: 'pipelined'; port: number; requests: string[] }
  | { kind: 'open'; port: number; requests: readonly string[]; rate: number; seconds: number };

type Sample = { status: number; took: number };
type Seen = { samples: Sample[]; seconds: number; broken: number };

async function closed({ port, request, clients, seconds }: Load & { kind: 'closed' }): Promise<Seen> {
  const samples: Sample[] = [];
  const start = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      const connection = await openConnection(port);
      while (performance.now() < start + seconds * 1_000) samples.push(await timed(connection, request));
      connection.close();
    }),
  );
  return { samples, seconds: (performance.now() - start) / 1_000, broken: 0 };
}

async function timed(connection: Connection, request: string, since = performance.now()): Promise<Sample> {
  const status = await connection.send(request);
  return { status, took: performance.now() - since };
}

async function pipelined({ port, requests }: Load & { kind: 'pipelined' }): Promise<Seen> {
  const connection = await openConnection(port);
  const start = performance.now();
  const samples = await Promise.all(requests.map((request) => timed(connection, request, start)));
  connection.close();
  return { samples, seconds: (performance.now() - start) / 1_000, broken: 0 };
}

const OPEN_CONNECTIONS = 400;

/** Requests begin at their intended times, even if earlier ones are still running; latency counts from these times. */
async function open({ port, requests, rate, seconds }: Load & { kind: 'open' }): Promise<Seen> {
  const idle: (Connection | undefined)[] = await Promise.all(
    Array.from({ length: OPEN_CONNECTIONS }, () => openConnection(port)),
  );
  const samples: Sample[] = [];
  const queue: { request: string; intended: number }[] = [];
  let broken = 0;
  const start = performance.now();
  const total = Math.ceil(rate * seconds);
  /** Runs until no request is waiting. A broken connection is opened again for the next request. */
  async function work(connection: Connection | undefined): Promise<void> {
    let own = connection;
    for (let next = queue.shift(); next; next = queue.shift()) {
      try {
        own ??= await openConnection(port);
        samples.push(await timed(own, next.request, next.intended));
      } catch {
        broken += 1;
        own = undefined;
      }
    }
    idle.push(own);
  }
  for (let sent = 0; sent < total; await pause(1)) {
    const due = Math.min(total, ((performance.now() - start) / 1_000) * rate);
    for (; sent < due; sent += 1) {
      const request = requests[sent % requests.length] ?? '';
      queue.push({ request, intended: start + (sent / rate) * 1_000 });
      if (idle.length > 0) void work(idle.pop());
    }
  }
  while (samples.length + broken < total) await pause(20);
  for (const connection of idle) connection?.close();
  return { samples, seconds: (performance.now() - start) / 1_000, broken };
}

const runLoad = (load: Load): Promise<Seen> => {
  if (load.kind === 'closed') return closed(load);
  if (load.kind === 'pipelined') return pipelined(load);
  return open(load);
};

export function inProcess(load: Load): { seen: Promise<Seen>; begun: Promise<unknown> } {
  const child = fork(new URL(import.meta.url), ['--load'], { serialization: 'advanced' });
  const begun = once(child, 'message');
  child.send(load);
  const seen = begun.then(async () => {
    const [seen] = (await once(child, 'message')) as [Seen];
    child.kill();
    return seen;
  });
  return { seen, begun };
}

export function summed(samples: readonly Sample[]): Responses {
  const statuses: Record<number, number> = {};
  for (const { status } of samples) statuses[status] = (statuses[status] ?? 0) + 1;
  const times = samples.map(({ took }) => took);
  return { statuses, p50: percentile(times, 0.5), p99: percentile(times, 0.99), max: percentile(times, 1) };
}

export type Outcome = { accepted: Responses; rejected: Responses; errors: number };

/** The outcomes of the requests: accepted, rejected with 503, or neither. */
export function outcomeOf({ samples, broken }: Seen): Outcome {
  const accepted = samples.filter(({ status }) => status < 400);
  const rejected = samples.filter(({ status }) => status === 503);
  const errors = samples.length - accepted.length - rejected.length + broken;
  return { accepted: summed(accepted), rejected: summed(rejected), errors };
}

/** The other tenant: one client that sends its next request when it has the previous response. */
export async function goodClient(
  port: number,
  request: string,
  until: () => boolean,
  least = 0,
): Promise<Responses> {
  const connection = await openConnection(port);
  const samples: Sample[] = [];
  while (!until() || samples.length < least) {
    samples.push(await timed(connection, request));
    await pause(2);
  }
  connection.close();
  return summed(samples);
}

export async function beside(
  port: number,
  request: string,
  load: Load,
): Promise<{ good: Responses; seen: Seen }> {
  const { seen, begun } = inProcess(load);
  await begun;
  let over = false;
  const ended = seen.then((result) => {
    over = true;
    return result;
  });
  const good = await goodClient(port, request, () => over, 60);
  return { good, seen: await ended };
}

if (process.argv.includes('--load')) {
  process.on('message', async (load: Load) => {
    process.send?.('begun');
    process.send?.(await runLoad(load));
  });
}
