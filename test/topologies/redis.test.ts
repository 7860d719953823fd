import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { freePort } from '../support/process.ts';
import { clientOf, type Instance, openAgency, openInstance } from './instance.ts';
import { type Program, startProgram } from './program.ts';

/** Two instances count in one Redis, which is frozen and killed: no request is lost by it, and none is free. */

const LIMIT = 20;

let redis: Program;
let startRedis: () => Promise<Program>;
let database: TestDatabase;
let instances: Instance[];
beforeAll(async () => {
  const port = await freePort();
  const options = { port, bind: '127.0.0.1', save: '', appendonly: 'no' };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  startRedis = () => startProgram('redis-server', args, /Ready to accept connections/);
  redis = await startRedis();
  database = await createTestDatabase(inject('serverUrl'));
  const folder = await mkdtemp(join(tmpdir(), 'crm-redis-files-'));
  const environment = {
    DATABASE_URL: database.url,
    DATA_DIR: folder,
    REDIS_URL: `redis://127.0.0.1:${port}`,
    RATE_LIMIT_PER_MINUTE: String(LIMIT),
  };
  instances = [await openInstance(environment), await openInstance(environment)];
  return async () => {
    for (const instance of instances) await instance.kill();
    await redis.kill();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  };
});

/** Sends so many requests to each instance with one key, and tells how many were answered with each status. */
async function burst(key: string, each: number): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  const asked = instances.flatMap(({ port }) =>
    Array.from({ length: each }, () => clientOf(port, { 'x-api-key': key })('GET', '/v1/team')),
  );
  for (const { status } of await Promise.all(asked)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

test('an unchanged answer is not counted', async () => {
  const { key } = await openAgency(database.url);
  const [one] = instances;
  const ask = (headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${one?.port}/v1/team`, { headers: { 'x-api-key': key, ...headers } });
  const etag = (await ask({})).headers.get('etag') ?? '';
  for (let count = 0; count < LIMIT; count += 1)
    expect((await ask({ 'if-none-match': etag })).status).toBe(304);
  expect((await ask({})).headers.get('x-ratelimit-remaining')).toBe(String(LIMIT - 2));
});

/** True when the two count together: half of the limit on each, and the next request on either is refused. */
const countsTogether = async (): Promise<boolean> => {
  const { key } = await openAgency(database.url);
  await burst(key, LIMIT / 2);
  return (await burst(key, 1))[429] === 2;
};

test('of many requests at once on two instances exactly as many pass as the limit says', async () => {
  const { key } = await openAgency(database.url);
  expect(await burst(key, 2 * LIMIT)).toEqual({ 200: LIMIT, 429: 3 * LIMIT });
});

test.each([
  ['frozen', async () => redis.signal('SIGSTOP'), async () => redis.signal('SIGCONT')],
  [
    'killed',
    () => redis.kill(),
    async () => {
      redis = await startRedis();
    },
  ],
])(
  'while Redis is %s, each instance counts in memory, and both together again after it',
  async (_how, break_, mend) => {
    expect(await countsTogether()).toBe(true);
    await break_();
    let isMended = false;
    onTestFinished(() => (isMended ? undefined : mend()));
    const { key } = await openAgency(database.url);
    expect(await burst(key, 2 * LIMIT)).toEqual({ 200: 2 * LIMIT, 429: 2 * LIMIT });
    await mend();
    isMended = true;
    await expect.poll(countsTogether, { timeout: 30_000, interval: 200 }).toBe(true);
  },
);
