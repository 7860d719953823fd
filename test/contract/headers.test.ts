import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { issueApiKey } from '../../src/api-keys/repository.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { createLogger } from '../../src/http/logging.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { memoryLimiter } from '../../src/http/rate-limit.ts';
import { buildDashboard, TOKEN } from '../support/dashboard.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { ownApp, ownPool } from '../support/instance.ts';
import { startProxy } from '../support/proxy.ts';
import { attachment, customer, quote } from '../support/records.ts';
import { type Agency, useService } from '../support/service.ts';
import { exchange, listen } from '../support/socket.ts';

/**
 * The headers of every kind of answer as they leave the socket: all of their names and no other. A new header is a
 * decision, and stands here first.
 */

const service = useService({ requestsPerMinute: 1_000 });

/** What HTTP itself needs. Node writes them. */
const TRANSPORT = ['connection', 'date', 'keep-alive'];
const EVERY = ['x-content-type-options', 'x-request-id'];
const BODY = ['content-length', 'content-type'];
const PRIVATE = ['cache-control', 'vary'];
const LIMIT = [
  'ratelimit',
  'ratelimit-policy',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
];
const PLAIN = [...EVERY, ...BODY];
/** To a key of /v1, whatever the answer says. */
const KEYED = [...PLAIN, ...PRIVATE, ...LIMIT];
/** Nobody may keep it, so that it varies with nothing. */
const SECRET = [...PLAIN, 'cache-control', ...LIMIT];
const TAGGED = [...KEYED, 'etag'];
const UNCHANGED = [...EVERY, ...PRIVATE, ...LIMIT, 'etag'];
const DASHBOARD = [...PLAIN, ...PRIVATE];
const FILE = [...PLAIN, 'accept-ranges', 'cache-control', 'content-disposition', 'etag', 'last-modified'];

type Sent = { method?: string; headers?: Record<string, string>; body?: string };
type Kind = [name: string, status: number, names: string[], send: () => Promise<IncomingMessage>];

const origins = { v1: '', dashboard: '', closed: '', cut: '', busy: '' };
let agency: Agency;
let customerId: string;
/** Of a customer that no test changes. */
let steadyId: string;
let quoteId: string;
let tag: string;
let link: string;
let fileTag: string;

/** Not by fetch, which asks with headers of its own. */
async function ask(origin: keyof typeof origins, path: string, sent: Sent = {}): Promise<IncomingMessage> {
  const { method = 'GET', headers = {}, body } = sent;
  const asked = request(`${origins[origin]}${path}`, { method, headers, agent: false });
  asked.end(body);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return answer;
}

const asJson = (body: unknown, headers: Record<string, string> = {}): Sent => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

/** A request with the agency's key. */
const keyed = (path: string, { headers, ...sent }: Sent = {}): Promise<IncomingMessage> =>
  ask('v1', `/v1${path}`, { ...sent, headers: { 'x-api-key': agency.key, ...headers } });

/** A request of the dashboard's backend. */
const trusted = (path: string, { headers, ...sent }: Sent = {}): Promise<IncomingMessage> =>
  ask('dashboard', `/dashboard/v1/organizations${path}`, {
    ...sent,
    headers: { authorization: `Bearer ${TOKEN}`, ...headers },
  });

const patch = (body: unknown, headers: Record<string, string> = {}): Sent => ({
  ...asJson(body, headers),
  method: 'PATCH',
});

beforeAll(async () => {
  agency = await service.agency();
  customerId = (await customer(agency, { contacts: [{ identifierType: 'web', identifierValue: 'ana' }] })).id;
  const { id } = await quote(agency);
  await attachment(agency, service.storage, id);
  const { url } = (await agency.get(`/v1/quotes/${id}/attachments`)).body.data[0];
  link = new URL(url).pathname;
  quoteId = id;
  origins.v1 = (await listen(service)).origin;
  const metrics = createMetrics({ db: service.db, keys: service.keys });
  const open = await buildDashboard(service, { health: { ready: async () => undefined, metrics } });
  const closed = await buildDashboard(service, {
    token: undefined,
    logger: createLogger('error', { write: () => undefined }),
    health: { ready: () => Promise.reject(new Error('not yet')), metrics },
  });
  origins.dashboard = (await listen(open)).origin;
  origins.closed = (await listen(closed)).origin;
  steadyId = (await customer(agency)).id;
  tag = (await keyed(`/customers/${steadyId}`)).headers.etag ?? '';
  await keyed('/catalog/products', asJson(product, again));
  fileTag = (await ask('v1', link)).headers.etag ?? '';
  return async () => {
    await open.app.close();
    await closed.app.close();
  };
});

const product = { title: 'Oaxaca' };
const again = { 'idempotency-key': randomUUID() };

