import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
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

/** The collection that Postman makes with the two settings of docs/guide/tools.md. */
function imported(): Promise<{ item: Item[]; variable: Variable[] }> {
  const data = readFileSync(new URL('../../openapi/openapi.json', import.meta.url), 'utf8');
  const settings = { parametersResolution: 'Example', enableOptionalParameters: false };
  return new Promise((done) => {
    convertV2(
      { type: 'string', data },
      settings,
      (_error: unknown, { output }: { output: { data: never }[] }) => done(output[0]?.data as never),
    );
  });
}

test('every request succeeds after the address, the key and the ids are set', async () => {
  const collection = await imported();
  expect(collection.variable).toContainEqual(
    expect.objectContaining({ key: 'baseUrl', value: 'http://localhost:3000' }),
  );
  for (const { url } of requestsIn(collection.item))
    for (const variable of url.variable) variable.value = demo.ids[variable.key] ?? '';
  const envVar = [
    { key: 'baseUrl', value: demo.baseUrl },
    { key: 'bearerToken', value: demo.key },
  ];
  const executions = await new Promise<Execution[]>((done, fail) => {
    newman.run({ collection, envVar }, (error: unknown, { run }: { run: { executions: Execution[] } }) =>
      error ? fail(error) : done(run.executions),
    );
  });
  const codes = executions.map(
    ({ request, response }) => `${request.method} ${request.url} ${response?.code}`,
  );
  expect(codes.filter((line) => !/ 20[01]$/.test(line))).toEqual([]);
  expect(codes).toHaveLength(operationsOf(PUBLIC).length);
});
