import { MAX_HEADER_BYTES } from '../contract/fields.ts';
import { referTo } from './tidy.ts';

const RESPONSE_DESCRIPTIONS: Record<string, string> = {
  'X-Request-Id':
    'The id of this request in the log. A client may send its own (8 to 64 of A-Z a-z 0-9 _ -).',
  ETag: 'The tag of this response: it changes only if the response does. Send it as `If-None-Match` to get 304 while nothing has changed.',
  'Idempotency-Replayed':
    '`true` if an earlier request with this `Idempotency-Key` created the record; nothing was done now.',
  'WWW-Authenticate': 'How to send the key.',
  'X-RateLimit-Limit': 'The number of requests per minute of this key.',
  'X-RateLimit-Remaining': 'The number of remaining requests.',
  'X-RateLimit-Reset': 'Seconds until the window ends.',
  'X-Ignored-Parameters':
    'Ignored fields and parameters of the request: `sort, body.nickname`. With `Prefer: handling=strict`, they are errors.',
  Link: 'The URL of the next page, if there is one, with the parameters that the list has: `<…>; rel="next"`.',
  'Retry-After':
    'Whole seconds to wait before the next request. On a 409 only with `IDEMPOTENCY_IN_PROGRESS`.',
};

/** Without examples, which the reference page would send. */
const REQUEST_DESCRIPTIONS: Record<string, [name: string, description: string, limits?: object]> = {
  Prefer: ['Prefer', '`handling=strict`: unknown fields and parameters are errors instead of being ignored.'],
  Actor: [
    'X-Actor',
    'Who of the agency acts, in your own terms. It stands in the log line of the request.',
    { maxLength: 64 },
  ],
  IfNoneMatch: [
    'If-None-Match',
    'The `ETag` of your copy, or several separated by commas: 304 without a body if nothing has changed.',
  ],
  IfMatch: [
    'If-Match',
    'The `ETag` of the record as you read it, or several separated by commas: 412 `PRECONDITION_FAILED` if the record has changed since. `*` matches every record that exists.',
  ],
  OnlyCreate: [
    'If-None-Match',
    '`*` creates the record and never replaces it: 412 `PRECONDITION_FAILED` if it exists, even if it is archived.',
  ],
  IdempotencyKey: [
    'Idempotency-Key',
    'A string that you generate for one request, and send again with each retry. Within 24 hours, the same key and body return the record that the first request created, as it is now, and nothing is done twice. With a different body, or if that record was archived, merged or deleted: 409 `IDEMPOTENCY_KEY_REUSED`. A rejected request (4xx, 503) does not use up the key.',
    { minLength: 1, maxLength: 255 },
  ],
};

export type Kind = { method: string; path: string; isTagged: boolean; isOnce: boolean; isPaged: boolean };

export function requestHeadersOf({ method, path, isTagged, isOnce }: Kind): object[] {
  const names = [
    'Prefer',
    ...(path.startsWith('/dashboard/') ? ['Actor'] : []),
    ...(method === 'get' && isTagged ? ['IfNoneMatch'] : []),
    ...(['put', 'patch', 'delete'].includes(method) ? ['IfMatch'] : []),
    ...(method === 'put' ? ['OnlyCreate'] : []),
    ...(isOnce ? ['IdempotencyKey'] : []),
  ];
  return names.map((name) => referTo('parameters', name));
}

const OF_LIMIT = Object.keys(RESPONSE_DESCRIPTIONS).filter((name) => name.includes('RateLimit'));

export function responseHeadersOf(status: number, { path, isTagged, isOnce, isPaged }: Kind): object {
  const isLimited = path.startsWith('/v1/');
  const names = [
    'X-Request-Id',
    ...(isTagged && status < 400 ? ['ETag'] : []),
    ...(isOnce && status < 300 ? ['Idempotency-Replayed'] : []),
    ...(status === 401 ? ['WWW-Authenticate'] : []),
    ...(isLimited && status !== 401 ? OF_LIMIT : []),
    // Rejected before the names in the request are checked.
    ...([401, 403, 413, 429].includes(status) ? [] : ['X-Ignored-Parameters']),
    ...(isPaged && status === 200 ? ['Link'] : []),
    ...(status === 429 || status === 503 || (isOnce && status === 409) ? ['Retry-After'] : []),
  ];
  return Object.fromEntries(names.map((name) => [name, referTo('headers', name)]));
}

export const RESPONSE_HEADERS = Object.fromEntries(
  Object.entries(RESPONSE_DESCRIPTIONS).map(([name, description]) => {
    const type = /^(?:Retry-After|X-RateLimit-.*)$/.test(name) ? 'integer' : 'string';
    return [name, { description, schema: { type } }];
  }),
);

export const REQUEST_HEADERS = Object.fromEntries(
  Object.entries(REQUEST_DESCRIPTIONS).map(([key, [name, description, limits]]) => {
    const schema = { type: 'string', maxLength: MAX_HEADER_BYTES / 8, ...limits };
    return [key, { name, in: 'header', required: false, schema, description }];
  }),
);
