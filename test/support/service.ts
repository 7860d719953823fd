import { readdir, readlink } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import pg from 'pg';
import { afterAll, expect, inject, vi } from 'vitest';
import { type KeyCache, openKeyCache } from '../../src/api-keys/cache.ts';
import { issueApiKey } from '../../src/api-keys/repository.ts';
import type { ApiKeyCreate } from '../../src/api-keys/schema.ts';
import { type AppOptions, buildApp } from '../../src/app.ts';
import {
  type Database,
  type OrganizationScope,
  openDatabase,
  parseJson,
  scopeTo,
} from '../../src/db/index.ts';
import { ownLinks } from '../../src/files/links.ts';
import { diskStorage } from '../../src/files/storage.ts';
import { memoryLimiter } from '../../src/http/limiter.ts';
import { createLogger } from '../../src/http/logging.ts';
import { createOrganization } from '../../src/organizations/repository.ts';
import { contractOf, PUBLIC } from './contract.ts';
import { createTestDatabase, pooled } from './databases.ts';
import { newFolder } from './folder.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests assert on bodies field by field.
type Body = any;

export type Reply = { status: number; headers: Record<string, string | undefined>; body: Body; text: string };

export const idsOf = ({ body }: Pick<Reply, 'body'>): string[] =>
  body.data.map(({ id }: { id: string }) => id);

type Sent = { body?: unknown; headers?: Record<string, string> };

export const callsOf = <Options extends object>(
  request: (method: string, url: string, options?: Sent & Options) => Promise<Reply>,
) => {
  type More = Sent & Options;
  const write =
    (method: string) =>
    (url: string, body?: unknown, options?: More): Promise<Reply> =>
      request(method, url, { ...(options as More), body });
  return {
    request,
    get: (url: string, options?: More) => request('GET', url, options),
    post: write('POST'),
    put: write('PUT'),
    patch: write('PATCH'),
    delete: (url: string, options?: More) => request('DELETE', url, options),
  };
};

export type Calls<Options extends object> = ReturnType<typeof callsOf<Options>>;

/** Calls /v1 with a key; every response is compared with the OpenAPI document. */
export type Client = { key: string } & Calls<{ key?: string | null }>;

export type Agency = Client & {
  id: string;
  scope: OrganizationScope;
  /** Issues another key, with these settings. */
  issueKey: (settings?: Partial<ApiKeyCreate>) => Promise<{ id: string; key: string }>;
};

export type ServiceOptions = {
  mcp?: 'off' | 'read' | 'write';
  requestsPerMinute?: number;
  /** Without it, only errors are logged. */
  logger?: AppOptions['logger'];
  /** Another service, whose database this one shares. */
  beside?: { url: string; ownerUrl: string };
  keyClock?: () => number;
};

export type Service = Awaited<ReturnType<typeof startService>>;

const leaks: string[] = [];
process.on('warning', ({ name, message }) => {
  if (name === 'MaxListenersExceededWarning' || / on garbage collection/.test(message)) leaks.push(message);
});

