import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import type { Job, Result } from './load.ts';
import { cpuSeconds, cpuSecondsOfTree } from './machine.ts';
import type { LoadProcess, Server } from './servers.ts';
import { type Pair, type Request, SIDES, type Side, type Workload } from './workloads.ts';

/** Everything that runs, and how to reach it. */
export type Bench = {
  url: string;
  /** Process id of PostgreSQL. */
  postgres: number;
  ours: Server;
  conventional: Server;
  /** One Fastify route that does nothing. */
  empty: Server;
  load: LoadProcess;
  /** The API key of an organization, by its number. */
  key: (organization: number) => string;
  seconds: number;
  /** Clients at once. */
  connections: number;
  rounds: number;
};

/** A load process this busy may be what bounds the figure. */
const BUSY = 0.9;

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
};

function httpText({ method, path, body, ifNoneMatch }: Request, key: string): string {
  const condition = ifNoneMatch === undefined ? '' : `if-none-match: ${ifNoneMatch}\r\n`;
  const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n${condition}`;
  if (body === undefined) return `${head}\r\n`;
  const json = JSON.stringify(body);
  return `${head}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}\r\n\r\n${json}`;
}

function expectedStatus(request: Request | undefined): number {
  if (request?.ifNoneMatch !== undefined) return 304;
  return request?.method === 'POST' ? 201 : 200;
}

type JobOptions = { connections: number; seconds: number; repeat?: boolean };

export const httpJob = (
  server: Server,
  requests: readonly Request[],
  key: string,
  { repeat = true, ...options }: JobOptions,
): Job => ({
  kind: 'http',
  port: server.port,
  requests: requests.map((request) => httpText(request, key)),
  status: expectedStatus(requests[0]),
  repeat,
  ...options,
});

export function sqlJob(
  url: string,
  statements: readonly { name?: string | undefined; text: string; values?: unknown[] }[],
  { repeat = true, ...options }: JobOptions,
): Job {
  const [first] = statements;
  if (!first || statements.some(({ text }) => text !== first.text))
    throw new Error('The requests of a workload must share one statement.');
  return {
    kind: 'sql',
    url,
    name: first.name,
    text: first.text,
    values: statements.map(({ values }) => values ?? []),
    repeat,
    ...options,
  };
}

/** Runs the jobs in turn, round after round, after a first round that only warms up. */
export async function alternate<Name extends string>(
  rounds: number,
  names: readonly Name[],
  run: (name: Name, round: number) => Promise<Result>,
): Promise<Record<Name, Result[]>> {
  const results = Object.fromEntries(names.map((name) => [name, [] as Result[]])) as Record<Name, Result[]>;
  for (let round = 0; round <= rounds; round += 1) {
    // Each begins a round in turn, so that none always follows the same other.
    const order = names.map((_, index) => names[(index + round) % names.length] as Name);
    for (const name of order) {
      const result = await run(name, round);
      if (round > 0) results[name].push(result);
    }
  }
  return results;
}

const rate = ({ count, seconds }: Result): number => count / seconds;
export const medianRate = (results: readonly Result[]): number => median(results.map(rate));
/** Of one request, in milliseconds. */
export const medianTime = (results: readonly Result[]): number =>
  median(results.map((result) => result.median));

/** Processor time of one request, in microseconds. */
type Cost = { server: number | undefined; postgres: number | undefined };

export type Measured = {
  name: string;
  kind: Workload['kind'] | 'refusal';
  rates: Record<Side, number>;
  /** Of a request to ours. */
  cost: Cost;
  /** The load process was so busy that it may have bounded a figure. */
  loadBound: boolean;
};

type Usage = { server: number; postgres: number; count: number };

const perRequest = (seconds: number, count: number): number | undefined =>
  Number.isNaN(seconds) ? undefined : (seconds * 1e6) / count;

/** Adds what the service and PostgreSQL use while the job runs to `usage`. */
async function watched(bench: Bench, usage: Usage, run: () => Promise<Result>): Promise<Result> {
  const used = (): [number, number] => [
    cpuSeconds(bench.ours.pid) ?? Number.NaN,
    cpuSecondsOfTree(bench.postgres) ?? Number.NaN,
  ];
  const before = used();
  const result = await run();
  const after = used();
  usage.server += after[0] - before[0];
  usage.postgres += after[1] - before[1];
  usage.count += result.count;
  return result;
}

const WRITES_PER_SECOND = 6_000;
/** Of every side, before the first round: JIT compilers and prepared statements need this much. */
const WARM_UP_SECONDS = 0.5;

export async function measure(bench: Bench, workload: Workload): Promise<Measured> {
  const { name, kind } = workload;
  const repeat = kind !== 'write';
  const amount = Math.ceil(WRITES_PER_SECOND * bench.seconds);
  const fixed = repeat ? await workload.pairs('ours', 0) : [];
  if (fixed[0]) await compareAnswers(bench, workload, fixed[0]);
  const tagged = workload.unchanged ? await withTags(bench, workload, fixed) : undefined;
  const usage: Usage = { server: 0, postgres: 0, count: 0 };

  const jobOf = (side: Side, pairs: readonly Pair[], seconds: number): Job => {
    const connections = Math.min(bench.connections, workload.connections ?? Number.POSITIVE_INFINITY);
    const options = { connections, seconds, repeat };
    const key = bench.key(workload.organization(side));
    const requests = pairs.map(({ request }) => request);
    if (side === 'limit')
      return sqlJob(
        bench.url,
        pairs.map(({ statement }) => statement),
        options,
      );
    return side === 'ours'
      ? httpJob(bench.ours, tagged ?? requests, key, options)
      : httpJob(bench.conventional, requests, key, options);
  };

  const results = await alternate(bench.rounds, SIDES, async (side, round) => {
    const pairs = repeat ? fixed : await workload.pairs(side, amount);
    const seconds = round === 0 ? Math.min(WARM_UP_SECONDS, bench.seconds) : bench.seconds;
    const run = () => bench.load.run(jobOf(side, pairs, seconds));
    return side === 'ours' && round > 0 ? watched(bench, usage, run) : run();
  });
  const overHttp = [...results.ours, ...results.conventional];
  return {
    name,
    kind,
    rates: {
      ours: medianRate(results.ours),
      limit: medianRate(results.limit),
      conventional: medianRate(results.conventional),
    },
    cost: {
      server: perRequest(usage.server, usage.count),
      postgres: perRequest(usage.postgres, usage.count),
    },
    loadBound: overHttp.some(({ busy }) => busy > BUSY),
  };
}

/** The requests, each with the tag of what ours answers to it. */
const withTags = (bench: Bench, workload: Workload, pairs: readonly Pair[]): Promise<Request[]> =>
  Promise.all(
    pairs.map(async ({ request }) => {
      const headers = { authorization: `Bearer ${bench.key(workload.organization('ours'))}` };
      const answer = await fetch(`http://127.0.0.1:${bench.ours.port}${request.path}`, { headers });
      await answer.arrayBuffer();
      const ifNoneMatch = answer.headers.get('etag');
      if (ifNoneMatch === null) throw new Error(`${workload.name}: the service answers without a tag.`);
      return { ...request, ifNoneMatch };
    }),
  );

/** Three figures of one workload mean something only when the three answers are the same. */
async function compareAnswers(bench: Bench, workload: Workload, { request, statement }: Pair): Promise<void> {
  const headers = { authorization: `Bearer ${bench.key(workload.organization('ours'))}` };
  const [ours, conventional] = await Promise.all(
    [bench.ours, bench.conventional].map(async ({ port }) =>
      (await fetch(`http://127.0.0.1:${port}${request.path}`, { headers })).json(),
    ),
  );
  const client = new pg.Client({ connectionString: bench.url });
  await client.connect();
  const { rows } = await client.query(statement).finally(() => client.end());
  if (!isDeepStrictEqual(JSON.parse(rows[0]?.body), ours))
    throw new Error(`${workload.name}: the statement and the service answer differently.`);
  if (!isDeepStrictEqual(conventional, ours))
    throw new Error(
      `${workload.name}: the conventional server answers differently: ${JSON.stringify(conventional).slice(0, 2_000)} instead of ${JSON.stringify(ours).slice(0, 2_000)}`,
    );
}
