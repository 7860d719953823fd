import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openDatabase } from '../src/db/run/client.ts';
import { scopeTo } from '../src/db/run/scope.ts';
import { startEmbeddedPostgres } from '../src/db/server/embedded.ts';
import { migrateDatabase } from '../src/db/server/migrate.ts';
import { parseJson } from '../src/db/sql/json.ts';
import { issueApiKey } from '../src/api-keys/repository.ts';
import { createOrganization } from '../src/organizations/repository.ts';
import { residentMemory } from './machine.ts';
import { type LoadProcess, productionFlags, startLoad, startServer } from './servers.ts';

/**
 * What those who mean harm cost another organization: bodies made to be slow, clients that do not read what they asked
 * for, and clients without a key that send requests ahead. The other one gets its product by id, one request after another; its median alone comes first.
 * `npm run bench:hostile -- --seconds 3 --only products`
 */

const CONNECTIONS = 50;
const SLOW_READERS = 200;
const MIB = 1024 * 1024;

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '3' }, only: { type: 'string', default: '' } },
});
const seconds = Number(values.seconds);

/** As long as the service takes: a megabyte. */
const filled = (start: string, entry: (index: number) => string, end: string): string => {
  const entries: string[] = [];
  let length = start.length + end.length;
  for (let index = 0; ; index += 1) {
    const next = entry(index);
    length += next.length + 1;
    if (length > MIB) return start + entries.join(',') + end;
    entries.push(next);
  }
};

const lists = JSON.stringify(Array(200).fill(1));
const text = 'Recorrido por lagos, bosques y volcanes. '.repeat(1_300).slice(0, 50_000);
const largeProduct = JSON.stringify({
  title: 'Patagonia',
  description: text,
  variants: Array.from({ length: 4 }, (_, index) => ({ label: `Salida ${index}`, description: text })),
});

/** Bodies of POST /v1/catalog/products. */
const BODIES: [name: string, body: string][] = [
  ['350,000 empty variants', filled('{"title":"x","variants":[', () => '{}', ']}')],
  ['80,000 unknown names', filled('{"title":"x",', (index) => `"k${index}":1`, '}')],
  ['500,000 nested lists', '['.repeat(MIB / 2) + ']'.repeat(MIB / 2)],
  ['350,000 empty texts', filled('{"title":"x","includes":[', () => '""', ']}')],
  [
    '40,000 entries of the wrong kind',
    filled('{"title":"x","variants":[', () => `{"label":"x","includes":${lists},"excludes":${lists}}`, ']}'),
  ],
  ['a megabyte of text', filled('{"title":"x","includes":[', () => `"${'x'.repeat(5_000)}"`, ']}')],
  ['products of 250 kB', largeProduct],
];

const headers = (key: string): string => `Host: localhost\r\nAuthorization: Bearer ${key}\r\n`;
const get = (path: string, key: string): string => `GET ${path} HTTP/1.1\r\n${headers(key)}\r\n`;
const post = (path: string, key: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\n${headers(key)}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** Watches the memory of a process; answers the most that it had, in MiB. */
function watchMemory(pid: number): () => number {
  let most = 0;
  const look = () => {
    most = Math.max(most, residentMemory(pid) ?? 0);
  };
  const timer = setInterval(look, 20);
  return () => {
    clearInterval(timer);
    look();
    return most;
  };
}

async function agency(url: string, name: string): Promise<string> {
  const db = openDatabase({ url, poolSize: 1, maxWaiting: 10, statementTimeout: 10_000 });
  const { id } = await createOrganization(db, name);
  const { key } = parseJson(
    await issueApiKey(scopeTo(db, id), { name: 'bench', requestsPerMinute: 2_000_000_000 }),
  );
  await db.close();
  return key;
}

const print = (line: string): void => console.log(line);

/** Sends the request on a connection of its own; answers the status, or why there is none. */
const sent = (port: number, request: Buffer): Promise<string> =>
  new Promise((done) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let status = 'cut off';
    socket.on('error', (error: Error & { code?: string }) => {
      if (status === 'cut off') status = error.code ?? error.message;
    });
    socket.once('data', (chunk) => {
      status = chunk.toString('latin1', 9, 12);
      socket.end();
    });
    socket.on('close', () => done(status)).resume();
    socket.write(request);
  });

/** `3 × 400, 2 × 503`. */
function tally(statuses: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, amount]) => `${amount} × ${status}`).join(', ');
}

/** What so many connections are answered until the time is over. */
async function storm(port: number, request: Buffer, connections: number): Promise<string> {
  const statuses: string[] = [];
  const deadline = performance.now() + seconds * 1_000;
  const lane = async (): Promise<void> => {
    while (performance.now() < deadline) statuses.push(await sent(port, request));
  };
  await Promise.all(Array.from({ length: connections }, lane));
  return tally(statuses);
}

type Scenario = { port: number; pid: number; good: string; bad: string; calm: LoadProcess };

/** The other one alone, and how its figures beside something are told. */
async function otherOne({ port, pid, good, calm }: Scenario) {
  const created = await fetch(`http://127.0.0.1:${port}/v1/catalog/products`, {
    method: 'POST',
    headers: { 'x-api-key': good, 'content-type': 'application/json' },
    body: '{"title":"Oaxaca"}',
  });
  const { id } = (await created.json()) as { id: string };
  const path = `/v1/catalog/products/${id}`;
  const job = { kind: 'http', port, connections: 1, seconds, repeat: true } as const;
  const other = () => calm.run({ ...job, requests: [get(path, good)], status: 200 });
  await other();
  const alone = (await other()).p50;
  print(`alone: p50 ${alone.toFixed(2)} ms, ${residentMemory(pid)?.toFixed(0)} MiB`);
  const told = (name: string, p50: number, most: number, more: string): void =>
    print(
      `${name.padEnd(34)} p50 + ${(p50 - alone).toFixed(1).padStart(6)} ms (x ${(p50 / alone).toFixed(1)})  memory ${most.toFixed(0).padStart(4)} MiB  ${more}`,
    );
  return { other, told };
}

