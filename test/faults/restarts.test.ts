import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createTestDatabase } from '../support/databases.ts';
import { startBalancer } from './haproxy.ts';
import { openAgency, openInstance } from './instance.ts';
import { compare, failures } from './ledger.ts';
import { startTraffic } from './traffic.ts';

const RESTARTS = 10;
const REQUESTS = 30_000;
const CLIENTS = 16;

test(`of two instances behind haproxy, restarted in turn ${RESTARTS} times, none of ${REQUESTS} requests fails`, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'crm-restarts-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const database = await createTestDatabase(inject('serverUrl'));
  onTestFinished(database.drop);
  const agency = await openAgency(database.url);
  const environment = { DATABASE_URL: database.url, DATA_DIR: folder };
  const instances = [await openInstance(environment), await openInstance(environment)];
  onTestFinished(async () => {
    for (const instance of instances) {
      instance.process().child.kill('SIGKILL');
      await instance.process().ended;
    }
  });
  const balancer = await startBalancer(instances);
  onTestFinished(balancer.close);
  const allUp = () => expect.poll(balancer.up, { timeout: 60_000, interval: 50 }).toEqual([true, true]);
  await allUp();

  const traffic = startTraffic(balancer.port, agency.key, CLIENTS);
  onTestFinished(traffic.stop);
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    const [instance] = instances.slice(restart % 2);
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
