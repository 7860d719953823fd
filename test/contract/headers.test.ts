import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { createLogger } from '../../src/http/logging.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { DOCUMENTED } from '../support/contract.ts';
import { buildDashboard } from '../support/dashboard.ts';
import { populate, requestOf, send } from '../support/operations.ts';
import { attachment, quote } from '../support/records.ts';
import { useService } from '../support/service.ts';
import { exchange, listen } from '../support/socket.ts';

/**
 * The names of all headers of responses that no document describes, as they leave the socket. The test client compares the
 * headers of operations with their documents.
 */

const service = useService({ requestsPerMinute: 1_000 });

/** Written by Node. */
const TRANSPORT = ['connection', 'date', 'keep-alive'];
const EVERY = ['x-content-type-options', 'x-request-id'];
const PLAIN = [...EVERY, 'content-length', 'content-type'];
const PRIVATE = ['cache-control', 'vary'];
const FILE = [...PLAIN, 'accept-ranges', 'cache-control', 'content-disposition', 'etag', 'last-modified'];
const TEXT = [
  ...EVERY,
  'cache-control',
  'content-length',
  'content-security-policy',
  'content-type',
  'etag',
  'vary',
];

type Sent = { method?: string; headers?: Record<string, string> };

const origins = { v1: '', dashboard: '', closed: '' };
let key: string;
let link: string;
let fileTag: string;

/** Not with fetch, which adds request headers. */
async function ask(origin: keyof typeof origins, path: string, sent: Sent = {}): Promise<IncomingMessage> {
  const outgoing = request(`${origins[origin]}${path}`, { ...sent, agent: false });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response;
}

/** A request with the agency's key. */
const keyed = (path: string, { headers, ...sent }: Sent = {}): Promise<IncomingMessage> =>
  ask('v1', path, { ...sent, headers: { 'x-api-key': key, ...headers } });

beforeAll(async () => {
  const agency = await service.agency();
  key = agency.key;
  const { id } = await quote(agency);
  await attachment(agency, service.storage, id);
  link = new URL((await agency.get(`/v1/quotes/${id}/attachments`)).body.data[0].url).pathname;
  origins.v1 = (await listen(service)).origin;
  const metrics = createMetrics(service.db);
  const open = await buildDashboard(service, { health: { ready: async () => undefined, metrics } });
  const closed = await buildDashboard(service, {
    token: undefined,
    logger: createLogger('error', { write: () => undefined }),
    health: { ready: () => Promise.reject(new Error('not yet')), metrics },
  });
  origins.dashboard = (await listen(open)).origin;
  origins.closed = (await listen(closed)).origin;
  fileTag = (await ask('v1', link)).headers.etag ?? '';
  return async () => {
    await open.app.close();
    await closed.app.close();
  };
});

const ofFile = (headers: Record<string, string>) => ask('v1', link, { headers });

const KINDS: [name: string, status: number, names: string[], send: () => Promise<IncomingMessage>][] = [
  ['an unknown path', 404, PLAIN, () => keyed('/v1/nothing')],
  ['an unknown method', 404, PLAIN, () => keyed('/v1/team', { method: 'PUT' })],
  ['a file', 200, FILE, () => ofFile({})],
  ['its HEAD', 200, FILE, () => ask('v1', link, { method: 'HEAD' })],
  ['a part of a file', 206, [...FILE, 'content-range'], () => ofFile({ range: 'bytes=0-9' })],
  [
    'an unchanged file',
    304,
    FILE.filter((name) => name !== 'content-length'),
    () => ofFile({ 'if-none-match': fileTag }),
  ],
  ['an invalid link', 403, [...PLAIN, 'cache-control'], () => ask('v1', '/files/x')],
  [
    'a range past the end of a file',
    416,
    [...PLAIN, 'cache-control', 'content-range'],
    () => ofFile({ range: 'bytes=99999-' }),
  ],
  ['a changed file', 412, [...PLAIN, 'cache-control'], () => ofFile({ 'if-match': '"x"' })],
  ['the OpenAPI document', 200, TEXT, () => ask('v1', '/openapi.json')],
  [
    'the reference page without its slash',
    301,
    [...EVERY, 'cache-control', 'content-length', 'location'],
    () => ask('v1', '/docs'),
  ],
  ['the reference page', 200, TEXT, () => ask('v1', '/docs/')],
  ['the guide', 200, TEXT, () => ask('v1', '/docs/guide')],
  [
    'a dashboard API without a token',
    503,
    [...PLAIN, ...PRIVATE, 'retry-after'],
    () => ask('closed', '/dashboard/v1/organizations'),
  ],
  ['liveness', 200, PLAIN, () => ask('dashboard', '/livez')],
  ['readiness', 200, PLAIN, () => ask('dashboard', '/readyz')],
  ['metrics', 200, PLAIN, () => ask('dashboard', '/metrics')],
  [
    'readiness of a service that is not ready',
    503,
    [...PLAIN, 'retry-after'],
    () => ask('closed', '/readyz'),
  ],
];

/** The names, without those that Node writes. */
const namesOf = (headers: Record<string, unknown>): string[] =>
  Object.keys(headers)
    .filter((name) => !TRANSPORT.includes(name))
    .sort();

/** With 16 kB, a proxy takes the instance for broken. The test client compares the size of every response. */
test('no read repeats more of its request than fits into 8 KiB of headers', async () => {
  const dashboard = await buildDashboard(service);
  const agency = await service.agency();
  const world = { service, dashboard, agency };
  for (let index = 0; index < 3; index += 1) await populate(world, 'Oaxaca', index);
  const has = await populate(world, 'Oaxaca', 3);
  const names = Array.from({ length: 30 }, (_, index) => `${'ñ('.repeat(80)}${index}=1`).join('&');
  const links: string[] = [];
  for (const { name, operation } of DOCUMENTED.filter(({ name }) => name.startsWith('GET'))) {
    const known = (operation.parameters ?? []).map((parameter) => parameter.name);
    for (const path of [`x=${'('.repeat(5_600)}`, names, `limit=1&${'0'.repeat(5_000)}=1`])
      for (const host of ['localhost', `${'x'.repeat(6_000)}.test`]) {
        const sent = await requestOf(name, has);
        const query = `${known.includes('limit') ? 'limit=1&' : ''}${path.replace('limit=1&', '')}`;
        const joint = sent.path.includes('?') ? '&' : '?';
        const response = await send(world, { ...sent, path: `${sent.path}${joint}${query}` }, { host });
        expect(response.status, name).toBe(200);
        if (host === 'localhost') links.push(response.headers.link ?? '');
      }
  }
  await dashboard.app.close();
  expect(links.filter((link) => link !== '').length).toBeGreaterThan(20);
  for (const link of links)
    expect(link).toMatch(/^$|^<http:\/\/localhost[^?]*\?(\w+=[\w%-]*&?)*offset=1>; rel="next"$/);
});

describe('the headers of', () => {
  test.each(KINDS)('%s (%i)', async (_name, status, names, send) => {
    const { statusCode, headers } = await send();
    expect([statusCode, namesOf(headers)]).toEqual([status, [...names].sort()]);
  });

  test('bytes that are not HTTP (400)', async () => {
    const answer = await exchange(Number(new URL(origins.v1).port), 'nonsense\r\n\r\n');
    expect([answer?.status, namesOf(answer?.headers ?? {})]).toEqual([400, [...PLAIN].sort()]);
  });
});
