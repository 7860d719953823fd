import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, invalid } from '../contract/errors.ts';
import { inTransaction, isId, type Json, type OrganizationScope, parseJson } from '../db/index.ts';
import { presentedToken } from './credentials.ts';
import { claimKey, isStoredMeanwhile, storeResponse } from './idempotency.repository.ts';

/** As in the IETF draft "The Idempotency-Key HTTP Header Field". */

const MAX_KEY_LENGTH = 255;

const STORED_HEADER = 'x-ignored-parameters';

const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer');

/** JSON with sorted names, so that equal bodies have equal texts. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? '';
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`).join()}}`;
}

const pathIn = ({ routeOptions: { url = '' }, params }: FastifyRequest): string =>
  url.replace(/:(\w+)/g, (_, name: string) =>
    String((params as Record<string, unknown>)[name]).toLowerCase(),
  );

function keyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']?.toString();
  if (key === undefined || (key.length > 0 && key.length <= MAX_KEY_LENGTH)) return key;
  throw invalid('header.idempotency-key', `must have 1 to ${MAX_KEY_LENGTH} characters`);
}

/** Derived from the token of the request: only a caller with the same token can decrypt. */
function cipherKey({ raw }: FastifyRequest, salt: Buffer): Buffer {
  const token = presentedToken(raw.rawHeaders);
  if (!token) throw new Error('Only a response to a bearer token can be stored encrypted.');
  return Buffer.from(hkdfSync('sha256', token, salt, 'idempotent answer', 32));
}

function seal(request: FastifyRequest, fingerprint: Buffer, body: Buffer): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', cipherKey(request, fingerprint), nonce);
  return Buffer.concat([nonce, cipher.update(body), cipher.final(), cipher.getAuthTag()]);
}

function unseal(request: FastifyRequest, fingerprint: Buffer, sealed: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', cipherKey(request, fingerprint), sealed.subarray(0, 12));
  decipher.setAuthTag(sealed.subarray(-16));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
  } catch {
    // The token of the dashboard has changed since.
    throw new ApiError('IDEMPOTENCY_KEY_REUSED', { part: 'token' });
  }
}

/** Whether `work` refused the request: for what another request with the key wrote between the look and the lock, perhaps. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ApiError && error.status < 500 && !error.code.startsWith('IDEMPOTENCY_');

/** The records that a response is about: an erasure finds it by them. */
function recordIdsOf({ scope, params }: FastifyRequest, response: Json<unknown>): string[] {
  const { id, customerId } = parseJson(response) as Record<string, unknown>;
  const ids = [...Object.values(params as object), id, customerId].map((value) =>
    String(value).toLowerCase(),
  );
  return [...new Set(ids)].filter((value) => isId(value) && value !== scope.organizationId);
}

/**
 * Runs a POST. With an Idempotency-Key, `work` and the storing of its response are one transaction, and the same request
 * again gets the stored response. A response with a credential is stored encrypted.
 * @param work may run more than once (a transaction is retried)
 * @param bodyHash SHA-256 of a body that the route has read itself; default: that of the JSON body
 * @throws IDEMPOTENCY_KEY_REUSED, IDEMPOTENCY_IN_PROGRESS, and the errors of `work`, which leave the key unused
 */
export async function idempotently<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  status: 200 | 201,
  work: (scope: OrganizationScope) => Promise<Json<T>>,
  bodyHash?: Buffer,
): Promise<Json<T>> {
  const key = keyOf(request);
  reply.code(status);
  if (key === undefined) return work(request.scope);
  const isSecret = request.routeOptions.config.credential ?? false;
  const fingerprint = sha256(`${request.scope.organizationId} ${request.method} ${pathIn(request)}\n${key}`);
  const hashed = bodyHash ?? sha256(canonical(request.sentBody));

  const once = async (scope: OrganizationScope) => {
    const { isLocked, first } = await claimKey(scope, fingerprint);
    if (first) {
      if (!first.bodyHash.equals(hashed)) throw new ApiError('IDEMPOTENCY_KEY_REUSED', { part: 'body' });
      const body = isSecret ? unseal(request, fingerprint, first.body) : first.body;
      return { first, response: body as Json<T> };
    }
    if (!isLocked) throw new ApiError('IDEMPOTENCY_IN_PROGRESS');
    const response = await work(scope);
    storeResponse(scope, {
      fingerprint,
      status,
      headers: reply.hasHeader(STORED_HEADER)
        ? { [STORED_HEADER]: String(reply.getHeader(STORED_HEADER)) }
        : {},
      body: isSecret ? seal(request, fingerprint, response) : response,
      bodyHash: hashed,
      recordIds: recordIdsOf(request, response),
    });
    return { first, response };
  };
  const { first, response } = await inTransaction(request.scope, once).catch((error) => {
    if (isStoredMeanwhile(error) || isRefusal(error)) return inTransaction(request.scope, once);
    throw error;
  });
  // After the transaction, so that an error response does not carry them.
  if (first) reply.code(first.status).headers(first.headers).header('idempotency-replayed', 'true');
  return response;
}
