import { authenticate, collectNeeds, rejectBeyondKey } from './api-keys/authentication.ts';
import type { KeyCache } from './api-keys/cache.ts';
import { catalogRoutes, publicCatalog } from './catalog/routes.ts';
import { RESOURCES, resourceNames, tagOf } from './contract/resources.ts';
import { conversationRoutes, publicConversations } from './conversations/routes.ts';
import { customerRoutes, publicCustomers } from './customers/routes.ts';
import type { Database } from './db/index.ts';
import type { FileLinks } from './files/links.ts';
import { setHeaders } from './http/headers.ts';
import { linkPages } from './http/pages.ts';
import { limitRate, type RateLimitOptions } from './http/rate-limit.ts';
import { createHttpServer, type HttpServerOptions } from './http/server.ts';
import { boundResults, mcpRoutes } from './mcp/routes.ts';
import type { ApiDescription, describeApi } from './openapi/document.ts';
import { opportunityRoutes, publicOpportunities } from './opportunities/routes.ts';
import { downloadRoutes } from './quotes/download.ts';
import { publicQuotes, quoteRoutes } from './quotes/routes.ts';
import { committed, published } from './reference/publish.ts';
import { referenceRoutes } from './reference/routes.ts';
import { teamRoutes } from './team/routes.ts';

const PUBLIC_API: ApiDescription = {
  title: 'Travel agency CRM API',
  description: `The catalog, customers, sales and conversations of one travel agency. The [guide](/docs/guide/start) says how to
use it, and [what changes](/docs/guide/changes).

Send the API key as \`Authorization: Bearer <key>\` or as \`x-api-key: <key>\`. A key belongs to one organization, and
reads and writes only its data. Lists are live queries; the guide says how to sync. Unknown fields and parameters are
ignored and named in \`X-Ignored-Parameters\`; with \`Prefer: handling=strict\`, they are errors.`,
  tags: resourceNames.map((name) => ({ name: tagOf(name), description: RESOURCES[name] })),
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: 'The API key as a bearer token.' },
    apiKey: {
      type: 'apiKey',
      in: 'header',
      name: 'x-api-key',
      description: 'The API key in its own header.',
    },
  },
  otherCodes: ['FILE_LINK_INVALID', 'ROUTE_NOT_FOUND'],
};

export type AppOptions = HttpServerOptions & {
  db: Database;
  keys: KeyCache;
  rateLimit: RateLimitOptions;
  links: FileLinks;
  /** Set for the disk storage, whose files this service serves itself. */
  files?: { root: string; secret: string };
  /** URL of the service for clients. */
  publicUrl?: string | undefined;
  /** Generates the document from the routes, in place of the committed one. */
  describe?: typeof describeApi;
  /** What agents may do over /mcp. */
  mcp?: 'off' | 'read' | 'write';
};

export async function buildApp(options: AppOptions) {
  const { db, keys, rateLimit, links, files, publicUrl, mcp = 'read', describe } = options;
  const app = createHttpServer(options);
  const build = describe?.(app, PUBLIC_API) ?? committed('openapi.json');
  const document = () => published(app, build, publicUrl);
  linkPages(app, publicUrl);
  const needs = collectNeeds(app);
  app.register(referenceRoutes, { title: PUBLIC_API.title, document, publicUrl, hasGuide: true });

  app.register(
    async (v1) => {
      setHeaders(v1, 'data');
      authenticate(v1, { db, keys });
      limitRate(v1, rateLimit);
      rejectBeyondKey(v1);
      if (mcp !== 'off') boundResults(v1);
      v1.register(catalogRoutes, publicCatalog);
      v1.register(customerRoutes, publicCustomers);
      v1.register(opportunityRoutes, publicOpportunities);
      v1.register(conversationRoutes, publicConversations);
      v1.register(quoteRoutes, { ...publicQuotes, links });
      v1.register(teamRoutes);
    },
    { prefix: '/v1' },
  );
  if (mcp !== 'off')
    app.register(async (agents) => {
      setHeaders(agents, 'data');
      authenticate(agents, { db, keys });
      limitRate(agents, rateLimit);
      agents.register(mcpRoutes, { app, document, needs, canWrite: mcp === 'write' });
    });
  if (files) app.register(downloadRoutes, { db, ...files });
  await app.ready();
  return app;
}
