import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, invalid } from '../contract/errors.ts';
import { findKey, type Get, type IdempotencyKey, type Json, KeyInUse } from '../db/index.ts';

/** As in the IETF draft "The Idempotency-Key HTTP Header Field". */

/** The codes of a POST that creates a record. */
export const IDEMPOTENT = ['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'] as const;

const MAX_KEY_LENGTH = 255;

const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer');

/** JSON with sorted names, so that equal bodies have equal texts. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? '';
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`).join()}}`;
}

function keyOf(request: FastifyRequest, body: string | undefined): IdempotencyKey | undefined {
  const key = request.headers['idempotency-key']?.toString();
  if (key === undefined) return undefined;
  if (key.length === 0 || key.length > MAX_KEY_LENGTH)
    throw invalid('header.idempotency-key', `must have 1 to ${MAX_KEY_LENGTH} characters`);
  const { scope, method, url, sentBody } = request;
  // Ids may be in upper case.
  const path = new URL(url, 'http://localhost').pathname.toLowerCase();
  return {
    fingerprint: sha256(`${scope.organizationId} ${method} ${path}\n${key}`),
    bodyHash: sha256(body ?? canonical(sentBody)),
  };
}

const isRejection = (error: unknown): error is ApiError => error instanceof ApiError && error.status < 500;

/**
 * Runs a POST that creates a record. If its Idempotency-Key has created one, the response is that record, as `get` returns it now. A
 * rejection looks at the key too: the first request may have caused it.
 * @param create without a key, the request has none
 * @param body identifies a body that is no JSON
 * @throws IDEMPOTENCY_KEY_REUSED, IDEMPOTENCY_IN_PROGRESS, and the errors of `create`, which leave the key unused
 */
export async function idempotent<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  get: Get<T>,
  create: (key?: IdempotencyKey) => Promise<Json<T>>,
  body?: string,
): Promise<Json<T>> {
  const key = keyOf(request, body);
  reply.code(201);
  if (!key) return create();
  for (;;) {
    try {
      return await create(key);
    } catch (error) {
      if (!(error instanceof KeyInUse || isRejection(error))) throw error;
      const used = await findKey(request.scope, key);
      if (used?.isExpired) continue;
      if (!used) throw error instanceof KeyInUse ? new ApiError('IDEMPOTENCY_IN_PROGRESS') : error;
      if (!used.bodyHash.equals(key.bodyHash)) throw new ApiError('IDEMPOTENCY_KEY_REUSED', 'body');
      const record = await get(request.scope, used.recordId).catch((error) => {
        throw isRejection(error) ? new ApiError('IDEMPOTENCY_KEY_REUSED', 'record') : error;
      });
      reply.header('idempotency-replayed', 'true');
      return record;
    }
  }
}
