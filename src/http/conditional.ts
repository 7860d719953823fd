import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import { entityTag } from '../../rules/entity-tag.ts';
import { ApiError } from '../contract/errors.ts';
import type { Json, OrganizationScope, Put } from '../db/index.ts';
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

type Work<Body, Result> = (scope: OrganizationScope, id: string, body: Body) => Promise<Result>;

/**
 * Runs `work` with the body. With If-Match, in a transaction and only if the locked record has one of the tags.
 * @param lock locks the record, after those that the body names, and returns it as its GET does; throws if it does not exist
 * @throws PRECONDITION_FAILED
 */
export function ifMatch<Body, Result>(
  { headers: { 'if-match': named }, scope, body }: FastifyRequest & { body: Body },
  lock: Work<Body, Json<unknown>>,
  id: string,
  work: Work<Body, Result>,
  needsTransaction = named !== undefined,
): Promise<Result> {
  const checked = async (within: OrganizationScope): Promise<Result> => {
    if (named !== undefined && !namesTag(named, entityTag(await lock(within, id, body))))
      throw new ApiError('PRECONDITION_FAILED', named.includes('"') ? 'changed' : 'noTag');
    return work(within, id, body);
  };
  return needsTransaction ? scope.transaction(checked) : checked(scope);
}

/**
 * Runs a PUT. With If-Match, only if the locked record has one of the tags; with `If-None-Match: *`, only if the PUT
 * creates the record (otherwise it is rolled back).
 * @param record `lockToPut` locks the record and returns it as `put` does; it throws if the record does not exist
 * @throws PRECONDITION_FAILED
 */
export async function putIfMatch<Body, T>(
  request: FastifyRequest & { body: Body },
  reply: FastifyReply,
  id: string,
  record: { lockToPut: Work<Body, Json<T>>; put: Work<Body, Put<T>> },
): Promise<Json<T>> {
  const { 'if-match': named, 'if-none-match': none } = request.headers;
  const { errorCodes = [] } = request.routeOptions.config;
  const lockStored: Work<Body, Json<T>> = (...args) =>
    record.lockToPut(...args).catch((error) => {
      // A 404 that the route declares is of another record, such as the conversation of a message.
      const isNew = error instanceof ApiError && error.status === 404 && !errorCodes.includes(error.code);
      throw isNew ? new ApiError('PRECONDITION_FAILED', 'absent') : error;
    });
  const put: Work<Body, Put<T>> = async (...args) => {
    const done = await record.put(...args);
    if (none === '*' && !done.created) throw new ApiError('PRECONDITION_FAILED', 'exists');
    return done;
  };
  const isConditional = named !== undefined || none === '*';
  const { created, body } = await ifMatch(request, lockStored, id, put, isConditional);
  reply.code(created ? 201 : 200);
  return body;
}