async function measureBodies(scenario: Scenario): Promise<void> {
  const { port, pid, bad } = scenario;
  const { other, told } = await otherOne(scenario);
  for (const [name, body] of BODIES.filter(([name]) => name.includes(values.only))) {
    const most = watchMemory(pid);
    const request = Buffer.from(post('/v1/catalog/products', bad, body));
    const [counts, { p50 }] = await Promise.all([storm(port, request, CONNECTIONS), other()]);
    told(name, p50, most(), counts);
  }
}

/** The other one asks for so many pages of so many of the same products. */
const [PAGES, PAGE] = [10, 20];

/** A first page of the largest products that there can be, for clients that do not read it. */
async function measureReaders(scenario: Scenario): Promise<void> {
  const { port, pid, bad } = scenario;
  const { good } = scenario;
  const large = (key: string) => Buffer.from(post('/v1/catalog/products', key, largeProduct));
  for (let product = 0; product < 100; product += 1) await sent(port, large(bad));
  for (let product = 0; product < PAGE; product += 1) await sent(port, large(good));
  const { other, told } = await otherOne(scenario);
  const most = watchMemory(pid);
  const readers = Array.from({ length: SLOW_READERS }, () =>
    slowReader(port, get('/v1/catalog/products?limit=100', bad)),
  );
  const counts = tally(await Promise.all(readers.map(({ status }) => status)));
  const { p50 } = await other();
  const page = Buffer.from(get(`/v1/catalog/products?limit=${PAGE}`, good));
  const pages: string[] = [];
  for (let asked = 0; asked < PAGES; asked += 1) pages.push(await sent(port, page));
  told(
    `${SLOW_READERS} clients that do not read`,
    p50,
    most(),
    `${counts}; pages of the other one: ${tally(pages)}`,
  );
  for (const { socket } of readers) socket.destroy();
}

/** Sends a request and takes no more of the answer than its first bytes. */
function slowReader(port: number, request: string): { status: Promise<string>; socket: Socket } {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  socket.write(request);
  const closed = once(socket, 'close');
  const status = once(socket, 'data').then(([chunk]: Buffer[]) => {
    const status = chunk?.toString('latin1', 9, 12) ?? '';
    if (status === '200') socket.pause();
    else socket.end();
    return status;
  });
  return { status: Promise.race([status, closed.then(() => 'cut off')]), socket };
}

const AHEAD_CONNECTIONS = 12;
const AHEAD_BYTES = 2 * MIB;

/** Twelve connections that send 2 MiB of the shortest requests ahead, without a key, and again when they are closed. */
async function measureAhead(scenario: Scenario): Promise<void> {
  const { port, pid } = scenario;
  const { other, told } = await otherOne(scenario);
  const request = 'GET / HTTP/1.1\r\n\r\n';
  const ahead = Buffer.from(request.repeat(AHEAD_BYTES / request.length));
  const before = residentMemory(pid) ?? 0;
  const most = watchMemory(pid);
  let isOver = false;
  let [opened, answered] = [0, 0];
  const lane = async (): Promise<void> => {
    while (!isOver) {
      const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
      opened += 1;
      socket.on('data', (chunk) => {
        answered += chunk.toString('latin1').split('HTTP/1.1 400').length - 1;
        if (isOver) socket.destroy();
      });
      socket.write(ahead);
      await new Promise((done) => socket.on('close', done));
    }
  };
  const lanes = Array.from({ length: AHEAD_CONNECTIONS }, lane);
  const { p50 } = await other();
  isOver = true;
  const figures = `${(most() - before).toFixed(0)} MiB more; ${answered} × 400 over ${opened} connections`;
  told(`${AHEAD_CONNECTIONS} clients that send ahead`, p50, most(), figures);
  await Promise.all(lanes);
}

const MEASURES = [
  { names: BODIES.map(([name]) => name), measure: measureBodies },
  { names: ['clients that do not read'], measure: measureReaders },
  { names: ['clients that send ahead'], measure: measureAhead },
];

const directory = await mkdtemp(join(tmpdir(), 'crm-hostile-'));
const postgres = await startEmbeddedPostgres(join(directory, 'postgres'), { fsync: 'off' });
const calm = startLoad();
try {
  await migrateDatabase(postgres.url);
  const [good, bad] = [await agency(postgres.url, 'Good'), await agency(postgres.url, 'Bad')];
  for (const { names, measure } of MEASURES) {
    if (!names.some((name) => name.includes(values.only))) continue;
    const server = await startServer({
      flags: productionFlags,
      script: new URL('../src/main.js', import.meta.url),
      environment: { DATABASE_URL: postgres.url, DATA_DIR: directory, DASHBOARD_PORT: '0' },
      log: join(directory, 'service.log'),
      probe: '/v1/team',
      key: good,
    });
    await measure({ port: server.port, pid: server.pid, good, bad, calm }).finally(server.stop);
  }
} finally {
  await calm.stop();
  await postgres.stop();
  await rm(directory, { recursive: true, force: true });
}
