import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonText } from '../../tools/json-text.ts';

test('the text reads back as the value, in its order', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.stringify(JSON.parse(jsonText(value)))).toBe(JSON.stringify(value));
    }),
  );
});

test('what fits into 110 columns has one line, and what does not has one for each part', () => {
  const long = 'x'.repeat(60);
  expect(jsonText({ type: ['string', 'null'], empty: {} })).toBe(
    '{ "type": ["string", "null"], "empty": {} }',
  );
  expect(jsonText({ a: [long, 'y'], b: [long, long] })).toBe(
    `{\n  "a": ["${long}", "y"],\n  "b": [\n    "${long}",\n    "${long}"\n  ]\n}`,
  );
  const edge = 'x'.repeat(110 - '  "a": [""]'.length);
  expect(jsonText({ a: [edge], b: [`${edge}y`] })).toBe(
    `{\n  "a": ["${edge}"],\n  "b": [\n    "${edge}y"\n  ]\n}`,
  );
});
