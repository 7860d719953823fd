import type { FastifyBaseLogger } from 'fastify';
import { catalogRoutes } from './catalog/routes.ts';
import { conversationRoutes } from './conversations/routes.ts';
import { customerRoutes } from './customers/routes.ts';
import type { Database } from './db/client.ts';
import type { FileLinks, LinkSecrets } from './files/links.ts';
import { fileRoutes } from './files/routes.ts';
import { authenticate } from './http/authentication.ts';
import { documentApi } from './http/openapi.ts';
import { limitRate, type RateLimitOptions } from './http/rate-limit.ts';
import { createHttpServer } from './http/server.ts';
import type { KeyDirectory } from './keys/directory.ts';
import { opportunityRoutes } from './opportunities/routes.ts';
import { quoteRoutes } from './quotes/routes.ts';
import { teamRoutes } from './team/routes.ts';

export type AppOptions = {
  db: Database;
  keys: KeyDirectory;
  rateLimit: RateLimitOptions;
  /** Signs the links of attachments. */
  links: FileLinks;
  /** Serves the files of the disk storage; without it, links lead elsewhere. */
  files?: { root: string; secrets: LinkSecrets };
  publicUrl: string;
  logger: FastifyBaseLogger;
  trustProxy?: boolean | string;
};

/** The public API: every route on one screen. Neither listens nor reads the environment. */
export async function buildApp(options: AppOptions) {
  const { db, keys, rateLimit, links, files, logger, publicUrl, trustProxy = false } = options;
  const app = createHttpServer({ logger, trustProxy });
  await documentApi(app, publicUrl);

  app.register(
    (v1, _options, done) => {
      authenticate(v1, { db, keys });
      limitRate(v1, rateLimit);
      v1.register(catalogRoutes);
      v1.register(customerRoutes);
      v1.register(opportunityRoutes);
      v1.register(conversationRoutes);
      v1.register(quoteRoutes, { links });
      v1.register(teamRoutes);
      done();
    },
    { prefix: '/v1' },
  );
  if (files) app.register(fileRoutes, { db, ...files });
  await app.ready();
  return app;
}
