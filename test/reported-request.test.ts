import { expect, test } from 'vitest';
import { documentAt } from './support/documents.ts';
import { ownLog } from './support/instance.ts';
import { useService } from './support/service.ts';

const { logger, lines } = ownLog<{ apiKeyId: string }>();
const service = await useService({ logger });

const [, chapter = ''] =
  /^## A customer reports a request\n([\s\S]*?)^## /m.exec(documentAt('docs/operating.md')) ?? [];
const all = (pattern: RegExp) => [...chapter.matchAll(pattern)].map(([, group]) => String(group));
/** The searches in the log, and the statements. */
const [byId = '', byKey = ''] = all(/^docker compose logs .*\| grep '(.*)'$/gm);
const [keyQuery = '', recordQuery = ''] = all(/^```sql\n([\s\S]*?)^```$/gm);

test('by docs/operating.md, the id of a request, or its time and the start of its key, lead to its log line, key and record', async () => {
  const agency = await service.agency();
  const headers = { 'x-request-id': 'the-reported-request' };
  const created = await agency.post('/v1/catalog/products', { title: 'x' }, { headers });
  const grep = (text: string) => lines.filter((line) => JSON.stringify(line).includes(text));
  await expect.poll(() => grep(byId.replace('REQUEST_ID', 'the-reported-request'))).toHaveLength(1);
  const [line = { apiKeyId: '' }] = grep(byId.replace('REQUEST_ID', 'the-reported-request'));
  const [documented = ''] = all(/^\| `request`, level 30 \| (.*?) \|/gm);
  const fields = [...documented.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  // Only the dashboard says who acts.
  expect([...Object.keys(line), 'actor'].sort()).toEqual([...fields, 'level', 'msg'].sort());
  expect(line).toMatchObject({ level: 30, msg: 'request', route: '/v1/catalog/products', status: 201 });

  const [key] = await service.query(keyQuery.replace('START', agency.key.slice(0, 11)));
  expect(key).toMatchObject({ id: line.apiKeyId, organization_id: agency.id });
  expect(grep(byKey.replace('KEY_ID', line.apiKeyId))).toEqual([line]);
  const record = recordQuery.replace('customers', 'products').replace('ORGANIZATION_ID', agency.id);
  const found = await service.query(record.replace('RECORD_ID', created.body.id));
  expect(found).toMatchObject([{ archived_at: null }]);
});
