import type { FastifyReply } from 'fastify';
import type { Json } from '../db/sql/json.ts';

/**
 * Answers with JSON that is already made. The response schema of the route documents it, and the tests hold it to
 * that. It returns the body, because Fastify would wait for a returned reply.
 */
export function sendJson<T>(reply: FastifyReply, body: Json<T>, status = 200): Json<T> {
  reply.code(status).type('application/json; charset=utf-8');
  return body;
}
