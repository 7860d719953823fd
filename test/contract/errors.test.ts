import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type ErrorCode, statusOf } from '../../src/contract/errors.ts';
import { excessOf } from '../../src/http/json-bodies.ts';
import { invalid, UNAUTHORIZED } from '../support/faults.ts';
import { web } from '../support/records.ts';
import { useService } from '../support/service.ts';
import { exchange, listen, type RawResponse, requestBytes } from '../support/socket.ts';

const service = await useService();
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const JSON_HEADERS = { 'Content-Type': 'application/json' };
const contact = () => web(randomUUID());
const VALID_CUSTOMER = JSON.stringify({ contacts: [web('a')] });

const { port } = await listen(service);
const agency = await service.agency();

type ErrorBody = { error: { code: string; message: unknown; details?: unknown } };
const errorBody = (code: ErrorCode, message: string): ErrorBody => ({ error: { code, message } });
const ROUTE_NOT_FOUND = errorBody('ROUTE_NOT_FOUND', 'This operation does not exist. See /docs.');
const NOT_JSON = {
  error: {
    code: 'VALIDATION_FAILED',
    message: expect.stringMatching(/^The request is not valid: body must be valid JSON: .+\.$/),
    details: [{ path: 'body', message: expect.any(String) }],
  },
};
const UNDECODABLE_PATH = errorBody(
  'ROUTE_NOT_FOUND',
  'This operation does not exist: its path cannot be decoded. Percent-encode it as UTF-8.',
);
const NOT_HTTP = errorBody('VALIDATION_FAILED', 'The request is not valid HTTP.');
const LARGE_HEADERS = errorBody('VALIDATION_FAILED', 'The headers are larger than 8 KiB, or more than 64.');
const NOT_ASCII = errorBody(
  'VALIDATION_FAILED',
  'The URL has characters that must be percent-encoded, such as %C3%B1 for ñ.',
);

/** What every error has, also an error of a request that Node or Fastify rejects before a route is known. */
function expectError(response: RawResponse | undefined, body: ErrorBody): void {
  expect(JSON.parse(response?.text ?? '{}')).toEqual(body);
  expect(response).toMatchObject({
    status: statusOf(body.error.code as ErrorCode),
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': expect.stringMatching(UUID),
      'x-content-type-options': 'nosniff',
    },
  });
}

const get = (target: string, headers: Record<string, string | null> = {}) =>
  requestBytes('GET', target, headers);
const post = (headers: Record<string, string | null>, body: string | Buffer = '') =>
  requestBytes('POST', '/v1/customers', headers, body);
const CHUNKED = { 'Transfer-Encoding': 'chunked' };
const STRICT = { ...JSON_HEADERS, Prefer: 'handling=strict' };
const SIXTY_FIVE_HEADERS = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`X-${n}`, 'a']));

test.each<[string, ErrorBody, string | Buffer]>([
  ['an unknown path', ROUTE_NOT_FOUND, get('/v1/nothing')],
  ['an unknown path, whatever is sent', ROUTE_NOT_FOUND, requestBytes('POST', '/v1/team?x=1', STRICT, '{')],
  ['a known path with another method', ROUTE_NOT_FOUND, requestBytes('PUT', '/v1/customers/x')],
  ['a method that no operation has', ROUTE_NOT_FOUND, requestBytes('PROPFIND', '/v1/customers')],
  ['OPTIONS of the server', ROUTE_NOT_FOUND, requestBytes('OPTIONS', '*')],
  ['a doubled slash', ROUTE_NOT_FOUND, get('//v1/customers')],
  ['a path in upper case', ROUTE_NOT_FOUND, get('/V1/customers')],
  ['a malformed escape', UNDECODABLE_PATH, get('/v1/customers/%zz')],
  ['an escape that is not UTF-8, outside /v1', UNDECODABLE_PATH, get('/%ff')],
  ['a path of more than 8 KiB', LARGE_HEADERS, get(`/v1/${'x'.repeat(8_300)}`)],
  ['a first line that is not HTTP', NOT_HTTP, 'garbage\r\n\r\n'],
  // Two proxies could find the end of such a request at different bytes.
  ['both a length and chunks', NOT_HTTP, post({ ...CHUNKED, 'Content-Length': '2' }, '0\r\n\r\n')],
  ['a URL that is not ASCII', NOT_ASCII, Buffer.from('GET /v1/ñ HTTP/1.1\r\nHost: x\r\n\r\n')],
  ['headers of more than 8 KiB', LARGE_HEADERS, get('/v1/team', { 'X-Large': 'x'.repeat(8_300) })],
  ['65 headers', invalid(['header', 'must have at most 64 fields']), get('/v1/team', SIXTY_FIVE_HEADERS)],
  ['66 headers', LARGE_HEADERS, get('/v1/team', { ...SIXTY_FIVE_HEADERS, 'X-64': 'a' })],
  ['HTTP/1.1 without a Host', invalid(['header.host', 'is required']), get('/v1/team', { Host: null })],
])('a request that reaches no operation, %s, gets the body of an error', async (_name, body, bytes) => {
  expectError(await exchange(port, bytes), body);
});

