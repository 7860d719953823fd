import fastify from 'fastify';

/** The least that Fastify can do: what the 401 is measured against. */
const app = fastify();
app.get('/', (_request, reply) => reply.send(''));
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
process.once('SIGTERM', () => process.exit(0));
