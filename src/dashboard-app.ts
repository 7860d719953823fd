import { apiKeyRoutes } from './api-keys/dashboard.ts';
import { catalogDashboardRoutes, catalogRecords } from './catalog/dashboard.ts';
import { catalogRoutes } from './catalog/routes.ts';
import { conversationDashboardRoutes, conversationRecords } from './conversations/dashboard.ts';
import { conversationRoutes } from './conversations/routes.ts';
import { customerDashboardRoutes, customerRecords } from './customers/dashboard.ts';
import { customerRoutes } from './customers/routes.ts';
import { authenticateDashboard } from './dashboard/authentication.ts';
import type { Database } from './db/index.ts';
import type { FileLinks } from './files/links.ts';
import type { FileStorage } from './files/storage.ts';
import { setHeaders } from './http/headers.ts';
import { type HealthOptions, healthRoutes } from './http/health.ts';
import type { Metrics } from './http/metrics.ts';
import { linkPages } from './http/pages.ts';
import { createHttpServer, type HttpServerOptions } from './http/server.ts';
import type { ApiDescription, describeApi } from './openapi/document.ts';
import { opportunityDashboardRoutes, opportunityRecords } from './opportunities/dashboard.ts';
import { opportunityRoutes } from './opportunities/routes.ts';
import { openOrganization, organizationRoutes } from './organizations/dashboard.ts';
import { personRoutes } from './person/dashboard.ts';
import { pipelineStageRoutes } from './pipeline-stages/dashboard.ts';
import { publicQuoteRoutes, quoteDashboardRoutes, quoteRecords } from './quotes/dashboard.ts';
import { quoteRoutes } from './quotes/routes.ts';
import { committed, published } from './reference/publish.ts';
import { referenceRoutes } from './reference/routes.ts';
import { teamDashboardRoutes } from './team/dashboard.ts';

const DASHBOARD_API: ApiDescription = {
  title: 'Travel agency CRM dashboard API',
  description: `The API of the agency's dashboard backend and of its messaging agent: organizations, their API keys, and the
records that /v1 only reads. It listens on its own port. Every request has \`Authorization: Bearer <DASHBOARD_TOKEN>\`.

\`PUT\` creates (201) or replaces (200) the record with the id in the path, a UUID that you generate; sending it
twice changes nothing. Errors, pagination, request ids and strictness are as in /v1.`,
  tags: [
    { name: 'Organizations', description: 'Travel agencies. Every other record belongs to one of them.' },
    { name: 'API keys', description: 'Keys of an organization for /v1.' },
    {
      name: 'Catalog',
      description: 'Archived products, and the images, destinations and variants of active products.',
    },
    {
      name: 'Customers',
      description: 'Customers, archived or not, with export and erasure.',
    },
    { name: 'Pipeline stages', description: 'Columns of the sales pipeline.' },
    { name: 'Team members', description: 'Members of the organization.' },
    { name: 'Opportunities', description: 'Sales leads in the pipeline.' },
    { name: 'Conversations', description: 'Threads on messaging channels, and their messages.' },
    { name: 'Quotes', description: 'Quotes of opportunities, and their attachments.' },
  ],
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: 'The token of DASHBOARD_TOKEN.' },
  },
  otherCodes: ['ROUTE_NOT_FOUND'],
};

export type DashboardOptions = Omit<HttpServerOptions, 'metrics' | 'requestTimeout'> & {
  db: Database;
  /** The bearer token of the dashboard's backend. Without it, every request gets 503. */
  token: string | undefined;
  storage: FileStorage;
  links: FileLinks;
  health?: HealthOptions & { metrics: Metrics };
  /** Generates the document from the routes, in place of the committed one. */
  describe?: typeof describeApi;
};

/** For an upload of 25 MiB over a slow connection. */
const UPLOAD_TIMEOUT_MS = 60_000;

export async function buildDashboardApp(options: DashboardOptions) {
  const { db, token, storage, links, health, describe } = options;
  const app = createHttpServer({ ...options, metrics: health?.metrics, requestTimeout: UPLOAD_TIMEOUT_MS });
  linkPages(app);
  const build = describe?.(app, DASHBOARD_API) ?? committed('dashboard.json');
  const document = () => published(app, build, undefined, 3001);
  app.register(referenceRoutes, { title: DASHBOARD_API.title, document, hasGuide: false });

  app.register(
    async (v1) => {
      setHeaders(v1, 'data');
      authenticateDashboard(v1, token);
      v1.register(organizationRoutes, { db });
      v1.register(publicQuoteRoutes, { db });
      v1.register(
        async (organization) => {
          openOrganization(organization, db);
          organization.register(apiKeyRoutes);
          organization.register(catalogRoutes, catalogRecords);
          organization.register(catalogDashboardRoutes);
          organization.register(customerRoutes, customerRecords);
          organization.register(customerDashboardRoutes);
          organization.register(personRoutes, { storage, links });
          organization.register(pipelineStageRoutes);
          organization.register(teamDashboardRoutes);
          organization.register(opportunityRoutes, opportunityRecords);
          organization.register(opportunityDashboardRoutes);
          organization.register(conversationRoutes, conversationRecords);
          organization.register(conversationDashboardRoutes);
          organization.register(quoteRoutes, { ...quoteRecords, links });
          organization.register(quoteDashboardRoutes, { storage, links });
        },
        { prefix: '/organizations/:organizationId' },
      );
    },
    { prefix: '/dashboard/v1' },
  );
  if (health) app.register(healthRoutes, health);
  await app.ready();
  return app;
}
