import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import type { Asked } from '../test/support/statements.ts';
import type { Job, Result } from './load.ts';
import { cpuSeconds, cpuSecondsOfTree, ownMemory, residentMemory } from './machine.ts';
import { APPLICATIONS, type LoadProcess, type Server } from './servers.ts';
import { median } from './statistics.ts';
import type { BySide, Pair, Request, Side, Workload } from './workloads.ts';

/** Everything that runs, and how to reach it. */
export type Bench = {
  /** The database of ours. The other servers have their own. */
  url: string;
  /** Process id of PostgreSQL. */
  postgres: number;
  ours: Server;
  conventional: Server;
  byHand: Server;
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
  statements: readonly Asked[],
  { repeat = true, ...options }: JobOptions,
): Job {
  const [first] = statements;
  if (!first || statements.some(({ text }) => text !== first.text))
    throw new Error('The requests of a workload must share one statement.');
  return {
    kind: 'sql',
    url,
    statements: [first, ...(first.after ?? [])].map(({ name, text }) => ({
      text,
      ...(name !== undefined && { name }),
    })),
    values: statements.map(({ values = [], after = [] }) => [
      values,
      ...after.map((query) => query.values ?? []),
    ]),
    isTransaction: first.isTransaction ?? false,
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

/** Of one request, in milliseconds. */
export const medianTime = (results: readonly Result[]): number => median(results.map(({ p50 }) => p50));

/** What is known of one side. Times, memory: the median of the rounds. Undefined: the kernel does not tell. */
export type SideFigures = {
  /** Requests per second. */
  rate: number;
  /** Of one request, in milliseconds. */
  p50: number;
  p99: number;
  /** Processor time of one request, in microseconds, of the server and of all of PostgreSQL. */
  nodeMicros: number | undefined;
  postgresMicros: number | undefined;
  /** Resident memory in MiB: of the server, and of its PostgreSQL backends together without the shared buffers. */
  nodeMiB: number | undefined;
  postgresMiB: number | undefined;
};

export type Measured = {
  name: string;
  kind: Workload['kind'] | 'refusal';
  sides: BySide<SideFigures>;
  /** The load process was so busy that it may have bounded a figure. */
  loadBound: boolean;
};

type Usage = { node: number; postgres: number; count: number };

/** What a server and PostgreSQL use while each of its jobs runs, added up. */
async function watched(
  { postgres }: Bench,
  server: Server | undefined,
  usage: Usage,
  run: () => Promise<Result>,
): Promise<Result> {
  const used = (): [number, number] => [
    (server && cpuSeconds(server.pid)) ?? Number.NaN,
    cpuSecondsOfTree(postgres) ?? Number.NaN,
  ];
  const before = used();
  const result = await run();
  const after = used();
  usage.node += after[0] - before[0];
  usage.postgres += after[1] - before[1];
  usage.count += result.count;
  return result;
}

const known = (value: number): number | undefined => (Number.isNaN(value) ? undefined : value);

/** MiB of the backends that serve a side. */
async function backendMemory({ url }: Bench, side: Side): Promise<number | undefined> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client
    .query<{ pid: number }>('select pid from pg_stat_activity where application_name like $1', [
      APPLICATIONS[side],
    ])
    .finally(() => client.end());
  return known(rows.reduce((total, { pid }) => total + (ownMemory(pid) ?? Number.NaN), 0));
}

/**
 * Measures sides in alternating rounds.
 * @param servers whose processor time and memory count for a side
 */
export async function measureSides(
  bench: Bench,
  sides: readonly Side[],
  servers: Partial<Record<Side, Server>>,
  run: (side: Side, round: number) => Promise<Result>,
): Promise<Pick<Measured, 'sides' | 'loadBound'>> {
  const usage = Object.fromEntries(sides.map((side) => [side, { node: 0, postgres: 0, count: 0 }])) as Record<
    Side,
    Usage
  >;
  const results = await alternate(bench.rounds, sides, (side, round) => {
    const runSide = () => run(side, round);
    return round === 0 ? runSide() : watched(bench, servers[side], usage[side], runSide);
  });
  const figures = async (side: Side): Promise<[Side, SideFigures]> => {
    const { node, postgres, count } = usage[side];
    const server = servers[side];
    return [
      side,
      {
        rate: median(results[side].map(({ count, seconds }) => count / seconds)),
        p50: medianTime(results[side]),
        p99: median(results[side].map(({ p99 }) => p99)),
        nodeMicros: known((node * 1e6) / count),
        postgresMicros: known((postgres * 1e6) / count),
        nodeMiB: server && residentMemory(server.pid),
        postgresMiB: await backendMemory(bench, side),
      },
    ];
  };
  return {
    sides: Object.fromEntries(await Promise.all(sides.map(figures))) as BySide<SideFigures>,
    // Of the bare statements the load process is the client: there it may be busy.
    loadBound: sides.some((side) => servers[side] && results[side].some(({ busy }) => busy > BUSY)),
  };
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
    return httpJob(bench[side], side === 'ours' && tagged ? tagged : requests, key, options);
  };

  const { ours, conventional, byHand } = bench;
  const servers = { ours, conventional, byHand };
  const figures = await measureSides(bench, workload.sides, servers, async (side, round) => {
    const pairs = repeat ? fixed : await workload.pairs(side, amount);
    const seconds = round === 0 ? Math.min(WARM_UP_SECONDS, bench.seconds) : bench.seconds;
    return bench.load.run(jobOf(side, pairs, seconds));
  });
  return { name, kind, ...figures };
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

/** The figures of one workload mean something together only when all sides answer the same. */
async function compareAnswers(bench: Bench, workload: Workload, { request, statement }: Pair): Promise<void> {
  const headers = { authorization: `Bearer ${bench.key(workload.organization('ours'))}` };
  const answerOf = async ({ port }: Server) =>
    (await fetch(`http://127.0.0.1:${port}${request.path}`, { headers })).json() as Promise<{
      data?: unknown;
    }>;
  const ours = await answerOf(bench.ours);
  const client = new pg.Client({ connectionString: bench.url });
  await client.connect();
  const { rows } = await client.query(statement).finally(() => client.end());
  const found = rows.map(({ body, text }) => body ?? JSON.parse(text));
  // The service puts a page together of its bodies; a transcript and a get are one body.
  if (!isDeepStrictEqual(found, ours.data) && !isDeepStrictEqual(found, [ours]))
    throw new Error(`${workload.name}: the statement and the service answer differently.`);
  for (const side of workload.sides) {
    if (side === 'ours' || side === 'limit') continue;
    const answer = await answerOf(bench[side]);
    if (!isDeepStrictEqual(answer, ours))
      throw new Error(
        `${workload.name}: ${side} answers differently: ${JSON.stringify(answer).slice(0, 2_000)} instead of ${JSON.stringify(ours).slice(0, 2_000)}`,
      );
  }
}
