import { describe, expect, test } from 'vitest';
import { readDocument } from './support/contract.ts';
import { useDashboard } from './support/dashboard.ts';
import { conversation, customer, opportunity, stage } from './support/records.ts';
import type { Agency } from './support/service.ts';

/** An error message says how to correct the request. */

const { service, dashboard } = useDashboard();

const DASHBOARD_ONE =
  '/dashboard/v1/organizations/{organizationId}/opportunities/{opportunityId} supports GET, PUT, PATCH, DELETE.';
const ALL = Object.keys(readDocument('openapi/openapi.json').paths).filter((path) => !path.includes('{'));

test.each<[asked: string, hint: string, allow?: string]>([
  [
    'GET /v1/products',
    '. Similar: GET, POST /v1/catalog/products; GET, PATCH, DELETE /v1/catalog/products/{productId}. See /docs.',
  ],
  [
    'POST /v1/conversation/x/messages',
    '. Similar: GET /v1/conversations/{conversationId}/messages. See /docs.',
  ],
  ['GET /v1/opportunities/x/quote?limit=5', '. Similar: GET /v1/quotes?opportunityId=x. See /docs.'],
  ['GET /v1/deals', `. Available: ${ALL.join(', ')}. See /docs.`],
  [`GET ${'/a'.repeat(5_000)}`, `. Available: ${ALL.join(', ')}. See /docs.`],
  [
    'PUT /v1/customers/x',
    ': /v1/customers/{customerId} supports GET, PATCH, DELETE.',
    'DELETE, GET, HEAD, PATCH',
  ],
  ['POST /v1/team', ': /v1/team supports GET.', 'GET, HEAD'],
  [
    'POST /dashboard/v1/organizations/x/opportunities/y',
    `: ${DASHBOARD_ONE}`,
    'DELETE, GET, HEAD, PATCH, PUT',
  ],
])('%.40s leads to no operation, and is told what there is', async (asked, hint, allow) => {
  const [method, url = ''] = asked.split(' ');
  const { app } = url.startsWith('/dashboard') ? dashboard : service;
  const answer = await app.inject({ method: method as 'GET', url });
  const { code, message } = answer.json().error;
  expect([code, message]).toEqual(['ROUTE_NOT_FOUND', `This operation does not exist${hint}`]);
  expect(String(answer.headers.allow).split(', ').sort().join(', ')).toBe(String(allow));
});

test.each([
  ['/v1/customers/', 'customer', '', 'GET /v1/customers?contact=… or ?query=… finds the customer.'],
  [
    '/v1/catalog/products/PAT-08',
    'catalog product',
    'PAT-08',
    'GET /v1/catalog/products?externalReferenceCode=… or ?query=… finds the catalog product.',
  ],
  [
    '/v1/conversations/x/messages',
    'conversation',
    'x',
    'GET /v1/conversations?query=… finds the conversation.',
  ],
])('text in the place of an id, %s, is told how a %s is found', async (path, noun, id, hint) => {
  const { body } = await (await service.agency()).get(path);
  expect(body.error.message).toBe(`The ${noun} "${id}" does not exist. The path takes an id. ${hint}`);
});

describe('a body of another shape', () => {
  const CONTACTS = '{"contacts":[{"identifierType":"whatsapp","identifierValue":"+52 1 55 1234 5678"}]}';
  const looksLike = (shape: string) => ` Expected, for example: ${shape}.`;

  test.each([
    [{ email: 'ana@example.com', name: 'Ana' }, ` Ignored: body.email, body.name.${looksLike(CONTACTS)}`],
    [
      { contacts: [{ type: 'email', value: 'ana@example.com' }] },
      ` Ignored: body.contacts[0].type, body.contacts[0].value.${looksLike(CONTACTS)}`,
    ],
    [undefined, looksLike(CONTACTS)],
    [{ contacts: [], nickname: 'x' }, ''],
  ])('%j of a customer is told which', async (sent, hint) => {
    const { status, body } = await (await service.agency()).post('/v1/customers', sent);
    expect(status).toBe(400);
    const faults = body.error.details.map(
      ({ path, message }: { path: string; message: string }) => `${path} ${message}`,
    );
    expect(body.error.message).toBe(`The request is not valid: ${faults.join('; ')}.${hint}`);
  });

  test('under strict handling the names are faults, and are not told twice', async () => {
    const strictly = { headers: { prefer: 'handling=strict' } };
    const { body } = await (await service.agency()).post(
      '/v1/catalog/products',
      { titl: 'Oaxaca' },
      strictly,
    );
    expect(body.error.message).toBe(
      'The request is not valid: body.title is required; body.titl is unknown (did you mean title?). Expected, for example: {"title":"Patagonia Norte en 8 días"}.',
    );
  });
});

