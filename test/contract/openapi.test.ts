import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { describedApp, generatedDocuments } from '../../tools/generated-documents.ts';
import { jsonText } from '../../tools/json-text.ts';
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

const isOfErrors = (name: string): boolean => /^ErrorAnswer/.test(name);

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

describe('the committed documents', () => {
  test('are what the code makes', async () => {
    for (const { path, render } of await generatedDocuments()) {
      const present = read(path);
      expect(render(present) === present, `${path} is stale: run npm run docs`).toBe(true);
    }
  });

  test('are what the service serves', async () => {
    const app = await describedApp();
    const { statusCode, headers, body } = await app.inject('/openapi.json');
    expect(statusCode).toBe(200);
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(`${jsonText(JSON.parse(body))}\n` === read('openapi/openapi.json')).toBe(true);
    await app.close();
  });
});

describe('the document', () => {
  const whole = JSON.parse(read('openapi/openapi.json'));

  test('is OpenAPI 3.1 of version 1.0.0', () => {
    expect(whole.openapi).toMatch(/^3\.1\.\d$/);
    expect(whole.info.version).toBe('1.0.0');
  });

  test('takes the key in either header, for every operation', () => {
    expect(whole.components.securitySchemes).toEqual({
      bearer: { type: 'http', scheme: 'bearer', description: expect.any(String) },
      apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: expect.any(String) },
    });
    expect(whole.security).toEqual([{ bearer: [] }, { apiKey: [] }]);
    for (const { operation } of operations) expect(operation).not.toHaveProperty('security');
  });

  test('says nullable as 3.1 does', () => {
    for (const [path, object] of objectsIn(whole)) {
      expect(object, path).not.toHaveProperty('nullable');
      if (Array.isArray(object.type)) {
        expect(object.type, path).toHaveLength(2);
        expect(object.type[1], path).toBe('null');
      }
      // Where null is one value of an enum, swagger-typescript-api and openapi-typescript-codegen type it as never null.
      if (Array.isArray(object.enum)) expect(object.enum, path).not.toContain(null);
    }
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
    expect(schemas.get('ErrorAnswer')).toMatchObject({
      required: ['error'],
      properties: { error: { required: ['code', 'message'] } },
    });
  });

  test('closes only the lists that the contract closes', () => {
    const values = new Set(
      objectsIn(whole.components.schemas).flatMap(([path, object]) =>
        Array.isArray(object.enum)
          ? [`${path.replace('/anyOf/0', '').split('/').at(-1)}: ${object.enum.join(' ')}`.trim()]
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
    for (const [name, open] of [
      ['Opportunity', ['salesStage', 'stage']],
      ['Conversation', ['channel', 'activityState', 'controlledBy']],
      ['ConversationMessage', ['direction', 'messageType']],
      ['QuoteAttachment', ['kind']],
    ] as const) {
      for (const field of open) {
        const schema = PUBLIC.components.schemas[name]?.properties?.[field];
        expect(schema, `${name}.${field}`).not.toHaveProperty('enum');
        expect(schema?.examples, `${name}.${field}`).not.toEqual([]);
      }
    }
  });

  test('names the error codes of its operations, and closes no list of them: a client must take later ones', () => {
    const { code } = (PUBLIC.components.schemas.ErrorAnswer?.properties?.error?.properties ?? {}) as Record<
      string,
      Schema
    >;
    const answered = operations.flatMap(({ operation }) =>
      Object.keys(operation.responses).flatMap((status) => declaredCodes(operation, status)),
    );
    expect(code).toMatchObject({ type: 'string', examples: expect.arrayContaining(answered) });
    expect(code).not.toHaveProperty('enum');
    for (const each of answered) expect(code?.description).toContain(each);
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

  test('says what each header means', () => {
    for (const [name, { description }] of Object.entries<Schema>(whole.components.headers))
      expect(description, name).toMatch(/\w{3}/);
  });
});

test.each(['openapi/openapi.json', 'openapi/dashboard.json'])(
  '%s describes the tags that its operations have, and no other',
  (path) => {
    const { tags, paths } = JSON.parse(read(path));
    const used = Object.values<Record<string, Operation>>(paths).flatMap((operations) =>
      Object.values(operations).flatMap((operation) => operation.tags),
    );
    const described = tags.map(({ name }: { name: string }) => name);
    expect(
      described.sort(),
      'src/description.ts and src/dashboard/description.ts have a word on each tag',
    ).toEqual([...new Set(used)].sort());
  },
);

test.each(['openapi/openapi.json', 'openapi/dashboard.json'])(
  '%s tells how long each text of a request may be',
  (path) => {
    const whole = JSON.parse(read(path));
    const asked = new Set<unknown>();
    const follow = (value: unknown): void => {
      for (const [, object] of objectsIn(value)) {
        if (asked.has(object)) continue;
        asked.add(object);
        if (typeof object.$ref === 'string')
          follow(
            object.$ref
              .split('/')
              .slice(1)
              .reduce((part, key) => part[key], whole),
          );
      }
    };
    for (const operations of Object.values<Record<string, Operation>>(whole.paths))
      for (const { parameters, requestBody } of Object.values(operations)) follow([parameters, requestBody]);
    const texts = [...asked].filter((schema) => [(schema as Schema).type].flat().includes('string'));
    expect(texts.length).toBeGreaterThan(40);
    const isBounded = ({ maxLength, enum: values, format }: Record<string, unknown>): boolean =>
      maxLength !== undefined ||
      values !== undefined ||
      /^(?:date|date-time|uuid|binary)$/.test(String(format));
    expect(texts.filter((schema) => !isBounded(schema as Record<string, unknown>))).toEqual([]);
  },
);

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
        `This operation has no code of its own for ${status} and does not answer it; the status is declared on every operation of /v1.`,
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
  const optional = operations.flatMap(({ operation }) =>
    (operation.parameters ?? []).filter(({ name, required }) => name !== undefined && !required),
  );
  expect(optional.length).toBeGreaterThan(50);
  const shown = (optional as Schema[]).flatMap(({ example, examples = {} }) => [
    example,
    ...Object.values(examples as object),
  ]);
  const examples = shown.filter((one) => one !== undefined);
  expect(examples.length).toBeGreaterThan(10);
  expect(examples.filter((one) => (one as Schema)['x-disabled'] !== true)).toEqual([]);
});

test('the document says where the service is, whom to ask and what its licence is', async () => {
  const publicUrl = 'https://api.agency.example';
  for (const [contact, said] of [
    [undefined, {}],
    ['it@agency.example', { email: 'it@agency.example' }],
    ['https://agency.example/help', { url: 'https://agency.example/help' }],
  ] as const) {
    const app = await describedApp({ publicUrl, contact });
    const { body } = await app.inject('/openapi.json');
    const { info, servers } = JSON.parse(body);
    expect(
      body === `${JSON.stringify({ ...JSON.parse(read('openapi/openapi.json')), info, servers }, null, 2)}\n`,
    ).toBe(true);
    expect(servers).toEqual([{ url: publicUrl, description: 'This service.' }]);
    expect(info.contact).toEqual({ name: 'The operator of this service', ...said });
    expect(info.description).toContain(`[guide](${publicUrl}/docs/guide/start)`);
    expect(info.license).toEqual({ name: 'MIT', identifier: 'MIT' });
    await app.close();
  }
});
