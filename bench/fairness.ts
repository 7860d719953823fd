import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../src/db/index.ts';
import { recordId, TERMS } from '../test/support/dataset.ts';
import { load } from './data.ts';
import { type Job, type Result, startLoad } from './load.ts';
import { startServer } from './servers.ts';

/**
 * `npm run bench:fairness`: how the load of one organization affects a client of another one, and how overload affects all. Every
 * figure stands beside the same figure without the load, measured in the same run.
 */

const LOADED = { customers: 150_000, products: 1_000, opportunities: 100, conversations: 100, quotes: 100 };

const shown = ({ statuses, seconds }: Result): string =>
  Object.entries(statuses)
    .map(([status, { count, p50, p99, max }]) => {
      const times = [p50, p99, max].map((time) => time.toFixed(1)).join(', ');
      return `${status}: ${(count / seconds).toFixed(0)} a second, p50, p99, max ${times} ms`;
    })
    .join('; ');

await using stack = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), 'crm-fairness-'));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const { url, stop } = await startEmbeddedPostgres(join(folder, 'postgres'));
stack.defer(stop);
const [, big = '', small = ''] = await load(url, [LOADED, { ...LOADED, customers: 1_000 }], 0);
const environment = { DATABASE_URL: url, DATA_DIR: folder, DASHBOARD_PORT: '0' };
const server = await startServer('../src/main.js', folder, big, environment);
stack.defer(server.stop);
const [{ port }, other, loading] = [server, startLoad(), startLoad()];
stack.defer(other.stop);
stack.defer(loading.stop);
const get = (path: string, key: string): string =>
  `GET /v1${path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${key}\r\n\r\n`;
const search = { port, requests: [get(`/customers?query=${TERMS.common}`, big)] };
const product = get(`/catalog/products/${recordId('product', 2, 1)}`, small);
const client = { port, requests: [product], clients: 1, seconds: 4 };
const p99 = ({ statuses }: Result): number => statuses[200]?.p99 ?? Number.NaN;
for (const [name, job] of Object.entries<Job>({
  '32 searchers': { ...search, clients: 32, seconds: 4 },
  '200 searchers': { ...search, clients: 200, seconds: 4 },
  '1,500 pipelined searches': { ...search, clients: 1, pipelined: 1_500, count: 1_500 },
})) {
  const alone = await other.run(client);
  const seen = loading.run(job);
  const beside = await other.run(client);
  console.log(`${name}: p99 of the other organization x ${(p99(beside) / p99(alone)).toFixed(1)}
alone: ${shown(alone)}\n  beside: ${shown(beside)}\n  searches: ${shown(await seen)}`);
}
const lists = { port, requests: [get('/customers', small)] };
const closed = await loading.run({ ...lists, clients: 32, seconds: 4 });
const most = closed.count / closed.seconds;
console.log(`lists of 25, 32 clients: ${shown(closed)}`);
for (const times of [0.5, 2]) {
  const seen = await loading.run({ ...lists, clients: 1_500, seconds: 4, rate: most * times });
  console.log(`lists at ${times} times this rate: ${shown(seen)}`);
}
