import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

async function get(port: number, key: string, agent: Agent): Promise<string> {
  const options = { host: '127.0.0.1', port, path: '/v1/customers?limit=5', agent };
  const outgoing = request({ ...options, headers: { 'x-api-key': key } }).end();
  const [response] = await once(outgoing, 'response');
  await once(response.resume(), 'end');
  return String(response.statusCode);
}

/** Well-behaved clients: each has one connection, and pauses between its requests. Failures are statuses other than 200, and errors. */
export function startClients(port: number, key: string, pausesMs: readonly number[], each: number) {
  const failures: string[] = [];
  let isOver = false;
  let count = 0;
  async function run(pauseMs: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await pause(Math.random() * pauseMs);
    while (!isOver) {
      const outcome = await get(port, key, agent).catch(({ message }) => message);
      count += 1;
      if (outcome !== '200') failures.push(outcome);
      await pause(pauseMs);
    }
    agent.destroy();
  }
  const running = pausesMs.flatMap((pauseMs) => Array.from({ length: each }, () => run(pauseMs)));
  const stop = async () => {
    isOver = true;
    await Promise.all(running);
  };
  onTestFinished(stop);
  return { requests: () => count, failures, stop };
}
