import { expect, test } from 'vitest';
import { loadDemo } from '../demo/load.ts';
import { issueApiKey } from '../src/api-keys/repository.ts';
import { readConfig } from '../src/config.ts';
import { parseJson, scopeTo } from '../src/db/index.ts';
import { documents } from './support/documents.ts';
import { examplesOf, type Learned, runExample } from './support/examples.ts';
import { useService } from './support/service.ts';
import { listen } from './support/socket.ts';

const chapters = documents.filter(({ path }) => path === 'README.md' || path.startsWith('docs/guide/'));

const service = await useService({ requestsPerMinute: 6_000 });
const demoKey = (await loadDemo(service)) ?? '';
const { origin: base } = await listen(service);

/** A key of the demo agency whose 60 requests of this minute are used up. */
async function spentKey(): Promise<string> {
  const ofDemo = "select organization_id::text as id from api_keys where name = 'Demo key'";
  const [{ id = '' } = {}] = await service.query(ofDemo);
  const issued = await issueApiKey(scopeTo(service.db, id), { name: 'spent', requestsPerMinute: 60 });
  const { key } = parseJson(issued);
  const { get } = service.client(key);
  await Promise.all(Array.from({ length: 60 }, () => get('/v1/team')));
  return key;
}

test('the guide states the longest time of a request in the database', () => {
  const { text = '' } = documents.find(({ path }) => path === 'docs/guide/limits.md') ?? {};
  const { DATABASE_TIMEOUT_MS } = readConfig({});
  expect(text).toContain(`longer than ${DATABASE_TIMEOUT_MS / 1_000} seconds in the database`);
});

test.each(chapters)('the examples of $path print the output that it shows', async ({ text }) => {
  const examples = examplesOf(text);
  // Each block of output follows an example.
  const outputs = text.match(/^```\w+ answer/gm) ?? [];
  expect(examples.filter(({ response }) => response !== undefined)).toHaveLength(outputs.length);
  expect(examples.length).toBeGreaterThan(0);
  const environment = { KEY: demoKey, SPENT_KEY: text.includes('$SPENT_KEY') ? await spentKey() : '' };
  const learned: Learned = new Map();
  for (const example of examples) await runExample(example, base, environment, learned);
});
