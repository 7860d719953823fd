import { createHash } from 'node:crypto';
import { and, eq, gt, isNull, or } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import fastify, { type FastifyError } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import pg from 'pg';
import { apiKeys } from '../../src/db/tables/index.ts';
import { catalogRoutes } from './catalog.ts';
import { conversationRoutes } from './conversations.ts';
import { customerRoutes } from './customers.ts';
import { salesRoutes } from './sales.ts';
import type { Database } from './shared.ts';

/**
 * The same operations over the same tables and indexes, the way the documentation of Fastify, Drizzle and
 * fastify-type-provider-zod shows: the yardstick for what this project does otherwise. Written to be good, not to lose.
 */

declare module 'fastify' {
  interface FastifyRequest {
    organizationId: string;
  }
}

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });
const db: Database = drizzle(pool, { casing: 'snake_case' });

const app = fastify({ logger: true }).withTypeProvider<ZodTypeProvider>();
app.setValidatorCompiler(validatorCompiler);
app.setSerializerCompiler(serializerCompiler);

app.setErrorHandler((error: FastifyError, _request, reply) => {
  const status = error.statusCode ?? 500;
  reply.code(status).send({ error: { code: error.code ?? 'INTERNAL_ERROR', message: error.message } });
});

app.decorateRequest('organizationId', '');
app.addHook('onRequest', async (request, reply) => {
  const [scheme, token = ''] = (request.headers.authorization ?? '').split(' ');
  const hash = createHash('sha256').update(token).digest();
  const [key] = await db
    .select({ organizationId: apiKeys.organizationId })
    .from(apiKeys)
    .where(
      and(
        eq(apiKeys.hash, hash),
        isNull(apiKeys.revokedAt),
        or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, new Date())),
      ),
    );
  if (scheme?.toLowerCase() !== 'bearer' || !key) {
    return reply.code(401).send({
      error: {
        code: 'UNAUTHORIZED',
        message:
          'This is not a whole API key: its form or its checksum is wrong; copy all of it, from tcrm_ to the last character.',
      },
    });
  }
  request.organizationId = key.organizationId;
});

app.register(catalogRoutes, { prefix: '/v1', db });
app.register(customerRoutes, { prefix: '/v1', db });
app.register(salesRoutes, { prefix: '/v1', db });
app.register(conversationRoutes, { prefix: '/v1', db });

await app.listen({ host: process.env.HOST ?? '127.0.0.1', port: Number(process.env.PORT) });
process.once('SIGTERM', async () => {
  await app.close();
  await pool.end();
  process.exit(0);
});
