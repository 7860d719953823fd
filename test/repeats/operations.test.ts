import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { archiveCatalogProduct } from '../../src/catalog/repository.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { issueApiKey } from '../../src/keys/repository.ts';
import { useDashboard } from '../dashboard/dashboard.ts';
import type { Document } from '../support/contract.ts';
import { attachment, conversation, customer, member, opportunity, quote, stage } from '../support/records.ts';
import { routesOf } from '../support/router.ts';
import type { Agency, Reply } from '../support/service.ts';

/** Every POST of both routers replays; every PATCH and DELETE holds to If-Match. */

const { service, dashboard } = useDashboard();

const DASHBOARD = '/dashboard/v1';
const BELOW = `${DASHBOARD}/organizations/{organizationId}`;

type Sent = { path: string; body?: object | Buffer; type?: string };
type Make = (agency: Agency) => Promise<Sent>;

const productId = async (agency: Agency): Promise<string> =>
  (await agency.post('/v1/catalog/products', { title: 'Oaxaca' })).body.id;

const keyId = async ({ scope }: Agency): Promise<string> =>
  parseJson(await issueApiKey(scope, { name: 'x' })).id;

/** The path of one record below an agency of the dashboard. */
const below =
  (path: string, id: (agency: Agency) => Promise<string>, body?: object) =>
  async (agency: Agency): Promise<Sent> => ({
    path: `${DASHBOARD}/organizations/${agency.id}${path.replace('{id}', await id(agency))}`,
    ...(body && { body }),
  });

const idOf =
  (make: (agency: Agency) => Promise<{ id: string }>) =>
  async (agency: Agency): Promise<string> =>
    (await make(agency)).id;

const nothing = async () => '';

async function upload(path: string): Promise<Sent> {
  const form = new FormData();
  form.append('kind', 'itinerary');
  form.append('file', new Blob(['the bytes']), 'x.txt');
  const response = new Response(form);
  const type = response.headers.get('content-type') ?? '';
  return { path, type, body: Buffer.from(await response.arrayBuffer()) };
}

const POSTS: Record<string, Make> = {
  'POST /v1/catalog/products': async () => ({ path: '/v1/catalog/products', body: { title: 'Oaxaca' } }),
  'POST /v1/customers': async () => ({
    path: '/v1/customers',
    body: { contacts: [{ identifierType: 'web', identifierValue: 'ana' }] },
  }),
  [`POST ${DASHBOARD}/organizations`]: async () => ({
    path: `${DASHBOARD}/organizations`,
    body: { name: `Agency ${randomUUID()}` },
  }),
  [`POST ${BELOW}/api-keys`]: below('/api-keys', nothing, { name: 'sync' }),
  [`POST ${BELOW}/api-keys/{apiKeyId}/rotate`]: below('/api-keys/{id}/rotate', keyId, { overlapSeconds: 60 }),
  [`POST ${BELOW}/catalog/products/{productId}/restore`]: below(
    '/catalog/products/{id}/restore',
    async (agency) => {
      const id = await productId(agency);
      await archiveCatalogProduct(agency.scope, id);
      return id;
    },
  ),
  [`POST ${BELOW}/conversations/{conversationId}/messages`]: below(
    '/conversations/{id}/messages',
    idOf(conversation),
    { data: [{ id: randomUUID(), content: 'Hola', direction: 'inbound', messageType: 'text' }] },
  ),
  [`POST ${BELOW}/quotes/{quoteId}/opens`]: below('/quotes/{id}/opens', idOf(quote), {}),
  [`POST ${BELOW}/quotes/{quoteId}/attachments`]: async (agency) =>
    upload(`${DASHBOARD}/organizations/${agency.id}/quotes/${(await quote(agency)).id}/attachments`),
};

const CHANGES: Record<string, Make> = {
  'PATCH /v1/catalog/products/{productId}': async (agency) => ({
    path: `/v1/catalog/products/${await productId(agency)}`,
    body: { title: 'Mérida' },
  }),
  'DELETE /v1/catalog/products/{productId}': async (agency) => ({
    path: `/v1/catalog/products/${await productId(agency)}`,
  }),
  'PATCH /v1/customers/{customerId}': async (agency) => ({
    path: `/v1/customers/${(await customer(agency)).id}`,
    body: { city: 'Mérida' },
  }),
  'DELETE /v1/customers/{customerId}': async (agency) => ({
    path: `/v1/customers/${(await customer(agency)).id}`,
  }),
  [`PATCH ${BELOW}/catalog/products/{productId}`]: below('/catalog/products/{id}', productId, {
    coverImage: 'https://example.com/a.jpg',
  }),
  [`DELETE ${BELOW}/api-keys/{apiKeyId}`]: below('/api-keys/{id}', keyId),
  [`DELETE ${BELOW}/pipeline-stages/{pipelineStageId}`]: below('/pipeline-stages/{id}', idOf(stage)),
  [`DELETE ${BELOW}/team-members/{teamMemberId}`]: below('/team-members/{id}', idOf(member)),
  [`DELETE ${BELOW}/opportunities/{opportunityId}`]: below('/opportunities/{id}', idOf(opportunity)),
  [`DELETE ${BELOW}/quotes/{quoteId}`]: below('/quotes/{id}', idOf(quote)),
  [`DELETE ${BELOW}/quotes/{quoteId}/attachments/{attachmentId}`]: async (agency) => {
    const { id } = await quote(agency);
    const { stored } = await attachment(agency, service.storage, id);
    return { path: `${DASHBOARD}/organizations/${agency.id}/quotes/${id}/attachments/${stored.id}` };
  },
};

