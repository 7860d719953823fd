import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { connectionsThatFit } from '../../src/http/load/connections.ts';
import { useService } from '../support/service.ts';
import { listen } from '../support/socket.ts';

const service = useService();

test('a process takes as many connections as fit into a quarter of its memory', () => {
  expect(connectionsThatFit(512 * 1024 * 1024)).toBe(2_048);
  expect(connectionsThatFit(1)).toBe(256);
  expect(service.app.server.maxConnections).toBe(connectionsThatFit());
});

test('a connection beyond them is closed at once, and the others are served', async () => {
  const { port } = await listen(service);
  const { maxConnections } = service.app.server;
  service.app.server.maxConnections = 1;
  try {
    const kept = connect(port, '127.0.0.1');
    await new Promise((done) => kept.once('connect', done));
    const beyond = connect(port, '127.0.0.1').resume();
    await new Promise((done) => beyond.once('close', done));
    kept.write('GET /v1/team HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const [answer] = await new Promise<Buffer[]>((done) => kept.once('data', (bytes) => done([bytes])));
    expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /);
  } finally {
    service.app.server.maxConnections = maxConnections;
  }
});
