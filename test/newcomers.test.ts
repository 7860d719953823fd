import { describe, expect, test } from 'vitest';
import { readDocument } from './support/contract.ts';
import { useDashboard } from './support/dashboard.ts';

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