/** Asks the API that has the path. */
function send(
  agency: Agency,
  method: string,
  { path, body, type }: Sent,
  given: Record<string, string>,
): Promise<Reply> {
  const headers = { ...(type !== undefined && { 'content-type': type }), ...given };
  const request = { ...(body && { body }), headers };
  return path.startsWith(DASHBOARD)
    ? dashboard.request(method, path.slice(DASHBOARD.length), request)
    : agency.request(method, path, request);
}

/** Without /mcp: a message to it is a request to one of these. */
const routes = (...methods: string[]): string[] =>
  [...routesOf(service.app), ...routesOf(dashboard.app)]
    .filter((route) => methods.includes(route.split(' ', 1)[0] ?? '') && !route.endsWith(' /mcp'))
    .sort();

test('the walk has every POST, PATCH and DELETE of both routers, and no other', () => {
  expect(routes('POST')).toEqual(Object.keys(POSTS).sort());
  expect(routes('PATCH', 'DELETE')).toEqual(Object.keys(CHANGES).sort());
});

/** Everything that the agency has, and the names of all organizations. */
const everything = async (agency: Agency) => [
  await dashboard.stored(agency),
  await service.query('select * from organizations order by id'),
];

describe('sent again with its Idempotency-Key is answered with its first answer, and changes nothing', () => {
  test.each(Object.entries(POSTS))('%s', async (_name, make) => {
    const agency = await service.agency();
    const sent = await make(agency);
    const headers = { 'idempotency-key': randomUUID() };
    const first = await send(agency, 'POST', sent, headers);
    expect([200, 201]).toContain(first.status);
    expect(first.headers).not.toHaveProperty('idempotency-replayed');
    const after = await everything(agency);
    const again = await send(agency, 'POST', sent, headers);
    // A link is signed for each answer.
    const said = ({ status, text }: Reply) => [status, text.replace(/"url":"[^"]+"/, '')];
    expect([...said(again), again.headers['idempotency-replayed']]).toEqual([...said(first), 'true']);
    expect(again.headers['cache-control']).toBe(first.headers['cache-control']);
    expect(await everything(agency)).toEqual(after);
  });
});

describe('with a tag that the record does not have is refused, with `*` it is done', () => {
  test.each(Object.entries(CHANGES))('%s', async (name, make) => {
    const [method = ''] = name.split(' ');
    const agency = await service.agency();
    const sent = await make(agency);
    const before = await everything(agency);
    const refused = await send(agency, method, sent, { 'if-match': '"another"' });
    expect([refused.status, refused.body.error?.code]).toEqual([412, 'PRECONDITION_FAILED']);
    expect(await everything(agency)).toEqual(before);
    expect((await send(agency, method, sent, { 'if-match': '*' })).status).toBe(200);
    expect(await everything(agency)).not.toEqual(before);
  });
});

test('the documents name the headers, where they mean something', () => {
  for (const { paths } of [service.app.swagger(), dashboard.app.swagger()] as unknown as Document[]) {
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { parameters = [], responses }] of Object.entries(operations)) {
        const name = `${method.toUpperCase()} ${path}`;
        const takes = (header: string) =>
          parameters.some((parameter) => parameter.name === header && (parameter.description ?? '') !== '');
        const gives = (status: number, header: string) => header in (responses[status]?.headers ?? {});
        expect(takes('Idempotency-Key'), name).toBe(name in POSTS);
        // Every PUT is in if-match.test.ts.
        const isConditional = name in CHANGES || method === 'put';
        expect(takes('If-Match'), name).toBe(isConditional);
        for (const status of [200, 201].filter((one) => one in responses))
          expect(gives(status, 'Idempotency-Replayed'), name).toBe(name in POSTS);
        if (409 in responses) expect(gives(409, 'Retry-After'), name).toBe(name in POSTS);
        expect(412 in responses, name).toBe(isConditional);
      }
    }
  }
});
