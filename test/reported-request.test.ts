import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { documentAt } from './support/documents.ts';
import { type Service, startService } from './support/service.ts';

/** The instructions of docs/operating.md for a customer's report of a request. */

const [, chapter = ''] =
  /^## A customer reports a request\n([\s\S]*?)^## /m.exec(documentAt('docs/operating.md')) ?? [];
const blocks = (language: string): string[] =>
  Array.from(chapter.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)).flatMap(([, name, text = '']) =>
    name === language ? [text] : [],
  );
/** The names in the second column of the table's row that begins with the text. */
const fieldsOf = (line: string): string[] => {
  const row = chapter.split('\n').find((text) => text.startsWith(`| ${line}`)) ?? '';
  return [...(row.split('|')[2] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => String(name));
};

const lines: string[] = [];
let service: Service;
let folder: string;
beforeAll(async () => {
  service = await startService({ logTo: { write: (line) => lines.push(line) } });
  folder = await mkdtemp(join(tmpdir(), 'crm-log-'));
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

test('the id of a request, or its time and the start of its key, lead to its log line, key and record', async () => {
  const agency = await service.agency();
  await (await service.agency()).get('/v1/customers');
  const requestId = 'the-reported-request';
  const created = await agency.post(
    '/v1/customers',
    { contacts: [{ identifierType: 'email', identifierValue: 'ana@example.com' }] },
    { headers: { 'x-request-id': requestId } },
  );
  expect(created.headers['x-request-id']).toBe(requestId);
  await expect.poll(() => lines.some((line) => line.includes(requestId))).toBe(true);
  await writeFile(join(folder, 'service.log'), lines.join(''));

  const [byId = '', byKey = ''] = blocks('sh');
  /** The search of the first line, in the log of the service instead of that of Docker Compose. */
  const runCommand = async (block: string): Promise<Record<string, unknown>[]> => {
    const [, search] = /^docker compose logs [^|]*\| (.*)$/m.exec(block) ?? [];
    const command = `<service.log ${search}`;
    const { stdout } = await promisify(execFile)('sh', ['-c', command], { cwd: folder });
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  };
  const [line = {}, ...others] = await runCommand(byId.replace('REQUEST_ID', requestId));
  expect(others).toEqual([]);
  expect(Object.keys(line).sort()).toEqual([...fieldsOf('`request`'), 'level', 'msg'].sort());
  expect(line).toMatchObject({ level: 30, msg: 'request', route: '/v1/customers', status: 201 });

  const [keyQuery = '', recordQuery = ''] = blocks('sql');
  const [key] = await service.query(keyQuery.replace('START', agency.key.slice(0, 11)));
  expect(key).toMatchObject({ id: line.apiKeyId, organization_id: agency.id });
  expect(await runCommand(byKey.replaceAll('KEY_ID', String(line.apiKeyId)))).toEqual([line]);

  const record = recordQuery.replace('ORGANIZATION_ID', agency.id).replace('RECORD_ID', created.body.id);
  expect(await service.query(record)).toMatchObject([{ archived_at: null }]);
});
