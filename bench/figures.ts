import { LARGE, organizationId, SMALL, TERMS } from '../test/support/dataset.ts';
import { residentMemory } from './machine.ts';
import {
  alternate,
  type Bench,
  httpJob,
  type Measured,
  measureSides,
  medianTime,
  type SideFigures,
  sqlJob,
} from './measure.ts';
import type { Server } from './servers.ts';
import { median } from './statistics.ts';
import {
  firstPage,
  gets,
  LISTS,
  type LiveIds,
  MALFORMED_KEY,
  type Request,
  SIDES,
  type Side,
} from './workloads.ts';

/** The figures that the project sets out to reach. */

export type Figure = {
  name: string;
  value: number;
  goal: string;
  met: boolean;
  /** What the value is of, where that is not the same each time. */
  note?: string;
};

const atLeast = (goal: number) => ({ goal: `${goal} or more`, met: (value: number) => value >= goal });
const atMost = (goal: number, unit = '') => ({
  goal: `${goal}${unit} or less`,
  met: (value: number) => value <= goal,
});

type Goal = { goal: string; met: (value: number) => boolean };

const figure = (name: string, { goal, met }: Goal, value: number, note?: string): Figure => ({
  name,
  value,
  goal,
  met: met(value),
  ...(note !== undefined && { note }),
});

type Ratio = { of: string; value: number };

const lowest = (ratios: readonly Ratio[]): Ratio | undefined =>
  [...ratios].sort((a, b) => a.value - b.value)[0];
const highest = (ratios: readonly Ratio[]): Ratio | undefined =>
  [...ratios].sort((a, b) => b.value - a.value)[0];

/** A figure of several workloads is that of the one furthest from the goal. */
const worst = (name: string, goal: Goal, ratio: Ratio | undefined): Figure[] =>
  ratio ? [figure(name, goal, ratio.value, ratio.of)] : [];

/** What follows from the workloads alone. */
export function figuresOfWorkloads(measured: readonly Measured[]): Figure[] {
  const ratios = (
    other: Exclude<Side, 'ours'>,
    chosen: (one: Measured) => boolean,
    of: (side: SideFigures) => number = ({ rate }) => rate,
  ): Ratio[] =>
    measured.filter(chosen).flatMap(({ name, sides }) => {
      const beside = sides[other];
      return beside ? [{ of: name, value: of(sides.ours) / of(beside) }] : [];
    });
  const pageOf25 = ({ name }: Measured): boolean => name.endsWith('first 25');
  const rich = ({ name }: Measured): boolean => /^(products|customers)/.test(name);
  return [
    ...worst(
      'list and get, throughput, ours / limit',
      atLeast(0.6),
      lowest(ratios('limit', ({ kind }) => kind === 'list' || kind === 'get')),
    ),
    ...worst(
      'lists of 25 of products and customers, throughput, ours / conventional',
      atLeast(2.5),
      lowest(ratios('conventional', (one) => pageOf25(one) && rich(one))),
    ),
    ...worst(
      'lists of 25 of the others, throughput, ours / conventional',
      atLeast(2),
      lowest(ratios('conventional', (one) => pageOf25(one) && !rich(one))),
    ),
    ...worst(
      'writes, throughput, ours / limit',
      atLeast(0.6),
      lowest(ratios('limit', ({ kind }) => kind === 'write')),
    ),
    ...worst(
      'gets, searches and PATCHes, throughput, ours / by hand',
      atLeast(1),
      lowest(ratios('byHand', ({ kind, name }) => kind === 'get' || /term|^patch/.test(name))),
    ),
    ...worst(
      'creates, throughput, ours / by hand',
      atLeast(0.8),
      lowest(ratios('byHand', ({ name }) => name.startsWith('create'))),
    ),
    ...worst(
      'gets, p99, ours / by hand',
      atMost(1),
      highest(
        ratios(
          'byHand',
          ({ kind }) => kind === 'get',
          ({ p99 }) => p99,
        ),
      ),
    ),
    ...worst(
      '401, throughput, malformed key / empty Fastify route',
      atLeast(0.8),
      lowest(ratios('limit', ({ kind }) => kind === 'refusal')),
    ),
  ];
}

/** The 401 has no statement: its limit is a route that does nothing. */
export async function measureRefusal(bench: Bench): Promise<Measured> {
  const refused: Request = { method: 'GET', path: '/v1/customers' };
  const options = { connections: bench.connections, seconds: bench.seconds };
  const jobs = {
    ours: { ...httpJob(bench.ours, [refused], MALFORMED_KEY, options), status: 401 },
    limit: httpJob(bench.empty, [{ method: 'GET', path: '/' }], MALFORMED_KEY, options),
    conventional: { ...httpJob(bench.conventional, [refused], MALFORMED_KEY, options), status: 401 },
    byHand: { ...httpJob(bench.byHand, [refused], MALFORMED_KEY, options), status: 401 },
  };
  const { ours, empty, conventional, byHand } = bench;
  const servers = { ours, limit: empty, conventional, byHand };
  const figures = await measureSides(bench, SIDES, servers, (side) => bench.load.run(jobs[side]));
  return { name: '401, malformed key', kind: 'refusal', ...figures };
}

