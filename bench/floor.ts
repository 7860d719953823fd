import fastify, { type FastifyReply } from 'fastify';
import pg from 'pg';

/**
 * The least that the service could cost: Fastify, pg, and the statements of the service, whose texts the bench hands over by name. No
 * key, log, schema, limit or deadline. A request names its statement and has its values: in the path of a get, in the body of a write.
 */

const texts: Record<string, string> = JSON.parse(process.env.STATEMENTS ?? '{}');
const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: 10,
  // PostgreSQL makes the JSON: it is not parsed on its way.
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
