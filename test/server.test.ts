import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { readConfig } from '../src/config.ts';
import { countAtWork, EMPTY_TEMPLATE, hold, ownDatabase, runSql, serviceRole } from './support/databases.ts';
import { README } from './support/documents.ts';
import { type Example, examplesOf, runExample } from './support/examples.ts';
import { newFolder } from './support/folder.ts';
import { freePort, MAIN, PROGRAM, type ServiceProcess, startProcess } from './support/process.ts';
import { clientOf, openAgency } from './topologies/instance.ts';

const READY = 'Try it:';
const folder = await newFolder();
afterAll(() => rm(folder, { recursive: true, force: true }));
function startService(...options: Parameters<typeof startProcess>): ServiceProcess {
  const service = startProcess(...options);
  onTestFinished(async () => {
    service.child.kill('SIGTERM');
    await service.ended;
  });
  return service;
}

const readiness = ({ DASHBOARD_PORT }: { DASHBOARD_PORT: string }) =>
  fetch(`http://127.0.0.1:${DASHBOARD_PORT}/readyz`).then(({ status }) => status, String);

/** The address and key of the curl command in the output of the start. */
function printedCurl(output: string): { url: string; authorization: string } {
  const [, url, authorization] = /curl -s '([^']+)' -H 'Authorization: ([^']+)'/.exec(output) ?? [];
  if (url === undefined || authorization === undefined) throw new Error(`No curl command in:\n${output}`);
  return { url, authorization };
}

/** Parts of what each step of examples/dashboard.sh prints. */
const STEPS: (string | RegExp)[][] = [
  [],
  ['"firstName":"Ana"', 'KEY_CREATE_ONLY'],
  ['"customerName":"Ana"', '{"inserted":2,"updated":0}'],
  [
    /"contactName":"Anita","customerId":"[^"]+".*"language":"es".*"rotatedFrom":"/,
    /¿Tienen salidas en enero\?.*"status":null.*una cotización.*"status":"read".*"total":2/,
  ],
  ['"stage":"quoted"', /"temperatureOverride":"hot","agentTemperature":"cold","archivedAt":null\}\n$/],
  ['"openCount":1', /\nDía 1: Bariloche\n1\n$/],
  ['read\nfailed', 'Sí, le mando una cotización.', '[ 1 ]', "[ 'Viajes Aurora' ]"],
  [/"token":"aurora-2019","openCount":3.*"publishedAt":"2019-.*"createdAt":"2019-03-01T10:00:00.000Z"/],
  ['1 created'],
  [/"displayName":"Ana Quispe".*"whatsapp".*"telefono"/, 'was merged into customer'],
  ['"durationHours":180.5', '1 rejected', 'variants are changed in the dashboard'],
  ['inbox: 1', 'customer: 4'],
  ['"displayName":"Ana Quispe"', 'cotización', '"title":"Patagonia Norte"', '"total":0'],
  ["[ 'Ana', 'Ana' ]", '\nAna Quispe\n2\n', '"contacts":2,"conversations":2', /\nnull\n$/],
  ['website: create', '\nleo@example.com\n'],
];

async function freePorts(): Promise<{ PORT: string; DASHBOARD_PORT: string }> {
  return { PORT: await freePort(), DASHBOARD_PORT: await freePort() };
}

/** Of one start, which prepares a database: the limit of a test grows with its starts. */
const START_MS = 300_000;