const KINDS: Kind[] = [
  ['a list', 200, TAGGED, () => keyed('/customers')],
  ['a record', 200, TAGGED, () => keyed(`/customers/${customerId}`)],
  ['the HEAD of a record', 200, TAGGED, () => keyed(`/customers/${customerId}`, { method: 'HEAD' })],
  [
    'a list with a parameter that is ignored',
    200,
    [...TAGGED, 'x-ignored-parameters'],
    () => keyed('/team?a=1'),
  ],
  [
    'a list that is asked for strictly',
    200,
    [...TAGGED, 'preference-applied'],
    () => keyed('/team', { headers: { prefer: 'handling=strict' } }),
  ],
  [
    'a record that is the same',
    304,
    UNCHANGED,
    () => keyed(`/customers/${steadyId}`, { headers: { 'if-none-match': tag } }),
  ],
  [
    'the HEAD of a record that is the same',
    304,
    // The length that the answer to a GET would have.
    [...UNCHANGED, 'content-length'],
    () => keyed(`/customers/${steadyId}`, { method: 'HEAD', headers: { 'if-none-match': tag } }),
  ],
  ['a record that was made', 201, TAGGED, () => keyed('/catalog/products', asJson(product))],
  [
    'one with a key for repeats',
    201,
    TAGGED,
    () => keyed('/catalog/products', asJson(product, { 'idempotency-key': randomUUID() })),
  ],
  [
    'the same, repeated',
    201,
    [...TAGGED, 'idempotency-replayed'],
    () => keyed('/catalog/products', asJson(product, again)),
  ],
  ['a record that was changed', 200, TAGGED, () => keyed(`/customers/${customerId}`, patch({ city: 'x' }))],
  ['links to files', 200, SECRET, () => keyed(`/quotes/${quoteId}/attachments`)],
  ['a body that is not valid', 400, KEYED, () => keyed('/customers', asJson({}))],
  ['a body that is no JSON', 400, KEYED, () => keyed('/customers', { ...asJson({}), body: '{' })],
  [
    'a body of another type',
    400,
    KEYED,
    () => keyed('/customers', asJson({}, { 'content-type': 'text/plain' })),
  ],
  ['no key', 401, [...PLAIN, ...PRIVATE, 'www-authenticate'], () => ask('v1', '/v1/team')],
  ['a record that is not there', 404, KEYED, () => keyed(`/customers/${randomUUID()}`)],
  ['a path that is not there', 404, PLAIN, () => keyed('/nothing')],
  ['a method that is not there', 404, [...PLAIN, 'allow'], () => keyed('/team', { method: 'PUT' })],
  [
    'a contact that is taken',
    409,
    KEYED,
    () => keyed('/customers', asJson({ contacts: [{ identifierType: 'web', identifierValue: 'ana' }] })),
  ],
  [
    'a key for repeats with another body',
    409,
    KEYED,
    () => keyed('/catalog/products', asJson({ title: 'x' }, again)),
  ],
  [
    'a record that is another',
    412,
    KEYED,
    () => keyed(`/customers/${customerId}`, patch({ city: 'y' }, { 'if-match': '"x"' })),
  ],
  ['a body that is too large', 413, KEYED, () => keyed('/customers', asJson('x'.repeat(1_100_000)))],
  ['a file', 200, FILE, () => ask('v1', link)],
  ['the HEAD of a file', 200, FILE, () => ask('v1', link, { method: 'HEAD' })],
  [
    'a part of a file',
    206,
    [...FILE, 'content-range'],
    () => ask('v1', link, { headers: { range: 'bytes=0-9' } }),
  ],
  [
    'a file that is the same',
    304,
    FILE.filter((name) => name !== 'content-length'),
    () => ask('v1', link, { headers: { 'if-none-match': fileTag } }),
  ],
  ['a link that is not good', 403, [...PLAIN, 'cache-control'], () => ask('v1', '/files/x')],
  [
    'a part that the file does not have',
    416,
    [...PLAIN, 'cache-control', 'content-range'],
    () => ask('v1', link, { headers: { range: 'bytes=99999-' } }),
  ],
  [
    'a file that is another',
    412,
    [...PLAIN, 'cache-control'],
    () => ask('v1', link, { headers: { 'if-match': '"x"' } }),
  ],
  ['the document', 200, [...PLAIN, 'cache-control', 'etag', 'vary'], () => ask('v1', '/openapi.json')],
  [
    'the page without its slash',
    301,
    [...EVERY, 'cache-control', 'content-length', 'location'],
    () => ask('v1', '/docs'),
  ],
  [
    'the page',
    200,
    [...PLAIN, 'cache-control', 'content-security-policy', 'etag', 'vary'],
    () => ask('v1', '/docs/'),
  ],
  [
    'a page of the guide',
    200,
    [...PLAIN, 'cache-control', 'content-security-policy', 'etag', 'vary'],
    () => ask('v1', '/docs/guide/start'),
  ],
  ['a list of the dashboard', 200, [...DASHBOARD, 'etag'], () => trusted('')],
  ['an organization that was made', 201, [...DASHBOARD, 'etag'], () => trusted('', asJson({ name: 'New' }))],
  [
    'a record that was put',
    201,
    [...DASHBOARD, 'etag'],
    () =>
      trusted(`/${agency.id}/pipeline-stages/${randomUUID()}`, {
        ...asJson({ key: 'new', name: 'New' }),
        method: 'PUT',
      }),
  ],
  [
    'an API key that was made',
    201,
    [...PLAIN, 'cache-control'],
    () => trusted(`/${agency.id}/api-keys`, asJson({ name: 'sync' })),
  ],
  [
    'no token',
    401,
    [...DASHBOARD, 'www-authenticate'],
    () => ask('dashboard', '/dashboard/v1/organizations'),
  ],
  ['an organization that is not there', 404, DASHBOARD, () => trusted(`/${randomUUID()}`)],
  [
    'a dashboard that is closed',
    503,
    [...DASHBOARD, 'retry-after'],
    () => ask('closed', '/dashboard/v1/organizations'),
  ],
  ['life', 200, PLAIN, () => ask('dashboard', '/livez')],
  ['readiness', 200, PLAIN, () => ask('dashboard', '/readyz')],
  ['metrics', 200, PLAIN, () => ask('dashboard', '/metrics')],
  ['no readiness', 503, [...PLAIN, 'retry-after'], () => ask('closed', '/readyz')],
];

