import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../src/errors.ts';
import { invalid } from '../support/faults.ts';
import { type Agency, useService } from '../support/service.ts';
import { exchange, listen, type RawAnswer, requestBytes } from '../support/socket.ts';
import { UNAUTHORIZED } from '../support/unauthorized.ts';

const lines: string[] = [];
const service = useService({ logTo: { write: (line: string) => lines.push(line) } });
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const VALID_CUSTOMER = JSON.stringify({ contacts: [{ identifierType: 'web', identifierValue: 'a' }] });

let port: number;
let agency: Agency;
beforeAll(async () => {
  port = (await listen(service)).port;
  agency = await service.agency();
});

const failed = (code: ErrorCode, message: string) => ({ error: { code, message } });

const badBody = (message: string) => invalid(['body', message]);
const NO_ROUTE = {
  error: { code: 'ROUTE_NOT_FOUND', message: expect.stringMatching(/^There is no such operation[.:;] /) },
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
const NO_PATH = failed('ROUTE_NOT_FOUND', 'The path cannot be decoded.');
const NO_HTTP = failed('VALIDATION_FAILED', 'The request is no valid HTTP.');

/** The error shape over a socket: JSON that says its length, and on every answer a request id and nosniff. */
function expectError(answer: RawAnswer | undefined, status: number, body: unknown): void {
  expect(answer).toBeDefined();
  expect(JSON.parse(answer?.text ?? '')).toEqual(body);
  expect(answer?.status).toBe(status);
  expect(answer?.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(answer?.headers['x-request-id']).toMatch(UUID);
  expect(answer?.headers['x-content-type-options']).toBe('nosniff');
}

const JSON_HEADERS = { 'Content-Type': 'application/json' };

describe('a request that never reaches an operation is answered in the error shape', () => {
  test.each<[string, number, unknown, () => (string | Buffer)[]]>([
    ['an unknown path', 404, NO_ROUTE, () => [requestBytes('GET', '/v1/nothing')]],
    ['an unknown path outside of /v1', 404, NO_ROUTE, () => [requestBytes('GET', '/')]],
    ['a known path with another method', 404, NO_ROUTE, () => [requestBytes('PUT', '/v1/customers/x')]],
    ['a method that no operation has', 404, NO_ROUTE, () => [requestBytes('PROPFIND', '/v1/customers')]],
    ['QUERY', 404, NO_ROUTE, () => [requestBytes('QUERY', '/v1/customers')]],
    ['TRACE', 404, NO_ROUTE, () => [requestBytes('TRACE', '/v1/customers')]],
    ['CONNECT', 404, NO_ROUTE, () => [requestBytes('CONNECT', 'example.com:443')]],
    ['OPTIONS', 404, NO_ROUTE, () => [requestBytes('OPTIONS', '/v1/customers')]],
    ['OPTIONS of the server', 404, NO_ROUTE, () => [requestBytes('OPTIONS', '*')]],
    ['a doubled slash', 404, NO_ROUTE, () => [requestBytes('GET', '//v1/customers')]],
    ['another case', 404, NO_ROUTE, () => [requestBytes('GET', '/V1/customers')]],
    ['an unknown version', 404, NO_ROUTE, () => [requestBytes('GET', '/v2/customers')]],
    ['a bad escape', 404, NO_PATH, () => [requestBytes('GET', '/v1/customers/%zz')]],
    ['half an escape', 404, NO_PATH, () => [requestBytes('GET', '/v1/customers/%f')]],
    ['an escape that is no UTF-8', 404, NO_PATH, () => [requestBytes('GET', '/v1/customers/%ff')]],
    ['a bad escape outside of /v1', 404, NO_PATH, () => [requestBytes('GET', '/%zz')]],
    ['a garbage line', 400, NO_HTTP, () => ['garbage\r\n\r\n']],
    ['binary garbage', 400, NO_HTTP, () => [Buffer.from([0x16, 0x03, 0x01, 0x00, 0xff, 0x00])]],
    ['a method that HTTP does not know', 400, NO_HTTP, () => [requestBytes('FETCH', '/v1/customers')]],
    ['a space in the path', 400, NO_HTTP, () => [requestBytes('GET', '/v1/cust omers')]],
    ['another protocol', 400, NO_HTTP, () => ['GET /v1/customers FTP/1.1\r\nHost: x\r\n\r\n']],
    ['a line that ends in LF alone', 400, NO_HTTP, () => ['GET /v1/customers HTTP/1.1\nHost: x\n\n']],
    ['a folded header', 400, NO_HTTP, () => ['GET /v1/team HTTP/1.1\r\nHost: x\r\nX-A: a\r\n b\r\n\r\n']],
    [
      'an address that is no ASCII',
      400,
      failed(
        'VALIDATION_FAILED',
        'The address has characters that must be percent-encoded, such as %C3%B1 for ñ.',
      ),
      () => [Buffer.from('GET /v1/customers?query=ñ HTTP/1.1\r\nHost: x\r\n\r\n')],
    ],
    ['HTTP/2', 400, NO_HTTP, () => ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n']],
    ['a header without a name', 400, NO_HTTP, () => ['GET / HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n']],
    ['a NUL in a header', 400, NO_HTTP, () => [requestBytes('GET', '/v1/team', { 'X-A': 'a\0b' })]],
    [
      'headers of more than 8 KiB',
      400,
      failed('VALIDATION_FAILED', 'The headers are too large.'),
      () => [requestBytes('GET', '/v1/customers', { 'X-Large': 'x'.repeat(8_300) })],
    ],
    [
      'more than 64 headers',
      400,
      invalid(['header', 'must be at most 64 headers']),
      () => [
        requestBytes(
          'GET',
          '/v1/customers',
          Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`X-${n}`, 'a'])),
        ),
      ],
    ],
    [
      'a path of more than 8 KiB',
      400,
      failed('VALIDATION_FAILED', 'The headers are too large.'),
      () => [requestBytes('GET', `/v1/customers/${'x'.repeat(8_300)}`)],
    ],
    [
      'two lengths',
      400,
      NO_HTTP,
      () => ['POST /v1/customers HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}'],
    ],
    [
      'a length beside chunks',
      400,
      NO_HTTP,
      () => [
        requestBytes(
          'POST',
          '/v1/customers',
          { 'Content-Length': '2', 'Transfer-Encoding': 'chunked' },
          '0\r\n\r\n',
        ),
      ],
    ],
    [
      'a length that is no number',
      400,
      NO_HTTP,
      () => [requestBytes('POST', '/v1/customers', { 'Content-Length': 'x' })],
    ],
    [
      'HTTP/1.1 without a Host',
      400,
      invalid(['header.host', 'is required']),
      () => [requestBytes('GET', '/v1/customers', { Host: null })],
    ],
    [
      'HTTP/1.1 without a Host, to an unknown path',
      400,
      invalid(['header.host', 'is required']),
      () => [requestBytes('GET', '/nothing', { Host: null })],
    ],
  ])('%s', async (_name, status, body, bytes) => {
    expectError(await exchange(port, ...bytes()), status, body);
  });

  test('a known path needs no more than HTTP/1.0, may be absolute, and may come with an upgrade or a body that nobody asked for', async () => {
    const key = { 'x-api-key': agency.key };
    for (const bytes of [
      Buffer.from(`GET /v1/team HTTP/1.0\r\nx-api-key: ${agency.key}\r\n\r\n`),
      requestBytes('GET', 'http://example.com/v1/team', key),
      requestBytes('GET', '/v1/team', { ...key, Connection: 'Upgrade', Upgrade: 'websocket' }),
      requestBytes('GET', '/v1/team', { ...key, ...JSON_HEADERS }, '{'),
      requestBytes('GET', '/v1/team', { ...key, 'Content-Type': 'text/plain' }, 'x'),
    ]) {
      const answer = await exchange(port, bytes);
      expect(answer?.status).toBe(200);
      expect(JSON.parse(answer?.text ?? '').data).toEqual([]);
    }
  });

  test.each<[string, Record<string, string>, string]>([
    ['a body that is no JSON', JSON_HEADERS, '{'],
    ['a body of another type', { 'Content-Type': 'text/plain' }, 'a'],
    ['a body too large', { ...JSON_HEADERS, 'Content-Length': '99999999' }, ''],
    ['strict handling', { Prefer: 'handling=strict' }, ''],
  ])('an unknown path is unknown, whatever comes with it: %s', async (_name, headers, body) => {
    for (const [method, target] of [
      ['POST', '/v1/nothing?x=1'],
      ['POST', '/v1/team?x=1'],
    ] as const) {
      expectError(await exchange(port, requestBytes(method, target, headers, body)), 404, NO_ROUTE);
    }
  });
});