test('a start without DATABASE_URL prints a curl command that works; data and key survive the death of service and database; after SIGTERM it serves, but is not ready, until a second signal ends it', {
  timeout: 5 * START_MS,
}, async () => {
  const dataDir = join(folder, 'embedded');
  const ports = await freePorts();
  const environment = { DATA_DIR: dataDir, HOST: '127.0.0.1', ...ports };
  const first = startService(environment);
  const curl = printedCurl(await first.until(READY));
  const { authorization } = curl;

  const [example, ...others] = examplesOf(README);
  expect(others).toEqual([]);
  const { origin } = new URL(curl.url);
  await runExample(example as Example, origin, { KEY: authorization.replace('Bearer ', '') }, new Map());

  const [, DASHBOARD_TOKEN] = /Its token +(\w{43})$/m.exec(first.output()) ?? [];
  const DASHBOARD = `http://127.0.0.1:${environment.DASHBOARD_PORT}/dashboard/v1`;
  const env = { ...PROGRAM, CRM_URL: origin, DASHBOARD, DASHBOARD_TOKEN };
  const { stdout: output } = await promisify(execFile)('examples/dashboard.sh', { env });
  const steps = output.split('\n== ').slice(1);
  expect(steps).toHaveLength(STEPS.length);
  for (const [index, parts] of STEPS.entries()) for (const part of parts) expect(steps[index]).toMatch(part);
  expect(output).not.toContain('"error"');
  const screens = [...output.matchAll(/^([a-z][^:]+): (\d+)$/gm)];
  const documented = await readFile(new URL('../docs/dashboard.md', import.meta.url), 'utf8');
  expect(documented.match(/^\| [a-z].+? \| \d+ \|/gm)).toEqual(
    screens.map(([, screen, requests]) => `| ${screen} | ${requests} |`),
  );

  const key = join(dataDir, 'demo-key');
  expect((await stat(key)).mode & 0o777).toBe(0o600);
  expect(`Bearer ${(await readFile(key, 'utf8')).trim()}`).toBe(authorization);
  const readPage = async () => (await fetch(curl.url, { headers: { authorization } })).json();
  const page = await readPage();
  expect(page).toMatchObject({ data: [{ id: expect.any(String) }] });

  // After a SIGKILL of the service, the next start takes over the database.
  first.child.kill('SIGKILL');
  await first.ended;
  const second = startService(environment);
  expect(printedCurl(await second.until(READY))).toEqual(curl);
  expect(await readPage()).toEqual(page);

  // What was confirmed just before PostgreSQL is killed is there after it.
  const products = `${origin}/v1/catalog/products`;
  const headers = { authorization, 'content-type': 'application/json' };
  const confirmed = await fetch(products, { method: 'POST', headers, body: '{"title": "Confirmed"}' });
  const { id } = (await confirmed.json()) as { id: string };
  const pidFile = join(dataDir, 'postgres', 'postmaster.pid');
  process.kill(Number.parseInt(await readFile(pidFile, 'utf8'), 10), 'SIGKILL');
  expect(await second.ended).toBe(1);
  expect(second.output().match(/^The embedded PostgreSQL .*$/gm)).toEqual([
    `The embedded PostgreSQL ended unexpectedly, and the service ends with it. See ${dataDir}/postgres/server.log.`,
  ]);
  // Until the database's child processes have released the shared memory, a start fails.
  const start = async () => {
    const service = startService({ ...environment, SHUTDOWN_DRAIN_MS: '60000' });
    await service.until(READY);
    return service;
  };
  const third = await vi.waitFor(start, { timeout: START_MS });
  expect((await fetch(`${products}/${id}`, { headers })).status).toBe(200);

  // After SIGTERM, load balancers see that it is not ready, and it still serves, until a second signal ends it.
  expect(await readiness(ports)).toBe(200);
  third.child.kill('SIGTERM');
  await expect.poll(() => readiness(ports), { interval: 5 }).toBe(503);
  expect((await fetch(`${products}/${id}`, { headers })).status).toBe(200);
  // Signals within half a second count as one. This is the signal of a terminal that is closed.
  const signals = setInterval(() => third.child.kill('SIGHUP'), 100);
  expect(await third.ended).toBe(1);
  clearInterval(signals);
  expect(third.output()).not.toContain('"level":50');
  await expect(stat(pidFile)).rejects.toThrow('ENOENT');
});