/** Open files of the folder; on other systems than Linux, none. */
async function openIn(folder: string): Promise<string[]> {
  const handles = await readdir('/proc/self/fd').catch(() => []);
  const paths = await Promise.all(handles.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return paths.filter((path) => path.startsWith(folder));
}

/** What requests took is given back: connections, slots, the clients of readiness, jobs and migrations, files, listeners. */
async function expectNothingLeft(db: Database, pool: pg.Pool, dataDir: string): Promise<void> {
  const others = `select from pg_stat_activity where datname = current_database() and application_name like 'travel-agency-crm-api %'`;
  await vi.waitFor(
    async () => {
      const { total, idle, running, waiting } = db.stats();
      const clients = (await pool.query(others)).rowCount;
      const files = await openIn(dataDir);
      const left = { inUse: total - idle, running, waiting, clients, files, leaks };
      expect(left).toEqual({ inUse: 0, running: 0, waiting: 0, clients: 0, files: [], leaks: [] });
    },
    { timeout: 10_000 },
  );
}

/** An app on a database and its keys: without log and rate limit, unless the options have them. */
export const appOf = (
  { db, keys, secret }: { db: Database; keys: KeyCache; secret: string },
  options: Partial<AppOptions> = {},
) =>
  buildApp({
    db,
    keys,
    rateLimit: { limiter: memoryLimiter(), requestsPerMinute: 0 },
    links: ownLinks(secret, 'http://localhost:3000', 300),
    logger: createLogger('silent'),
    ...options,
  });

const SECRET = 'test-signing-secret-of-32-characters';

export async function startService(options: ServiceOptions = {}) {
  const database = options.beside
    ? { url: options.beside.url, ownerUrl: options.beside.ownerUrl, drop: async () => undefined }
    : await createTestDatabase(inject('serverUrl'));
  const dataDir = await newFolder();
  const { logger = errorsLogger() } = options;
  const db = openDatabase({
    url: pooled(database.url, inject('poolerUrl')),
    poolSize: 10,
    maxWaiting: 500,
    // On a slow machine, too, only a statement that never ends is cancelled.
    statementTimeout: 240_000,
  });
  const keys = openKeyCache({ db, logger, ...(options.keyClock && { now: options.keyClock }) });
  const pool = new pg.Pool({ connectionString: database.ownerUrl, max: 2 });
  pool.on('error', () => undefined);
  const rateLimit = { limiter: memoryLimiter(), requestsPerMinute: options.requestsPerMinute ?? 0 };
  const parts = { db, keys, secret: SECRET };
  const files = { root: dataDir, secret: SECRET };
  const app = await appOf(parts, { rateLimit, files, logger, ...(options.mcp && { mcp: options.mcp }) });
  const client = clientOf(app);
  return {
    ...parts,
    app,
    /** Of the database, as the role of the service. */
    url: database.url,
    /** Of the database, as the owner of the schema. */
    ownerUrl: database.ownerUrl,
    storage: diskStorage(dataDir),
    dataDir,
    client,
    /** A new organization with a key. */
    agency: async (name = 'Agency'): Promise<Agency> => {
      const { id } = await createOrganization(db, name);
      const scope = scopeTo(db, id);
      const issueKey = async (settings: Partial<ApiKeyCreate> = {}) =>
        parseJson(await issueApiKey(scope, { name: 'test', ...settings }));
      return { ...client((await issueKey()).key), id, scope, issueKey };
    },
    /** Runs SQL as the owner of the schema; with a name, a statement that is planned only once. */
    query: async <Row extends pg.QueryResultRow>(
      text: string,
      values: unknown[] = [],
      name?: string,
    ): Promise<Row[]> => (await pool.query<Row>(name ? { name, text, values } : { text, values })).rows,
    close: async () => {
      await app.close();
      await expectNothingLeft(db, pool, dataDir);
      await db.close();
      await pool.end();
      await database.drop();
    },
  };
}

/** Prints errors, which the runner shows only of tests that fail. */
export const errorsLogger = () => createLogger('error', { write: (line: string) => console.error(line) });

/** Injects a request into the application, and compares the response with the document. */
export async function ask(
  app: FastifyInstance,
  hold: ReturnType<typeof contractOf>,
  sent: Sent & { method: string; url: string; secret: string | null },
): Promise<Reply> {
  const { method, url, secret, body: payload } = sent;
  const response = await app.inject({
    method: method as 'GET',
    url,
    headers: { ...(secret !== null && { authorization: `Bearer ${secret}` }), ...sent.headers },
    ...(payload !== undefined && { payload: payload as object }),
  });
  const headers = response.headers as Reply['headers'];
  const { statusCode: status, body: text } = response;
  hold({ method, url, status, headers, body: text });
  const isJson = headers['content-type']?.startsWith('application/json') && text !== '';
  return { status, headers, body: isJson ? JSON.parse(text) : undefined, text };
}

const holdToContract = contractOf(PUBLIC);

export function clientOf(app: FastifyInstance): (key: string) => Client {
  return (own) => ({
    key: own,
    ...callsOf<{ key?: string | null }>((method, url, { key = own, ...sent } = {}) => {
      const hold = url.startsWith('/v1') ? holdToContract : () => undefined;
      return ask(app, hold, { ...sent, method, url, secret: key });
    }),
  });
}

/** A service for the tests of one file, with a database of its own. */
export async function useService(options: ServiceOptions = {}): Promise<Service> {
  const service = await startService(options);
  afterAll(service.close);
  return service;
}