test('checks follow one another: key, request, record, its tag, conflict', async () => {
  const own = await service.agency();
  await own.post('/v1/customers', JSON.parse(VALID_CUSTOMER));
  const unknown = '/v1/customers/01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';
  const taken = JSON.parse(VALID_CUSTOMER);
  const { id } = (
    await own.post('/v1/customers', { contacts: [{ ...taken.contacts[0], identifierValue: 'b' }] })
  ).body;
  const headers = { 'if-match': '"another"' };
  const statusOf = async (url: string, body: object, more: object = {}) =>
    (await own.patch(url, body, { headers, ...more })).status;
  const invalid = { ...taken, tags: null };
  expect([
    await statusOf(unknown, invalid, { key: 'nonsense' }),
    await statusOf(unknown, invalid),
    await statusOf(unknown, taken),
    await statusOf(`/v1/customers/${id}`, taken),
    await statusOf(`/v1/customers/${id}`, taken, { headers: { 'if-match': '*' } }),
  ]).toEqual([401, 400, 404, 412, 409]);
});

describe('an expectation', () => {
  test('that the server does not know is ignored', async () => {
    const answer = await exchange(
      port,
      requestBytes('GET', '/v1/team', { 'x-api-key': agency.key, Expect: 'nonsense' }),
    );
    expect(answer?.status).toBe(200);
    expect(JSON.parse(answer?.text ?? '').data).toEqual([]);
  });

  test('of 100-continue is met', async () => {
    const headers = { ...JSON_HEADERS, 'x-api-key': (await service.agency()).key, Expect: '100-continue' };
    const answer = await exchange(port, requestBytes('POST', '/v1/customers', headers, VALID_CUSTOMER));
    expect(answer?.status).toBe(201);
  });
});

