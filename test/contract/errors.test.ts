import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { type ErrorCode, statusOf } from '../../src/contract/errors.ts';
import { invalid } from '../support/faults.ts';
import { type Agency, useService } from '../support/service.ts';
import { exchange, listen, type RawAnswer, requestBytes } from '../support/socket.ts';
import { UNAUTHORIZED } from '../support/unauthorized.ts';

const lines: string[] = [];
const service = useService({ logTo: { write: (line: string) => lines.push(line) } });
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const JSON_HEADERS = { 'Content-Type': 'application/json' };
const contact = (identifierValue: string = randomUUID()) => ({ identifierType: 'web', identifierValue });
const VALID_CUSTOMER = JSON.stringify({ contacts: [contact('a')] });

let port: number;
let agency: Agency;
beforeAll(async () => {
  port = (await listen(service)).port;
  agency = await service.agency();
});

type Failure = { error: { code: string; message: unknown; details?: unknown } };
const failed = (code: ErrorCode, message: string): Failure => ({ error: { code, message } });
const badBody = (message: string): Failure => invalid(['body', message]);
const NO_ROUTE = {
  error: { code: 'ROUTE_NOT_FOUND', message: expect.stringMatching(/^This operation does not exist[.:;] /) },
};
const NOT_JSON = {
  error: {
    code: 'VALIDATION_FAILED',
    message: expect.stringMatching(
      /^The request is not valid: body must be (?:valid JSON: .+|JSON in UTF-8)\.$/,
    ),
    details: [{ path: 'body', message: expect.any(String) }],
  },
};
const NO_PATH = failed('ROUTE_NOT_FOUND', 'The path cannot be decoded. Percent-encode it as UTF-8.');
const NO_HTTP = failed('VALIDATION_FAILED', 'The request is not valid HTTP.');
const TOO_LARGE_HEADERS = failed('VALIDATION_FAILED', 'The headers are larger than 8 KiB.');
const NO_ASCII = 'The URL has characters that must be percent-encoded, such as %C3%B1 for ñ.';

/** The error shape over a socket: JSON that says its length, and on every answer a request id and nosniff. */
function expectError(answer: RawAnswer | undefined, body: Failure): void {
  expect(JSON.parse(answer?.text ?? '{}')).toEqual(body);
  expect(answer?.status).toBe(statusOf(body.error.code as ErrorCode));
  expect(answer?.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': expect.stringMatching(UUID),
    'x-content-type-options': 'nosniff',
  });
}

const get = (target: string, headers: Record<string, string | null> = {}) =>
  requestBytes('GET', target, headers);
const post = (headers: Record<string, string | null>, body: string | Buffer = '') =>
  requestBytes('POST', '/v1/customers', headers, body);
const HEADERS_65 = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`X-${n}`, 'a']));

describe('a request that never reaches an operation is answered in the error shape', () => {
  test.each<[string, Failure, string | Buffer]>([
    ['an unknown path', NO_ROUTE, get('/v1/nothing')],
    ['a known path with another method', NO_ROUTE, requestBytes('PUT', '/v1/customers/x')],
    ['a method that no operation has', NO_ROUTE, requestBytes('PROPFIND', '/v1/customers')],
    ['OPTIONS of the server', NO_ROUTE, requestBytes('OPTIONS', '*')],
    ['a doubled slash', NO_ROUTE, get('//v1/customers')],
    ['another case', NO_ROUTE, get('/V1/customers')],
    ['a bad escape', NO_PATH, get('/v1/customers/%zz')],
    ['an escape that is no UTF-8', NO_PATH, get('/v1/customers/%ff')],
    ['a bad escape outside of /v1', NO_PATH, get('/%zz')],
    ['a garbage line', NO_HTTP, 'garbage\r\n\r\n'],
    ['a method that HTTP does not know', NO_HTTP, requestBytes('FETCH', '/v1/customers')],
    ['a line that ends in LF alone', NO_HTTP, 'GET /v1/customers HTTP/1.1\nHost: x\n\n'],
    [
      'two lengths',
      NO_HTTP,
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
    ],
    [
      'a length beside chunks',
      NO_HTTP,
      post({ 'Content-Length': '2', 'Transfer-Encoding': 'chunked' }, '0\r\n\r\n'),
    ],
    [
      'an address that is no ASCII',
      failed('VALIDATION_FAILED', NO_ASCII),
      Buffer.from('GET /v1/customers?query=ñ HTTP/1.1\r\nHost: x\r\n\r\n'),
    ],
    ['headers of more than 8 KiB', TOO_LARGE_HEADERS, get('/v1/customers', { 'X-Large': 'x'.repeat(8_300) })],
    ['a path of more than 8 KiB', TOO_LARGE_HEADERS, get(`/v1/customers/${'x'.repeat(8_300)}`)],
    [
      'more than 64 headers',
      invalid(['header', 'must have at most 64 fields']),
      get('/v1/customers', HEADERS_65),
    ],
    [
      'HTTP/1.1 without a Host',
      invalid(['header.host', 'is required']),
      get('/v1/customers', { Host: null }),
    ],
  ])('%s', async (_name, body, bytes) => {
    expectError(await exchange(port, bytes), body);
  });

  test('a known path needs no more than HTTP/1.0, may be absolute, and may come with an upgrade or a body that nobody asked for', async () => {
    const key = { 'x-api-key': agency.key };
    for (const bytes of [
      Buffer.from(`GET /v1/team HTTP/1.0\r\nx-api-key: ${agency.key}\r\n\r\n`),
      get('http://example.com/v1/team', key),
      get('/v1/team', { ...key, Connection: 'Upgrade', Upgrade: 'websocket' }),
      requestBytes('GET', '/v1/team', { ...key, ...JSON_HEADERS }, '{'),
      requestBytes('GET', '/v1/team', { ...key, 'Content-Type': 'text/plain' }, 'x'),
    ]) {
      const answer = await exchange(port, bytes);
      expect(answer?.status).toBe(200);
      expect(JSON.parse(answer?.text ?? '').data).toEqual([]);
    }
  });

  test('an unknown path is unknown, whatever comes with it', async () => {
    for (const [headers, body] of [
      [JSON_HEADERS, '{'],
      [{ 'Content-Type': 'text/plain' }, 'a'],
      [{ ...JSON_HEADERS, 'Content-Length': '99999999' }, ''],
      [{ Prefer: 'handling=strict' }, ''],
    ] as const)
      expectError(await exchange(port, requestBytes('POST', '/v1/team?x=1', headers, body)), NO_ROUTE);
  });
});