/** The names, without those of the connection. */
const namesOf = (headers: Record<string, unknown>): string[] =>
  Object.keys(headers)
    .filter((name) => !TRANSPORT.includes(name))
    .sort();

describe('the headers of', () => {
  const rateLimit = { limiter: memoryLimiter(), requestsPerMinute: 1_000 };

  test.each(KINDS)('%s (%i)', async (_name, status, names, send) => {
    const { statusCode, headers } = await send();
    expect([statusCode, namesOf(headers)]).toEqual([status, [...names].sort()]);
  });

  test('a request too many (429)', async () => {
    const { key } = parseJson(await issueApiKey(agency.scope, { name: 'x', requestsPerMinute: 1 }));
    const send = () => keyed('/team', { headers: { 'x-api-key': key } });
    expect((await send()).statusCode).toBe(200);
    const { statusCode, headers } = await send();
    expect([statusCode, namesOf(headers)]).toEqual([429, [...KEYED, 'retry-after'].sort()]);
  });

  test('a database that is out of reach (503)', async () => {
    const proxy = await startProxy(service.url);
    onTestFinished(proxy.close);
    const db = ownPool(service, { url: proxy.url, statementTimeout: 1_000 });
    const app = await ownApp(service, { db, rateLimit });
    origins.cut = (await listen({ app })).origin;
    proxy.cut();
    for (const sent of [{}, asJson(product)] as Sent[]) {
      const { statusCode, headers } = await ask('cut', '/v1/catalog/products', {
        ...sent,
        headers: { ...sent.headers, 'x-api-key': agency.key },
      });
      expect([statusCode, namesOf(headers)]).toEqual([503, [...KEYED, 'retry-after'].sort()]);
    }
  });

  test('an organization that has too much under way (503)', async () => {
    const app = await ownApp(service, { db: ownPool(service, { poolSize: 1, maxWaiting: 1 }), rateLimit });
    origins.busy = (await listen({ app })).origin;
    const send = (path: string, sent: Sent) =>
      ask('busy', path, {
        ...sent,
        headers: { ...sent.headers, 'x-api-key': agency.key },
      });
    const locked = 'select from customers where organization_id = $1 and id = $2 for update';
    const letGo = await hold(service.ownerUrl, locked, [agency.id, customerId]);
    const running = send(`/v1/customers/${customerId}`, patch({ city: 'Lima' }));
    await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
    const answers: IncomingMessage[] = [];
    const sent = Array.from({ length: 5 }, async () => answers.push(await send('/v1/customers', {})));
    await expect.poll(() => answers.length).toBe(4);
    for (const { statusCode, headers } of answers) {
      expect([statusCode, namesOf(headers)]).toEqual([503, [...KEYED, 'retry-after'].sort()]);
      expect(headers['retry-after']).toBe('1');
    }
    await letGo();
    expect((await running).statusCode).toBe(200);
    await Promise.all(sent);
    expect(answers.at(-1)?.statusCode).toBe(200);
  });

  test('bytes that are no HTTP (400)', async () => {
    const answer = await exchange(Number(new URL(origins.v1).port), 'nonsense\r\n\r\n');
    expect([answer?.status, namesOf(answer?.headers ?? {})]).toEqual([400, [...PLAIN].sort()]);
  });
});
