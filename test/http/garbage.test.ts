import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { freePort, MAIN, startProcess } from '../support/process.ts';
import { customer } from '../support/records.ts';
import { useService } from '../support/service.ts';

/** What a request leaves in V8's old space, where only a full collection finds it. */

const service = useService();

/** In the service: on SIGUSR2, prints the bytes that full collections have freed in the old space since the signal before. */
const PROBE = `
  import { GCProfiler } from 'node:v8';
  const oldSpace = ({ heapSpaceStatistics }) =>
    heapSpaceStatistics.find(({ spaceName }) => spaceName === 'old_space').spaceUsedSize;
  let profiler = new GCProfiler();
  profiler.start();
  process.on('SIGUSR2', () => {
    gc({ type: 'minor' });
    gc();
    const full = profiler.stop().statistics.filter(({ gcType }) => gcType === 'MarkSweepCompact');
    const freed = full.map(({ beforeGC, afterGC }) => oldSpace(beforeGC) - oldSpace(afterGC));
    console.log('freed:' + freed.reduce((sum, bytes) => sum + bytes, 0) + ';');
    profiler = new GCProfiler();
    profiler.start();
  });`;

const REQUESTS = 500;
/** Compiled code that V8 replaces is garbage too, in some rounds. What a request leaves is in all. */
const ROUNDS = 10;
/** Zod's parser of a query leaves 0.6 kB more of a list, until V8 has compiled it: after some 3,000. */
const MAX_BYTES_PER_REQUEST = { get: 500, list: 1_000, create: 500 };

test('a get or create leaves at most half a kB in the old space, a list one', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency);
  const port = await freePort();
  // A small young generation, so that each round has several collections of it.
  const options = [
    '--expose-gc',
    '--max-semi-space-size=8',
    '--import',
    `data:text/javascript,${encodeURIComponent(PROBE)}`,
    MAIN,
  ];
  const { child, ended, until, output } = startProcess(
    {
      DATABASE_URL: service.ownerUrl,
      DATA_DIR: service.dataDir,
      PORT: port,
      DASHBOARD_PORT: '0',
      RATE_LIMIT_PER_MINUTE: '0',
      DATABASE_TIMEOUT_MS: '60000',
    },
    options,
  );
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await until('listening');
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  onTestFinished(() => agent.destroy());

  const ask = async (method: string, path: string, body?: object): Promise<void> => {
    const headers = {
      authorization: `Bearer ${agency.key}`,
      ...(body && { 'content-type': 'application/json' }),
    };
    const sent = request({ agent, port, method, path, headers });
    sent.end(body && JSON.stringify(body));
    const [response] = await once(sent, 'response');
    for await (const _ of response);
    expect(response.statusCode).toBe(body ? 201 : 200);
  };
  let number = 0;
  const kinds = {
    get: () => ask('GET', `/v1/customers/${id}`),
    list: () => ask('GET', '/v1/customers?limit=5'),
    create: () => {
      number += 1;
      const contacts = [{ identifierType: 'email', identifierValue: `ana${number}@example.com` }];
      return ask('POST', '/v1/customers', { firstName: 'Ana', contacts });
    },
  };
  const times = async (amount: number, send: () => Promise<void>): Promise<void> => {
    let left = amount;
    const client = async (): Promise<void> => {
      for (; left > 0; left -= 1) await send();
    };
    await Promise.all(Array.from({ length: 16 }, client));
  };
  const freed = async (): Promise<number> => {
    const before = output().split('freed:').length;
    child.kill('SIGUSR2');
    await expect.poll(() => output().split('freed:').length).toBe(before + 1);
    return Number(output().split('freed:').at(-1)?.split(';')[0]);
  };

  for (const send of Object.values(kinds)) await times(300, send);
  await freed();
  for (const [kind, send] of Object.entries(kinds)) {
    const most = MAX_BYTES_PER_REQUEST[kind as keyof typeof kinds];
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < ROUNDS && least > most; round += 1) {
      await times(REQUESTS, send);
      least = Math.min(least, (await freed()) / REQUESTS);
    }
    expect(least, kind).toBeLessThan(most);
  }
});
