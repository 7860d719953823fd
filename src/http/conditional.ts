import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import { entityTag } from '../../rules/entity-tag.ts';
import { ApiError } from '../contract/errors.ts';
import { type Get, inTransaction, type Json, type OrganizationScope, type Put } from '../db/index.ts';
import { isCacheable } from './headers.ts';

/** What a proxy that compresses adds to a tag. It changes the encoding of a response, not the record. */
const OF_A_PROXY = /(?<=^|[\s,])W\/(?=")|--?(?:gzip|br|zstd|deflate)(?=")/g;

/** A substring search is enough, because a quoted tag contains no quotes. */
const namesTag = (header: string, tag: string): boolean =>
  header.trim() === '*' || header.replace(OF_A_PROXY, '').includes(tag.replace(OF_A_PROXY, ''));

/** Responses to these methods are the current record, or a page. */
const TAGGED: readonly string[] = ['GET', 'HEAD', 'PATCH', 'PUT'];

type Responses = Record<number, { content: { 'application/json'?: { schema: { shape?: object } } } }>;

/** Whether responses of the route have an ETag. A POST returns a record if the schema of its response has `createdAt`. */
export function isTagged(method: string, schema: FastifySchema | undefined): boolean {
  if (method !== 'POST') return TAGGED.includes(method);
  const responses = Object(schema?.response) as Responses;
  return 'createdAt' in Object((responses[201] ?? responses[200])?.content['application/json']?.schema.shape);
}

/**
 * Adds an ETag to cacheable responses, and turns a read into 304 if If-None-Match has that tag. @fastify/etag supports
 * neither lists of tags nor `*`, sends 304 to writes, tags errors, and sends `content-length: 0` with a 304.
 */
export function sendConditionally(app: FastifyInstance): void {
  app.addHook('onSend', ({ method, headers, routeOptions }, reply, payload, done) => {
    if (reply.statusCode >= 300 || !isCacheable(reply.getHeader('cache-control'))) return done(null, payload);
    const isBody = typeof payload === 'string' || Buffer.isBuffer(payload);
    if (!isBody || !isTagged(method, routeOptions.schema)) return done(null, payload);
    const tag = String(reply.getHeader('etag') ?? entityTag(payload));
    reply.header('etag', tag);
    const named = headers['if-none-match'];
    const isRead = method === 'GET' || method === 'HEAD';
    if (!isRead || named === undefined || !namesTag(named, tag)) return done(null, payload);
    reply.code(304).removeHeader('content-type');
    // Fastify needs the body of a HEAD for content-length, and drops it itself.
    done(null, method === 'HEAD' ? payload : null);
  });
}

const noMatch = (ifMatch: string): ApiError =>
  new ApiError('PRECONDITION_FAILED', ifMatch.includes('"') ? 'changed' : 'noTag');

/**
 * Runs `work`. With If-Match, in a transaction and only if the locked record has one of the tags.
 * @param lock locks the record and returns it as its GET does; throws if it does not exist
 * @throws PRECONDITION_FAILED
 */
export function ifMatch<Result>(
  request: FastifyRequest,
  lock: Get<unknown>,
  id: string,
  work: (scope: OrganizationScope, id: string) => Promise<Result>,
): Promise<Result> {
  const named = request.headers['if-match'];
  if (named === undefined) return work(request.scope, id);
  return inTransaction(request.scope, async (scope) => {
    if (!namesTag(named, entityTag(await lock(scope, id)))) throw noMatch(named);
    return work(scope, id);
  });
}

/**
 * Runs a PUT. With If-Match, only if the locked record has one of the tags; with `If-None-Match: *`, only if the PUT
 * creates the record (otherwise it is rolled back).
 * @param lock locks the record and returns it as the PUT does; throws if it does not exist
 * @throws PRECONDITION_FAILED
 */
export async function putIfMatch<T>(
  { headers, scope, routeOptions }: FastifyRequest,
  reply: FastifyReply,
  lock: Get<T>,
  id: string,
  work: (scope: OrganizationScope, id: string) => Promise<Put<T>>,
): Promise<Json<T>> {
  const named = headers['if-match'];
  const mustCreate = headers['if-none-match'] === '*';
  /** A 404 that the route declares is of another record, such as the conversation of a message. */
  const isNew = (error: unknown): boolean =>
    error instanceof ApiError &&
    error.status === 404 &&
    !routeOptions.config.errorCodes?.includes(error.code);
  const checked = async (within: OrganizationScope): Promise<Put<T>> => {
    if (named !== undefined) {
      const stored = await lock(within, id).catch((error) => {
        throw isNew(error) ? noMatch(named) : error;
      });
      if (!namesTag(named, entityTag(stored))) throw noMatch(named);
    }
    const put = await work(within, id);
    if (mustCreate && !put.created) throw new ApiError('PRECONDITION_FAILED', 'exists');
    return put;
  };
  const isConditional = named !== undefined || mustCreate;
  const { created, body } = await (isConditional ? inTransaction(scope, checked) : work(scope, id));
  reply.code(created ? 201 : 200);
  return body;
}
