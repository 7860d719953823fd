import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { describedApp, generatedDocuments } from '../../tools/generated-documents.ts';
import { declaredCodes, type Operation, operationsOf, PUBLIC, type Schema } from '../support/contract.ts';

const operations = operationsOf(PUBLIC);
const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** Every object below a value, with the path to it. */
function objectsIn(value: unknown, path = ''): [path: string, object: Record<string, unknown>][] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, entry]) => objectsIn(entry, `${path}/${key}`));
  return Array.isArray(value) ? inner : [[path, value as Record<string, unknown>], ...inner];
}

/** `Customer` of `{ $ref: '#/components/schemas/Customer' }`. */
function nameOf(schema: Schema | undefined): string {
  const [, name] = /^#\/components\/schemas\/(\w+)$/.exec(String(schema?.$ref)) ?? [];
  if (name === undefined) throw new Error(`${JSON.stringify(schema)} has no name of its own.`);
  return name;
}

const isOfErrors = (name: string): boolean => /^ErrorResponse/.test(name);

/** The schemas that answers are made of, reached from the responses. */
function responseSchemas(): Map<string, Schema> {
  const found = new Map<string, Schema>();
  const follow = (value: unknown): void => {
    for (const [, { $ref }] of objectsIn(value)) {
      const name = typeof $ref === 'string' ? $ref.replace('#/components/schemas/', '') : undefined;
      const schema = name === undefined ? undefined : PUBLIC.components.schemas[name];
      if (name === undefined || schema === undefined || found.has(name)) continue;
      found.set(name, schema);
      follow(schema);
    }
  };
  for (const { operation } of operations)
    follow(Object.values(operation.responses).map(({ content }) => content));
  return found;
}

test('the committed documents are what the code makes', async () => {
  for (const { path, render } of await generatedDocuments()) {
    const present = read(path);
    expect(render(present) === present, `${path} is stale: run npm run docs`).toBe(true);
  }
});

