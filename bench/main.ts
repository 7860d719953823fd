import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { newId, startEmbeddedPostgres } from '../src/db/index.ts';
import { organizationId } from '../test/support/dataset.ts';
import { freePort } from '../test/support/process.ts';
import { copyByHand, load, query } from './data.ts';
import { percentile, startLoad } from './load.ts';
import { ROWS, type Row } from './rows.ts';
import { cpuSeconds, mebibytes, NODE_OPTIONS, startServer } from './servers.ts';

/**
 * `npm run bench`: loads the data, starts the servers, measures the rows in alternating rounds, and prints a table. `--scale full`:
 * one organization of 1,000,000 customers; `--seconds`: of one measurement of one server; `--only`: rows whose name has the text.
 */

const { values: options } = parseArgs({
  options: {
    scale: { type: 'string', default: 'small' },
    seconds: { type: 'string', default: '0.8' },
    only: { type: 'string', default: '' },
  },
});
const [CLIENTS, ROUNDS, seconds] = [16, 5, Number(options.seconds)];
/** The numbers of the large organization, and of the first of the others. */
const [LARGE, MIDDLE] = [1, 2];
const ofCustomers = (customers: number) => ({
  ...{ customers, products: customers / 10, quotes: customers / 8 },
  ...{ opportunities: customers / 5, conversations: customers / 5 },
});
const most = options.scale === 'full' ? 1_000_000 : 100_000;
const organizations = [ofCustomers(most), ...Array.from({ length: 10 }, () => ofCustomers(most / 50))];
const SIDES = ['ours', 'byHand', 'floor'] as const;
type Side = (typeof SIDES)[number];

/** The customers of an organization of its own, which a server archives in the warm-up and the rounds. */
const TO_ARCHIVE = { customers: 24_000, products: 0, opportunities: 0, conversations: 0, quotes: 0 };

/** Writes go to organizations of medium size, one for each server, so that the large one stays as it was loaded. */
const organizationOf = ({ isArchive, method }: Row, side: Side): number =>
  method === undefined ? LARGE : (isArchive ? organizations.length + 1 : MIDDLE) + SIDES.indexOf(side);

const say = (step: string): void => console.error(`${Math.round(performance.now() / 1_000)} s  ${step}`);

/** Equal for the same operation of two servers: what was read, or the fields of what was written. */
const comparable = (body: string, { method }: Row): unknown =>
  method
    ? Object.keys(JSON.parse(body)).toSorted()
    : JSON.parse(body, (name, value) => (name === 'url' ? null : value));

type Figure = 'rate' | 'p99' | 'node' | 'postgres';
type Round = Record<Figure, number> & { wrong: number; body: string };

