import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { migrateDatabase, startEmbeddedPostgres } from '../../src/db/index.ts';
import { asService, runSql, serviceRole } from '../support/databases.ts';
import { newFolder } from '../support/folder.ts';
import { clientOf, openAgency, openInstance, type Send, TOKEN } from './instance.ts';
import { compare, failures, startTraffic } from './ledger.ts';

const ROUNDS = 10;
const SIZE = 2 * 1024 * 1024;

/** Durable, as in production: the server of the other tests has no fsync. */
async function startServer() {
  const data = join(await newFolder(), 'postgres');
  let server = await startEmbeddedPostgres(data);
  onTestFinished(() => server.stop());
  const start = async () => {
    server = await startEmbeddedPostgres(data);
  };
  return {
    url: server.url,
    restart: async () => {
      const [pid] = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n');
      process.kill(Number(pid), 'SIGKILL');
      // The process is gone; this releases the data directory.
      await server.stop().catch(() => undefined);
      // Its child processes use the shared memory a little longer.
      await vi.waitFor(start, { timeout: 10_000, interval: 200 });
    },
  };
}

/** The name again and again, so that a part of the file is not equal to the file. */
const contentOf = (name: string): string => ''.padEnd(SIZE, `${name}\n`);

/** Each quote has at most 200 files. */
function startUploads(dashboard: Send, paths: readonly string[]) {
  const stop = new AbortController();
  const acknowledged = new Set<string>();
  const uploading = [1, 2, 3].map(async (client) => {
    for (let index = 0; !stop.signal.aborted; index += 1) {
      const name = `file-${client}-${index}`;
      const form = new FormData();
      form.set('kind', 'itinerary');
      form.set('file', new File([contentOf(name)], name));
      const { status } = await dashboard('POST', paths[index % paths.length] ?? '', form);
      if (status === 201) acknowledged.add(name);
      else await pause(20);
    }
  });
  const end = async () => {
    stop.abort();
    await Promise.all(uploading);
  };
  onTestFinished(end);
  return { acknowledged, stop: end };
}

test(`${ROUNDS} SIGKILLs of the service, and as many of PostgreSQL, from which the service recovers by itself, lose no acknowledged write and no acknowledged file, and leave no partial file`, async () => {
  const server = await startServer();
  await runSql(server.url, `${serviceRole.role}; ${serviceRole.rights}`);
  await migrateDatabase(server.url);
  const DATABASE_URL = asService(server.url);
  const agency = await openAgency(DATABASE_URL);
  const instance = await openInstance({ DATABASE_URL, DATA_DIR: await newFolder() });
  const dashboard = clientOf(instance.dashboardPort, { authorization: `Bearer ${TOKEN}` });
  const organization = `/dashboard/v1/organizations/${agency.id}`;
  const opportunityId = randomUUID();
  const quoteIds = Array.from({ length: 10 }, () => randomUUID());
  await dashboard('PUT', `${organization}/opportunities/${opportunityId}`, { salesStage: 'new' });
  const quote = { opportunityId, title: 'Oaxaca', status: 'draft' };
  for (const id of quoteIds)
    expect((await dashboard('PUT', `${organization}/quotes/${id}`, quote)).status).toBe(201);

  const traffic = startTraffic(instance.port, agency.key, 6);
  onTestFinished(traffic.stop);
  const paths = quoteIds.map((id) => `${organization}/quotes/${id}/attachments`);
  const uploads = startUploads(dashboard, paths);
  const progress = async () => {
    const files = uploads.acknowledged.size;
    await traffic.progress(50);
    await expect.poll(() => uploads.acknowledged.size, { interval: 7 }).toBeGreaterThan(files + 2);
  };
  await progress();
  for (let round = 0; round < ROUNDS; round += 1) {
    await instance.kill();
    await instance.start();
    await progress();
    await server.restart();
    await progress();
    expect(instance.process().child.exitCode).toBeNull();
  }
  await uploads.stop();
  await traffic.stop();
  expect(
    failures(traffic.ledger)
      .map(([status]) => status)
      .sort(),
  ).toEqual([0, 503]);
  await compare(traffic.ledger, agency, server.url, instance.port);

  const client = clientOf(instance.port, { 'x-api-key': agency.key });
  const lists = await Promise.all(quoteIds.map((id) => client('GET', `/v1/quotes/${id}/attachments`)));
  const data: { url: string; fileName: string }[] = lists.flatMap(({ body }) => body.data);
  const names = new Set(data.map(({ fileName }) => fileName));
  expect([...uploads.acknowledged].filter((name) => !names.has(name))).toEqual([]);
  expect(names.size).toBe(data.length);
  for (const { url, fileName } of data) {
    const { pathname, search } = new URL(url);
    const file = await fetch(`http://127.0.0.1:${instance.port}${pathname}${search}`);
    expect(file.status).toBe(200);
    expect((await file.text()) === contentOf(fileName), fileName).toBe(true);
  }
  process.stdout.write(
    `${2 * ROUNDS} SIGKILLs: ${traffic.ledger.acknowledged} writes and ${uploads.acknowledged.size} files acknowledged, 0 lost\n`,
  );
});