describe('a body that cannot be read is answered in the error shape, and changes nothing', () => {
  const NOT_TYPED = badBody('must be JSON, sent with content-type: application/json');
  const ABSENT = badBody('is required');
  const TOO_DEEP = invalid(['body', 'must not be nested deeper than 32 levels']);
  const NO_OBJECT = badBody('must be a JSON object');
  const TOO_LARGE = failed('PAYLOAD_TOO_LARGE', 'The body is larger than this operation takes.');
  const MIB = 1024 * 1024;

  const cases: [string, number, unknown, Record<string, string | null>, string | Buffer][] = [
    ['bad JSON', 400, NOT_JSON, JSON_HEADERS, '{"contacts":'],
    ['JSON with a comma too many', 400, NOT_JSON, JSON_HEADERS, '{"contacts":[],}'],
    ['two JSON values', 400, NOT_JSON, JSON_HEADERS, '{}{}'],
    ['a byte order mark alone', 400, NOT_JSON, JSON_HEADERS, '\ufeff'],
    ['white space', 400, NOT_JSON, JSON_HEADERS, '  '],
    ['a body that is no UTF-8', 400, NOT_JSON, JSON_HEADERS, Buffer.from('{"firstName":"\xe9"}', 'latin1')],
    [
      'a surrogate in UTF-8',
      400,
      NOT_JSON,
      JSON_HEADERS,
      Buffer.from('{"firstName":"\xed\xa0\x80"}', 'latin1'),
    ],
    ['UTF-16', 400, NOT_JSON, JSON_HEADERS, Buffer.from(VALID_CUSTOMER, 'utf16le')],
    ['no body', 400, ABSENT, JSON_HEADERS, ''],
    ['no body and no content type', 400, ABSENT, {}, ''],
    ['a length of 0', 400, ABSENT, { ...JSON_HEADERS, 'Content-Length': '0' }, ''],
    ['text/plain', 400, NOT_TYPED, { 'Content-Type': 'text/plain' }, VALID_CUSTOMER],
    ['a form', 400, NOT_TYPED, { 'Content-Type': 'application/x-www-form-urlencoded' }, 'a=b'],
    ['no content type', 400, NOT_TYPED, {}, VALID_CUSTOMER],
    ['a content type that is none', 400, NOT_TYPED, { 'Content-Type': 'json' }, VALID_CUSTOMER],
    ['a multipart body', 400, NOT_TYPED, { 'Content-Type': 'multipart/form-data; boundary=x' }, '--x--'],
    [
      'a compressed body',
      400,
      badBody('must not be compressed'),
      { ...JSON_HEADERS, 'Content-Encoding': 'gzip' },
      gzipSync(VALID_CUSTOMER),
    ],
    [
      'a body compressed twice',
      400,
      badBody('must not be compressed'),
      { ...JSON_HEADERS, 'Content-Encoding': 'identity, br' },
      VALID_CUSTOMER,
    ],
    ['an array', 400, NO_OBJECT, JSON_HEADERS, '[]'],
    ['a string', 400, NO_OBJECT, JSON_HEADERS, '"contacts"'],
    ['a number', 400, NO_OBJECT, JSON_HEADERS, '1'],
    ['true', 400, NO_OBJECT, JSON_HEADERS, 'true'],
    ['null', 400, badBody('must not be null'), JSON_HEADERS, 'null'],
    ['more than 1 MiB', 413, TOO_LARGE, JSON_HEADERS, `"${'x'.repeat(MIB - 1)}"`],
    [
      'more than 1 MiB, in chunks',
      413,
      TOO_LARGE,
      { ...JSON_HEADERS, 'Transfer-Encoding': 'chunked', 'Content-Length': null },
      `${(MIB + 1).toString(16)}\r\n${'x'.repeat(MIB + 1)}\r\n0\r\n\r\n`,
    ],
    [
      'more than 1 MiB, by its length alone',
      413,
      TOO_LARGE,
      { ...JSON_HEADERS, 'Content-Length': '99999999999' },
      '',
    ],
    ['exactly 1 MiB', 400, NO_OBJECT, JSON_HEADERS, `"${'x'.repeat(MIB - 2)}"`],
    ['arrays in arrays', 400, TOO_DEEP, JSON_HEADERS, '['.repeat(MIB / 2) + ']'.repeat(MIB / 2)],
    [
      'arrays in arrays where objects belong',
      400,
      invalid(['body.contacts[0]', 'must be a JSON object']),
      JSON_HEADERS,
      `{"contacts":${'['.repeat(31)}${']'.repeat(31)}}`,
    ],
    [
      'more entries than a list may have, each with its fault',
      400,
      invalid(['body.contacts', 'must have at most 50 entries']),
      JSON_HEADERS,
      `{"contacts":[${'0,'.repeat(400_000)}0]}`,
    ],
  ];

  test.each(cases)('%s', async (_name, status, body, headers, bytes) => {
    const { key, id } = await service.agency();
    const answer = await exchange(
      port,
      requestBytes('POST', '/v1/customers', { 'x-api-key': key, ...headers }, bytes),
    );
    expectError(answer, status, body);
    expect(await service.query('select from customers where organization_id = $1', [id])).toEqual([]);
  });

  test.each(cases)('%s, without a key, is 401 first', async (_name, _status, _body, headers, bytes) => {
    const answer = await exchange(port, requestBytes('POST', '/v1/customers', headers, bytes));
    expectError(answer, 401, UNAUTHORIZED.noKey);
  });
});

