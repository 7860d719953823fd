import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadDemo } from '../demo/load.ts';
import { parseJson } from '../src/db/json.ts';
import { scopeTo } from '../src/db/scope.ts';
import { issueApiKey } from '../src/keys/repository.ts';
import { documents } from './support/documents.ts';
import { examplesOf, type Learned, runExample } from './support/examples.ts';
import { type Service, startService } from './support/service.ts';

const chapters = documents.filter(({ path }) => path.startsWith('docs/guide/'));

/** What the key that is over its limit may make in a minute, and has made. */
const SPENT = 60;

let service: Service;
let base: string;
const keys = { KEY: '', SPENT_KEY: '' };

beforeAll(async () => {
  service = await startService({ requestsPerMinute: 6_000 });
  keys.KEY = (await loadDemo(service)) ?? '';
  const [{ id = '' } = {}] = await service.query(
    "select organization_id::text as id from api_keys where name = 'Demo key'",
  );
  const spent = await issueApiKey(scopeTo(service.db, id), { name: 'spent', requestsPerMinute: SPENT });
  keys.SPENT_KEY = parseJson(spent).key;
  const { get } = service.client(keys.SPENT_KEY);
  await Promise.all(Array.from({ length: SPENT }, () => get('/v1/team')));
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  base = `http://127.0.0.1:${(service.app.server.address() as AddressInfo).port}`;
});
afterAll(() => service?.close());

test.each(chapters)('the examples of $path print what it shows', async ({ text }) => {
  const examples = examplesOf(text);
  expect(examples.length).toBeGreaterThan(0);
  const learned: Learned = new Map();
  for (const example of examples) await runExample(example, base, keys, learned);
});
