import { expect, test } from 'vitest';
import { connectionsThatFit } from '../../src/http/load/connections.ts';
import { useService } from '../support/service.ts';
import { exchange, listen, requestBytes } from '../support/socket.ts';
import { open } from './held.ts';

const LIMIT = 16;
const service = useService({ maxConnections: LIMIT });

test('a process takes as many connections as fit into a quarter of its memory', () => {
  expect(connectionsThatFit(512 * 1024 * 1024)).toBe(2_048);
  expect(connectionsThatFit(1)).toBe(256);
});

test('whoever holds as many connections as there may be keeps nobody with a key from an answer', async () => {
  const { port } = await listen(service);
  const { key } = await service.agency();
  const starts = ['', 'GET /v1/team HTTP/1.1\r\nX-Slow: ', 'GET /v1/team HTTP/1.1\r\nHost: x\r\n\r\n'];
  const held = Array.from({ length: LIMIT }, (_none, index) => open(port, starts[index % starts.length]));
  await expect.poll(() => held.filter(({ received }) => received().includes(' 401 ')).length).toBe(5);

  for (let calls = 0; calls < 2 * LIMIT; calls += 1) {
    const answer = await exchange(port, requestBytes('GET', '/v1/team', { Authorization: `Bearer ${key}` }));
    expect(answer?.status).toBe(200);
    open(port);
  }
  for (const { socket } of held) socket.destroy();
});
