import { expect, test } from 'vitest';
import { CatalogProductCreate } from '../../src/catalog/schema.ts';
import { excessOf } from '../../src/http/json-bodies.ts';
import { validatorCompiler } from '../../src/http/validation.ts';

const TOO_DEEP = 'must not be nested deeper than 32 levels';
const TOO_MANY = 'must have at most 12000 fields, objects and lists';
const errorOf = (json: string) => excessOf(Buffer.from(json));

test.each([
  ['32 levels', '['.repeat(32) + ']'.repeat(32), undefined],
  ['33 levels', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, TOO_DEEP],
  ['12,000 lists and objects', `[${Array(11_999).fill('{}').join(',')}]`, undefined],
  ['12,001 lists', `[${Array(12_000).fill('[]').join(',')}]`, TOO_MANY],
  ['12,000 objects and fields', `{${Array(11_999).fill('"a":1').join(',')}}`, undefined],
  ['12,001 objects and fields', `{${Array(12_000).fill('"a":1').join(',')}}`, TOO_MANY],
  ['100,000 texts', `[${Array(100_000).fill('""').join(',')}]`, undefined],
  [
    'brackets and colons inside texts',
    JSON.stringify({ a: '['.repeat(20_000), b: '\\":'.repeat(40_000) }),
    undefined,
  ],
])('a body with %s has the right error, or none', (_what, json, error) => {
  expect(errorOf(json)).toBe(error);
});

test('a list that is too long is rejected without validating its entries', () => {
  let reads = 0;
  const variants = new Proxy(Array(5_000).fill({ label: 'x' }), {
    get: (list, name, receiver) => {
      if (/^\d+$/.test(String(name))) reads += 1;
      return Reflect.get(list, name, receiver);
    },
  });
  const validate = validatorCompiler({ schema: CatalogProductCreate, method: 'POST', url: '/' });
  expect(validate({ title: 'x', variants })).toMatchObject({
    error: { issues: [{ path: ['variants'], message: 'must have at most 100 entries' }] },
  });
  expect(reads).toBe(0);
});