test('checks follow one another: key, request, record, its tag, conflict', async () => {
  const own = await service.agency();
  const taken = { contacts: [contact()] };
  await own.post('/v1/customers', taken);
  const { id } = (await own.post('/v1/customers', { contacts: [contact()] })).body;
  const [unknown, known] = [randomUUID(), id].map((each) => `/v1/customers/${each}`) as [string, string];
  const statusOf = async (url: string, body: object, tag: string, key = own.key) =>
    (await own.patch(url, body, { key, headers: { 'if-match': tag } })).status;
  const invalid = { ...taken, tags: null };
  expect([
    await statusOf(unknown, invalid, '"another"', 'nonsense'),
    await statusOf(unknown, invalid, '"another"'),
    await statusOf(unknown, taken, '"another"'),
    await statusOf(known, taken, '"another"'),
    await statusOf(known, taken, '*'),
  ]).toEqual([401, 400, 404, 412, 409]);
});

test.each([{ Expect: '100-continue' }, { 'Content-Encoding': 'Identity' }, { 'Content-Encoding': '' }])(
  'a body is read that comes with %j',
  async (more) => {
    const { key } = await service.agency();
    const headers = { ...JSON_HEADERS, 'x-api-key': key, ...more };
    expect((await exchange(port, post(headers, VALID_CUSTOMER)))?.status).toBe(201);
  },
);

