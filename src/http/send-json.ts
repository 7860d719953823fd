import type { FastifyReply } from 'fastify';
import type { Json } from '../db/sql/json.ts';

/** Returns the body, because Fastify would await a returned reply. */
export function sendJson<T>(reply: FastifyReply, body: Json<T>, status = 200): Json<T> {
  reply.code(status).type('application/json; charset=utf-8');
  return body;
}
