import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createTestDatabase } from '../support/databases.ts';
import { startBalancer } from './haproxy.ts';
import { openAgency, openClient, openInstance } from './instance.ts';
import { compare, failures } from './ledger.ts';
import { startTraffic } from './traffic.ts';

const RESTARTS = 10;
const REQUESTS = 30_000;
const CLIENTS = 16;

/** Three instances behind the haproxy that is shipped, all in use. */
async function startInstances() {
  const folder = await mkdtemp(join(tmpdir(), 'crm-restarts-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const database = await createTestDatabase(inject('serverUrl'));
  onTestFinished(database.drop);
  const agency = await openAgency(database.url);
  const environment = { DATABASE_URL: database.url, DATA_DIR: folder };
  const open = async () => {
    const instance = await openInstance(environment);
    onTestFinished(async () => {
      instance.process().child.kill('SIGKILL');
      await instance.process().ended;
    });
    return instance;
  };
  const instances = [await open(), await open(), await open()];
  const balancer = await startBalancer(instances);
  onTestFinished(balancer.close);
  const allUp = () => expect.poll(balancer.up, { timeout: 60_000, interval: 50 }).toEqual([true, true, true]);
  await allUp();
  return { database, agency, instances, balancer, allUp };
}

test(`of three instances behind haproxy, restarted in turn ${RESTARTS} times, none of ${REQUESTS} requests fails`, async () => {
  const { database, agency, instances, balancer, allUp } = await startInstances();
  const traffic = startTraffic(balancer.port, agency.key, CLIENTS);
  onTestFinished(traffic.stop);
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    const [instance] = instances.slice(restart % instances.length);
    instance?.process().child.kill('SIGTERM');
    expect(await instance?.process().ended).toBe(0);
    await instance?.start();
    await allUp();
    expect(failures(traffic.ledger)).toEqual([]);
  }
  await expect.poll(traffic.requests, { timeout: 600_000, interval: 500 }).toBeGreaterThanOrEqual(REQUESTS);
  await traffic.stop();
  expect(failures(traffic.ledger)).toEqual([]);
  await compare(traffic.ledger, agency, database.ownerUrl, balancer.port);
  process.stdout.write(`${RESTARTS} restarts, ${traffic.requests()} requests, 0 failed\n`);
});

test('an instance that is killed costs no read: haproxy asks another one', async () => {
  const { agency, instances, balancer, allUp } = await startInstances();
  const statuses: number[] = [];
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  const reading = Array.from({ length: CLIENTS }, async () => {
    const { send, close } = openClient(balancer.port, { 'x-api-key': agency.key });
    while (!isOver) statuses.push((await send('GET', '/v1/team')).status);
    close();
  });
  const progress = async (reads: number) => {
    const goal = statuses.length + reads;
    await expect.poll(() => statuses.length, { timeout: 60_000, interval: 10 }).toBeGreaterThan(goal);
  };
  for (const instance of instances) {
    await progress(500);
    instance.process().child.kill('SIGKILL');
    await instance.process().ended;
    await progress(500);
    await instance.start();
    await allUp();
  }
  isOver = true;
  await Promise.all(reading);
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
});
