import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { issueApiKey } from '../src/api-keys/repository.ts';
import { createCatalogProduct, productStatements } from '../src/catalog/repository.ts';
import { CatalogProductCreate } from '../src/catalog/schema.ts';
import { readConfig } from '../src/config.ts';
import { openDatabase, parseJson, scopeTo } from '../src/db/index.ts';
import { createOrganization } from '../src/organizations/repository.ts';
import {
  administer,
  countAtWork,
  EMPTY_TEMPLATE,
  hold,
  ownDatabase,
  serviceRole,
} from './support/databases.ts';
import { README } from './support/documents.ts';
import { type Example, examplesOf, runExample } from './support/examples.ts';
import { freePort, MAIN, type ServiceProcess, startProcess } from './support/process.ts';

const READY = 'Try it:';
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crm-server-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Starts the service; it ends with the test. */
function startService(...options: Parameters<typeof startProcess>): ServiceProcess {
  const service = startProcess(...options);
  onTestFinished(async () => {
    service.child.kill('SIGTERM');
    await service.ended;
  });
  return service;
}

const isOpen = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );

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

test('a start without DATABASE_URL prints a curl command that works; data and key survive the death of service and database', {
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

  const [, DASHBOARD_TOKEN] = /Its token +(\S+)/.exec(first.output()) ?? [];
  const DASHBOARD = `http://127.0.0.1:${environment.DASHBOARD_PORT}/dashboard/v1`;
  const env = { PATH: process.env.PATH, CRM_URL: origin, DASHBOARD, DASHBOARD_TOKEN };
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

  const duplicate = startService({ ...environment, ...(await freePorts()) });
  expect(await duplicate.ended).toBe(1);
  expect(duplicate.output()).toMatch(/^The service cannot start: The data directory is in use .*\n$/);

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
    const service = startService(environment);
    await service.until(READY);
    return service;
  };
  const third = await vi.waitFor(start, { timeout: START_MS });
  expect((await fetch(`${products}/${id}`, { headers })).status).toBe(200);
  // The signal of a terminal that is closed.
  third.child.kill('SIGHUP');
  expect(await third.ended).toBe(0);
  await expect(stat(pidFile)).rejects.toThrow('ENOENT');
});

test('a start with DATABASE_URL migrates as the owner, works as another role, loads nothing, and completes running requests after SIGTERM', {
  timeout: 2 * START_MS,
}, async () => {
  const database = await ownDatabase(EMPTY_TEMPLATE);
  await administer(database.ownerUrl, (client) => client.query(serviceRole.rights));
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
  expect(output).toContain('npm run keys');
  expect(output).not.toContain('tcrm_');
  const ready = `http://127.0.0.1:${environment.DASHBOARD_PORT}/readyz`;
  await expect.poll(async () => (await fetch(ready)).status).toBe(200);
  const base = `http://127.0.0.1:${environment.PORT}`;
  const db = openDatabase({ url: database.url, poolSize: 1, maxWaiting: 10, statementTimeout: 60_000 });
  const scope = scopeTo(db, (await createOrganization(db, 'Agency')).id);
  const { key } = parseJson(await issueApiKey(scope, { name: 'test' }));
  const { id } = parseJson(
    await createCatalogProduct(scope, productStatements, CatalogProductCreate.parse({ title: 'Before' })),
  );
  await db.close();

  const release = await hold(database.ownerUrl, 'select from products for update');
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const url = `${base}/v1/catalog/products/${id}`;
  const running = fetch(url, { method: 'PATCH', headers, body: '{"title": "After"}' });
  await expect.poll(() => countAtWork(database.ownerUrl, 'Lock')).toBe(1);
  service.child.kill('SIGTERM');
  await expect.poll(() => isOpen(base)).toBe(false);
  await release();
  const response = await running;
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ title: 'After' });
  expect(await service.ended).toBe(0);
});

test('after SIGTERM the service is not ready but serves for SHUTDOWN_DRAIN_MS, unless a second SIGTERM ends it', async () => {
  const { url } = await ownDatabase();
  const { PORT, DASHBOARD_PORT } = await freePorts();
  const settings = { DATA_DIR: join(folder, 'stop'), HOST: '127.0.0.1', SHUTDOWN_DRAIN_MS: '60000' };
  const service = startService({ ...settings, DATABASE_URL: url, PORT, DASHBOARD_PORT });
  await service.until(READY);
  const readiness = () =>
    fetch(`http://127.0.0.1:${DASHBOARD_PORT}/readyz`).then(({ status }) => status, String);
  await expect.poll(readiness).toBe(200);
  service.child.kill('SIGTERM');
  await expect.poll(readiness, { interval: 5 }).toBe(503);
  expect(await isOpen(`http://127.0.0.1:${PORT}/openapi.json`)).toBe(true);
  // Signals within half a second count as one.
  const signals = setInterval(() => service.child.kill('SIGTERM'), 100);
  expect(await service.ended).toBe(1);
  clearInterval(signals);
  expect(service.output()).not.toContain('"level":50');
});

