import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { ATTACKS, type Attack, silence } from './attacks.ts';
import { boundMemory } from './bounded.ts';
import { startClients } from './clients.ts';
import { clientOf, openAgency, openInstance, temporaryFolder } from './instance.ts';
import { startFront } from './nginx.ts';

/** The service in 512 MiB behind the nginx that is shipped: what attacks cost it, and another agency. docs/operating.md has the table. */

const LIMIT_MIB = 512;
const ATTACK_MS = 15_000;

type Agency = { id: string; key: string };
const has: { database?: TestDatabase; attacked?: Agency; other?: Agency } = {};
const data = () => has as Required<typeof has>;

/** A page of its hundred products has 24 MB. */
const product = (index: number) => ({
  title: `Patagonia ${index}`,
  variants: Array.from({ length: 5 }, (_, n) => ({ label: `Variant ${n}`, description: 'x'.repeat(47_500) })),
});

/** The service in its memory, and nginx before it. */
async function startBehind() {
  const memory = await boundMemory(LIMIT_MIB * 1024 * 1024);
  const environment = {
    DATABASE_URL: data().database.url,
    DATA_DIR: await temporaryFolder(),
    LOG_LEVEL: 'warn',
  };
  const instance = await openInstance(environment, memory.start);
  onTestFinished(instance.kill);
  return { instance, memory, front: await startFront([instance]) };
}

beforeAll(async () => {
  const database = await createTestDatabase(inject('serverUrl'));
  const [attacked, other] = [await openAgency(database.url), await openAgency(database.url)];
  Object.assign(has, { database, attacked, other });
  const folder = await mkdtemp(join(tmpdir(), 'crm-front-'));
  const instance = await openInstance({ DATABASE_URL: database.url, DATA_DIR: folder });
  const send = clientOf(instance.port, { 'x-api-key': attacked.key });
  for (let index = 0; index < 100; index += 1)
    expect((await send('POST', '/v1/catalog/products', product(index))).status).toBe(201);
  const page = await send('GET', '/v1/catalog/products?limit=100');
  expect(JSON.stringify(page.body).length).toBeGreaterThan(23_000_000);
  await instance.kill();
  await rm(folder, { recursive: true });
  return () => database.drop();
});

/** The clients that do nothing wrong, beside the attack. */
async function endure(attack: Attack, pausesMs: readonly number[], milliseconds: number) {
  const { instance, memory, front } = await startBehind();
  attack({ port: front.port, key: data().attacked.key });
  await pause(2_000);
  const clients = startClients(front.port, data().other.key, pausesMs, 30);
  await pause(milliseconds);
  await clients.stop();
  const most = await memory.most();
  const isAlive = instance.process().child.exitCode === null && instance.process().child.signalCode === null;
  return { failures: clients.failures, requests: clients.requests(), most, isAlive };
}

describe(`in ${LIMIT_MIB} MiB, ninety clients of another agency see nothing of`, () => {
  test.each(Object.entries(ATTACKS))('%s', async (name, attack) => {
    const { failures, requests, most, isAlive } = await endure(attack, [300], ATTACK_MS);
    process.stdout.write(`| ${name} | ${most} MiB | ${failures.length} of ${requests} |\n`);
    expect({ isAlive, failures }).toEqual({ isAlive: true, failures: [] });
    expect(most).toBeLessThan(LIMIT_MIB);
    expect(requests).toBeGreaterThan(300);
  });

  test('3,000 silent connections, with pauses of 0.1, 1 and 4 seconds', async () => {
    const { failures, requests, most } = await endure(silence(3_000), [100, 1_000, 4_000], 25_000);
    process.stdout.write(`| 3,000 silent connections | ${most} MiB | ${failures.length} of ${requests} |\n`);
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(3_000);
  });
});