test('a start with DATABASE_URL migrates as the owner, works as another role, loads nothing, and completes running requests after SIGTERM', {
  timeout: 2 * START_MS,
}, async () => {
  const database = await ownDatabase(EMPTY_TEMPLATE);
  await runSql(database.ownerUrl, serviceRole.rights);
  const environment = {
    DATABASE_URL: database.url,
    DATABASE_DIRECT_URL: database.ownerUrl,
    DATA_DIR: join(folder, 'database-url'),
    HOST: '127.0.0.1',
    SHUTDOWN_DRAIN_MS: '0',
    // Longer than the test blocks the request.
    DATABASE_TIMEOUT_MS: '60000',
    ...(await freePorts()),
  };
  const service = startService(environment);
  const output = await service.until(READY);
  expect(output).toContain('issued by the dashboard API');
  expect(output).not.toContain('tcrm_');
  await expect.poll(() => readiness(environment)).toBe(200);
  const { key } = await openAgency(database.url);
  const send = clientOf(Number(environment.PORT), { 'x-api-key': key });
  const { body } = await send('POST', '/v1/catalog/products', { title: 'Before' });

  const release = await hold(database.ownerUrl, 'select from products for update');
  const running = send('PATCH', `/v1/catalog/products/${body.id}`, { title: 'After' });
  await expect.poll(() => countAtWork(database.ownerUrl, 'Lock')).toBe(1);
  service.child.kill('SIGTERM');
  await expect.poll(async () => (await send('GET', '/v1/team')).status).toBe(0);
  await release();
  expect(await running).toMatchObject({ status: 200, body: { title: 'After' } });
  expect(await service.ended).toBe(0);
});

test('SIGTERM ends a start that waits for the migration of another instance', async () => {
  const database = await ownDatabase(EMPTY_TEMPLATE);
  const release = await hold(database.ownerUrl, 'select pg_advisory_lock(7210455317)');
  const environment = { DATABASE_URL: database.ownerUrl, DATA_DIR: join(folder, 'waiting') };
  const service = startService({ ...environment, ...(await freePorts()) });
  await expect.poll(() => countAtWork(database.ownerUrl, 'Lock'), { timeout: 20_000 }).toBe(1);
  service.child.kill('SIGTERM');
  expect(await service.ended).toBe(0);
  await release();
});

/** Values of another form, and the nearest ones that are not allowed. */
const INVALID: [name: string, ...values: string[]][] = [
  ['DATABASE_URL', 'http://x', 'postgres://crm@one:5432,two:5432/crm'],
  ['PORT', '3e3', 'abc', '-1', '65536'],
  ['DATABASE_POOL_SIZE', '0x10', '0', '1001'],
  ['DATABASE_TIMEOUT_MS', '99', '600001'],
  ['RATE_LIMIT_PER_MINUTE', '-1', '2147483648'],
  ['SIGNED_URL_TTL_SECONDS', ' 300', '29', '3601'],
  ['SHUTDOWN_DRAIN_MS', '1.0', '-1', '600001'],
  ['DASHBOARD_PORT', '65536'],
  ['DASHBOARD_TOKEN', 'c'.repeat(31), `${'c'.repeat(32)} `, ` ${'c'.repeat(32)}`, 'ñ'.repeat(32)],
  ['PUBLIC_URL', 'ftp://x', 'https://x/?a', 'https://x/#a', 'https://u:p@x'],
  ['REDIS_URL', 'http://x', 'redis://x/crm', 'redis://x?db=crm'],
  ['FILE_STORAGE', 's3://'],
  ['TRUST_PROXY', '10.0.0.1, 10.0.0.0/33'],
  ['MCP', 'all'],
  ['LOG_LEVEL', 'all'],
];
const ALL_INVALID = Object.fromEntries(INVALID);
test.each(INVALID)('%s is rejected with its name, also beside other invalid variables', (name, ...values) => {
  for (const value of values)
    expect(() => readConfig({ ...ALL_INVALID, [name]: value })).toThrow(`${name} must `);
});

test.each([
  ['NODE_ENV', 'production'],
  ['PUBLIC_URL', 'https://crm.example.com'],
])('with %s, a sign of production, a start without DATABASE_URL starts no demo', (name, value) => {
  expect(() => readConfig({ [name]: value })).toThrow(
    'DATABASE_URL must be set, because NODE_ENV is production or PUBLIC_URL is set.',
  );
});

