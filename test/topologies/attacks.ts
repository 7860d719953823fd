import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** What attackers and careless clients do to a port from an address of their own, until the test ends. */

type Ports = { port: number; dashboardPort: number };
export type Attack = (front: Ports, key: string) => void;

/** Keeps so many connections open: one that ends is opened again. */
export function connectAll(
  port: number,
  count: number,
  begin: (socket: Socket, index: number) => void = () => undefined,
): void {
  let isOver = false;
  const sockets = new Set<Socket>();
  onTestFinished(() => {
    isOver = true;
    for (const socket of sockets) socket.destroy();
  });
  function one(index: number): void {
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    sockets.add(socket);
    socket.on('error', () => undefined).on('connect', () => begin(socket, index));
    socket.on('close', async () => {
      sockets.delete(socket);
      await pause(200);
      if (!isOver) one(index);
    });
  }
  for (let index = 0; index < count; index += 1) one(index);
}

/** Sends the text over each connection again and again, and reads the responses. */
const repeat =
  (count: number, everyMs: number, text: (key: string) => string): Attack =>
  ({ port }, key) =>
    connectAll(port, count, (socket) => {
      const send = () => void socket.write(text(key));
      const timer = setInterval(send, everyMs);
      socket.on('close', () => clearInterval(timer)).resume();
      send();
    });

export const get = (path: string, key: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
export const post = (path: string, key: string, length: number): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

const LISTS = `{"contacts":[${Array(87_000).fill('[]').join(',')}]}`;
const SHORT_HEADERS = Array.from({ length: 700 }, (_, index) => `a${index}: b\r\n`)
  .join('')
  .slice(0, 7_900);

/** A text of the form of a key. nginx cannot know that it is none. */
const inventKey = (): string => `tcrm_${randomUUID().replaceAll('-', '').padEnd(43, '0')}_000000`;

/** Sends most of a body, and never its end. Each request has a key of its own. */
export const neverEnd: Attack = ({ port }) =>
  connectAll(port, 400, (socket) => {
    socket.resume().write(post('/v1/customers', inventKey(), 250_000) + ' '.repeat(240_000));
  });

/** Sends the body of each request byte by byte, so that the request never ends. */
export const trickle =
  (count: number): Attack =>
  ({ port }, key) =>
    connectAll(port, count, (socket) => {
      socket.write(post('/v1/customers', key, 250_000));
      const timer = setInterval(() => socket.write(' '), 100);
      socket.on('close', () => clearInterval(timer)).resume();
    });

const search = (key: string): string => get('/v1/customers?query=a', key);
const unknownPaths = repeat(1_500, 1_000, () => get('/nothing', ''));

const once =
  (count: number, text: (key: string) => string): Attack =>
  ({ port }, key) =>
    connectAll(port, count, (socket) => void socket.write(text(key)));

export const ATTACKS: [string, Attack][] = [
  ['a flood of searches of one agency', repeat(200, 5, search)],
  ['1,500 pipelined searches', repeat(4, 60_000, (key) => search(key).repeat(1_500))],
  [
    'six bodies of 250 KB of empty lists',
    repeat(6, 300, (key) => post('/v1/customers', key, LISTS.length) + LISTS),
  ],
  ['200 bodies that trickle', trickle(200)],
  ['400 bodies that never end, with invented keys', neverEnd],
  ['pipelined nonsense', repeat(50, 50, (key) => `${get('/v1/team', key)}NO HTTP\r\n\r\n`.repeat(50))],
  ['5,000 unfinished headers', once(5_000, () => `GET / HTTP/1.1\r\nHost: x\r\n${SHORT_HEADERS}`)],
  [
    '1,500 silent connections, and 1,500 that request an unknown path',
    (front, key) => {
      connectAll(front.port, 1_500);
      unknownPaths(front, key);
    },
  ],
  ['200 that read nothing of the reference page’s script', once(200, () => get('/docs/js/scalar.js', ''))],
];
