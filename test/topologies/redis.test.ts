import { expect, onTestFinished, test } from 'vitest';
import { ownDatabase } from '../support/databases.ts';
import { newFolder } from '../support/folder.ts';
import { freePort, type ServiceProcess, startProcess } from '../support/process.ts';
import { clientOf, end, openAgency, openInstance } from './instance.ts';

/** Two instances count requests in one Redis. While it does not work, no request fails, and every request is counted. */

const LIMIT = 20;

async function startRedis() {
  const port = await freePort();
  const options = { port, bind: '127.0.0.1', save: '', appendonly: 'no' };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  let server: ServiceProcess;
  const restart = async () => {
    server = startProcess({}, args, 'redis-server');
    await server.until('Ready to accept connections');
  };
  const kill = () => end(server, 'SIGKILL');
  await restart();
  onTestFinished(kill);
  return {
    url: `redis://127.0.0.1:${port}`,
    freeze: async () => server.child.kill('SIGSTOP'),
    resume: async () => server.child.kill('SIGCONT'),
    kill,
    restart,
  };
}

async function startInstances() {
  const [redis, database] = [await startRedis(), await ownDatabase()];
  const places = { DATABASE_URL: database.url, DATA_DIR: await newFolder(), REDIS_URL: redis.url };
  const environment = { ...places, RATE_LIMIT_PER_MINUTE: String(LIMIT) };
  const instances = [await openInstance(environment), await openInstance(environment)];
  const createKey = async () => (await openAgency(database.url)).key;

  /** Sends so many simultaneous requests to each instance; returns the number of responses by status. */
  async function burst(key: string, each: number): Promise<Record<number, number>> {
    const counts: Record<number, number> = {};
    const requests = instances.flatMap(({ port }) =>
      Array.from({ length: each }, () => clientOf(port, { 'x-api-key': key })('GET', '/v1/team')),
    );
    for (const { status } of await Promise.all(requests)) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  return { redis, instances, createKey, burst };
}

test.each([
  ['frozen', 'freeze', 'resume'],
  ['killed', 'kill', 'restart'],
] as const)(
  'two instances let exactly as many requests succeed as the limit allows; while Redis is %s, each counts in memory; afterwards they count together again',
  async (_state, stop, start) => {
    const { redis, createKey, burst } = await startInstances();
    /** After half of the limit on each instance, both reject the next request. */
    const areCountingTogether = async (): Promise<boolean> => {
      const key = await createKey();
      await burst(key, LIMIT / 2);
      return (await burst(key, 1))[429] === 2;
    };
    expect(await burst(await createKey(), 2 * LIMIT)).toEqual({ 200: LIMIT, 429: 3 * LIMIT });
    await redis[stop]();
    expect(await burst(await createKey(), 2 * LIMIT)).toEqual({ 200: 2 * LIMIT, 429: 2 * LIMIT });
    await redis[start]();
    await expect.poll(areCountingTogether, { timeout: 30_000, interval: 200 }).toBe(true);
  },
);
