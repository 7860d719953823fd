import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, rm, statfs, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, get, type RequestListener } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/process.ts';
import { customer, product, web } from '../support/records.ts';
import { useService } from '../support/service.ts';
import { exchange, portOf, requestBytes } from '../support/socket.ts';
import { neverEnd, trickle } from './attacks.ts';
import { startClients } from './clients.ts';
import { clientOf, openInstance } from './instance.ts';
import { startFront } from './nginx.ts';

/** The service behind the nginx configuration of deploy/. */

const service = await useService();
const [attacked, other] = [await service.agency(), await service.agency()];
// A page of 10 MB.
const text = 'x'.repeat(50_000);
for (let count = 0; count < 100; count += 1)
  await product(attacked, { description: text, specialConditions: text });

async function startBehind(spoolMiB?: number) {
  const instance = await openInstance({ DATABASE_URL: service.url, DATA_DIR: await newFolder() });
  return { instance, front: await startFront([instance], spoolMiB) };
}

const MIB = 1024 * 1024;
const PATIENT = { timeout: 60_000, interval: 200 };
const SPOOL_MIB = 48;
const PAGE = '/v1/catalog/products?limit=100';
/** The bytes of the page, which the client reads after a pause; 0 if the response breaks off. */
async function sizeOfPage(port: number): Promise<number> {
  const headers = { 'x-api-key': attacked.key };
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

test('while the disk of the spool is full, small responses succeed and no truncated response looks complete; then all are complete again', async () => {
  const { front } = await startBehind(SPOOL_MIB);
  const sizes: number[] = [];
  const complete = await sizeOfPage(front.port);
  expect(complete).toBeGreaterThan(10_000_000);
  await writeFile(join(front.spool, 'full'), Buffer.alloc(SPOOL_MIB * MIB)).catch(() => undefined);
  expect((await statfs(front.spool)).bavail).toBe(0);
  const clients = startClients(front.port, other.key, [300], 30);
  for (let count = 0; count < 10; count += 1) sizes.push(await sizeOfPage(front.port));
  expect(sizes).toContain(0);
  expect(sizes.filter((size) => size !== 0 && size !== complete)).toEqual([]);
  await rm(join(front.spool, 'full'));
  await expect.poll(() => sizeOfPage(front.port), PATIENT).toBe(complete);
  await clients.stop();
  expect(clients.failures).toEqual([]);
});

test('while the only instance is down, the error of each request says whether it was applied; nginx and the instance restart independently', async () => {
  const { instance, front } = await startBehind();
  const send = clientOf(front.port, { 'x-api-key': other.key });
  const create = () => send('POST', '/v1/customers', { contacts: [web(randomUUID())] });
  const { body } = await create();
  expect((await send('DELETE', `/v1/customers/${body.id}`)).status).toBeLessThan(300);
  await instance.kill();
  const code = 'SERVICE_UNAVAILABLE';
  const down = (message: string) => ({ status: 502, body: { error: { code, message } } });
  const now = 'The service cannot handle the request right now.';
  expect(await send('GET', '/v1/team')).toEqual(down(`${now} Retry shortly.`));
  for (const write of [create, () => send('DELETE', `/v1/customers/${body.id}`)])
    expect(await write()).toEqual(down(`${now} Nothing was written. Retry shortly.`));
  await instance.start();
  expect((await create()).status).toBe(201);

  const running = Array.from({ length: 20 }, create);
  await Promise.all([...running, front.restart()]);
  expect((await create()).status).toBe(201);
  const statuses = (await Promise.all(running)).map(({ status }) => status);
  // nginx finishes the requests that it has accepted; the others find a closed port.
  expect(statuses.filter((status) => status !== 201 && status !== 0)).toEqual([]);
});

test('a response that nginx compresses has a tag that If-None-Match and If-Match accept', async () => {
  const { front } = await startBehind();
  const { id } = await customer(other, { summary: 'Patagonia '.repeat(200) });
  const send = (method: string, headers: Record<string, string>, body?: string) =>
    fetch(`http://127.0.0.1:${front.port}/v1/customers/${id}`, {
      method,
      headers: { 'x-api-key': other.key, 'content-type': 'application/json', ...headers },
      ...(body && { body }),
    });
  const { headers } = await send('GET', { 'accept-encoding': 'gzip' });
  const tag = String(headers.get('etag'));
  expect([headers.get('content-encoding'), tag]).toEqual(['gzip', expect.stringMatching(/^W\/"/)]);
  expect((await send('GET', { 'if-none-match': tag })).status).toBe(304);
  const matching = { 'if-match': `"another", ${tag}` };
  expect((await send('PATCH', matching, '{"firstName":"Eva"}')).status).toBe(200);
  expect((await send('PATCH', matching, '{"firstName":"Lola"}')).status).toBe(412);
});

/** A server in the place of an instance. It gets whole requests, and ends with the test. */
async function standIn(handle: RequestListener): Promise<{ port: number; dashboardPort: number }> {
  const server = createHttpServer({ maxHeaderSize: 65_536 }, handle);
  onTestFinished(() => void server.close().closeAllConnections());
  const port = await portOf(server);
  return { port, dashboardPort: port };
}

test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'GET'])(
  'a %s that the second instance receives and breaks off may have been applied, unless it is a read',
  async (method) => {
    const received: string[] = [];
    const second = await standIn(({ url = '', socket }) => {
      received.push(url);
      socket.destroy();
    });
    const dead = Number(await freePort());
    const front = await startFront([{ port: dead, dashboardPort: dead }, second]);
    // A URL cannot imitate what the error depends on.
    const path = '/v1/customers?query=0|GET|1';
    const { status, body } = await clientOf(front.port, {})(method, path);
    expect([status, received]).toEqual([502, [path]]);
    expect(body.error.message).toContain(method === 'GET' ? 'cannot handle' : 'may have been applied');
  },
);

test('a read that an instance breaks off is sent to another one', async () => {
  const breaking = await standIn(({ socket }) => socket.destroy());
  const other = await standIn((_request, response) => response.end('{}'));
  const front = await startFront([breaking, other]);
  const send = clientOf(front.port, {});
  const statuses = Array.from({ length: 20 }, async () => (await send('GET', '/v1/team')).status);
  expect(await Promise.all(statuses)).toEqual(Array(20).fill(200));
});

test('headers of 24 KiB do not take an instance out', async () => {
  const large = await standIn((_request, response) =>
    response.writeHead(200, { 'content-length': 2, link: 'x'.repeat(24_576) }).end('{}'),
  );
  const front = await startFront([large, large]);
  const responses = Array.from({ length: 40 }, () => exchange(front.port, requestBytes('GET', '/v1/team')));
  expect((await Promise.all(responses)).map((response) => response?.status)).toEqual(Array(40).fill(200));
});

test('an instance gets a host with every request, and no trusted header of the client, which gets the Date of the instance', async () => {
  const date = 'Sat, 01 Jan 2000 00:00:00 GMT';
  const echo = await standIn(({ headers }, response) => {
    const text = JSON.stringify(headers);
    response.writeHead(200, { 'content-length': text.length, date }).end(text);
  });
  const front = await startFront([echo]);
  const old = await exchange(front.port, 'GET /v1/team HTTP/1.0\r\n\r\n');
  expect(JSON.parse(old?.text ?? '')).toMatchObject({ host: 'localhost' });
  const trusted = { Host: 'api.test', 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '10.0.0.1' };
  const bytes = requestBytes('GET', '/v1/team', { ...trusted, 'X-Forwarded-Host': 'evil.test' });
  const response = await exchange(front.port, bytes);
  // Clients follow a list by it.
  expect(response?.headers.date).toBe(date);
  const headers = JSON.parse(response?.text ?? '');
  expect(headers).toMatchObject({
    host: 'api.test',
    'x-forwarded-proto': 'http',
    'x-forwarded-for': '127.0.0.1',
  });
  expect(headers).not.toHaveProperty('x-forwarded-host');
});

describe('what nginx itself returns is in the error shape', () => {
  test('400, 404 and 413, each with a request id', async () => {
    const { front } = await startBehind();
    const large = {
      'Content-Type': 'application/json',
      'x-api-key': other.key,
      'X-Request-Id': 'of-the-client',
      'Content-Length': String(2 * MIB),
    };
    for (const [status, code, bytes] of [
      [400, 'VALIDATION_FAILED', 'NO HTTP\r\n\r\n'],
      [400, 'VALIDATION_FAILED', requestBytes('GET', '/', { 'X-Large': 'x'.repeat(9_000) })],
      [400, 'VALIDATION_FAILED', requestBytes('GET', `/${'x'.repeat(9_000)}`)],
      [404, 'ROUTE_NOT_FOUND', requestBytes('TRACE', '/')],
      [413, 'PAYLOAD_TOO_LARGE', requestBytes('POST', '/v1/customers', large)],
    ] as const) {
      const response = await exchange(front.port, bytes);
      expect(response?.status).toBe(status);
      expect(JSON.parse(response?.text ?? '')).toEqual({ error: { code, message: expect.any(String) } });
      expect(response?.headers['x-request-id']).toMatch(status === 413 ? /^of-the-client$/ : /^[\w-]{8,64}$/);
    }
    for (const path of ['livez', 'readyz', 'metrics'])
      expect((await fetch(`http://127.0.0.1:${front.dashboardPort}/${path}`)).status).toBe(404);
  });

  test('429 to more than 64 simultaneous requests of a key, and not to other keys', async () => {
    const { front } = await startBehind();
    // nginx waits for these bodies itself: how fast the service is does not matter.
    trickle(70)(front, attacked.key);
    const status = async (authorization: string) =>
      (await clientOf(front.port, { authorization })('GET', '/v1/team')).status;
    await expect.poll(() => status(`Bearer ${attacked.key}`), PATIENT).toBe(429);
    expect(await status(`Bearer   ${attacked.key}`)).toBe(429);
    expect(await status(`Bearer ${other.key}`)).toBe(200);
  });

  test('429 to more than 256 simultaneous requests of an address, whatever keys it invents, and not to another address', async () => {
    const { front } = await startBehind(128);
    neverEnd(front, '');
    async function usedMiB(): Promise<number> {
      const { blocks, bavail, bsize } = await statfs(front.spool);
      return ((blocks - bavail) * bsize) / MIB;
    }
    // 240 KB of each.
    await expect.poll(usedMiB, PATIENT).toBeGreaterThan(50);
    await pause(2_000);
    expect(await usedMiB()).toBeLessThan(64);
    const send = clientOf(front.port, { 'x-api-key': other.key });
    expect((await send('GET', '/v1/team')).status).toBe(200);
  });

  test('with a certificate, HTTPS serves with HSTS, and plain HTTP is rejected, without a redirect', async () => {
    const { front } = await startBehind();
    const plain = () => exchange(front.port, requestBytes('GET', '/v1/team', { 'x-api-key': other.key }));
    expect((await plain())?.status).toBe(200);
    const files = ['-keyout', join(front.tls, 'privkey.pem'), '-out', join(front.tls, 'fullchain.pem')];
    const subject = ['-subj', '/CN=localhost', '-newkey', 'rsa:2048', '-days', '1', '-nodes', '-x509'];
    execFileSync('openssl', ['req', ...subject, ...files], { stdio: 'ignore' });
    await chmod(join(front.tls, 'privkey.pem'), 0o644);
    expect(await plain()).toMatchObject({
      status: 400,
      headers: { 'x-request-id': expect.stringMatching(/^[\w-]{8,64}$/) },
      text: expect.stringContaining('"code":"VALIDATION_FAILED","message":"Use HTTPS'),
    });
    const target = { host: '127.0.0.1', port: front.tlsPort, path: '/v1/team', rejectUnauthorized: false };
    const outgoing = request({ ...target, headers: { 'x-api-key': other.key } }).end();
    const [{ statusCode, headers }] = await once(outgoing, 'response');
    expect([statusCode, headers['strict-transport-security']]).toEqual([200, 'max-age=31536000']);
    outgoing.destroy();
  });
});
