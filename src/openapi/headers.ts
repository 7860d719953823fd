import { MAX_HEADER_BYTES } from '../http/connections.ts';
import { referTo } from './tidy.ts';

/** The headers in the documents: which ones requests to an operation may have, and which ones its answers carry. */

const OF_ANSWERS: Record<string, string> = {
  'X-Request-Id': 'Names this request in the log; a client may send its own (8 to 64 of A-Z a-z 0-9 _ -).',
  ETag: 'Names these bytes: it changes exactly when they do. Send it as `If-None-Match` to be told that nothing changed.',
  'Idempotency-Replayed':
    '`true` when this is the first answer to the same request with the same `Idempotency-Key`, and nothing was done now.',
  'WWW-Authenticate': 'How to send the key.',
  'RateLimit-Policy': 'The limit of this key and its window, as in the IETF draft: `"default";q=6000;w=60`.',
  'X-RateLimit-Limit': 'How many requests this key may make in a minute.',
  'X-RateLimit-Remaining': 'How many of them remain.',
  'X-RateLimit-Reset': 'Seconds until all of them are there again.',
  'Preference-Applied': '`handling=strict` when the request asked for it.',
  RateLimit: 'What remains, and the seconds until it is full again: `"default";r=5999;t=30`.',
  'X-Ignored-Parameters':
    'Names in the request that have no effect: `sort, body.nickname`. `Prefer: handling=strict` refuses them instead.',
  Link: 'On a page that others follow, the address of the next page: `<…>; rel="next"`.',
  'X-Known-Values':
    'On an empty page whose filter has a value that no record has: the values that there are, percent-encoded: `salesStage=new, won`.',
  'Retry-After':
    'Whole seconds to wait before the next request. On a 409 only with `IDEMPOTENCY_IN_PROGRESS`.',
};

/** Without examples: the reference page would send them. */
const OF_REQUESTS: Record<string, [name: string, description: string, limits?: object]> = {
  Prefer: ['Prefer', '`handling=strict`: names that mean nothing here are refused, not ignored.'],
  IfNoneMatch: [
    'If-None-Match',
    'The `ETag` of the answer that the client has, or several with commas between them: 304 without a body if it is still the same. Such an answer does not count against the rate limit, within bounds; `*` counts.',
  ],
  IfMatch: [
    'If-Match',
    'The `ETag` of the record as the client has read it, or several with commas between them: 412 `PRECONDITION_FAILED` if the record has changed since. `*` matches every record that exists.',
  ],
  OnlyCreate: [
    'If-None-Match',
    '`*`: the record is created, and never replaced: 412 `PRECONDITION_FAILED` if it is there already, also when it is archived.',
  ],
  IdempotencyKey: [
    'Idempotency-Key',
    'A text that the client makes for this one request, and sends again with each retry: the same key and body within 24 hours get the first answer, and nothing is done twice. With another body: 409 `IDEMPOTENCY_KEY_REUSED`. A request that is refused (4xx, 503) does not use the key up.',
    { minLength: 1, maxLength: 255 },
  ],
};

/** References to the headers that requests to an operation may have. */
export function requestHeadersOf(method: string, isTagged: boolean): object[] {
  const names = [
    'Prefer',
    ...(method === 'get' && isTagged ? ['IfNoneMatch'] : []),
    ...(['put', 'patch', 'delete'].includes(method) ? ['IfMatch'] : []),
    ...(method === 'put' ? ['OnlyCreate'] : []),
    ...(method === 'post' ? ['IdempotencyKey'] : []),
  ];
  return names.map((name) => referTo('parameters', name));
}

const OF_LIMIT = Object.keys(OF_ANSWERS).filter((name) => name.includes('RateLimit'));

/** References to the headers that answers of a status carry. Only the keys of /v1 have a limit. */
export function answerHeadersOf(
  status: number,
  { method, path, isTagged, isPaged }: { method: string; path: string; isTagged: boolean; isPaged: boolean },
): object {
  const [isLimited, isOnce] = [path.startsWith('/v1/'), method === 'post'];
  const names = [
    'X-Request-Id',
    ...(isTagged && status < 400 ? ['ETag'] : []),
    ...(isOnce && status < 300 ? ['Idempotency-Replayed'] : []),
    ...(status === 401 ? ['WWW-Authenticate'] : []),
    ...(isLimited && status !== 401 ? OF_LIMIT : []),
    // Those are refused before the names of the request are looked at.
    ...([401, 403, 413, 429].includes(status) ? [] : ['X-Ignored-Parameters', 'Preference-Applied']),
    ...(isPaged && status === 200 ? ['Link'] : []),
    ...(isLimited && isPaged && status === 200 ? ['X-Known-Values'] : []),
    ...(status === 429 || status === 503 || (isOnce && status === 409) ? ['Retry-After'] : []),
  ];
  return Object.fromEntries(names.map((name) => [name, referTo('headers', name)]));
}

export const ANSWER_HEADERS = Object.fromEntries(
  Object.entries(OF_ANSWERS).map(([name, description]) => {
    const type = /^(?:Retry-After|X-RateLimit-.*)$/.test(name) ? 'integer' : 'string';
    return [name, { description, schema: { type } }];
  }),
);

export const REQUEST_HEADERS = Object.fromEntries(
  Object.entries(OF_REQUESTS).map(([key, [name, description, limits]]) => {
    // What fits beside the others and the longest request line.
    const schema = { type: 'string', maxLength: MAX_HEADER_BYTES / 8, ...limits };
    return [key, { name, in: 'header', required: false, schema, description }];
  }),
);