test.each(['identity', 'Identity', ''])('a body in the encoding %j is one as it is', async (encoding) => {
  const { key } = await service.agency();
  const headers = { ...JSON_HEADERS, 'x-api-key': key, 'Content-Encoding': encoding };
  const answer = await exchange(port, requestBytes('POST', '/v1/customers', headers, VALID_CUSTOMER));
  expect(answer?.status).toBe(201);
});

describe('a DELETE', () => {
  const remove = async (headers: Record<string, string>, body = '') => {
    const own = await service.agency();
    const created = await own.post('/v1/customers', JSON.parse(VALID_CUSTOMER));
    return exchange(
      port,
      requestBytes('DELETE', `/v1/customers/${created.body.id}`, { 'x-api-key': own.key, ...headers }, body),
    );
  };

  test.each<[string, Record<string, string>, string]>([
    ['without body or content type', {}, ''],
    ['with a JSON content type and no body', JSON_HEADERS, ''],
    ['with a JSON content type and a length of 0', { ...JSON_HEADERS, 'Content-Length': '0' }, ''],
    ['with an empty object', JSON_HEADERS, '{}'],
  ])('%s works', async (_name, headers, body) => {
    const answer = await remove(headers, body);
    expect(answer?.status).toBe(200);
    expect(JSON.parse(answer?.text ?? '').archived).toBe(true);
  });

  test('with a body that is no JSON is refused', async () => {
    expectError(await remove(JSON_HEADERS, '{'), 400, NOT_JSON);
  });
});