const key = { 'x-api-key': agency.key };
test.each<[string, Buffer]>([
  ['HTTP/1.0', Buffer.from(`GET /v1/team HTTP/1.0\r\nx-api-key: ${agency.key}\r\n\r\n`)],
  ['an absolute URL', get('http://example.com/v1/team', key)],
  ['an upgrade', get('/v1/team', { ...key, Connection: 'Upgrade', Upgrade: 'websocket' })],
  ['an unknown expectation', get('/v1/team', { ...key, Expect: 'nonsense' })],
  ['a malformed body', requestBytes('GET', '/v1/team', { ...key, ...JSON_HEADERS }, '{')],
])('a GET with %s is a GET like any other', async (_name, bytes) => {
  const response = await exchange(port, bytes);
  expect(response?.status).toBe(200);
  expect(JSON.parse(response?.text ?? '').data).toEqual([]);
});

test('checks come in this order: key, request, record, If-Match, conflict', async () => {
  const own = await service.agency();
  const conflicting = { contacts: [contact()] };
  await own.post('/v1/customers', conflicting);
  const { id } = (await own.post('/v1/customers', { contacts: [contact()] })).body;
  const patch = async (id: string, body: object, tag: string, key = own.key) =>
    (await own.patch(`/v1/customers/${id}`, body, { key, headers: { 'if-match': tag } })).status;
  const notValid = { ...conflicting, tags: null };
  expect(await patch(randomUUID(), notValid, '"stale"', 'nonsense')).toBe(401);
  expect(await patch(randomUUID(), notValid, '"stale"')).toBe(400);
  expect(await patch(randomUUID(), conflicting, '"stale"')).toBe(404);
  expect(await patch(id, conflicting, '"stale"')).toBe(412);
  expect(await patch(id, conflicting, '*')).toBe(409);
});

test('a body with Expect: 100-continue is accepted', async () => {
  const { key } = await service.agency();
  const headers = { ...JSON_HEADERS, 'x-api-key': key, Expect: '100-continue' };
  expect((await exchange(port, post(headers, VALID_CUSTOMER)))?.status).toBe(201);
});

const bodyError = (message: string): ErrorBody => invalid(['body', message]);
const NOT_TYPED = bodyError('must be JSON, and be sent with Content-Type: application/json');
const ABSENT = bodyError('is required');
const NOT_AN_OBJECT = bodyError('must be a JSON object');
const TOO_DEEP = bodyError('must not be nested deeper than 32 levels');
const TOO_LARGE = errorBody('PAYLOAD_TOO_LARGE', 'The body is larger than 256 KiB.');
const LIMIT = 256 * 1024;

const chunked = { ...JSON_HEADERS, ...CHUNKED, 'Content-Length': null };
const MERGE_PATCH = bodyError('must be sent with content-type: application/json');
const NO_LISTS = invalid(['body.contacts', 'must be an array'], ['body.tags', 'must be an array']);
const textForLists = JSON.stringify({ contacts: '', tags: 'x'.repeat(101) });
const inLatin1 = Buffer.from('{"firstName":"\xe9"}', 'latin1');
const largeChunk = `${(LIMIT + 1).toString(16)}\r\n${'x'.repeat(LIMIT + 1)}\r\n0\r\n\r\n`;

