import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CatalogProductCreate } from '../../src/catalog/schema.ts';
import { excessOf } from '../../src/http/json-bodies.ts';
import { validatorCompiler } from '../../src/http/validation.ts';

const DEEP = 'must not be nested deeper than 32 levels';
const MANY = 'must have at most 12000 fields, objects and lists';
const excess = (text: string) => excessOf(Buffer.from(text));

test.each([
  ['['.repeat(32) + ']'.repeat(32), undefined],
  [`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, DEEP],
  [`[${Array(11_999).fill('{}').join(',')}]`, undefined],
  [`[${Array(12_000).fill('[]').join(',')}]`, MANY],
  [`{${Array(11_999).fill('"a":1').join(',')}}`, undefined],
  [`{${Array(12_000).fill('"a":1').join(',')}}`, MANY],
  [`[${Array(100_000).fill('""').join(',')}]`, undefined],
  [JSON.stringify({ a: '['.repeat(20_000), [':'.repeat(20_000)]: '\\"['.repeat(5_000) }), undefined],
])('what no body needs is found in the bytes: %#', (text, fault) => {
  expect(excess(text)).toBe(fault);
});

test('and nowhere else, whatever the texts hold', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
  const wrapped = (json: unknown, levels: number): unknown =>
    levels === 0 ? json : levels % 2 ? [wrapped(json, levels - 1)] : { '["{': wrapped(json, levels - 1) };
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(36), (inner, levels) => {
      const json = wrapped(inner, levels);
      return excess(JSON.stringify(json)) === (depthOf(json) > 32 ? DEEP : undefined);
    }),
  );
});

test('a list beyond its maximum is refused without a look at its entries', () => {
  let looks = 0;
  const variants = new Proxy(Array(5_000).fill({ label: 'x' }), {
    get: (list, name, receiver) => {
      if (/^\d+$/.test(String(name))) looks += 1;
      return Reflect.get(list, name, receiver);
    },
  });
  const validate = validatorCompiler({ schema: CatalogProductCreate, method: 'POST', url: '/' });
  const { error } = validate({ title: 'x', variants }) as unknown as { error: { issues: unknown[] } };
  expect(error.issues).toMatchObject([{ path: ['variants'], message: 'must have at most 100 entries' }]);
  expect(looks).toBe(0);
});
