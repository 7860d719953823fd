import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { type EmbeddedPostgres, migrateDatabase, startEmbeddedPostgres } from '../../src/db/index.ts';
import { administer, asService, serviceRole } from '../support/databases.ts';
import { openAgency, openInstance, temporaryFolder } from './instance.ts';
import { compare, failures } from './ledger.ts';
import { startTraffic } from './traffic.ts';

const KILLS = 20;
const CLIENTS = 8;

let data: string;
/** Durable, as in production: the server of the other tests has no fsync. */
let server: EmbeddedPostgres;
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'crm-kills-'));
  data = join(folder, 'postgres');
  server = await startEmbeddedPostgres(data);
  await administer(server.url, (client) => client.query(`${serviceRole.role}; ${serviceRole.rights}`));
  await migrateDatabase(server.url);
  return async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
});

async function kill(): Promise<void> {
  const [pid] = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n');
  process.kill(Number(pid), 'SIGKILL');
  // The process is gone; this releases the data directory.
  await server.stop().catch(() => undefined);
}

/** The killed server's child processes use the shared memory a little longer. */
async function restart(): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      server = await startEmbeddedPostgres(data);
      return;
    } catch (error) {
      if (attempt === 20) throw error;
      await pause(200);
    }
  }
}

test(`${KILLS} SIGKILLs of PostgreSQL lose no acknowledged write, and the service recovers by itself`, async () => {
  const agency = await openAgency(asService(server.url));
  const instance = await openInstance({
    DATABASE_URL: asService(server.url),
    DATA_DIR: await temporaryFolder(),
  });
  const { child } = instance.process();
  const traffic = startTraffic(instance.port, agency.key, CLIENTS);
  onTestFinished(traffic.stop);
  await traffic.progress(50);
  for (let count = 0; count < KILLS; count += 1) {
    await kill();
    await restart();
    await traffic.progress(100);
  }
  await traffic.stop();
  expect(child.exitCode).toBeNull();
  expect(failures(traffic.ledger).map(([status]) => status)).toEqual([503]);
  await compare(traffic.ledger, agency, server.url, instance.port);
  const { acknowledged, statuses } = traffic.ledger;
  process.stdout.write(
    `${KILLS} SIGKILLs of PostgreSQL: ${acknowledged} writes acknowledged, 0 lost; statuses ${JSON.stringify([...statuses])}\n`,
  );
});