describe('a start that fails explains why in one line, without a stack, and ends with 1', () => {
  const startInVain = async (environment: Record<string, string>, args?: string[]): Promise<string> => {
    const service = startService(
      { DATA_DIR: join(folder, 'failing'), HOST: '127.0.0.1', ...environment },
      args,
    );
    expect(await service.ended).toBe(1);
    expect(service.output().trimEnd().split('\n')).toHaveLength(1);
    return service.output();
  };

  test('invalid variables, all with their names', async () => {
    const settings = { PORT: 'abc', SIGNED_URL_TTL_SECONDS: '5', DASHBOARD_TOKEN: 'short' };
    const line = await startInVain(settings);
    expect(line).toContain('PORT must be');
    expect(line).toContain('SIGNED_URL_TTL_SECONDS must be an integer from 30 to 3600');
    expect(line).toContain('DASHBOARD_TOKEN must have at least 32 characters');
  });

  test('no DATABASE_URL, but a sign of production: it starts no demo', async () => {
    for (const [name, value] of [
      ['NODE_ENV', 'production'],
      ['PUBLIC_URL', 'https://crm.example.com'],
      ['DATABASE_URI', 'postgres://crm@127.0.0.1:1/crm'],
      ['POSTGRES_URL', 'postgresql://crm@127.0.0.1:1/crm'],
    ] as const)
      expect(() => readConfig({ [name]: value })).toThrow(`DATABASE_URL must be set, because ${name} is `);
    const DATA_DIR = join(folder, 'demo');
    const line = await startInVain({ NODE_ENV: 'production', DATA_DIR });
    expect(line).toMatch('Invalid environment variables: DATABASE_URL must be set');
    await expect(stat(DATA_DIR)).rejects.toThrow('ENOENT');
  });

  test.each(['@', '/', '#', '?', '%'])('a password with a %s that is not percent-encoded', (sign) => {
    const urlWith = (password: string) => ({ DATABASE_URL: `postgres://crm:${password}@127.0.0.1:1/crm` });
    const advice = /^((?!hunter2).)*DATABASE_URL must be a postgres:\/\/ URL.*percent-encode((?!hunter2).)*$/;
    expect(() => readConfig(urlWith(`hunter2${sign}ss`))).toThrow(advice);
    const encoded = urlWith(`hunter2${encodeURIComponent(sign)}ss`);
    expect(readConfig(encoded)).toMatchObject(encoded);
  });

  test('a database that cannot be reached, without its password', async () => {
    const DATABASE_URL = 'postgres://crm:hunter2hunter2@127.0.0.1:1/crm';
    const line = await startInVain({ DATABASE_URL, ...(await freePorts()) });
    for (const part of ['DATABASE_URL', 'ECONNREFUSED']) expect(line).toContain(part);
    expect(line).not.toContain('hunter2');
  });

  test('a folder for data that cannot be written, before the database is tried', async () => {
    const DATA_DIR = join(folder, 'file');
    await writeFile(DATA_DIR, '');
    const reason = `DATA_DIR, ${DATA_DIR}, cannot be written (EEXIST: file already exists). `;
    expect(await startInVain({ DATA_DIR })).toContain(reason);
    const service = startService({ DATA_DIR, DATABASE_URL: 'postgres://crm@127.0.0.1:1/crm' });
    await service.ended;
    expect(service.output()).toContain(`Uploads fail: ${reason}`);
  });

  test('a port in use', async () => {
    const database = await ownDatabase();
    const { PORT, DASHBOARD_PORT } = await freePorts();
    const holder = createServer().listen(Number(PORT), '127.0.0.1');
    const line = await startInVain({ DATABASE_URL: database.url, PORT, DASHBOARD_PORT });
    holder.close();
    expect(line).toBe(`Port ${PORT} on 127.0.0.1 is in use. Set PORT or DASHBOARD_PORT to another one.\n`);
  });

  test('a runtime that is too old', async () => {
    const setVersion = "Object.defineProperty(process.versions, 'node', { value: '20.20.2' });";
    const line = await startInVain({}, ['--eval', `${setVersion} import(${JSON.stringify(MAIN)})`]);
    expect(line).toMatch(/^Node\.js 24 or later is required; this is v\d+\.\S+\. Start it with `npm start`/);
  });
});
