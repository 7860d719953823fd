import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** What attackers and careless clients do to a port from an address of their own, until the test ends. */

type Target = { port: number; key: string };
export type Attack = (target: Target) => void;

function open({ port }: Target): Socket {
  const addresses = { host: '127.0.0.1', localAddress: '127.0.0.2' };
  const socket = connect({ port, ...addresses }).on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Keeps so many connections open: one that ends is opened again. */
function connectAll(target: Target, count: number, begin: (socket: Socket) => void): void {
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  function one(): void {
    const socket = open(target);
    socket.on('connect', () => begin(socket));
    socket.on('close', async () => {
      await pause(200);
      if (!isOver) one();
    });
  }
  for (let index = 0; index < count; index += 1) one();
}

/** Sends the text over each connection again and again, and reads the responses. */
const repeat =
  (count: number, everyMs: number, text: (key: string) => string): Attack =>
  (target) =>
    connectAll(target, count, (socket) => {
      const send = () => void socket.write(text(target.key));
      const timer = setInterval(send, everyMs);
      socket.on('close', () => clearInterval(timer)).resume();
      send();
    });

const get = (path: string, key: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nx-api-key: ${key}\r\n\r\n`;
const post = (key: string, length: number): string =>
  `POST /v1/customers HTTP/1.1\r\nHost: x\r\nx-api-key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

/** Sends a request on each connection, and reads nothing of the response. */
const readNothing =
  (count: number, path: string): Attack =>
  (target) =>
    connectAll(target, count, (socket) => void socket.pause().write(get(path, target.key)));

/** A conversation of the attacked agency, whose largest transcript has 12 MB. */
export const CHAT = '01936f5e-0000-7000-8000-000000000001';

/** A tool that reads a page of 13 MB, too large for a result. */
const CALL = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'listCatalogProducts', arguments: { limit: 100 } },
});
const call = (key: string): string =>
  `POST /mcp HTTP/1.1\r\nHost: x\r\nx-api-key: ${key}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: ${CALL.length}\r\n\r\n${CALL}`;

const LISTS = `{"contacts":[${Array(349_000).fill('[]').join(',')}]}`;
const SHORT_HEADERS = Array.from({ length: 700 }, (_, index) => `a${index}: b\r\n`)
  .join('')
  .slice(0, 7_900);

export const silence =
  (count: number): Attack =>
  (target) =>
    connectAll(target, count, () => undefined);

/** A text of the form of a key. nginx cannot know that it is none. */
const inventKey = (): string => `tcrm_${randomUUID().replaceAll('-', '').padEnd(43, '0')}_000000`;

/** Sends most of a body, and never its end. Each request has a key of its own. */
export const neverEnd =
  (count: number): Attack =>
  (target) =>
    connectAll(
      target,
      count,
      (socket) => void socket.resume().write(post(inventKey(), 1_000_000) + ' '.repeat(950_000)),
    );

/** Sends the body of each request byte by byte, so that the request never ends. */
export const trickle =
  (count: number): Attack =>
  (target) =>
    connectAll(target, count, (socket) => {
      socket.write(post(target.key, 1_000_000));
      const timer = setInterval(() => socket.write(' '), 100);
      socket.on('close', () => clearInterval(timer)).resume();
    });

const unknownPaths = (count: number): Attack => repeat(count, 1_000, () => get('/nothing', ''));

export const ATTACKS: Record<string, Attack> = {
  'a flood of searches of one agency': repeat(200, 5, (key) => get('/v1/customers?query=a', key)),
  '1,500 pipelined searches': (target) =>
    connectAll(
      target,
      4,
      (socket) => void socket.resume().write(get('/v1/customers?query=a', target.key).repeat(1_500)),
    ),
  'six bodies of 1 MiB of empty lists': repeat(6, 300, (key) => post(key, LISTS.length) + LISTS),
  '200 bodies that trickle': trickle(200),
  '400 bodies that never end, with invented keys': neverEnd(400),
  'pipelined nonsense': repeat(50, 50, (key) => `${get('/v1/team', key)}NO HTTP\r\n\r\n`.repeat(50)),
  '5,000 unfinished headers': (target) =>
    connectAll(target, 5_000, (socket) => void socket.write(`GET / HTTP/1.1\r\nHost: x\r\n${SHORT_HEADERS}`)),
  '1,500 silent connections, and 1,500 that request an unknown path': (target) => {
    silence(1_500)(target);
    unknownPaths(1_500)(target);
  },
  '200 that read nothing of the reference page’s script': readNothing(200, '/docs/js/scalar.js'),
  '60 that read nothing of 7 MB': readNothing(60, '/v1/catalog/products?limit=55'),
  '200 that read nothing of 13 MB': readNothing(200, '/v1/catalog/products?limit=100'),
  '60 that read nothing of a transcript of 12 MB': readNothing(
    60,
    `/v1/conversations/${CHAT}/messages?limit=200`,
  ),
  '20 tools that read 13 MB': repeat(20, 2_000, call),
  '400 that read nothing of 13 MB': readNothing(400, '/v1/catalog/products?limit=100'),
};