describe('the document', () => {
  const whole = JSON.parse(read('openapi/openapi.json'));

  test('is OpenAPI 3.1 of version 1.0.0, and takes the key in either header, for every operation', () => {
    expect([whole.openapi, whole.info.version]).toEqual([expect.stringMatching(/^3\.1\.\d$/), '1.0.0']);
    expect(whole.components.securitySchemes).toMatchObject({
      bearer: { type: 'http', scheme: 'bearer' },
      apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    });
    expect(whole.security).toEqual([{ bearer: [] }, { apiKey: [] }]);
    for (const { operation } of operations) expect(operation).not.toHaveProperty('security');
  });

  test('has every field of an answer required', () => {
    const schemas = responseSchemas();
    expect(schemas.size).toBeGreaterThan(15);
    for (const [name, schema] of schemas) {
      if (isOfErrors(name)) continue;
      for (const [path, object] of objectsIn(schema)) {
        if (object.type !== 'object') continue;
        expect(object.required, name + path).toEqual(Object.keys(object.properties as object));
      }
    }
    expect(schemas.get('ErrorResponse')).toMatchObject({
      required: ['error'],
      properties: { error: { required: ['code', 'message'] } },
    });
  });

  test('closes only the lists that the contract closes', () => {
    const values = new Set(
      objectsIn(whole.components.schemas).flatMap(([path, object]) =>
        Array.isArray(object.enum)
          ? [`${path.split('/').at(-1)}: ${object.enum.filter((value) => value !== null).join(' ')}`.trim()]
          : [],
      ),
    );
    expect([...values].sort()).toEqual([
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

  test('names the error codes of its operations, and closes no list of them: a client must take later ones', () => {
    const { error } = PUBLIC.components.schemas.ErrorResponse?.properties ?? {};
    const answered = operations.flatMap(({ operation }) =>
      Object.keys(operation.responses).flatMap((status) => declaredCodes(operation, status)),
    );
    expect(error?.properties?.code).toMatchObject({ examples: expect.arrayContaining(answered) });
    for (const each of answered) expect(error?.properties?.code?.description).toContain(each);
  });

  test('has no default in a body: generators would take the field for one that must be there', () => {
    const bodies = Object.entries(PUBLIC.components.schemas).filter(([name]) =>
      /(Create|Update)$/.test(name),
    );
    expect(bodies.length).toBeGreaterThan(3);
    for (const [name, body] of bodies) expect(JSON.stringify(body), name).not.toContain('"default":');
  });

  test('says of every field more than its name', () => {
    const said = objectsIn(whole.components.schemas).flatMap(([path, { properties }]) =>
      Object.entries((properties ?? {}) as Record<string, Record<string, unknown>>).map(
        ([name, field]) => [`${path}.${name}`, field] as const,
      ),
    );
    expect(said.length).toBeGreaterThan(150);
    for (const [path, { description, $ref }] of said) {
      if ($ref !== undefined) continue;
      expect(description ?? '', `${path} has no description: write .describe('…') in its schema`).toMatch(
        /(\S+\s+){2,}\S+/,
      );
    }
  });
});

describe.each(['openapi/openapi.json', 'openapi/dashboard.json'])('%s', (path) => {
  const whole = JSON.parse(read(path));
  const operations = Object.values<Record<string, Operation>>(whole.paths).flatMap((each) =>
    Object.values(each),
  );

  test('describes the tags that its operations have, and no other', () => {
    const used = operations.flatMap(({ tags }) => tags);
    expect(
      whole.tags.map(({ name }: { name: string }) => name).sort(),
      'src/openapi/description.ts and src/dashboard/description.ts have a word on each tag, src/app.ts and src/dashboard-app.ts its routes',
    ).toEqual([...new Set(used)].sort());
  });

  test('writes "or null" in one way, and the null into a closed list; an integer of 32 bits has its format', () => {
    let nulls = 0;
    let closed = 0;
    for (const [path, { type, enum: values, maximum, format, ...others }] of objectsIn(whole.components)) {
      expect(others, path).not.toHaveProperty('anyOf');
      expect(others, path).not.toHaveProperty('nullable');
      const isNullable = Array.isArray(type);
      if (isNullable) expect(type, path).toEqual([expect.any(String), 'null']);
      if (Array.isArray(values)) expect(values.includes(null), path).toBe(isNullable);
      nulls += Number(isNullable);
      closed += Number(isNullable && Array.isArray(values));
      if (maximum === 2_147_483_647) expect(format, path).toBe('int32');
    }
    expect([nulls > 50, closed > 4]).toEqual([true, true]);
  });

  test('tells how long each text of a request may be', () => {
    const asked = new Set<Record<string, unknown>>();
    const follow = (value: unknown): void => {
      for (const [, object] of objectsIn(value)) {
        if (asked.has(object)) continue;
        asked.add(object);
        const [, ...way] = typeof object.$ref === 'string' ? object.$ref.split('/') : [];
        if (way.length > 0) follow(way.reduce((part, key) => part[key], whole));
      }
    };
    for (const { parameters, requestBody } of operations) follow([parameters, requestBody]);
    const texts = [...asked].filter(({ type }) => [type].flat().includes('string'));
    expect(texts.length).toBeGreaterThan(40);
    const unbounded = texts.filter(
      ({ maxLength, enum: values, format }) =>
        maxLength === undefined && values === undefined && !/^(?:date|uuid|binary)$/.test(String(format)),
    );
    expect(unbounded).toEqual([]);
  });
});

describe.each(operations)('$name', ({ path, method, operation }) => {
  const { description, responses, requestBody, parameters = [] } = operation;
  const errors = Object.keys(responses).filter((status) => Number(status) >= 400);

  test('declares the statuses of the contract and those of the service, each with its codes or with none and why', () => {
    expect(Object.keys(responses)).toContain(method === 'POST' ? '201' : '200');
    expect(errors).toEqual(expect.arrayContaining(['400', '401', '404', '409', '429', '500', '503']));
    for (const status of errors) {
      const codes = declaredCodes(operation, status);
      const said = responses[status]?.description;
      for (const code of codes) expect(said).toMatch(new RegExp(`\\x60${code}\\x60: [A-Z].+\\.`));
      if (codes.length > 0) continue;
      expect(['404', '409']).toContain(status);
      expect(said).toBe(
        `This operation never returns ${status}. The status is declared on every operation of /v1.`,
      );
    }
  });

  test('says what it is for, what each parameter means and what it answers, each by a schema of its own', () => {
    expect(description).toMatch(/ Use it to [a-z].+\.$/);
    for (const { name, description, required, in: place } of parameters) {
      expect(description ?? '', `Write .describe('…') for ${name} in its schema`).toMatch(/\w{3}/);
      expect(required, name).toBe(place === 'path');
    }
    const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
    expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    const isWrite = method === 'POST' || method === 'PATCH';
    expect(requestBody).toEqual(isWrite ? expect.objectContaining({ required: true }) : undefined);
    for (const [status, { description, content }] of Object.entries(responses)) {
      if (status === '304') continue;
      expect(description).not.toBe('Default Response');
      const name = nameOf(content?.['application/json']?.schema);
      expect(isOfErrors(name), `${status} ${name}`).toBe(Number(status) >= 400);
    }
  });
});

test('the reference page sends no example of a parameter that may be left out', () => {
  const optional = operations
    .flatMap(({ operation }) => operation.parameters ?? [])
    .filter(({ required }) => !required) as Schema[];
  const examples = optional
    .flatMap(({ example, examples = {} }) => [example, ...Object.values(examples as object)])
    .filter((one) => one !== undefined);
  expect(examples.length).toBeGreaterThan(10);
  expect(examples.filter((one) => (one as Schema)['x-disabled'] !== true)).toEqual([]);
});

test.each([
  [undefined, {}],
  ['it@agency.example', { email: 'it@agency.example' }],
  ['https://agency.example/help', { url: 'https://agency.example/help' }],
])('the document that is served says where the service is, and whom to ask: %s', async (contact, said) => {
  const publicUrl = 'https://api.agency.example';
  const app = await describedApp({ publicUrl, contact });
  const { body } = await app.inject('/openapi.json');
  await app.close();
  const { info, servers } = JSON.parse(body);
  const committed = { ...JSON.parse(read('openapi/openapi.json')), info, servers };
  expect(body === `${JSON.stringify(committed, null, 2)}\n`).toBe(true);
  expect(servers).toEqual([{ url: publicUrl, description: 'This service.' }]);
  expect(info.contact).toEqual({ name: 'The operator of this service', ...said });
  expect(info.description).toContain(`[guide](${publicUrl}/docs/guide/start)`);
});
