import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { describedApp, generatedDocuments } from '../../tools/generated-documents.ts';
import {
  DOCUMENTED,
  type Document,
  declaredCodes,
  INTERNAL,
  type Operation,
  operationsOf,
  PUBLIC,
  type Schema,
} from '../support/contract.ts';
import { exampleOf } from '../support/values.ts';

const operations = operationsOf(PUBLIC);
const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** Every object in a value, with the path to it. */
function objectsIn(value: unknown, path = ''): [path: string, object: Record<string, unknown>][] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, entry]) => objectsIn(entry, `${path}/${key}`));
  return Array.isArray(value) ? inner : [[path, value as Record<string, unknown>], ...inner];
}

/** `Customer` of `{ $ref: '#/components/schemas/Customer' }`. */
const nameOf = (schema: Schema | undefined): string | undefined =>
  /^#\/components\/schemas\/(\w+)$/.exec(String(schema?.$ref))?.[1];

test('the committed documents are what the code generates', async () => {
  for (const { path, render } of await generatedDocuments()) {
    // Only `npm run verify` has the program that generates the client's types.
    if (path === 'client/src/types.ts') continue;
    const committed = read(path);
    expect((await render(committed)) === committed, `${path} is stale: run npm run docs`).toBe(true);
  }
});

describe('the document', () => {
  const whole = JSON.parse(read('openapi/openapi.json'));

  test('is OpenAPI 3.1, has the version of the service, which is that of /v1, and accepts the key in either header for every operation', () => {
    const { version } = JSON.parse(read('package.json'));
    expect([whole.openapi, version]).toEqual([expect.stringMatching(/^3\.1\.\d$/), whole.info.version]);
    expect(version).toMatch(/^1\./);
    expect(whole.components.securitySchemes).toMatchObject({
      bearer: { type: 'http', scheme: 'bearer' },
      apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    });
    expect(whole.security).toEqual([{ bearer: [] }, { apiKey: [] }]);
    for (const { operation } of operations) expect(operation).not.toHaveProperty('security');
  });

  test('requires every field of a response', () => {
    const schemas = Object.entries(PUBLIC.components.schemas).filter(
      ([name]) => !/^ErrorResponse|(Create|Update)$/.test(name),
    );
    expect(schemas.length).toBeGreaterThan(15);
    for (const [name, schema] of schemas)
      for (const [path, object] of objectsIn(schema)) {
        if (object.type !== 'object') continue;
        expect(object.required, name + path).toEqual(Object.keys(object.properties as object));
      }
    const error = { required: ['code', 'message'] };
    const { ErrorResponse } = PUBLIC.components.schemas;
    expect(ErrorResponse).toMatchObject({ required: ['error'], properties: { error } });
  });

  test('closes only the lists of values that the contract closes', () => {
    const lists = objectsIn(whole.components.schemas).flatMap(([path, { enum: values }]) => {
      if (!Array.isArray(values)) return [];
      return `${path.split('/').at(-1)}: ${values.filter((value) => value !== null).join(' ')}`.trim();
    });
    expect([...new Set(lists)].sort()).toEqual([
      'budgetTier: economic mid premium',
      'identifierType: whatsapp instagram messenger email telefono web',
      'preferredLanguage: es pt en',
      'pricingMode: per_person per_group total',
      'status: active paused draft',
      'status: draft published disabled',
      'temperature: hot warm cold unknown discarded',
      'type: package experience expedition custom',
    ]);
  });

  test('names the error codes of its operations without an enum: a client must accept codes of later versions', () => {
    const { error } = PUBLIC.components.schemas.ErrorResponse?.properties ?? {};
    const codes = operations.flatMap(({ operation }) =>
      Object.keys(operation.responses).flatMap((status) => declaredCodes(operation, status)),
    );
    expect(error?.properties?.code).toMatchObject({ examples: expect.arrayContaining(codes) });
    for (const code of codes) expect(error?.properties?.code?.description).toContain(code);
  });

  test('describes every field, and has no default in a body: generated clients would require the field', () => {
    for (const [schema, body] of Object.entries(PUBLIC.components.schemas)) {
      if (/(Create|Update)$/.test(schema)) expect(JSON.stringify(body), schema).not.toContain('"default":');
      for (const [name, { description = '', $ref }] of Object.entries(body.properties ?? {}))
        if ($ref === undefined)
          expect(description, `Write .describe('…') for ${name} of ${schema}`).toMatch(/(\S+\s+){2,}\S+/);
    }
  });
});