/** The time of one request with nobody else there, the one over the other. */
async function timeRatio(
  bench: Bench,
  [one, other]: readonly [Job: Parameters<Bench['load']['run']>[0], Parameters<Bench['load']['run']>[0]],
): Promise<number> {
  const jobs = { one, other };
  const results = await alternate(bench.rounds, ['one', 'other'] as const, (name) =>
    bench.load.run(jobs[name]),
  );
  return medianTime(results.one) / medianTime(results.other);
}

export type FigureMaker = { name: string; make: () => Promise<Figure[]> };

/** The figures that take measurements of their own, with one client. */
export function figuresOfOneClient(bench: Bench, liveIds: LiveIds): FigureMaker[] {
  const alone = { connections: 1, seconds: bench.seconds };
  const http = (requests: readonly Request[], organization: number) =>
    httpJob(bench.ours, requests, bench.key(organization), alone);
  const page = async (...args: Parameters<typeof firstPage>) =>
    http([(await firstPage(...args)).request], args[1]);
  const getting = async (kind: 'customer' | 'product', organization: number) =>
    http(
      (await gets(kind, organization, await liveIds(kind, organization, 200))).map(({ request }) => request),
      organization,
    );
  const both = async <Item extends string>(
    items: readonly Item[],
    job: (item: Item, organization: number) => Promise<ReturnType<typeof http>>,
  ): Promise<Ratio | undefined> => {
    const ratios: Ratio[] = [];
    for (const item of items) {
      const value = await timeRatio(bench, [await job(item, LARGE), await job(item, SMALL)]);
      ratios.push({ of: item, value });
    }
    return highest(ratios);
  };

  const maker = (name: string, goal: Goal, make: () => Promise<Ratio | undefined>): FigureMaker => ({
    name,
    make: async () => worst(name, goal, await make()),
  });
  return [
    maker('first page of an unfiltered list, time, large / small organization', atMost(1.3), () =>
      both(Object.keys(LISTS) as (keyof typeof LISTS)[], (resource, organization) =>
        page(resource, organization),
      ),
    ),
    maker('get by id, time, large / small organization', atMost(1.1), () =>
      both(['customer', 'product'] as const, getting),
    ),
    maker('rare-term search in the large organization, time / get by id', atMost(10), async () => ({
      of: 'customers',
      value: await timeRatio(bench, [
        await page('customers', LARGE, { query: TERMS.rare }),
        await getting('customer', LARGE),
      ]),
    })),
    maker('page at offset 100,000, time / id-only query at that offset', atMost(1.3), async () => ({
      of: 'customers',
      value: await timeRatio(bench, [
        await page('customers', LARGE, { offset: 100_000 } as never),
        sqlJob(
          bench.url,
          [
            {
              name: 'bare offset',
              text: `select id from customers where organization_id = $1 and archived_at is null
                order by updated_at desc nulls last, id desc nulls last limit 25 offset 100000`,
              values: [organizationId(LARGE)],
            },
          ],
          alone,
        ),
      ]),
    })),
  ];
}

const SAMPLE_MS = 250;
/** Two sizes of a heap that does not grow differ by this share. */
const NOISE = 0.02;

/** Resident memory of a server under list load, whose second half should add nothing. */
export async function figuresOfMemory(
  bench: Bench,
  start: () => Promise<Server>,
  seconds: number,
): Promise<Figure[]> {
  const server = await start();
  const pages = await Promise.all(
    (Object.keys(LISTS) as (keyof typeof LISTS)[]).flatMap((resource) =>
      [25, 100].map((limit) => firstPage(resource, LARGE, { limit } as never)),
    ),
  );
  const samples: number[] = [];
  const sample = () => samples.push(residentMemory(server.pid) ?? Number.NaN);
  const timer = setInterval(sample, SAMPLE_MS);
  const requests = pages.map(({ request }) => request);
  await bench.load.run(
    httpJob(server, requests, bench.key(LARGE), { connections: bench.connections, seconds }),
  );
  clearInterval(timer);
  await server.stop();
  const quarter = (index: number): number =>
    median(samples.slice((samples.length * index) >> 2, (samples.length * (index + 1)) >> 2));
  const growth = quarter(3) / quarter(1) - 1;
  return [
    figure(`resident memory, MiB, after ${seconds} s of list load`, atMost(200, ' MiB'), quarter(3)),
    figure(
      'growth of resident memory over the second half of the load',
      { goal: `none (${NOISE} or less)`, met: (value) => value <= NOISE },
      growth,
    ),
  ];
}

/** Seconds from start to the first answer, on a data directory that is there. */
export async function figureOfStart(rounds: number, start: () => Promise<Server>): Promise<Figure> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const before = performance.now();
    const server = await start();
    times.push((performance.now() - before) / 1_000);
    await server.stop();
  }
  return figure('start to ready, seconds, on an existing data directory', atMost(2, ' s'), median(times));
}
