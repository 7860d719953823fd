import { expect, onTestFinished, test } from 'vitest';
import { ownDatabase } from '../support/databases.ts';
import { newFolder } from '../support/folder.ts';
import { type Instance, openAgency, openInstance } from './instance.ts';
import { compare, failures, startTraffic } from './ledger.ts';
import { startFront } from './nginx.ts';

const RESTARTS = 10;
const REQUESTS = 30_000;
const CLIENTS = 16;

test(`of three instances behind nginx, restarted in turn ${RESTARTS} times, none of ${REQUESTS} requests fails`, async () => {
  const database = await ownDatabase();
  const agency = await openAgency(database.url);
  const environment = { DATABASE_URL: database.url, DATA_DIR: await newFolder() };
  const instances: Instance[] = [];
  for (let count = 0; count < 3; count += 1) instances.push(await openInstance(environment));
  const front = await startFront(instances);
  const allUp = () => expect.poll(front.up, { timeout: 60_000, interval: 50 }).toEqual([true, true, true]);
  await allUp();
  const traffic = startTraffic(front.port, agency.key, CLIENTS);
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
  await compare(traffic.ledger, agency, database.ownerUrl, front.port);
  process.stdout.write(`${RESTARTS} restarts, ${traffic.requests()} requests, 0 failed\n`);
});