test.each<[string, ErrorBody, Record<string, string | null>, string | Buffer]>([
  ['malformed JSON', NOT_JSON, JSON_HEADERS, '{"contacts":'],
  ['malformed JSON without a key', UNAUTHORIZED.noKey, { ...JSON_HEADERS, 'x-api-key': null }, '{'],
  ['text that is not UTF-8', NOT_JSON, JSON_HEADERS, inLatin1],
  ['no body', ABSENT, JSON_HEADERS, ''],
  ['no body and no content type', ABSENT, {}, ''],
  ['JSON as text/plain', NOT_TYPED, { 'Content-Type': 'text/plain' }, VALID_CUSTOMER],
  ['JSON without a content type', NOT_TYPED, {}, VALID_CUSTOMER],
  ['a merge patch', MERGE_PATCH, { 'Content-Type': 'application/merge-patch+json' }, VALID_CUSTOMER],
  ['an array', NOT_AN_OBJECT, JSON_HEADERS, '[]'],
  ['texts for lists', NO_LISTS, JSON_HEADERS, textForLists],
  ['null', bodyError('must not be null'), JSON_HEADERS, 'null'],
  ['arrays in arrays', TOO_DEEP, JSON_HEADERS, '['.repeat(LIMIT / 2) + ']'.repeat(LIMIT / 2)],
  ['a text of exactly 256 KiB', NOT_AN_OBJECT, JSON_HEADERS, `"${'x'.repeat(LIMIT - 2)}"`],
  ['more than 256 KiB in one chunk', TOO_LARGE, chunked, largeChunk],
  ['more than 256 KiB by its length', TOO_LARGE, { ...JSON_HEADERS, 'Content-Length': '99999999' }, ''],
  ['a malformed chunk', NOT_HTTP, chunked, 'zz\r\n'],
])(
  'a body that cannot be read, %s, gets the body of an error, and changes nothing',
  async (_name, body, headers, bytes) => {
    const { key, id } = await service.agency();
    expectError(await exchange(port, post({ 'x-api-key': key, ...headers }, bytes)), body);
    expect(await service.query('select from customers where organization_id = $1', [id])).toEqual([]);
  },
);

test('a DELETE needs no body, whatever its content type; it accepts JSON, and rejects any other body', async () => {
  const remove = async (headers: Record<string, string | null>, body = '') => {
    const { id } = (await agency.post('/v1/customers', { contacts: [contact()] })).body;
    return exchange(port, requestBytes('DELETE', `/v1/customers/${id}`, { ...key, ...headers }, body));
  };
  expect(await remove({})).toMatchObject({ status: 200 });
  for (const type of ['application/json', 'text/plain', 'multipart/form-data', 'x'])
    expect(await remove({ 'Content-Type': type }), type).toMatchObject({ status: 200 });
  const chunked = { ...CHUNKED, 'Content-Length': null };
  for (const type of [null, 'text/plain'])
    expect(await remove({ ...chunked, 'Content-Type': type }, '0\r\n\r\n')).toMatchObject({ status: 200 });
  const { error } = JSON.parse((await remove({ 'Content-Type': 'text/plain' }, 'x'))?.text ?? '');
  expect(error.message).toContain('must be JSON, and be sent with Content-Type: application/json');
  expect(await remove(JSON_HEADERS, '{}')).toMatchObject({ status: 200 });
  expectError(await remove(JSON_HEADERS, '{'), NOT_JSON);
});

test("X-Request-Id is the client's own, or a new UUID where the client sends none or one of another form", async () => {
  const idOf = async (sent: string | null, target = '/v1/team') =>
    (await exchange(port, get(target, { ...key, 'X-Request-Id': sent })))?.headers['x-request-id'];
  for (const id of ['12345678', 'a'.repeat(64), 'Trace_id-0042'])
    for (const target of ['/v1/team', '/nothing', '/v1/customers/%zz'])
      expect(await idOf(id, target)).toBe(id);
  const others = [null, '', '1234567', 'a'.repeat(65), 'with space', 'a.b.c.d.e', '12345678, 87654321'];
  const ids = await Promise.all(others.map((sent) => idOf(sent)));
  for (const id of ids) expect(id).toMatch(UUID);
  expect(new Set(ids).size).toBe(others.length);
});

const TOO_MANY = 'must have at most 12000 fields, objects and lists';
test.each([
  ['32 levels', '['.repeat(32) + ']'.repeat(32), undefined],
  ['33 levels', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, 'must not be nested deeper than 32 levels'],
  ['12,000 lists and objects', `[${Array(11_999).fill('{}').join(',')}]`, undefined],
  ['12,001 objects and fields', `{${Array(12_000).fill('"a":1').join(',')}}`, TOO_MANY],
  ['brackets in texts', JSON.stringify({ a: '['.repeat(20_000), b: '\\":'.repeat(40_000) }), undefined],
])('a body with %s has the right error, or none', (_what, json, error) => {
  expect(excessOf(Buffer.from(json))).toBe(error);
});
