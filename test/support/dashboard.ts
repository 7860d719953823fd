import type { FastifyInstance } from 'fastify';
import { afterAll, onTestFinished } from 'vitest';
import { buildDashboardApp, type DashboardOptions } from '../../src/dashboard-app.ts';
import { ownLinks } from '../../src/files/links.ts';
import { contractOf, INTERNAL } from './contract.ts';
import { TENANT_TABLES } from './dataset.ts';
import {
  ask,
  type Calls,
  callsOf,
  errorsLogger,
  type Service,
  type ServiceOptions,
  useService,
} from './service.ts';

export const TOKEN = 'dashboard-token-of-the-test-service-0001';

/** Calls the dashboard API; every response is compared with its OpenAPI document. */
export type Caller = Calls<{ token?: string | null }>;

export type Dashboard = Awaited<ReturnType<typeof buildDashboard>>;

/** Shared by all applications, because compiling the schemas is slow. */
const hold = contractOf(INTERNAL);

const STORED = `${TENANT_TABLES.map(
  (table) =>
    `select '${table}' as name, to_jsonb(t) - 'last_used_at' as row from ${table} t where organization_id = $1`,
).join(' union all ')} order by 1, 2`;

const callerOf = (app: FastifyInstance, prefix: string): Caller =>
  callsOf<{ token?: string | null }>((method, path, { token = TOKEN, ...sent } = {}) =>
    ask(app, hold, { ...sent, method, url: prefix + path, secret: token }),
  );

export async function buildDashboard(service: Service, options: Partial<DashboardOptions> = {}) {
  const { db, storage, secret } = service;
  const links = ownLinks(secret, 'http://localhost:3000', 300);
  const parts = { db, token: TOKEN, storage, links, logger: errorsLogger() };
  const app = await buildDashboardApp({ ...parts, ...options });
  const root = '/dashboard/v1';
  return {
    app,
    ...callerOf(app, root),
    /** The same, with paths below the organization. */
    of: ({ id }: { id: string }) => callerOf(app, `${root}/organizations/${id}`),
    /** Every row of an organization, table by table, without the time at which keys were last used, which a timer writes. */
    stored: async ({ id }: { id: string }): Promise<Record<string, unknown[]>> => {
      const found = await service.query<{ name: string; row: unknown }>(STORED, [id], 'stored');
      const rowsOf = (table: string) => found.filter(({ name }) => name === table).map(({ row }) => row);
      return Object.fromEntries(TENANT_TABLES.map((table) => [table, rowsOf(table)]));
    },
  };
}

/** A dashboard API of its own for one test, with which it closes. */
export async function ownDashboard(...args: Parameters<typeof buildDashboard>): Promise<Dashboard> {
  const dashboard = await buildDashboard(...args);
  onTestFinished(() => dashboard.app.close());
  return dashboard;
}

/** A service for the tests of one file, with its dashboard API. */
export async function useDashboard(
  options: Partial<DashboardOptions> = {},
  ofService: ServiceOptions = {},
): Promise<{ service: Service; dashboard: Dashboard }> {
  const service = await useService(ofService);
  const dashboard = await buildDashboard(service, options);
  afterAll(() => dashboard.app.close());
  return { service, dashboard };
}
