import type { FastifyReply } from 'fastify';
import type { Json } from '../db/json.ts';

/**
 * What a handler returns for JSON that is already made. The route's response schema documents it; tests hold it to that.
 * Returned rather than sent: a reply that a handler returns is waited for, which takes longer than to write it.
 */
export function json<T>(reply: FastifyReply, body: Json<T>, status = 200): Json<T> {
  reply.code(status).type('application/json; charset=utf-8');
  return body;
}
