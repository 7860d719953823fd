import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { exchange, requestBytes } from '../support/socket.ts';
import { ATTACKS, type Attack, silence, takeNothing } from './attacks.ts';
import { boundMemory } from './bounded.ts';
import { startClients } from './clients.ts';
import { clientOf, openAgency, openInstance, temporaryFolder } from './instance.ts';
import { startFront } from './nginx.ts';

/** The service in 512 MiB behind the nginx that is shipped: what attacks cost it, and another agency. docs/operating.md has the table. */

const LIMIT_MIB = 512;
const ATTACK_MS = 15_000;

type Agency = { id: string; key: string };
const has: { database?: TestDatabase; attacked?: Agency; other?: Agency } = {};
const data = () => has as Required<typeof has>;

/** A page of its hundred products has 24 MB. */
const product = (index: number) => ({
  title: `Patagonia ${index}`,
  variants: Array.from({ length: 5 }, (_, n) => ({ label: `Variant ${n}`, description: 'x'.repeat(47_500) })),
});

/** The service in its memory, and nginx before it. */
async function startBehind(spoolMiB?: number) {
  const memory = await boundMemory(LIMIT_MIB * 1024 * 1024);
  const environment = {
    DATABASE_URL: data().database.url,
    DATA_DIR: await temporaryFolder(),
    LOG_LEVEL: 'warn',
  };
  const instance = await openInstance(environment, memory.start);
  onTestFinished(instance.kill);
  return { instance, memory, front: await startFront([instance], spoolMiB) };
}

beforeAll(async () => {
  const database = await createTestDatabase(inject('serverUrl'));
  const [attacked, other] = [await openAgency(database.url), await openAgency(database.url)];
  Object.assign(has, { database, attacked, other });
  const folder = await mkdtemp(join(tmpdir(), 'crm-front-'));
  const instance = await openInstance({ DATABASE_URL: database.url, DATA_DIR: folder });
  const send = clientOf(instance.port, { 'x-api-key': attacked.key });
  for (let index = 0; index < 100; index += 1)
    expect((await send('POST', '/v1/catalog/products', product(index))).status).toBe(201);
  const page = await send('GET', '/v1/catalog/products?limit=100');
  expect(JSON.stringify(page.body).length).toBeGreaterThan(23_000_000);
  await instance.kill();
  await rm(folder, { recursive: true });
  return () => database.drop();
});

/** The clients that do nothing wrong, beside the attack. */
async function endure(attack: Attack, pausesMs: readonly number[], milliseconds: number) {
  const { instance, memory, front } = await startBehind();
  attack({ port: front.port, key: data().attacked.key });
  await pause(2_000);
  const clients = startClients(front.port, data().other.key, pausesMs, 30);
  await pause(milliseconds);
  await clients.stop();
  const most = await memory.most();
  const isAlive = instance.process().child.exitCode === null && instance.process().child.signalCode === null;
  return { failures: clients.failures, requests: clients.requests(), most, isAlive };
}

describe(`in ${LIMIT_MIB} MiB, ninety clients of another agency see nothing of`, () => {
  test.each(Object.entries(ATTACKS))('%s', async (name, attack) => {
    const { failures, requests, most, isAlive } = await endure(attack, [300], ATTACK_MS);
    process.stdout.write(`| ${name} | ${most} MiB | ${failures.length} of ${requests} |\n`);
    expect({ isAlive, failures }).toEqual({ isAlive: true, failures: [] });
    expect(most).toBeLessThan(LIMIT_MIB);
    expect(requests).toBeGreaterThan(300);
  });

  test('3,000 silent connections, with pauses of 0.1, 1 and 4 seconds', async () => {
    const { failures, requests, most } = await endure(silence(3_000), [100, 1_000, 4_000], 25_000);
    process.stdout.write(`| 3,000 silent connections | ${most} MiB | ${failures.length} of ${requests} |\n`);
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(3_000);
  });
});

const MIB = 1024 * 1024;
const PATIENT = { timeout: 60_000, interval: 200 };
const SPOOL_MIB = 48;
const PAGE = '/v1/catalog/products?limit=100';
/** The bytes of the page, of which nothing is taken for a while; 0 when its response breaks off. */
async function sizeOfPage(port: number): Promise<number> {
  const headers = { 'x-api-key': data().attacked.key };
  const [response] = await once(get({ host: '127.0.0.1', port, path: PAGE, headers }), 'response');
  await pause(500);
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
  });
  return once(response, 'end').then(
    () => size,
    () => 0,
  );
}

test('while the disk of its spool is full, small responses go on; no response that breaks off looks whole; then all are whole again', async () => {
  const { front } = await startBehind(SPOOL_MIB);
  const sizes: number[] = [];
  const whole = await sizeOfPage(front.port);
  expect(whole).toBeGreaterThan(23_000_000);
  await writeFile(join(front.spool, 'full'), Buffer.alloc(SPOOL_MIB * MIB)).catch(() => undefined);
  expect((await statfs(front.spool)).bavail).toBe(0);
  const clients = startClients(front.port, data().other.key, [300], 30);
  for (let count = 0; count < 10; count += 1) sizes.push(await sizeOfPage(front.port));
  expect(sizes).toContain(0);
  expect(sizes.filter((size) => size !== 0 && size !== whole)).toEqual([]);
  await rm(join(front.spool, 'full'));
  await expect.poll(() => sizeOfPage(front.port), PATIENT).toBe(whole);
  await clients.stop();
  expect(clients.failures).toEqual([]);
});

