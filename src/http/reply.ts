import type { FastifyReply } from 'fastify';
import type { Json } from '../db/json.ts';

/** Sends JSON text that is already made. The route's response schema documents it; tests hold it to that. */
export function sendJson<T>(reply: FastifyReply, body: Json<T>, status = 200): FastifyReply {
  return reply.code(status).type('application/json; charset=utf-8').send(body);
}
