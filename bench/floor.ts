import { hash } from 'node:crypto';
import fastify from 'fastify';
import pg from 'pg';
import * as catalog from '../src/catalog/repository.ts';
import { putConversation } from '../src/conversations/chains.repository.ts';
import { putMessages } from '../src/conversations/messages.repository.ts';
import * as conversations from '../src/conversations/repository.ts';
import { getTranscript } from '../src/conversations/transcripts.repository.ts';
import * as customers from '../src/customers/repository.ts';
import { bind, type IdempotencyKey, type OrganizationScope, type Queries, scopeTo } from '../src/db/index.ts';
import { listOpportunities } from '../src/opportunities/repository.ts';
import { listAttachments } from '../src/quotes/attachments.repository.ts';
import { listQuotes } from '../src/quotes/repository.ts';

/**
 * The minimum cost of the service: Fastify, pg, and the service's repositories, without key, log, schema, limit, deadline or pool of
 * its own. The token of a request is the id of the organization.
 */

/** PostgreSQL renders the JSON, which is sent as bytes. */
const getTypeParser: typeof pg.types.getTypeParser = (type, format) =>
  type === pg.types.builtins.JSON ? Buffer.from : pg.types.getTypeParser(type, format);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10, types: { getTypeParser } });

function queriesOn(client: Pick<pg.ClientBase, 'query'>): Queries {
  const read: Queries['read'] = async (statement, values) =>
    (await client.query(bind(statement, values))).rows;
  const queries: Queries = { read, write: read, transaction: (work) => work(queries) };
  return queries;
}

const db: Queries = {
  ...queriesOn(pool),
  transaction: async (work) => {
    const client = await pool.connect();
    await client.query('begin');
    const result = await work(queriesOn(client));
    await client.query('commit');
    client.release();
    return result;
  },
};

/** Nothing checks the query and the body, which have every type. */
type Call = { scope: OrganizationScope; id: string; query: never; body: never; key?: IdempotencyKey };
const [people, products] = [customers.customerStatements, catalog.productStatements];

const ROUTES: Record<string, (call: Call) => Promise<unknown>> = {
  'GET /v1/customers': ({ scope, query }) => customers.listCustomers(scope, query),
  'GET /v1/catalog/products': ({ scope, query }) => catalog.listCatalogProducts(scope, query),
  'GET /v1/conversations': ({ scope, query }) => conversations.listConversations(scope, query),
  'GET /dashboard/conversations': ({ scope, query }) => conversations.listConversationRecords(scope, query),
  'GET /v1/quotes': ({ scope, query }) => listQuotes(scope, query),
  'GET /v1/opportunities': ({ scope, query }) => listOpportunities(scope, query),
  'GET /v1/conversations/:id/messages': ({ scope, id }) => getTranscript(scope, id, { limit: 50 }),
  'GET /v1/quotes/:id/attachments': async ({ scope, id }) => ({
    data: await listAttachments(scope, id, { sign: () => '' }),
  }),
  'GET /v1/customers/:id': ({ scope, id }) => people.get(scope, id),
  'GET /v1/catalog/products/:id': ({ scope, id }) => products.get(scope, id),
  'POST /v1/customers': ({ scope, body, key }) => customers.createCustomer(scope, people, body, key),
  'POST /v1/catalog/products': ({ scope, body }) => catalog.createCatalogProduct(scope, products, body),
  'PATCH /v1/customers/:id': ({ scope, body, id }) => customers.updateCustomer(scope, people, id, body),
  'DELETE /v1/customers/:id': ({ scope, id }) => customers.archiveCustomer(scope, id),
  'PUT /dashboard/conversations/:id': async ({ scope, id, body }) =>
    (await putConversation(scope, id, body)).body,
  'POST /dashboard/conversations/:id/messages': ({ scope, id, body: { data } }) =>
    putMessages(scope, id, data),
};

const app = fastify({ bodyLimit: 4_194_304 });
for (const [route, handle] of Object.entries(ROUTES)) {
  const [method = '', url = ''] = route.split(' ');
  app.route<{ Params: { id: string } }>({
    ...{ method, url },
    handler: async ({ headers, params: { id }, query, body }, reply) => {
      const scope = scopeTo({ for: () => db }, headers.authorization?.slice('Bearer '.length) ?? '');
      const digest = hash('sha256', String(headers['idempotency-key']), 'buffer');
      const key = 'idempotency-key' in headers && { key: { fingerprint: digest, bodyHash: digest } };
      const sent = { ...Object(query), limit: 25, offset: 0 } as never;
      const result = await handle({ scope, id, query: sent, body: body as never, ...key });
      return reply.header('content-type', 'application/json; charset=utf-8').send(result);
    },
  });
}

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
