import { expect, onTestFinished, test } from 'vitest';
import { ownDatabase } from '../support/databases.ts';
import { clientOf, openAgency, openInstance, temporaryFolder } from './instance.ts';
import { compare, failures } from './ledger.ts';
import { startFront } from './nginx.ts';
import { startTraffic } from './traffic.ts';

const RESTARTS = 10;
const REQUESTS = 30_000;
const CLIENTS = 16;

/** Three instances behind the nginx configuration of deploy/, all in use. */
async function startInstances() {
  const database = await ownDatabase();
  const agency = await openAgency(database.url);
  const environment = { DATABASE_URL: database.url, DATA_DIR: await temporaryFolder() };
  const instances = [
    await openInstance(environment),
    await openInstance(environment),
    await openInstance(environment),
  ];
  const front = await startFront(instances);
  const allUp = () => expect.poll(front.up, { timeout: 60_000, interval: 50 }).toEqual([true, true, true]);
  await allUp();
  return { database, agency, instances, front, allUp };
}

test(`of three instances behind nginx, restarted in turn ${RESTARTS} times, none of ${REQUESTS} requests fails`, async () => {
  const { database, agency, instances, front, allUp } = await startInstances();
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

test('a killed instance makes no read fail: nginx sends it to another one', async () => {
  const { agency, instances, front, allUp } = await startInstances();
  const statuses: number[] = [];
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  const reading = Array.from({ length: CLIENTS }, async () => {
    const send = clientOf(front.port, { 'x-api-key': agency.key });
    while (!isOver) statuses.push((await send('GET', '/v1/team')).status);
  });
  const progress = async (reads: number) => {
    const goal = statuses.length + reads;
    await expect.poll(() => statuses.length, { timeout: 60_000, interval: 10 }).toBeGreaterThan(goal);
  };
  for (const instance of instances) {
    await progress(500);
    await instance.kill();
    await progress(500);
    await instance.start();
    await allUp();
  }
  isOver = true;
  await Promise.all(reading);
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
});