test.each([
  ['{"title": "x",}', 'Expected double-quoted property name at position 14 (line 1 column 15)'],
  ['{"title":\n  tru}', 'Unexpected token \'}\', "{"title":\n  tru}"'],
  [' ', 'Unexpected end of JSON input'],
])('%j, which is no JSON, is told where', async (text, place) => {
  const agency = await service.agency();
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${agency.key}` };
  const url = '/v1/catalog/products';
  const answer = await service.app.inject({ method: 'POST', url, headers, payload: text });
  expect([answer.statusCode, answer.json().error.details]).toEqual([
    400,
    [{ path: 'body', message: `must be valid JSON: ${place}` }],
  ]);
});

describe('a value of an open list that no record has', () => {
  const known = async (agency: Agency, path: string) => {
    const { status, headers } = await agency.get(path);
    expect(status).toBe(200);
    return headers['x-known-values'];
  };

  test('is answered with those that the organization has, and with no others', async () => {
    const [agency, neighbour] = [await service.agency(), await service.agency()];
    await opportunity(neighbour, { salesStage: 'theirs' });
    const { id } = await stage(agency, { key: 'negotiation' });
    for (const salesStage of ['won', 'Qualified', 'won', 'en espera, España'])
      await opportunity(agency, { salesStage, stageId: id });
    await conversation(agency, { activityState: 'open', channel: 'web', contact: 'x' });
    await conversation(agency, { activityState: null, channel: 'whatsapp' });
    await customer(agency, { tags: ['vip', 'playa'] });
    const stages = 'salesStage=Qualified, en%20espera%2C%20Espa%C3%B1a, won';
    expect(await known(agency, '/v1/opportunities?salesStage=Won')).toBe(stages);
    expect(await known(agency, `/v1/opportunities?stageId=negotiation`)).toBe(
      `stageId=${id}%20(negotiation)`,
    );
    expect(await known(agency, '/v1/opportunities?salesStage=x&stageId=y')).toBe(
      `${stages}; stageId=${id}%20(negotiation)`,
    );
    expect(await known(agency, '/v1/conversations?activityState=waiting')).toBe('activityState=open');
    expect(await known(agency, '/v1/conversations?channel=Whatsapp')).toBe('channel=web, whatsapp');
    expect(await known(agency, '/v1/customers?tag=VIP')).toBe('tag=playa, vip');
  });

  test('is not, where the value is known, nothing is sent, or there is none', async () => {
    const agency = await service.agency();
    for (const path of ['/v1/opportunities?salesStage=won', '/v1/customers?tag=x', '/v1/opportunities'])
      expect(await known(agency, path)).toBeUndefined();
    await opportunity(agency, { salesStage: 'won' });
    expect(await known(agency, '/v1/opportunities?salesStage=won&temperature=hot')).toBeUndefined();
  });

  test('shows twenty at most', async () => {
    const agency = await service.agency();
    for (let index = 10; index < 35; index += 1) await opportunity(agency, { salesStage: `stage ${index}` });
    expect(await known(agency, '/v1/opportunities?salesStage=x')).toMatch(/^([^,]+, ){19}stage%2029$/);
  });
});
