import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { distributeDatabase } from '../../src/db/server/distribute.ts';
import { migrateDatabase } from '../../src/db/server/migrate.ts';
import { administer, createClusterDatabase } from '../support/databases.ts';
import { type DatabaseProxy, startProxy } from '../support/proxy.ts';
import { openAgency, openClient, openInstance, type Send, TOKEN } from '../topologies/instance.ts';

/**
 * One worker of a cluster is lost, under a service that runs as a process. The coordinator knows that worker by a proxy of
 * the test, which is cut: connections to it break, and new ones are refused, as when its machine is gone.
 */

const SERVICE_UNAVAILABLE = {
  error: { code: 'SERVICE_UNAVAILABLE', message: expect.any(String) },
};

const contacts = (value: string) => [{ identifierType: 'web', identifierValue: value }];

type Agency = { id: string; send: Send; customer: string; product: string };

/** Every operation of /v1 that reads, on what the agency has. */
const reads = ({ customer, product }: Agency): string[] => [
  ...[
    'customers',
    'customers?query=ana',
    'catalog/products',
    'opportunities',
    'conversations',
    'quotes',
    'team',
  ],
  ...[`customers/${customer}`, `catalog/products/${product}`],
];

/** Changes, creates and archives; answers with the statuses. */
async function write({ send, customer, product }: Agency, round: string): Promise<number[]> {
  const created = await send('POST', '/v1/customers', { contacts: contacts(round) });
  const made = await send('POST', '/v1/catalog/products', { title: round, variants: [{ label: 'Doble' }] });
  const answers = [
    created,
    made,
    await send('PATCH', `/v1/customers/${customer}`, { city: round }),
    await send('PATCH', `/v1/customers/${customer}`, { contacts: contacts(`of ${round}`) }),
    await send('PATCH', `/v1/catalog/products/${product}`, { operator: round }),
    await send('DELETE', `/v1/customers/${created.body?.id ?? customer}`),
    await send('DELETE', `/v1/catalog/products/${made.body?.id ?? product}`),
  ];
  return answers.map(({ status }) => status);
}

const WRITTEN = [201, 201, 200, 200, 200, 200, 200];
const REFUSED = WRITTEN.map(() => 503);

test.runIf(inject('workerUrls').length > 0)(
  'while one worker is lost, the organizations of the others are served, and its own come back with it',
  async () => {
    const coordinator = inject('serverUrl');
    const here = await administer(coordinator, async (client) => {
      const { rows } = await client.query<{ host: string | null }>('select host(inet_client_addr()) as host');
      return rows[0]?.host ?? '127.0.0.1';
    });
    let lost: DatabaseProxy | undefined;
    const database = await createClusterDatabase(coordinator, async (url, index) => {
      if (index > 0) return url;
      lost = await startProxy(url, here);
      return lost.url;
    });
    onTestFinished(async () => {
      await database.drop();
      await lost?.close();
    });
    await migrateDatabase(database.ownerUrl);
    await distributeDatabase(database.ownerUrl);
    const folder = await mkdtemp(join(tmpdir(), 'crm-lost-worker-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const instance = await openInstance({
      DATABASE_URL: database.url,
      DATA_DIR: folder,
      DATABASE_TIMEOUT_MS: '3000',
    });
    const { child, ended } = instance.process();
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    const dashboard = openClient(instance.dashboardPort, { authorization: `Bearer ${TOKEN}` });
    onTestFinished(dashboard.close);
    const clientOf = (key: string): Send => {
      const client = openClient(instance.port, { authorization: `Bearer ${key}` });
      onTestFinished(client.close);
      return client.send;
    };
    const isLost = async (id: string): Promise<boolean> => {
      const port = new URL(lost?.url ?? '').port;
      const [shard] = await administer(database.ownerUrl, async (client) => {
        const { rows } = await client.query<{ port: string }>(
          `select nodeport::text as port from citus_shards
            where shardid = get_shard_id_for_distribution_column('customers', $1::uuid)`,
          [id],
        );
        return rows;
      });
      return shard?.port === port;
    };

    const groups: { lost: Agency[]; others: Agency[] } = { lost: [], others: [] };
    while (groups.lost.length < 2 || groups.others.length < 2) {
      const { id, key } = await openAgency(database.url);
      const send = clientOf(key);
      const customer = await send('POST', '/v1/customers', { firstName: 'Ana', contacts: contacts('first') });
      const product = await send('POST', '/v1/catalog/products', {
        title: 'Oaxaca',
        variants: [{ label: 'Doble' }],
      });
      const agency = { id, send, customer: customer.body.id, product: product.body.id };
      groups[(await isLost(id)) ? 'lost' : 'others'].push(agency);
    }
    const totals = ({ send }: Agency) =>
      Promise.all(
        ['customers', 'catalog/products'].map(
          async (list) => (await send('GET', `/v1/${list}`)).body.pagination.total,
        ),
      );
    const issueAndRevoke = async ({ id }: Agency) => {
      const path = `/dashboard/v1/organizations/${id}/api-keys`;
      const issued = await dashboard.send('POST', path, { name: 'while a worker is lost' });
      expect(issued.status).toBe(201);
      const asked = clientOf(issued.body.key);
      const ask = async () => (await asked('GET', '/v1/team')).status;
      const before = await ask();
      expect((await dashboard.send('DELETE', `${path}/${issued.body.id}`)).status).toBeLessThan(300);
      // The instance is told of it, a moment later.
      await expect.poll(ask).toBe(401);
      return before;
    };

    lost?.cut();
    for (const agency of groups.others) {
      for (const path of reads(agency))
        expect((await agency.send('GET', `/v1/${path}`)).status, path).toBe(200);
      expect(await write(agency, 'lost')).toEqual(WRITTEN);
      expect(await totals(agency)).toEqual([1, 1]);
      expect(await issueAndRevoke(agency)).toBe(200);
    }
    await Promise.all(
      groups.lost.map(async (agency) => {
        const refused = await Promise.all(reads(agency).map((path) => agency.send('GET', `/v1/${path}`)));
        for (const { status, body } of refused) expect([status, body]).toEqual([503, SERVICE_UNAVAILABLE]);
        expect(await write(agency, 'lost')).toEqual(REFUSED);
        expect(await issueAndRevoke(agency)).toBe(503);
      }),
    );
    const founded = () => dashboard.send('POST', '/dashboard/v1/organizations', { name: 'New' });
    expect((await founded()).status).toBe(503);

    lost?.mend();
    for (const agency of [...groups.lost, ...groups.others]) {
      for (const path of reads(agency))
        expect((await agency.send('GET', `/v1/${path}`)).status, path).toBe(200);
      expect(await totals(agency)).toEqual([1, 1]);
      expect(await write(agency, 'back')).toEqual(WRITTEN);
      expect(await totals(agency)).toEqual([1, 1]);
    }
    expect((await founded()).status).toBe(201);
    expect(child.exitCode).toBeNull();
  },
);