test.each(['@', '/', '#', '?', '%'])(
  'a password with a %s must be percent-encoded, and is not printed',
  (sign) => {
    const urlsWith = (password: string) => ({
      DATABASE_URL: `postgres://crm:${password}@127.0.0.1:1/crm`,
      REDIS_URL: `redis://:${password}@redis`,
    });
    const database =
      /^((?!hunter2).)*DATABASE_URL must be a postgres:\/\/ URL.*percent-encode((?!hunter2).)*$/;
    const { DATABASE_URL, REDIS_URL } = urlsWith(`hunter2${sign}ss`);
    expect(() => readConfig({ DATABASE_URL })).toThrow(database);
    if (sign !== '@')
      expect(() => readConfig({ REDIS_URL })).toThrow(
        /^((?!hunter2).)*REDIS_URL must be a redis:\/\/ or rediss:\/\/ URL((?!hunter2).)*$/,
      );
    const encoded = urlsWith(`hunter2${encodeURIComponent(sign)}ss`);
    expect(readConfig(encoded)).toMatchObject(encoded);
  },
);

describe('a start that fails explains why in one line, without a stack, and ends with 1', () => {
  const startInVain = async (environment: Record<string, string>, args?: string[]): Promise<string[]> => {
    const service = startService({ HOST: '127.0.0.1', ...environment }, args);
    expect(await service.ended).toBe(1);
    return service.output().trimEnd().split('\n');
  };

  test('systemd starts it again, for as long as the database cannot be reached', async () => {
    const unit = await readFile(new URL('../deploy/travel-agency-crm-api.service', import.meta.url), 'utf8');
    // By default, the fifth start within 10 s is the last one.
    expect(unit).toMatch(/^StartLimitIntervalSec=0$[\s\S]*^Restart=always$/m);
  });

  test('a folder for data that cannot be written, and a database that cannot be reached, without its password', async () => {
    const DATA_DIR = join(folder, 'file');
    await writeFile(DATA_DIR, '');
    const reason = `DATA_DIR, ${DATA_DIR}, cannot be written (EEXIST: file already exists). `;
    expect(await startInVain({ DATA_DIR })).toEqual([expect.stringContaining(reason)]);
    const DATABASE_URL = 'postgres://crm:hunter2hunter2@127.0.0.1:1/crm';
    const lines = await startInVain({ DATA_DIR, DATABASE_URL });
    expect(lines.sort()).toEqual([
      expect.stringMatching(/^The database at DATABASE_URL cannot be used: .*ECONNREFUSED/),
      expect.stringContaining(`Uploads fail: ${reason}`),
    ]);
    expect(lines.join()).not.toContain('hunter2');
    if (existsSync('/dev/full')) {
      const script = 'exec "$0" "$1" >/dev/full';
      const full = startProcess({ DATA_DIR, DATABASE_URL }, ['-c', script, process.execPath, MAIN], 'sh');
      onTestFinished(() => void full.child.kill('SIGKILL'));
      expect(await full.ended).toBe(1);
    }
    const direct = { DATABASE_URL, DATA_DIR: folder, DATABASE_DIRECT_URL: DATABASE_URL };
    expect((await startInVain(direct)).join()).toMatch(/^The database at DATABASE_DIRECT_URL cannot be used/);
    const { url } = await ownDatabase();
    for (const broken of ['?sslmode=verify-full', '?sslrootcert=/none', ':x'])
      expect((await startInVain({ DATA_DIR: folder, DATABASE_URL: url + broken })).join()).toMatch(
        /^The database at DATABASE_URL cannot be used: /,
      );
  });

  test('an address that cannot be listened on, by the name of its variable, and a port in use', async () => {
    const { url: DATABASE_URL } = await ownDatabase();
    const ports = await freePorts();
    const start = (more: Record<string, string> = {}) =>
      startInVain({ DATABASE_URL, DATA_DIR: folder, ...ports, ...more });
    for (const name of ['HOST', 'DASHBOARD_HOST'])
      expect((await start({ [name]: '192.0.2.1' })).join()).toContain(`Cannot listen on ${name} 192.0.2.1`);
    const holder = createServer().listen(Number(ports.PORT), '127.0.0.1');
    expect(await start()).toEqual([`Port ${ports.PORT} on 127.0.0.1 is in use. Set PORT to another one.`]);
    holder.close();
  });

  test('a runtime that is too old', async () => {
    const setVersion = "Object.defineProperty(process.versions, 'node', { value: '20.20.2' });";
    const script = `${setVersion} import(${JSON.stringify(MAIN)})`;
    expect(await startInVain({}, ['--eval', script])).toEqual([
      expect.stringMatching(/^Node\.js 24 or later is required; this is v\d\S+\. Start it with `npm start`/),
    ]);
  });
});
