import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/db/server/embedded.ts';
import { migrateDatabase } from '../../src/db/server/migrate.ts';
import { administer, asService, serviceRole } from '../support/databases.ts';
import { openAgency, openInstance, temporaryFolder } from './instance.ts';
import { compare, failures } from './ledger.ts';
import { startTraffic } from './traffic.ts';

/** PostgreSQL and its connections are killed under load: what was acknowledged is there, and the service never restarts. */

const KILLS = 20;
const TERMINATIONS = 1_000;
const CLIENTS = 8;

let data: string;
/** Durable, as in production: unlike the server of the other tests. */
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
  // Nothing is left to stop; this lets go of the data.
  await server.stop().catch(() => undefined);
}

/** Its orphans keep the shared memory for a moment. */
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

async function busyInstance() {
  const agency = await openAgency(asService(server.url));
  const instance = await openInstance({
    DATABASE_URL: asService(server.url),
    DATA_DIR: await temporaryFolder(),
  });
  const { child } = instance.process();
  const traffic = startTraffic(instance.port, agency.key, CLIENTS);
  onTestFinished(async () => {
    await traffic.stop();
    await instance.kill();
  });
  await traffic.progress(50);
  return { instance, agency, traffic, child };
}

const report = (what: string, { ledger }: ReturnType<typeof startTraffic>) =>
  process.stdout.write(
    `${what}: ${ledger.acknowledged} writes acknowledged, 0 lost; answers ${JSON.stringify([...ledger.answers])}\n`,
  );

test(`${KILLS} SIGKILLs of PostgreSQL lose no acknowledged write, and the service goes on by itself`, async () => {
  const { instance, agency, traffic, child } = await busyInstance();
  for (let count = 0; count < KILLS; count += 1) {
    await kill();
    await restart();
    await traffic.progress(100);
  }
  await traffic.stop();
  expect(child.exitCode).toBeNull();
  expect(failures(traffic.ledger).map(([status]) => status)).toEqual([503]);
  await compare(traffic.ledger, agency, server.url, instance.port);
  report(`${KILLS} SIGKILLs of PostgreSQL`, traffic);
});

test(`${TERMINATIONS} terminated connections lose no acknowledged write, and the service goes on by itself`, async () => {
  const { instance, agency, traffic, child } = await busyInstance();
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  onTestFinished(() => admin.end());
  for (let terminated = 0; terminated < TERMINATIONS; ) {
    // Those that are at work first.
    const { rowCount } = await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where usename = 'crm_service' order by state = 'active' desc, random() limit 4`,
    );
    terminated += rowCount ?? 0;
    await traffic.progress(5);
  }
  await traffic.progress(100);
  await traffic.stop();
  expect(child.exitCode).toBeNull();
  expect(failures(traffic.ledger).map(([status]) => status)).toEqual([503]);
  await compare(traffic.ledger, agency, server.url, instance.port);
  report(`${TERMINATIONS} terminated connections`, traffic);
});