describe('X-Request-Id', () => {
  const idOf = async (sent: string | null, target = '/v1/team') =>
    (await exchange(port, requestBytes('GET', target, { 'X-Request-Id': sent })))?.headers['x-request-id'];

  test.each(['12345678', 'a'.repeat(64), 'Trace_id-0042', '________'])(
    "a client's own is taken over: %s",
    async (sent) => {
      expect(await idOf(sent)).toBe(sent);
      expect(await idOf(sent, '/nothing')).toBe(sent);
      expect(await idOf(sent, '/v1/customers/%zz')).toBe(sent);
    },
  );

  test.each([
    null,
    '',
    '1234567',
    'a'.repeat(65),
    'with space',
    'a.b.c.d.e',
    'ñandúñandú',
    '12345678, 87654321',
  ])('anything else is replaced: %j', async (sent) => {
    expect(await idOf(sent)).toMatch(UUID);
  });

  test('every answer has another', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => idOf(null)));
    expect(new Set(ids).size).toBe(20);
  });

  test('is on successes too', async () => {
    const { status, headers } = await agency.get('/v1/team', { headers: { 'x-request-id': 'my-own-trace' } });
    expect(status).toBe(200);
    expect(headers['x-request-id']).toBe('my-own-trace');
  });
});

test.each<[string, string, string]>([
  ['a body that breaks the rules of chunks', 'chunked', 'zz\r\n'],
  ['an unknown transfer encoding', 'gzip', ''],
])('%s is refused, whenever it is noticed', async (_name, encoding, body) => {
  const headers = {
    'x-api-key': agency.key,
    'Content-Type': 'application/json',
    'Transfer-Encoding': encoding,
  };
  const head = requestBytes('POST', '/v1/customers', { ...headers, 'Content-Length': null });
  expectError(await exchange(port, head, body), 400, NO_HTTP);
});

test('a client that breaks off its request is no fault of ours: the log warns of nothing', async () => {
  const headers = { ...JSON_HEADERS, 'x-api-key': agency.key, 'Content-Length': '100' };
  const received = once(service.app.server, 'request');
  const socket = connect(port, '127.0.0.1');
  socket.write(requestBytes('POST', '/v1/customers', headers, '{'));
  const [incoming] = await received;
  lines.length = 0;
  socket.destroy();
  await once(incoming, 'close').catch(() => undefined);
  await setImmediate();
  expect(lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40)).toEqual([]);
});

test('a connection that was answered with an error can be used again', async () => {
  const bad = requestBytes('GET', '/v1/customers/%zz');
  const good = requestBytes('GET', '/v1/team', { 'x-api-key': agency.key });
  const answers = await fetch(`http://127.0.0.1:${port}/v1/nothing`).then(async (first) => {
    await first.text();
    return fetch(`http://127.0.0.1:${port}/v1/team`, { headers: { 'x-api-key': agency.key } });
  });
  expect(answers.status).toBe(200);
  expectError(await exchange(port, Buffer.concat([bad, good])), 404, NO_PATH);
});

describe('a fault of our own', () => {
  test('is a 500 that says nothing of the inside', async () => {
    const own = await service.agency();
    await service.query('alter table team_members rename column is_assignable to hidden');
    try {
      const { status, body, headers } = await own.get('/v1/team');
      expect(status).toBe(500);
      expect(body).toEqual(
        failed('INTERNAL_ERROR', 'Something went wrong here; the request id finds it in the log.'),
      );
      expect(headers['x-request-id']).toMatch(UUID);
    } finally {
      await service.query('alter table team_members rename column hidden to is_assignable');
    }
  });
});