const OF_REQUESTS = /(Create|Update|Put|Import|Rotate|Merge|Open|Report|Upload)$/;

test('each operation has a description', () => {
  expect(DOCUMENTED.filter(({ operation }) => !operation.description).map(({ name }) => name)).toEqual([]);
});

test.each([PUBLIC, INTERNAL])('each text of a request has a maximum length', (document) => {
  const { parameters } = Object(document.components);
  const bodies = Object.entries(document.components.schemas).filter(([name]) => OF_REQUESTS.test(name));
  const texts = objectsIn([bodies, parameters, operationsOf(document).map((one) => one.operation.parameters)])
    .map(([, schema]) => schema)
    .filter(({ type, enum: values }) => values === undefined && [type].flat().includes('string'));
  expect(texts.length).toBeGreaterThan(40);
  const unbounded = texts.filter(
    ({ maxLength, format }) => !maxLength && !/^(?:date|uuid|binary)$/.test(String(format)),
  );
  expect(unbounded).toEqual([]);
});

test.each(operations)(
  '$name declares the statuses of the contract, and describes its parameters and errors',
  (each) => {
    const { method, operation } = each;
    const { description, responses, requestBody, parameters = [] } = operation;
    const errors = Object.keys(responses).filter((status) => Number(status) >= 400);
    expect(Object.keys(responses)).toContain(method === 'POST' ? '201' : '200');
    expect(errors).toEqual(expect.arrayContaining(['400', '401', '404', '409', '429', '500', '503']));
    for (const status of errors)
      for (const code of declaredCodes(operation, status))
        expect(responses[status]?.description).toMatch(new RegExp(`\\x60${code}\\x60: [A-Z].+\\.`));
    expect(description).toMatch(/ Use it to [a-z].+\.$/);
    for (const { name, description = '', required, in: place } of parameters) {
      expect(description, `Write .describe('…') for ${name} in its schema`).toMatch(/\w{3}/);
      expect(required, name).toBe(place === 'path');
    }
    expect(requestBody !== undefined).toBe(method === 'POST' || method === 'PATCH');
    // Importers such as Postman's use the example of the media type only.
    for (const media of Object.values(requestBody?.content ?? {}))
      expect(media).toMatchObject({ example: exampleOf(media.schema ?? {}) });
  },
);

/** With the schemas that it refers to in their places; without texts, and without what is required. */
const inlined = (part: unknown, document: Document): object =>
  JSON.parse(JSON.stringify(part ?? {}), (key, value) => {
    const referred = document.components.schemas[nameOf(value ?? undefined) ?? ''];
    if (referred) return inlined(referred, document);
    return ['required', 'description', 'summary', 'example', 'examples'].includes(key) ? undefined : value;
  });

test.each(operations)(
  'the dashboard API has $name too, with its parameters, fields and responses',
  (each) => {
    const below = each.path.replace('/v1', '/dashboard/v1/organizations/{organizationId}');
    const there = INTERNAL.paths[below]?.[each.method.toLowerCase()] as Operation;
    const parametersOf = ({ parameters = [] }: Operation) =>
      parameters.filter(({ in: place }) => place === 'query').map(({ name, schema }) => [name, schema]);
    expect(parametersOf(there)).toEqual(expect.arrayContaining(parametersOf(each.operation)));
    const contentOf = ({ requestBody, responses: { 200: ok, 201: created } }: Operation) =>
      [requestBody, ok ?? created].map((part) => part?.content);
    expect(inlined(contentOf(there), INTERNAL)).toMatchObject(inlined(contentOf(each.operation), PUBLIC));
  },
);

test('the served document is the committed one with the URL of the service', async () => {
  const publicUrl = 'https://api.agency.example';
  const app = await describedApp(publicUrl);
  const { body } = await app.inject('/openapi.json');
  await app.close();
  const { info, servers } = JSON.parse(body);
  const committed = { ...JSON.parse(read('openapi/openapi.json')), info, servers };
  expect(body === `${JSON.stringify(committed, null, 2)}\n`).toBe(true);
  expect(servers).toEqual([{ url: publicUrl, description: 'This service.' }]);
  expect(info.description).toContain(`[guide](${publicUrl}/docs/guide/start)`);
});