describe('a body that cannot be read is answered in the error shape, and changes nothing', () => {
  const NOT_TYPED = badBody('must be JSON, and be sent with Content-Type: application/json');
  const ABSENT = badBody('is required');
  const TOO_DEEP = invalid(['body', 'must not be nested deeper than 32 levels']);
  const NO_OBJECT = badBody('must be a JSON object');
  const TOO_LARGE = failed('PAYLOAD_TOO_LARGE', 'The body is larger than 1 MiB.');
  const MIB = 1024 * 1024;

  const NO_GZIP = badBody('must not be compressed');
  const gzip = { ...JSON_HEADERS, 'Content-Encoding': 'gzip' };
  const chunked = { ...JSON_HEADERS, 'Transfer-Encoding': 'chunked', 'Content-Length': null };
  const inLatin1 = (text: string) => Buffer.from(`{"firstName":"${text}"}`, 'latin1');
  const DEEP_CONTACTS = `{"contacts":${'['.repeat(31)}${']'.repeat(31)}}`;

  test.each<[string, Failure, Record<string, string | null>, string | Buffer]>([
    ['bad JSON', NOT_JSON, JSON_HEADERS, '{"contacts":'],
    ['two JSON values', NOT_JSON, JSON_HEADERS, '{}{}'],
    ['a byte order mark alone', NOT_JSON, JSON_HEADERS, '\ufeff'],
    ['a body that is no UTF-8', NOT_JSON, JSON_HEADERS, inLatin1('\xe9')],
    ['UTF-16', NOT_JSON, JSON_HEADERS, Buffer.from(VALID_CUSTOMER, 'utf16le')],
    ['no body', ABSENT, JSON_HEADERS, ''],
    ['no body and no content type', ABSENT, {}, ''],
    ['text/plain', NOT_TYPED, { 'Content-Type': 'text/plain' }, VALID_CUSTOMER],
    [
      'a merge patch',
      badBody('must be sent with content-type: application/json'),
      { 'Content-Type': 'application/merge-patch+json' },
      VALID_CUSTOMER,
    ],
    ['no content type', NOT_TYPED, {}, VALID_CUSTOMER],
    ['a multipart body', NOT_TYPED, { 'Content-Type': 'multipart/form-data; boundary=x' }, '--x--'],
    ['a compressed body', NO_GZIP, gzip, gzipSync(VALID_CUSTOMER)],
    ['a body compressed twice', NO_GZIP, { ...gzip, 'Content-Encoding': 'identity, br' }, VALID_CUSTOMER],
    ['an array', NO_OBJECT, JSON_HEADERS, '[]'],
    ['null', badBody('must not be null'), JSON_HEADERS, 'null'],
    ['more than 1 MiB', TOO_LARGE, JSON_HEADERS, `"${'x'.repeat(MIB - 1)}"`],
    [
      'more in chunks',
      TOO_LARGE,
      chunked,
      `${(MIB + 1).toString(16)}\r\n${'x'.repeat(MIB + 1)}\r\n0\r\n\r\n`,
    ],
    ['more by its length alone', TOO_LARGE, { ...JSON_HEADERS, 'Content-Length': '99999999999' }, ''],
    ['exactly 1 MiB', NO_OBJECT, JSON_HEADERS, `"${'x'.repeat(MIB - 2)}"`],
    ['what breaks the rules of chunks', NO_HTTP, chunked, 'zz\r\n'],
    ['an unknown transfer encoding', NO_HTTP, { ...chunked, 'Transfer-Encoding': 'gzip' }, ''],
    ['arrays in arrays', TOO_DEEP, JSON_HEADERS, '['.repeat(MIB / 2) + ']'.repeat(MIB / 2)],
    [
      'arrays where objects belong',
      invalid(['body.contacts[0]', 'must be a JSON object']),
      JSON_HEADERS,
      DEEP_CONTACTS,
    ],
    [
      'more entries than a list may have, each with its fault',
      invalid(['body.contacts', 'must have at most 50 entries']),
      JSON_HEADERS,
      `{"contacts":[${'0,'.repeat(400_000)}0]}`,
    ],
  ])('%s; without a key it is 401 first', async (_name, body, headers, bytes) => {
    const { key, id } = await service.agency();
    expectError(await exchange(port, post({ 'x-api-key': key, ...headers }, bytes)), body);
    expect(await service.query('select from customers where organization_id = $1', [id])).toEqual([]);
    expectError(await exchange(port, post(headers, bytes)), UNAUTHORIZED.noKey);
  });
});

test('a DELETE needs no body, and takes an empty one; one that is no JSON is refused', async () => {
  const remove = async (headers: Record<string, string>, body = '') => {
    const { id } = (await agency.post('/v1/customers', { contacts: [contact()] })).body;
    const sent = { 'x-api-key': agency.key, ...headers };
    return exchange(port, requestBytes('DELETE', `/v1/customers/${id}`, sent, body));
  };
  for (const [headers, body] of [
    [{}, ''],
    [JSON_HEADERS, ''],
    [{ ...JSON_HEADERS, 'Content-Length': '0' }, ''],
    [JSON_HEADERS, '{}'],
  ] as const)
    expect((await remove(headers, body))?.status).toBe(200);
  expectError(await remove(JSON_HEADERS, '{'), NOT_JSON);
});

describe('X-Request-Id', () => {
  const idOf = async (sent: string | null, target = '/v1/team') =>
    (await exchange(port, get(target, { 'x-api-key': agency.key, 'X-Request-Id': sent })))?.headers[
      'x-request-id'
    ];

  test.each(['12345678', 'a'.repeat(64), 'Trace_id-0042'])(
    "a client's own is taken over: %s",
    async (sent) => {
      for (const target of ['/v1/team', '/nothing', '/v1/customers/%zz'])
        expect(await idOf(sent, target)).toBe(sent);
    },
  );

  test('anything else is replaced by one that no other answer has', async () => {
    const others = [null, '', '1234567', 'a'.repeat(65), 'with space', 'a.b.c.d.e', '12345678, 87654321'];
    const ids = await Promise.all(others.map((sent) => idOf(sent)));
    for (const id of ids) expect(id).toMatch(UUID);
    expect(new Set(ids).size).toBe(others.length);
  });
});

test('a client that breaks off its request is no fault of ours: the log warns of nothing', async () => {
  const headers = { ...JSON_HEADERS, 'x-api-key': agency.key, 'Content-Length': '100' };
  const received = once(service.app.server, 'request');
  const socket = connect(port, '127.0.0.1');
  socket.write(post(headers, '{'));
  const [incoming] = await received;
  lines.length = 0;
  socket.destroy();
  await once(incoming, 'close').catch(() => undefined);
  await setImmediate();
  expect(lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40)).toEqual([]);
});

test('a connection that was answered with an error can be used again', async () => {
  const base = `http://127.0.0.1:${port}/v1`;
  await (await fetch(`${base}/nothing`)).text();
  expect((await fetch(`${base}/team`, { headers: { 'x-api-key': agency.key } })).status).toBe(200);
  const both = [get('/v1/customers/%zz'), get('/v1/team', { 'x-api-key': agency.key })];
  expectError(await exchange(port, Buffer.concat(both)), NO_PATH);
});
