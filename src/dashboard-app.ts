import { apiKeyRoutes } from './api-keys/dashboard.ts';
import { catalogDashboardRoutes } from './catalog/dashboard.ts';
import { conversationDashboardRoutes } from './conversations/dashboard.ts';
import { customerDashboardRoutes } from './customers/dashboard.ts';
import { authenticateDashboard } from './dashboard/authentication.ts';
import { DASHBOARD_API } from './dashboard/description.ts';
import type { Database } from './db/index.ts';
import type { FileLinks } from './files/links.ts';
import type { FileStorage } from './files/storage.ts';
import { respondInJson, setCacheControl } from './http/headers.ts';
import { type HealthOptions, healthRoutes } from './http/health.ts';
import type { Metrics } from './http/metrics.ts';
import { linkPages } from './http/pages.ts';
import { createHttpServer, type HttpServerOptions } from './http/server.ts';
import { describeApi } from './openapi/document.ts';
import { opportunityDashboardRoutes } from './opportunities/dashboard.ts';
import { openOrganization, organizationRoutes } from './organizations/dashboard.ts';
import { pipelineStageRoutes } from './pipeline-stages/dashboard.ts';
import { privacyDashboardRoutes } from './privacy/dashboard.ts';
import { quoteDashboardRoutes } from './quotes/dashboard.ts';
import { type Publisher, published } from './reference/publish.ts';
import { referenceRoutes } from './reference/routes.ts';
import { teamDashboardRoutes } from './team/dashboard.ts';

export type DashboardOptions = Omit<HttpServerOptions, 'metrics' | 'requestTimeout'> & {
  db: Database;
  /** The bearer token of the dashboard's backend. Without it, every request gets 503. */
  token: string | undefined;
  storage: FileStorage;
  links: FileLinks;
  /** Milliseconds since 1970. */
  now?: () => number;
  health?: { ready: HealthOptions['ready']; metrics: Metrics };
  /** Aborted when the shutdown begins. */
  leaving?: AbortSignal | undefined;
  publisher?: Pick<Publisher, 'contact'>;
};

/** For an upload of 25 MiB over a slow connection. */
const UPLOAD_TIMEOUT_MS = 60_000;

export async function buildDashboardApp(options: DashboardOptions) {
  const { db, token, storage, links, now = Date.now, health, leaving, publisher = {} } = options;
  const app = createHttpServer({ ...options, metrics: health?.metrics, requestTimeout: UPLOAD_TIMEOUT_MS });
  linkPages(app);
  const document = published(describeApi(app, DASHBOARD_API), publisher);
  app.register(referenceRoutes, { title: DASHBOARD_API.title, document, hasGuide: false });

  app.register(
    (v1, _options, done) => {
      setCacheControl(v1, 'data');
      respondInJson(v1);
      authenticateDashboard(v1, token);
      v1.register(organizationRoutes, { db });
      v1.register(
        (organization, _options, done) => {
          openOrganization(organization, db);
          organization.register(apiKeyRoutes, { now });
          organization.register(catalogDashboardRoutes, { now });
          organization.register(customerDashboardRoutes);
          organization.register(privacyDashboardRoutes, { storage, links });
          organization.register(pipelineStageRoutes);
          organization.register(teamDashboardRoutes);
          organization.register(opportunityDashboardRoutes);
          organization.register(conversationDashboardRoutes);
          organization.register(quoteDashboardRoutes, { storage, links, now });
          done();
        },
        { prefix: '/organizations/:organizationId' },
      );
      done();
    },
    { prefix: '/dashboard/v1' },
  );
  if (health) app.register(healthRoutes, { ...health, leaving });
  await app.ready();
  return app;
}
