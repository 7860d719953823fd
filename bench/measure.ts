import { isDeepStrictEqual } from 'node:util';
import type { Job, Result } from './load.ts';
import { cpuSeconds, cpuSecondsOfTree, residentMemory } from './machine.ts';
import type { LoadProcess, Server } from './servers.ts';
import { median } from './statistics.ts';
import { floorRequest, type Request, type Side, type Workload } from './workloads.ts';

/** Everything that runs, with its ports and keys. */
export type Bench = {
  /** Process id of PostgreSQL. */
  postgres: number;
  servers: Record<Side, Server>;
  load: LoadProcess;
  /** The API key of an organization, by its number; undefined: a malformed key. */
  key: (organization: number | undefined) => string;
  seconds: number;
  connections: number;
};

/** Medians of the rounds. Processor time is undefined where the kernel does not report it. */
export type Figures = {
  /** Requests per second. */
  rate: number;
  /** Latency of a request in milliseconds. */
  p99: number;
  /** Processor time per request in microseconds, of the server and of all PostgreSQL processes. */
  nodeMicros: number;
  postgresMicros: number;
};

export type Measured = Pick<Workload, 'name' | 'aims'> & {
  sides: Partial<Record<Side, Figures>>;
  /** The load generator was so busy that it may have limited a figure. */
  isLoadBound: boolean;
};

const ROUNDS = 5;
/** A load generator this busy may be what limits the figure. */
const BUSY = 0.9;
const WRITES_PER_SECOND = 6_000;

function httpText({ method, path, body, key: idempotencyKey }: Request, key: string): string {
  const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n`;
  if (body === undefined) return `${head}\r\n`;
  const json = JSON.stringify(body);
  const once = idempotencyKey === undefined ? '' : `idempotency-key: ${idempotencyKey}\r\n`;
  return `${head}${once}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}\r\n\r\n${json}`;
}

/** @param amount of requests, if the workload writes */
async function jobOf(
  { servers, key, connections }: Bench,
  { organization, works, isWrite, status }: Workload,
  side: Side,
  amount: number,
): Promise<Job> {
  const number = organization(side);
  const chosen = await works(side, amount);
  const requests =
    side === 'floor'
      ? await Promise.all(chosen.map((work) => floorRequest(work, number ?? 0)))
      : chosen.map(({ request }) => request);
  return {
    port: servers[side].port,
    connections,
    requests: requests.map((request) => httpText(request, key(number))),
    isOnce: isWrite,
    status: side === 'floor' ? 200 : status,
  };
}

/** Sends each server the same number of requests, and expects equal responses from workloads that only read. */
export async function warmUp(bench: Bench, workload: Workload): Promise<void> {
  const count = workload.warmUp;
  for (const side of workload.sides)
    await bench.load.run({ ...(await jobOf(bench, workload, side, count)), count });
  if (!workload.isWrite && workload.status === 200) await compareResponses(bench, workload);
}

async function compareResponses(bench: Bench, { name, sides, organization, works }: Workload): Promise<void> {
  const [work] = await works('ours', 1);
  if (!work) throw new Error(`${name} has no requests.`);
  const responses = sides.map(async (side) => {
    const { path } = side === 'floor' ? await floorRequest(work, organization(side) ?? 0) : work.request;
    const headers = { authorization: `Bearer ${bench.key(organization(side))}` };
    return (await fetch(`http://127.0.0.1:${bench.servers[side].port}${path}`, { headers })).json();
  });
  const [ours, ...others] = await Promise.all(responses);
  for (const other of others)
    if (!isDeepStrictEqual(other, ours))
      throw new Error(`${name}: ${JSON.stringify(other)} is not ${JSON.stringify(ours)}`);
}

type Usage = { node: number; postgres: number };

const usageOf = ({ servers, postgres }: Bench, side: Side): Usage => ({
  node: cpuSeconds(servers[side].pid) ?? Number.NaN,
  postgres: cpuSecondsOfTree(postgres) ?? Number.NaN,
});

/** Measures the servers in alternating rounds. */
export async function measure(bench: Bench, workload: Workload): Promise<Measured> {
  const { name, aims, sides } = workload;
  const results = new Map<Side, (Result & Usage)[]>(sides.map((side) => [side, []]));
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [index] of sides.entries()) {
      // Each server begins a round in turn, so that none always follows the same one.
      const side = sides[(index + round) % sides.length] ?? 'ours';
      const job = await jobOf(bench, workload, side, Math.ceil(WRITES_PER_SECOND * bench.seconds));
      const before = usageOf(bench, side);
      const result = await bench.load.run({ ...job, seconds: bench.seconds });
      const after = usageOf(bench, side);
      const used = { node: after.node - before.node, postgres: after.postgres - before.postgres };
      results.get(side)?.push({ ...result, ...used });
    }
  const figures = [...results].map(([side, rounds]): [Side, Figures] => {
    const count = rounds.reduce((sum, round) => sum + round.count, 0);
    const micros = (of: keyof Usage): number =>
      (rounds.reduce((sum, round) => sum + round[of], 0) * 1e6) / count;
    return [
      side,
      {
        rate: median(rounds.map(({ count, seconds }) => count / seconds)),
        p99: median(rounds.map(({ p99 }) => p99)),
        nodeMicros: micros('node'),
        postgresMicros: micros('postgres'),
      },
    ];
  });
  return {
    name,
    aims,
    sides: Object.fromEntries(figures),
    isLoadBound: [...results.values()].flat().some(({ busy }) => busy > BUSY),
  };
}

/** MiB. */
export type Memory = { seconds: number; halfway: number; end: number };

const SAMPLE_MS = 250;

/** Resident memory of the service while it sends these lists. */
export async function measureMemory(bench: Bench, lists: Workload, seconds: number): Promise<Memory> {
  const job = await jobOf(bench, lists, 'ours', 0);
  const samples: number[] = [];
  const sample = () => samples.push(residentMemory(bench.servers.ours.pid) ?? Number.NaN);
  const timer = setInterval(sample, SAMPLE_MS);
  await bench.load.run({ ...job, seconds });
  clearInterval(timer);
  const before = (share: number): number =>
    median(samples.slice(samples.length * (share - 0.1), samples.length * share));
  return { seconds, halfway: before(0.5), end: before(1) };
}
