import fastify, { type FastifyReply } from 'fastify';
import pg from 'pg';

/**
 * The minimum cost of the service: Fastify, pg, and the service's statements, which the bench passes by name. No key, log,
 * schema, limit or deadline. A request names its statement and has the values: in the path of a get, in the body of a write.
 */

const texts: Record<string, string> = JSON.parse(process.env.STATEMENTS ?? '{}');
const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: 10,
  // PostgreSQL builds the JSON, which is sent unparsed.
  types: { getTypeParser: () => String },
});
const app = fastify();

async function run(reply: FastifyReply, name: string, values: unknown[]): Promise<FastifyReply> {
  const { rows } = await pool.query({ name, text: texts[name] ?? '', values });
  return reply
    .code(rows[0] ? 200 : 404)
    .type('application/json; charset=utf-8')
    .send(rows[0]?.body);
}

app.get<{ Params: { name: string; organizationId: string; id: string } }>(
  '/:name/:organizationId/:id',
  ({ params: { name, organizationId, id } }, reply) => run(reply, name, [organizationId, id]),
);
app.post<{ Params: { name: string }; Body: unknown[] }>('/:name', ({ params, body }, reply) =>
  run(reply, params.name, body),
);
app.get('/', (_request, reply) => reply.send('ready'));

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
process.once('SIGTERM', () => process.exit(0));