test('while its only instance is down, each request has an error that says what became of it; nginx and the instance are started again without the other', async () => {
  const { instance, front } = await startBehind();
  const send = clientOf(front.port, { 'x-api-key': data().other.key });
  const contact = () => ({ contacts: [{ identifierType: 'web', identifierValue: randomUUID() }] });
  const create = () => send('POST', '/v1/customers', contact());
  const { body } = await create();
  expect((await send('DELETE', `/v1/customers/${body.id}`)).status).toBeLessThan(300);
  await instance.kill();
  const down = (message: string) => ({
    status: 502,
    body: { error: { code: 'SERVICE_UNAVAILABLE', message } },
  });
  const retry = 'Retry shortly.';
  expect(await send('GET', '/v1/team')).toEqual(
    down(`The service cannot handle the request right now. ${retry}`),
  );
  for (const write of [create, () => send('DELETE', `/v1/customers/${body.id}`)])
    expect(await write()).toEqual(
      down(`The service cannot handle the request right now. Nothing was written. ${retry}`),
    );
  await instance.start();
  expect((await create()).status).toBe(201);

  const running = Array.from({ length: 20 }, create);
  await Promise.all([...running, front.restart()]);
  expect((await create()).status).toBe(201);
  const statuses = (await Promise.all(running)).map(({ status }) => status);
  // What nginx had accepted, it finishes; the others find nobody.
  expect(statuses.filter((status) => status !== 201 && status !== 0)).toEqual([]);

  const cut = createServer((socket) => socket.once('data', () => socket.destroy()));
  await instance.kill();
  await new Promise<void>((done) => cut.listen(instance.port, '127.0.0.1', done));
  onTestFinished(() => void cut.close());
  const applied =
    'The request may have been applied. Retry with the same Idempotency-Key, or read before you retry.';
  expect(await create()).toEqual(down(applied));
  expect(await send('DELETE', `/v1/customers/${body.id}`)).toEqual(down(applied));
});

describe('what nginx itself returns is in the error shape', () => {
  const key = () => data().other.key;
  test('400, 404 and 413, each with a request id', async () => {
    const { front } = await startBehind();
    const large = { 'Content-Type': 'application/json', 'x-api-key': key(), 'X-Request-Id': 'of-the-client' };
    for (const [status, code, bytes] of [
      [400, 'VALIDATION_FAILED', 'NO HTTP\r\n\r\n'],
      [400, 'VALIDATION_FAILED', requestBytes('GET', '/', { 'X-Large': 'x'.repeat(9_000) })],
      [400, 'VALIDATION_FAILED', requestBytes('GET', `/${'x'.repeat(9_000)}`)],
      [404, 'ROUTE_NOT_FOUND', requestBytes('TRACE', '/')],
      [
        413,
        'PAYLOAD_TOO_LARGE',
        requestBytes('POST', '/v1/customers', { ...large, 'Content-Length': String(2 * MIB) }),
      ],
    ] as const) {
      const response = await exchange(front.port, bytes);
      expect(response?.status).toBe(status);
      expect(JSON.parse(response?.text ?? '')).toEqual({ error: { code, message: expect.any(String) } });
      expect(response?.headers['x-request-id']).toMatch(status === 413 ? /^of-the-client$/ : /^[\w-]{8,64}$/);
    }
    for (const path of ['livez', 'readyz', 'metrics'])
      expect((await fetch(`http://127.0.0.1:${front.dashboardPort}/${path}`)).status).toBe(404);
  });

  test('429 to the 65th request of a key at one time, and none to other keys', async () => {
    const { front } = await startBehind();
    takeNothing(70, PAGE)({ port: front.port, key: data().attacked.key });
    const status = async (sent: string) =>
      (await clientOf(front.port, { authorization: sent })('GET', '/v1/team')).status;
    await expect.poll(() => status(`Bearer ${data().attacked.key}`), PATIENT).toBe(429);
    expect(await status(`Bearer   ${data().attacked.key}`)).toBe(429);
    expect(await status(`Bearer ${key()}`)).toBe(200);
  });

  test('beside a certificate HTTPS serves with HSTS, and plain HTTP is rejected, without a redirect', async () => {
    const { front } = await startBehind();
    const plain = () => clientOf(front.port, { 'x-api-key': key() })('GET', '/v1/team');
    expect((await plain()).status).toBe(200);
    const files = ['-keyout', join(front.tls, 'privkey.pem'), '-out', join(front.tls, 'fullchain.pem')];
    const subject = ['-subj', '/CN=localhost', '-newkey', 'rsa:2048', '-days', '1', '-nodes', '-x509'];
    execFileSync('openssl', ['req', ...subject, ...files], { stdio: 'ignore' });
    await chmod(join(front.tls, 'privkey.pem'), 0o644);
    const { status, body } = await plain();
    expect([status, body.error.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(body.error.message).toContain('Use HTTPS');
    const [response] = await once(
      request({
        host: '127.0.0.1',
        port: front.tlsPort,
        path: '/v1/team',
        headers: { 'x-api-key': key() },
        rejectUnauthorized: false,
      }).end(),
      'response',
    );
    expect([response.statusCode, response.headers['strict-transport-security']]).toEqual([
      200,
      'max-age=31536000',
    ]);
    response.resume();
  });
});