function median(rounds: readonly Round[], figure: Figure): number {
  const values = rounds.map((round) => round[figure]);
  return percentile(values, 0.5);
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-US');

function lineOf(name: string, { ours, byHand, floor }: Record<Side, Round[]>): string {
  const wrong = [ours, byHand, floor].flat().reduce((sum, round) => sum + round.wrong, 0);
  if (wrong > 0) process.exitCode = 1;
  const ratios = ours.map(({ rate }, round) => rate / (byHand[round]?.rate ?? Number.NaN));
  const [least, ratio, most] = [0, 0.5, 1].map((share) => percentile(ratios, share).toFixed(2));
  const p99 = (median(ours, 'p99') / median(byHand, 'p99')).toFixed(2);
  const micros = [ours, byHand, ...(floor.length > 0 ? [floor] : [])].map((rounds) =>
    (['node', 'postgres'] as const).map((figure) => whole(median(rounds, figure))).join(' + '),
  );
  const title = wrong > 0 ? `${name} (**${wrong} wrong statuses**)` : name;
  const rate = whole(median(ours, 'rate'));
  return `| ${title} | ${rate} | ${ratio} (${least} to ${most}) | ${p99} | ${micros.join(' | ')} |`;
}

await using stack = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), 'crm-bench-'));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const { host, url: ours, stop } = await startEmbeddedPostgres(join(folder, 'postgres'));
stack.defer(stop);
say('loading the data set, with a limit that is never reached: its headers are part of the measurement');
const keys = await load(ours, [...organizations, ...SIDES.map(() => TO_ARCHIVE)], 2_000_000_000);
const byHand = await copyByHand(host, 'postgres');
const urls = { ours, byHand, floor: ours };
const postgresPid = Number.parseInt(await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8'), 10);
const [DASHBOARD_PORT, DASHBOARD_TOKEN] = [await freePort(), 'a token for the dashboard of the bench'];
const [key = '', ofOurs] = [keys[LARGE], { DATA_DIR: folder, NODE_OPTIONS, DASHBOARD_PORT, DASHBOARD_TOKEN }];
const servers = {
  ours: await startServer('../src/main.js', folder, key, { DATABASE_URL: ours, ...ofOurs }),
  byHand: await startServer('by-hand/server.ts', folder, key, { DATABASE_URL: byHand }),
  floor: await startServer('floor.ts', folder, organizationId(LARGE), { DATABASE_URL: ours }),
};
for (const server of Object.values(servers)) stack.defer(server.stop);
const clients = startLoad();
stack.defer(clients.stop);

const reads = new Map<string, string[]>();
/** Whole requests: for a read, to be repeated; for a write, so many, each to be sent once. */
async function requestsOf(row: Row, side: Side, amount: number): Promise<string[]> {
  const { name, method = 'GET', path, body, hasKey, status, isArchive } = row;
  const organization = organizationOf(row, side);
  const id = organizationId(organization);
  const kept = reads.get(`${name} ${side}`);
  if (kept) return kept;
  const sample = `select value::text from (${row.of ?? "select ''"}) as sample(value) where $1::uuid is not null
    order by md5(value::text) limit ${isArchive ? TO_ARCHIVE.customers / (ROUNDS + 1) : 500}`;
  const texts = (await query(isArchive ? urls[side] : ours, sample, [id])).map(({ value }) => value);
  const isDashboard = row.api === 'dashboard' && side === 'ours';
  const prefix = isDashboard ? `dashboard/v1/organizations/${id}` : (row.api ?? 'v1');
  const key = isDashboard ? DASHBOARD_TOKEN : side === 'floor' ? id : keys[organization];
  const authorization = `authorization: Bearer ${status === 401 ? 'tcrm_not-a-key' : key}`;
  const requests = Array.from({ length: body ? amount : texts.length }, (_, index) => {
    const text = texts[index % texts.length];
    const json = body ? JSON.stringify(body(text)) : '';
    const length = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}\r\n`;
    const once = hasKey ? `idempotency-key: ${newId()}\r\n` : '';
    const head = `${method} /${prefix}${path(text)} HTTP/1.1\r\nhost: localhost\r\n${authorization}\r\n`;
    return `${head}${once}${body ? length : ''}\r\n${json}`;
  });
  if (method === 'GET') reads.set(`${name} ${side}`, requests);
  return requests;
}

/** @param count of requests in the warm-up; else the time counts */
async function send(row: Row, side: Side, count?: number): Promise<Round> {
  const requests = await requestsOf(row, side, count ?? (row.perSecond ?? 6_000) * seconds);
  const port = row.api === 'dashboard' && side === 'ours' ? Number(DASHBOARD_PORT) : servers[side].port;
  const limit = { seconds: count ? 600 : seconds, count: row.method ? requests.length : count };
  const usage = (): number[] => [cpuSeconds(servers[side].pid), cpuSeconds(postgresPid, true)];
  const before = usage();
  const sent = await clients.run({ port, requests, clients: CLIENTS, ...limit });
  const used = usage().map((after, index) => after - (before[index] ?? 0));
  const [node = 0, postgres = 0] = used.map((time) => (time * 1e6) / sent.count);
  const status = side === 'floor' ? 200 : (row.status ?? 200);
  const { count: right = 0, p99 = Number.NaN } = sent.statuses[status] ?? {};
  const [wrong, rate] = [sent.count - right, sent.count / sent.seconds];
  return { body: sent.body, wrong, rate, p99, node, postgres };
}

/** The floor knows no keys. */
const isOn = (row: Row, side: Side): boolean => row.status !== 401 || side !== 'floor';
const rows = ROWS.filter(({ name }) => name.includes(options.only));
for (const row of rows) {
  say(`warming up: ${row.name}`);
  const bodies = [];
  for (const side of SIDES.filter((one) => isOn(row, one)))
    bodies.push((await send(row, side, row.warmUp ?? 3_000)).body);
  const [first, ...others] = row.status === 401 ? [] : bodies.map((body) => comparable(body, row));
  for (const other of others)
    if (!isDeepStrictEqual(other, first)) throw new Error(`${row.name}: ${bodies.join('\nis not\n')}`);
}
const lines: string[] = [];
for (const row of rows) {
  say(`measuring: ${row.name}`);
  const rounds: Record<Side, Round[]> = { ours: [], byHand: [], floor: [] };
  // Each server begins a round in turn, so that none always follows the same one.
  for (let turn = 0; turn < ROUNDS * SIDES.length; turn += 1) {
    const side = SIDES[(turn + Math.floor(turn / SIDES.length)) % SIDES.length] ?? 'ours';
    if (isOn(row, side)) rounds[side].push(await send(row, side));
  }
  lines.push(lineOf(row.name, rounds));
}
const each = (figure: (side: Side) => number): string => SIDES.map((side) => whole(figure(side))).join(', ');
const command = `npm run bench -- --scale ${options.scale} --seconds ${seconds}`;
console.log(`${new Date().toISOString().slice(0, 10)}, \`${command}\`, ${CLIENTS} clients, ${cpus().length} cores, Node ${process.version}:

| | requests/s | over by hand | p99 over by hand | Node + PostgreSQL, µs | by hand | floor |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
${lines.join('\n')}

The service, by hand, the floor: ${each((side) => servers[side].startMs)} ms from the start to the first list, and at the end
${each((side) => mebibytes(servers[side].pid))} MiB of memory.`);
