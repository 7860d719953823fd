import type { Database } from '../db/run/client.ts';
import type { FileLinks } from '../files/links.ts';
import type { FileStorage } from '../files/storage.ts';
import { setCacheControl } from '../http/headers.ts';
import { type HealthOptions, healthRoutes } from '../http/health.ts';
import { PATIENCE, type Patience } from '../http/load/connections.ts';
import type { Metrics } from '../http/metrics.ts';
import { type DocumentOptions, documentApi, type Publisher } from '../http/openapi/openapi.ts';
import { createHttpServer, type HttpServerOptions } from '../http/server.ts';
import { referencePage } from '../reference/page.ts';
import { apiKeyRoutes } from './api-keys/routes.ts';
import { authenticateDashboard, openOrganization } from './authentication.ts';
import { dashboardConversationRoutes } from './conversations/routes.ts';
import { messageRoutes } from './messages/routes.ts';
import { dashboardOpportunityRoutes } from './opportunities/routes.ts';
import { organizationRoutes } from './organizations/routes.ts';
import { pipelineStageRoutes } from './pipeline-stages/routes.ts';
import { productRoutes } from './products/routes.ts';
import { dashboardQuoteRoutes } from './quotes/routes.ts';
import { teamMemberRoutes } from './team-members/routes.ts';

export type DashboardOptions = Omit<HttpServerOptions, 'metrics' | 'patience'> & {
  db: Database;
  /** The bearer token of the dashboard's backend. Without it, every request is answered with 503. */
  token: string | undefined;
  /** Where the files of attachments go. */
  storage: FileStorage;
  /** Signs the links of attachments. */
  links: FileLinks;
  /** The clock: milliseconds since 1970. */
  now?: () => number;
  /** For liveness, readiness and metrics, which need no token. */
  health?: { ready: HealthOptions['ready']; metrics: Metrics };
  /** Whom users of the service ask, for the document. */
  publisher?: Pick<Publisher, 'contact'>;
};

/** An upload of 25 MiB over a slow line is no attack. */
const UPLOAD_PATIENCE: Patience = { ...PATIENCE, request: 60_000 };

const DOCUMENT: DocumentOptions = {
  title: 'Travel agency CRM dashboard API',
  description: `What the agency's dashboard backend and its messaging agent call: organizations, their API keys, and the
records that /v1 only reads. It listens apart from the public API and takes one secret, sent as
\`Authorization: Bearer <DASHBOARD_TOKEN>\`.

\`PUT\` creates (201) or replaces (200) the record with the id in the path, a UUID that the caller makes; sending it
twice changes nothing. Errors, pagination, request ids and strictness are as in /v1.`,
  tags: [
    { name: 'Organizations', description: 'Travel agencies. Everything else belongs to one.' },
    { name: 'API keys', description: 'Keys of an organization for /v1.' },
    { name: 'Catalog', description: 'Archived products, and the media of live ones.' },
    { name: 'Pipeline stages', description: 'Columns of the sales pipeline.' },
    { name: 'Team members', description: 'Members of the organization.' },
    { name: 'Opportunities', description: 'Sales leads in the pipeline.' },
    { name: 'Conversations', description: 'Threads on messaging channels, and their messages.' },
    { name: 'Quotes', description: 'Quotes of opportunities, and their attachments.' },
  ],
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: 'The token of DASHBOARD_TOKEN.' },
  },
  page: (app, options) => referencePage(app, { ...options, hasGuide: false }),
};

/** The dashboard API: every route on one screen. Neither listens nor reads the environment. */
export async function buildDashboardApp(options: DashboardOptions) {
  const { db, token, storage, links, now = Date.now, health, leaving, publisher = {} } = options;
  const app = createHttpServer({ ...options, metrics: health?.metrics, patience: UPLOAD_PATIENCE });
  await documentApi(app, DOCUMENT, publisher);

  app.register(
    (v1, _options, done) => {
      setCacheControl(v1, 'data');
      authenticateDashboard(v1, token);
      v1.register(organizationRoutes, { db });
      v1.register(
        (organization, _options, done) => {
          openOrganization(organization, db);
          organization.register(apiKeyRoutes, { now });
          organization.register(productRoutes, { now });
          organization.register(pipelineStageRoutes);
          organization.register(teamMemberRoutes);
          organization.register(dashboardOpportunityRoutes);
          organization.register(dashboardConversationRoutes);
          organization.register(messageRoutes);
          organization.register(dashboardQuoteRoutes, { storage, links, now });
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
