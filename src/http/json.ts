import type { FastifyReply } from 'fastify';
import type { Json } from '../db/json.ts';

/**
 * What a handler returns for JSON that is already made. Typed as what the JSON says, so that the compiler holds the
 * route's response schema to it; tests hold the bodies to it.
 */
export function json<T>(reply: FastifyReply, body: Json<T>, status = 200): T {
  reply.code(status).type('application/json; charset=utf-8');
  return body as unknown as T;
}
