import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { inject, onTestFinished } from 'vitest';

/** Migrated, without rows. */
export const TEMPLATE = 'crm_template';
/** Without even the tables. */
export const EMPTY_TEMPLATE = 'crm_empty';

/** The connection string of another database of the server. With a socket there is no host, so `URL` cannot parse it. */
export const withDatabase = (url: string, database: string): string =>
  url.replace(/^([a-z]+:\/\/[^/]*\/)[^?]*/, `$1${database}`);

const SERVICE_ROLE = readFileSync(new URL('../../deploy/service-role.sql', import.meta.url), 'utf8');
const PASSWORD = 'crm_service';

/** What operators run as the owner, as psql would: `role` belongs to the whole server, `rights` to one database. */
export const serviceRole = (() => {
  const statements = SERVICE_ROLE.replace(/^(--|\\).*$/gm, '')
    .replace(":'password'", `'${PASSWORD}'`)
    .split(';\n');
  const isRole = (statement: string) => /^\s*(do|alter role)/.test(statement);
  return {
    role: statements.filter(isRole).join(';'),
    rights: statements.filter((statement) => !isRole(statement)).join(';'),
  };
})();

/** The same connection as the role that the service works as. */
export const asService = (url: string): string =>
  url.replace(/^([a-z]+:\/\/)[^/@]*@/, `$1crm_service:${PASSWORD}@`);

/** The same database through the pooler, if there is one. */
export function pooled(url: string, poolerUrl: string | undefined): string {
  if (poolerUrl === undefined) return url;
  const { database } = new pg.Client({ connectionString: url });
  return asService(withDatabase(poolerUrl, database ?? ''));
}

export async function administer<Result>(url: string, work: (client: pg.Client) => Promise<Result>) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The rows of a statement, over a connection of its own. */
export const runSql = <Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values?: unknown[],
): Promise<Row[]> => administer(url, async (client) => (await client.query<Row>(text, values)).rows);

/** Runs the statement in a transaction that holds its locks until the returned function is called, or the test ends. */
export async function hold(
  url: string,
  statement: string,
  values: unknown[] = [],
): Promise<() => Promise<void>> {
  const locked = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const transaction = administer(url, async (client) => {
    await client.query('begin');
    await client.query(statement, values);
    locked.resolve();
    await end.promise;
    await client.query('commit');
  });
  await Promise.race([locked.promise, transaction]);
  const release = () => {
    end.resolve();
    return transaction;
  };
  onTestFinished(release);
  return release;
}

/** Runs the work in one transaction without triggers, as a restore does: to set timestamps, and derived data that is wrong. */
export const withoutTriggers = (ownerUrl: string, work: (client: pg.Client) => Promise<unknown>) =>
  administer(ownerUrl, async (client) => {
    await client.query('begin');
    // On a cluster, the setting reaches all nodes. Elsewhere the name has no meaning.
    await client.query(`set local citus.propagate_set_commands = 'local'`);
    await client.query('set local session_replication_role = replica');
    await work(client);
    await client.query('commit');
  });

/** The database on every node of the cluster, the coordinator first; without a cluster, the database. */
export function nodesOf(ownerUrl: string): string[] {
  const { database } = new pg.Client({ connectionString: ownerUrl });
  return [ownerUrl, ...inject('workerUrls').map((worker) => withDatabase(worker, database ?? ''))];
}

/** How many statements on the database wait for this kind of event now: on a cluster, on any of its nodes. */
export async function countAtWork(ownerUrl: string, event: string): Promise<number> {
  const waiting = `select from pg_stat_activity
    where datname = current_database() and state = 'active' and wait_event_type = $1`;
  const found = await Promise.all(nodesOf(ownerUrl).map((node) => runSql(node, waiting, [event])));
  return found.flat().length;
}

/** Citus starts its own processes in a database again and again, and can have prepared a commit for a client that has gone. */
async function dropDatabase(node: string, name: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await runSql(node, `drop database if exists ${name} with (force)`);
      return;
    } catch (error) {
      if (inject('workerUrls').length === 0 || attempt === 20) throw error;
      const prepared = 'select gid from pg_prepared_xacts where database = $1';
      const rows = await runSql<{ gid: string }>(node, prepared, [name]);
      // Not without need: each connection to the database starts a process of Citus there.
      if (rows.length > 0)
        await administer(withDatabase(node, name), async (client) => {
          for (const { gid } of rows) await client.query(`rollback prepared '${gid}'`);
        });
    }
  }
}

/** A copy of the template; on a cluster, one on every node. */
export async function createTestDatabase(serverUrl: string, template = TEMPLATE) {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const nodes = [serverUrl, ...inject('workerUrls')];
  // A template that a process of Citus is connected to cannot be copied.
  const endAll = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${template.split(' ')[0]}'`;
  for (const node of nodes)
    await administer(node, async (client) => {
      for (let attempt = 1; ; attempt += 1) {
        if (nodes.length > 1) await client.query(endAll);
        try {
          await client.query(`create database ${name} template ${template}`);
          break;
        } catch (error) {
          if (nodes.length === 1 || attempt === 20) throw error;
        }
      }
    });
  const ownerUrl = withDatabase(serverUrl, name);
  return {
    /** As the role that the service works as. */
    url: asService(ownerUrl),
    /** As the owner, who may do everything. */
    ownerUrl,
    drop: async () => {
      for (const node of nodes) await dropDatabase(node, name);
    },
  };
}

/** A database for one test, which ends with it. */
export async function ownDatabase(template?: string) {
  const database = await createTestDatabase(inject('serverUrl'), template);
  onTestFinished(database.drop);
  return database;
}

/** Joins the nodes' databases to one cluster; the coordinator's comes first. */
export async function formCluster([coordinator = '', ...workers]: string[]): Promise<void> {
  for (const node of [coordinator, ...workers]) await runSql(node, 'create extension citus');
  await administer(coordinator, async (client) => {
    const add = async (node: string, statement: string) => {
      const { host, port } = new pg.Client({ connectionString: node });
      await client.query(statement, [host, port]);
    };
    await add(coordinator, 'select citus_set_coordinator_host($1, $2)');
    for (const worker of workers) await add(worker, 'select citus_add_node($1, $2)');
    // Few, because every database of the tests has so many of each table; enough for one on each worker.
    await client.query(`alter database ${client.database} set citus.shard_count = 4`);
  });
}

/**
 * A database for one test on every node of the cluster, without tables.
 * @param addressOf the address under which the nodes know a worker, if it is not the worker's own
 */
export async function ownClusterDatabase(
  addressOf: (workerUrl: string, index: number) => Promise<string> = async (url) => url,
) {
  const database = await ownDatabase(EMPTY_TEMPLATE);
  const [coordinator = '', ...workers] = nodesOf(database.ownerUrl);
  await formCluster([coordinator, ...(await Promise.all(workers.map(addressOf)))]);
  await runSql(database.ownerUrl, serviceRole.rights);
  return database;
}
