import fastify, { type FastifyReply } from 'fastify';
import pg from 'pg';

/**
 * The minimum cost of the service: Fastify, pg, and the service's statements, which the bench passes by name. No key, log,
 * schema, limit or deadline. A request has the names and the values: in the path of a read, in the body of a write.
 */

const texts: Record<string, string> = JSON.parse(process.env.STATEMENTS ?? '{}');
const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: 10,
  // PostgreSQL builds the JSON, which is sent unparsed.
  types: { getTypeParser: () => String },
});
const app = fastify();

type Sent = { name: string; values: unknown[] };
type Row = { body: string; total?: string };

async function run(on: Pick<pg.ClientBase, 'query'>, { name, values }: Sent): Promise<Row[]> {
  return (await on.query<Row>({ name, text: texts[name] ?? '', values })).rows;
}

const respond = (reply: FastifyReply, body: string | undefined): FastifyReply =>
  reply
    .code(body === undefined ? 404 : 200)
    .type('application/json; charset=utf-8')
    .send(body);

async function inTransaction(statements: Sent[]): Promise<Row | undefined> {
  const client = await pool.connect();
  await client.query('begin');
  const results: Row[][] = [];
  for (const statement of statements) results.push(await run(client, statement));
  await client.query('commit');
  client.release();
  return results.flat().find(({ body }) => body);
}

app.get<{ Params: { name: string; '*': string } }>('/:name/*', async ({ params }, reply) => {
  const rows = await run(pool, { name: params.name, values: params['*'].split('/') });
  const total = rows[0]?.total;
  if (total === undefined) return respond(reply, rows[0]?.body);
  const data = rows.map(({ body }) => body).join();
  const end = params.name.includes('transcript')
    ? `"total":${total}`
    : `"pagination":{"limit":${rows.length},"offset":0,"total":${total}}`;
  return respond(reply, `{"data":[${data}],${end}}`);
});
app.post<{ Body: Sent[] }>('/', async ({ body }, reply) => {
  const [statement, ...others] = body;
  if (!statement) return respond(reply, undefined);
  const row = others.length > 0 ? await inTransaction(body) : (await run(pool, statement))[0];
  return respond(reply, row?.body);
});
app.get('/', (_request, reply) => reply.send('ready'));

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
process.once('SIGTERM', () => process.exit(0));
