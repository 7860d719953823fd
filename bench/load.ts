import { connect, type Socket } from 'node:net';
import pg from 'pg';
import { percentile } from './statistics.ts';

/**
 * The process that makes the load, apart from everything it measures: so many connections, each sending its next request
 * when the answer to the last has come. Requests are bytes before the clock starts, and of an answer only the
 * status and length are read, so that two cores are left to what is measured.
 */

export type HttpJob = {
  kind: 'http';
  port: number;
  connections: number;
  seconds: number;
  /** Whole requests, head and body. */
  requests: readonly string[];
  status: number;
  /** Start again at the first request after the last; otherwise the job ends there. */
  repeat: boolean;
};

export type SqlJob = {
  kind: 'sql';
  url: string;
  connections: number;
  seconds: number;
  /** The statements of each request, and for each request their values. */
  statements: readonly Pick<pg.QueryConfig, 'name' | 'text'>[];
  values: readonly (readonly (readonly unknown[])[])[];
  /** They are all or nothing. */
  isTransaction: boolean;
  repeat: boolean;
};

export type Job = HttpJob | SqlJob;

export type Result = {
  count: number;
  /** From the first request to the last answer. */
  seconds: number;
  /** The time of one request, in milliseconds. */
  p50: number;
  p99: number;
  /** The share of one core that this process used. */
  busy: number;
};

type Lane = { send: (index: number) => Promise<void>; close: () => void };

type Waiting = { done: () => void; fail: (error: Error) => void };

const HEAD_END = Buffer.from('\r\n\r\n');

function httpLane({ port, requests, status }: HttpJob): Promise<Lane> {
  const bytes = requests.map((text) => Buffer.from(text));
  let head: Buffer | undefined;
  let missing = 0;
  let waiting: Waiting | undefined;

  function answered(): void {
    const { done } = waiting ?? {};
    waiting = undefined;
    done?.();
  }

  function read(chunk: Buffer): void {
    if (missing > 0) {
      missing -= chunk.length;
      if (missing === 0) answered();
      return;
    }
    const data = head ? Buffer.concat([head, chunk]) : chunk;
    const end = data.indexOf(HEAD_END);
    head = end === -1 ? data : undefined;
    if (end === -1) return;
    const text = data.toString('latin1', 0, end);
    // A 304 has no body, and does not say how long the answer would be.
    const length = status === 304 ? '0' : /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
    if (Number(text.slice(9, 12)) !== status || length === undefined) {
      waiting?.fail(new Error(`Expected ${status} with a length, got: ${data.toString().slice(0, 1_000)}`));
      return;
    }
    missing = Number(length) - (data.length - end - HEAD_END.length);
    if (missing === 0) answered();
  }

  return new Promise((opened, refused) => {
    const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const broke = (error: Error): void => {
      refused(error);
      waiting?.fail(error);
    };
    socket.on('error', broke).on('close', () => broke(new Error('The server closed the connection.')));
    socket.on('data', read).on('connect', () =>
      opened({
        send: (index) =>
          new Promise((done, fail) => {
            waiting = { done, fail };
            socket.write(bytes[index] ?? '');
          }),
        close: () => socket.destroy(),
      }),
    );
  });
}

/** Kept from job to job: a statement is prepared on its connection once, as in the service. */
const clients = new Map<string, pg.Client>();

/** Each request as the service sends it: one statement after the other. */
async function sqlLane(job: SqlJob, number: number): Promise<Lane> {
  const { url, statements, values, isTransaction } = job;
  const key = `${number} ${url}`;
  let client = clients.get(key);
  if (!client) {
    client = new pg.Client({ connectionString: url, options: '-c max_parallel_workers_per_gather=0' });
    clients.set(key, client);
    await client.connect();
  }
  const connected = client;
  return {
    send: async (index) => {
      let found = 0;
      if (isTransaction) await connected.query('begin');
      for (const [at, query] of statements.entries())
        found += (await connected.query({ ...query, values: [...(values[index]?.[at] ?? [])] })).rows.length;
      if (isTransaction) await connected.query('commit');
      if (found === 0)
        throw new Error(`Statements found nothing: ${statements.map(({ text }) => text).join('; ')}`);
    },
    close: () => undefined,
  };
}

async function run(job: Job): Promise<Result> {
  const lanes = await Promise.all(
    Array.from({ length: job.connections }, (_, number) =>
      job.kind === 'http' ? httpLane(job) : sqlLane(job, number),
    ),
  );
  const amount = job.kind === 'http' ? job.requests.length : job.values.length;
  const times: number[] = [];
  let next = 0;
  const cpu = process.cpuUsage();
  const start = performance.now();
  const deadline = start + job.seconds * 1_000;
  const work = async (lane: Lane): Promise<void> => {
    let before = performance.now();
    while (before < deadline && (job.repeat || next < amount)) {
      const index = next % amount;
      next += 1;
      await lane.send(index);
      const after = performance.now();
      times.push(after - before);
      before = after;
    }
  };
  try {
    await Promise.all(lanes.map(work));
  } finally {
    for (const lane of lanes) lane.close();
  }
  const elapsed = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return {
    count: times.length,
    seconds: elapsed / 1_000,
    p50: percentile(times, 0.5),
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
