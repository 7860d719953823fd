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

test.each<[request: string, hint: string, allow?: string]>([
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
  [
    'POST /dashboard/v1/organizations/x/opportunities/y',
    `: ${DASHBOARD_ONE}`,
    'DELETE, GET, HEAD, PATCH, PUT',
  ],
])('the error of %.40s, which is no operation, names existing ones', async (request, hint, allow) => {
  const [method, url = ''] = request.split(' ');
  const { app } = url.startsWith('/dashboard') ? dashboard : service;
  const response = await app.inject({ method: method as 'GET', url });
  const message = `This operation does not exist${hint}`;
  expect(response.json().error).toEqual({ code: 'ROUTE_NOT_FOUND', message });
  expect(String(response.headers.allow).split(', ').sort().join(', ')).toBe(String(allow));
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
])('the error of text instead of an id, %s, says how to find a %s', async (path, noun, id, hint) => {
  const { body } = await (await service.agency()).get(path);
  expect(body.error.message).toBe(`The ${noun} "${id}" does not exist. The path takes an id. ${hint}`);
});

describe('the error of a body', () => {
  const CONTACTS = '{"contacts":[{"identifierType":"whatsapp","identifierValue":"+52 1 55 1234 5678"}]}';
  const EXAMPLE = ` Expected, for example: ${CONTACTS}.`;

  test.each([
    [{ email: 'ana@example.com', name: 'Ana' }, ` Ignored: body.email, body.name.${EXAMPLE}`],
    [
      { contacts: [{ type: 'email', value: 'ana@example.com' }] },
      ` Ignored: body.contacts[0].type, body.contacts[0].value.${EXAMPLE}`,
    ],
    [undefined, EXAMPLE],
    [{ contacts: [], nickname: 'x' }, ''],
  ])(
    '%j of a customer names ignored fields, and has an example if contacts are not valid',
    async (customer, hint) => {
      const { status, body } = await (await service.agency()).post('/v1/customers', customer);
      expect(status).toBe(400);
      const errors = body.error.details.map(
        ({ path, message }: { path: string; message: string }) => `${path} ${message}`,
      );
      expect(body.error.message).toBe(`The request is not valid: ${errors.join('; ')}.${hint}`);
    },
  );

  test('under strict handling has each unknown name once, as an error', async () => {
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
])('the error of %j, which is not JSON, has the position', async (text, position) => {
  const agency = await service.agency();
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${agency.key}` };
  const url = '/v1/catalog/products';
  const response = await service.app.inject({ method: 'POST', url, headers, payload: text });
  expect(response.statusCode).toBe(400);
  expect(response.json().error.details).toEqual([
    { path: 'body', message: `must be valid JSON: ${position}` },
  ]);
});

describe('a filter whose value no record has', () => {
  const knownValues = async (agency: Agency, path: string) => {
    const { status, headers } = await agency.get(path);
    expect(status).toBe(200);
    return headers['x-known-values'];
  };

  test('returns the values of this organization', async () => {
    const [agency, neighbour] = [await service.agency(), await service.agency()];
    await opportunity(neighbour, { salesStage: 'theirs' });
    const { id } = await stage(agency, { key: 'negotiation' });
    for (const salesStage of ['won', 'Qualified', 'won', 'en espera, España'])
      await opportunity(agency, { salesStage, stageId: id });
    await conversation(agency, { activityState: 'open', channel: 'web', contact: 'x' });
    await conversation(agency, { activityState: null, channel: 'whatsapp' });
    await customer(agency, { tags: ['vip', 'playa'] });
    const waiting = 'en%20espera%2C%20Espa%C3%B1a';
    expect(await knownValues(agency, '/v1/opportunities?salesStage=Won')).toBe(
      `salesStage=won, Qualified, ${waiting}`,
    );
    expect(await knownValues(agency, `/v1/opportunities?stageId=negotiation`)).toBe(
      `stageId=${id}%20(negotiation)`,
    );
    expect(await knownValues(agency, '/v1/opportunities?salesStage=x&stageId=y')).toBe(
      `salesStage=won, Qualified, ${waiting}; stageId=${id}%20(negotiation)`,
    );
    expect(await knownValues(agency, '/v1/conversations?activityState=waiting')).toBe('activityState=open');
    expect(await knownValues(agency, '/v1/conversations?channel=Whatsapp')).toBe('channel=whatsapp, web');
    expect(await knownValues(agency, '/v1/customers?tag=VIP')).toBe('tag=vip, playa');
  });

  test('returns no values if the value is known, no filter was sent, or no record has a value', async () => {
    const agency = await service.agency();
    for (const path of ['/v1/opportunities?salesStage=won', '/v1/customers?tag=x', '/v1/opportunities'])
      expect(await knownValues(agency, path)).toBeUndefined();
    const { id: stageId } = await stage(agency);
    await opportunity(agency, { salesStage: 'won' });
    for (const known of ['salesStage=won', 'stageId=null', `stageId=nothing,${stageId}`])
      expect(await knownValues(agency, `/v1/opportunities?${known}&temperature=hot`)).toBeUndefined();
    // That of an archived record is not in use.
    const { id } = await opportunity(agency, { salesStage: 'lost' });
    await dashboard.of(agency).delete(`/opportunities/${id}`);
    expect(await knownValues(agency, '/v1/opportunities?salesStage=lost')).toBe('salesStage=won');
  });

  test('returns the twenty nearest values in at most 2,000 bytes, and … for the others', async () => {
    const agency = await service.agency();
    for (let index = 10; index < 35; index += 1) await opportunity(agency, { salesStage: `stage ${index}` });
    expect(await knownValues(agency, '/v1/opportunities?salesStage=Stáge%2034')).toMatch(
      /^salesStage=stage%2034, (stage%20\d\d, ){19}%E2%80%A6$/,
    );
    expect(
      await knownValues(agency, '/v1/opportunities?salesStage=stage%2034&temperature=hot'),
    ).toBeUndefined();
    const tags = Array.from({ length: 30 }, (_, index) => `${'海'.repeat(99)}${index % 10}`);
    await customer(agency, { tags: [...tags, '巴黎'] });
    const values = await knownValues(agency, '/v1/customers?tag=paris');
    expect(values).toMatch(/^tag=%E5%B7%B4%E9%BB%8E, (%E6%B5%B7){99}\d, (%E6%B5%B7){99}\d, %E2%80%A6$/);
  });
});
