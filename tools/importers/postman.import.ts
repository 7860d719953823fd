import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { operationsOf, PUBLIC } from '../../test/support/contract.ts';
import { useDemo } from './demo.ts';

/** The document, imported by Postman. */

// Untyped: only the nightly run installs them.
const require = createRequire(import.meta.url);
const { convertV2 } = require('openapi-to-postmanv2');
const newman = require('newman');

const demo = useDemo();

type Variable = { key: string; value?: string };
type Item = { item?: Item[]; request: { url: { variable: Variable[] } } };
type Execution = { request: { method: string; url: object }; response?: { code: number } };
const requestsIn = (items: Item[]): Item['request'][] =>
  items.flatMap(({ item, request }) => (item ? requestsIn(item) : [request]));

test('every request succeeds after the address, the key and the ids are set', async () => {
  // With the two settings of docs/guide/tools.md.
  const settings = { parametersResolution: 'Example', enableOptionalParameters: false };
  const data = readFileSync(new URL('../../openapi/openapi.json', import.meta.url), 'utf8');
  const { output } = await promisify(convertV2)({ type: 'string', data }, settings);
  const collection: { item: Item[]; variable: Variable[] } = output[0].data;
  expect(collection.variable).toContainEqual(
    expect.objectContaining({ key: 'baseUrl', value: 'http://localhost:3000' }),
  );
  for (const { url } of requestsIn(collection.item))
    for (const variable of url.variable) variable.value = demo.ids[variable.key] ?? '';
  const envVar = [
    { key: 'baseUrl', value: demo.baseUrl },
    { key: 'bearerToken', value: demo.key },
  ];
  const { run } = await promisify(newman.run)({ collection, envVar });
  const codes = (run.executions as Execution[]).map(
    ({ request, response }) => `${request.method} ${request.url} ${response?.code}`,
  );
  expect(codes.filter((line) => !/ 20[01]$/.test(line))).toEqual([]);
  expect(codes).toHaveLength(operationsOf(PUBLIC).length);
});
