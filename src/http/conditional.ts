import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { entityTag } from '../../rules/entity-tag.ts';
import { ApiError } from '../contract/errors.ts';
import { inTransaction, type OrganizationScope } from '../db/pool/scope.ts';
import type { Put } from '../db/repository/put.ts';
import type { Json } from '../db/sql/json.ts';
import { isCacheable } from './headers.ts';
import { sendJson } from './send-json.ts';

/** Entity tags, and requests that depend on them. */

/**
 * Whether If-None-Match names the tag, weak or strong. A quoted tag has no quotes or commas inside, so searching the
 * text is enough.
 */
const namesTag = (ifNoneMatch: string, tag: string): boolean =>
  ifNoneMatch === '*' || ifNoneMatch.includes(tag);

/** Whether the client of an answer of 304 has shown that it has the bytes: `*` names no tag. */
export const provesCopy = ({ headers }: FastifyRequest): boolean => headers['if-none-match'] !== '*';

/** Methods whose answers are a record as it is now, or a page of records. The answer of a POST tells of one act, unless that made a record. */
const TAGGED: readonly string[] = ['GET', 'HEAD', 'PATCH', 'PUT'];

const isRecord = (method: string, status: number): boolean =>
  status === 201 || (status < 300 && TAGGED.includes(method));

/**
 * Gives a cacheable answer its tag, and answers 304 to a read that names it. @fastify/etag does not serve: it knows
 * neither lists nor `*`, answers 304 to writes, tags errors, and says that a 304 has a length of 0.
 */
export function sendConditionally(app: FastifyInstance): void {
  app.addHook('onSend', ({ method, headers }, reply, payload, done) => {
    const isTagged = isRecord(method, reply.statusCode) && isCacheable(reply.getHeader('cache-control'));
    if (!isTagged || (typeof payload !== 'string' && !Buffer.isBuffer(payload))) return done(null, payload);
    // An answer that never changes has got its tag before.
    const tag = String(reply.getHeader('etag') ?? entityTag(payload));
    reply.header('etag', tag);
    const named = headers['if-none-match'];
    const isRead = method === 'GET' || method === 'HEAD';
    if (!isRead || named === undefined || !namesTag(named, tag)) return done(null, payload);
    reply.code(304).removeHeader('content-type');
    // Fastify drops the body of a HEAD itself, after it has taken the length from it.
    done(null, method === 'HEAD' ? payload : null);
  });
}

/** Whether If-Match names the tag. A weak tag matches nothing: it does not say that the bytes are the same. */
const matches = (ifMatch: string, tag: string): boolean =>
  ifMatch.trim() === '*' || ifMatch.split(',').some((named) => named.trim() === tag);

const preconditionFailed = (message: string): ApiError => new ApiError('PRECONDITION_FAILED', message);

const noMatch = (ifMatch: string): ApiError =>
  preconditionFailed(
    !ifMatch.includes('"')
      ? 'If-Match names no tag: send the ETag as the answer has it, with its quotes.'
      : ifMatch.includes('W/"')
        ? 'If-Match names a weak tag (W/"…"), and that never matches; a proxy that compresses answers makes tags weak, so read without Accept-Encoding and send that tag.'
        : 'The record has changed since you read it. Read it again and send its new ETag.',
  );

/**
 * Runs the change of a record. With If-Match only when the record, under its lock, still has a tag that it names; without
 * the header the work runs by itself.
 * @param lock reads the record under its lock, as its GET shows it; throws its not-found
 * @param work runs in the scope that it is given
 * @throws PRECONDITION_FAILED
 */
export function ifMatch<Result>(
  request: FastifyRequest,
  lock: (scope: OrganizationScope, id: string) => Promise<Json<unknown>>,
  id: string,
  work: (scope: OrganizationScope) => Promise<Result>,
): Promise<Result> {
  const named = request.headers['if-match'];
  if (named === undefined) return work(request.scope);
  return inTransaction(request.scope, async (scope) => {
    if (!matches(named, entityTag(await lock(scope, id)))) throw noMatch(named);
    return work(scope);
  });
}

/** Answers the change of a record, which runs as `ifMatch` says. */
export const answerIfMatch = async <T>(
  request: FastifyRequest,
  reply: FastifyReply,
  lock: (scope: OrganizationScope, id: string) => Promise<Json<unknown>>,
  id: string,
  work: (scope: OrganizationScope, id: string) => Promise<Json<T>>,
): Promise<Json<T>> => sendJson(reply, await ifMatch(request, lock, id, (scope) => work(scope, id)));

/**
 * Runs a PUT. With If-Match only when the record, under its lock, still has a tag that it names; with `If-None-Match: *`
 * only when the PUT creates the record: a PUT that replaced one is undone.
 * @param lock reads the record under its lock, as the PUT answers with it; undefined where there is none
 * @param work runs in the scope that it is given
 * @throws PRECONDITION_FAILED
 */
export function putIfMatch<T>(
  { headers, scope }: FastifyRequest,
  lock: (scope: OrganizationScope) => Promise<Json<T> | undefined>,
  work: (scope: OrganizationScope) => Promise<Put<T>>,
): Promise<Put<T>> {
  const named = headers['if-match'];
  const mustCreate = headers['if-none-match'] === '*';
  if (named === undefined && !mustCreate) return work(scope);
  return inTransaction(scope, async (within) => {
    if (named !== undefined) {
      const stored = await lock(within);
      if (stored === undefined || !matches(named, entityTag(stored))) throw noMatch(named);
    }
    const put = await work(within);
    if (mustCreate && !put.created) throw preconditionFailed('The record is there already, or archived.');
    return put;
  });
}
