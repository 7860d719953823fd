import { describe, expect, test } from 'vitest';
import { clientTypes, type DocumentedApi } from '../../tools/client-types.ts';

const json = (schema: object) => ({ content: { 'application/json': { schema } } });
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const document: DocumentedApi = {
  paths: {
    '/v1/things': {
      get: {
        operationId: 'listThings',
        parameters: [
          { name: 'limit', in: 'query', description: 'How many.', schema: { type: 'integer', default: 25 } },
          { name: 'kind', in: 'query', required: true, schema: { type: 'string' } },
          { name: 'thingId', in: 'path', required: true, schema: { type: 'string' } },
        ],
        responses: { 200: json(reference('Thing')), 400: json(reference('ErrorAnswer')) },
      },
      post: {
        operationId: 'createThing',
        requestBody: json(reference('ThingCreate')),
        responses: { 201: json(reference('Thing')) },
      },
    },
  },
  components: {
    schemas: {
      ErrorAnswer: {
        properties: {
          error: { properties: { code: { type: 'string', examples: ['IN_USE', 'VALIDATION_FAILED'] } } },
        },
      },
      Thing: {
        type: 'object',
        description: 'What it is.',
        properties: {
          size: { type: ['integer', 'null'], description: 'How large.', maximum: 2 ** 31 - 1, examples: [3] },
          state: { type: ['string', 'null'], enum: ['on', "it's", null] },
          parts: { type: 'array', items: { anyOf: [reference('Part'), { type: 'null' }] } },
        },
        required: ['size', 'parts'],
      },
      Part: {
        type: 'object',
        properties: { name: { type: 'string', maxLength: 5, minimum: 1 } },
        required: [],
      },
      ThingCreate: { type: 'object', properties: { size: { type: 'number', exclusiveMinimum: 0 } } },
    },
  },
};

describe('the types of the client', () => {
  const types = clientTypes(document);

  test('are those of requests and answers, errors aside', () => {
    expect([...types.matchAll(/export type (\w+)/g)].map(([, name]) => name)).toEqual([
      'ServiceErrorCode',
      'Part',
      'Thing',
      'ThingCreate',
      'ListThingsQuery',
    ]);
  });

  test('know which fields are there, which can be null and which are closed', () => {
    expect(types).toContain(`/** What it is. */
export type Thing = {
  /** How large. Example: \`3\`. */
  size: number | null;
  state?: 'on' | 'it\\'s' | null;
  parts: (Part | null)[];
};`);
    expect(types).toContain('/** At least 1, at most 5 characters. */\n  name?: string;');
    expect(types).toContain('/** How many. Default: `25`. */\n  limit?: number;\n  kind: string;\n};');
  });

  test('list every error code that the document names', () => {
    expect(types).toContain("export type ServiceErrorCode =\n  | 'IN_USE'\n  | 'VALIDATION_FAILED';\n");
  });
});
