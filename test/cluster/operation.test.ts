import { expect, inject, onTestFinished, test } from 'vitest';
import { distributeDatabase } from '../../src/db/index.ts';
import { ownClusterDatabase, runSql } from '../support/databases.ts';
import { findDrift } from '../support/drift.ts';
import { failed } from '../support/faults.ts';
import { newFolder } from '../support/folder.ts';
import { type DatabaseProxy, startProxy } from '../support/proxy.ts';
import { web } from '../support/records.ts';
import { clientOf, openAgency, openInstance, type Send, TOKEN } from '../topologies/instance.ts';
import { compare, failures, startTraffic } from '../topologies/ledger.ts';

/** What operators do to a cluster, and its failures, while the service runs as a process. */

async function openCluster(addressOf?: Parameters<typeof ownClusterDatabase>[0]) {
  const database = await ownClusterDatabase(addressOf);
  await distributeDatabase(database.ownerUrl);
  const places = { DATABASE_URL: database.url, DATA_DIR: await newFolder() };
  const instance = await openInstance({ ...places, DATABASE_TIMEOUT_MS: '3000' });
  const query = <Row extends object>(text: string, values?: unknown[]) =>
    runSql<Row>(database.ownerUrl, text, values);
  return { database, instance, query };
}

const PLACE = `from citus_shards where shardid = get_shard_id_for_distribution_column('customers', $1::uuid)`;

test('a shard that moves and an organization that is isolated lose nothing under load', async () => {
  const { database, instance, query } = await openCluster();
  const agencies = [await openAgency(database.url), await openAgency(database.url)];
  const [moved, isolated] = agencies.map(({ id }) => id);
  const traffic = agencies.map(({ key }) => startTraffic(instance.port, key, 3));
  const progress = (writes: number) => Promise.all(traffic.map((each) => each.progress(writes)));
  await progress(20);
  await query(
    `select citus_move_shard_placement(shardid, shard.nodename, shard.nodeport, other.nodename, other.nodeport, 'block_writes')
      from (select * ${PLACE}) shard cross join lateral (
        select nodename, nodeport from pg_dist_node
        where shouldhaveshards and (nodename, nodeport) <> (shard.nodename, shard.nodeport) limit 1) other`,
    [moved],
  );
  await progress(20);
  await query(
    `select isolate_tenant_to_new_shard('customers', $1::uuid, 'CASCADE', shard_transfer_mode := 'block_writes')`,
    [isolated],
  );
  await progress(20);
  for (const [index, agency] of agencies.entries()) {
    await traffic[index]?.stop();
    const { ledger } = traffic[index] as (typeof traffic)[number];
    expect(failures(ledger).filter(([status]) => status !== 503)).toEqual([]);
    await compare(ledger, agency, database.ownerUrl, instance.port);
  }
  const [shard] = await query<{ least: string; greatest: string }>(
    `select shardminvalue as least, shardmaxvalue as greatest from pg_dist_shard
      where shardid = get_shard_id_for_distribution_column('customers', $1::uuid)`,
    [isolated],
  );
  expect(shard?.least).toBe(shard?.greatest);
  expect(await findDrift({ query }, ...agencies)).toEqual([]);
});

type Agency = { id: string; send: Send; customer: string };

async function use({ send, customer }: Agency, round: string) {
  const path = `/v1/customers/${customer}`;
  const created = await send('POST', '/v1/customers', { contacts: [web(round)] });
  const reads = 'customers?query=ana catalog/products opportunities conversations quotes team'.split(' ');
  return [
    created,
    await send('PATCH', path, { city: round, contacts: [web(`of ${round}`)] }),
    await send('DELETE', `/v1/customers/${created.body?.id ?? customer}`),
    ...(await Promise.all([path, ...reads.map((list) => `/v1/${list}`)].map((each) => send('GET', each)))),
  ];
}

test('while one worker is lost, the organizations of other workers are served; its own are served again when it returns', async () => {
  const address = 'select host(inet_client_addr()) as host';
  const [client] = await runSql<{ host: string | null }>(inject('serverUrl'), address);
  let lost: DatabaseProxy | undefined;
  // The coordinator reaches one worker through a proxy; to cut the proxy is to lose the worker.
  const { database, instance, query } = await openCluster(async (url, index) => {
    if (index > 0) return url;
    lost = await startProxy(url, client?.host ?? '127.0.0.1');
    return lost.url;
  });
  onTestFinished(() => lost?.close());
  const dashboard = clientOf(instance.dashboardPort, { authorization: `Bearer ${TOKEN}` });
  const isLost = async (id: string): Promise<boolean> => {
    const [shard] = await query<{ port: number }>(`select nodeport as port ${PLACE}`, [id]);
    return String(shard?.port) === new URL(lost?.url ?? '').port;
  };

  const groups: { lost: Agency[]; others: Agency[] } = { lost: [], others: [] };
  while (groups.lost.length < 1 || groups.others.length < 1) {
    const { id, key } = await openAgency(database.url);
    const send = clientOf(instance.port, { authorization: `Bearer ${key}` });
    const customer = await send('POST', '/v1/customers', { firstName: 'Ana', contacts: [web('first')] });
    const agency = { id, send, customer: customer.body.id };
    groups[(await isLost(id)) ? 'lost' : 'others'].push(agency);
  }
  const issueAndRevoke = async ({ id }: Agency): Promise<void> => {
    const path = `/dashboard/v1/organizations/${id}/api-keys`;
    const issued = await dashboard('POST', path, { name: 'while a worker is lost' });
    expect(issued.status).toBe(201);
    expect((await dashboard('DELETE', `${path}/${issued.body.id}`)).status).toBe(200);
  };
  const createOrganization = () => dashboard('POST', '/dashboard/v1/organizations', { name: 'New' });
  const isServed = async (agency: Agency, round: string): Promise<void> => {
    for (const { status, body } of await use(agency, round)) expect(status, body).toBeLessThan(300);
    await issueAndRevoke(agency);
  };

  lost?.cut();
  for (const agency of groups.others) await isServed(agency, 'lost');
  for (const agency of groups.lost) {
    for (const reply of await use(agency, 'lost'))
      expect(reply).toMatchObject(failed(503, 'SERVICE_UNAVAILABLE'));
    await issueAndRevoke(agency);
  }
  expect((await createOrganization()).status).toBe(503);

  lost?.mend();
  const all = [...groups.lost, ...groups.others];
  for (const agency of all) await isServed(agency, 'back');
  expect((await createOrganization()).status).toBe(201);
  expect(await findDrift({ query }, ...all)).toEqual([]);
});
