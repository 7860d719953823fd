import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { putMessages } from '../../src/conversations/messages.repository.ts';
import { ownLinks } from '../../src/files/links.ts';
import { storageKey } from '../../src/files/storage.ts';
import { readDocument } from '../../test/support/contract.ts';
import { startCuttingProxy } from '../../test/support/cutting-proxy.ts';
import { populate } from '../../test/support/operations.ts';
import { attachment, conversation, message, opportunity, quote } from '../../test/support/records.ts';
import { type Agency, appOf, useService } from '../../test/support/service.ts';
import { listen, portOf } from '../../test/support/socket.ts';
import { exportable } from '../src/export.ts';
import { crm, startCrm, useFolder } from './command.ts';

const service = await useService();
const folder = await useFolder();
/** A word in every record of another agency. */
const WORD = 'Vecina';

const app = await appOf(service, {
  links: { sign: (scope, file) => ownLinks(service.secret, publicUrl, 300).sign(scope, file, Date.now()) },
  files: { root: service.dataDir, secret: service.secret },
});
afterAll(() => app.close());
const requests: string[] = [];
app.server.on('request', ({ url = '' }) => requests.push(url));
const { origin } = await listen({ app });
let publicUrl = origin;
await populate({ service, agency: await service.agency() }, WORD);

const FILE_NAMES = [
  '../../../evil.pdf',
  'Cotización "final".pdf',
  'a/b\\c:d.pdf',
  `${'ñ'.repeat(250)}.pdf`,
  '..',
];

/** An agency with records in every list, a transcript of 450 messages in two threads, and files with unsafe names. */
async function populatedAgency(): Promise<Agency> {
  const agency = await service.agency();
  await populate({ service, agency });
  const older = await conversation(agency, { contact: '+525500000001' });
  const { id } = await conversation(agency, { contact: '+525500000001', rotatedFrom: older.id });
  const messages = Array.from({ length: 450 }, (_, index) => ({
    ...{ id: randomUUID(), content: `Mensaje ${index + 1}`, direction: 'inbound', messageType: 'text' },
    createdAt: new Date(Date.UTC(2026, 9, 1, 0, 0, index / 3)).toISOString(),
  }));
  await putMessages(agency.scope, older.id, messages.slice(0, 200));
  await putMessages(agency.scope, id, messages.slice(200));
  const { id: opportunityId } = await opportunity(agency);
  for (let count = 0; count < 12; count += 1) {
    const thread = await conversation(agency, { contact: `+5255000001${count + 10}` });
    await message(agency, thread.id, { content: `Hola ${count}` });
    const offer = await quote(agency, { opportunityId, title: `Oferta ${count}` });
    const content = Buffer.from(`bytes of ${count} `.repeat(1 + 10_000 * (count % 2)));
    const fileName = FILE_NAMES[count] ?? `${count}.pdf`;
    await attachment(agency, service.storage, offer.id, { fileName, content });
  }
  return agency;
}

const linesOf = async (path: string) =>
  (await readFile(path, 'utf8'))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

const verifyChecksums = (at: string) =>
  spawnSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd: at, encoding: 'utf8' });

/** The content of every file of a folder, without the times in the manifest. */
async function contents(at: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(at, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files[relative(at, path)] = await readFile(path, 'latin1');
  }
  const { counts } = JSON.parse(files['manifest.json'] ?? '{}');
  return {
    ...files,
    'manifest.json': JSON.stringify(counts),
    SHA256SUMS: files.SHA256SUMS?.replace(/.*manifest.*\n/, '') ?? '',
  };
}

/** Expects everything of the agency that `/v1` returns, and nothing of another agency. */
async function expectComplete(at: string, agency: Agency): Promise<void> {
  const counts: Record<string, number> = {};
  for (const resource of exportable) {
    const path = resource === 'products' ? 'catalog/products' : resource;
    const { body } = await agency.get(`/v1/${path}?limit=100`);
    expect(await linesOf(join(at, `${resource}.ndjson`)), resource).toEqual(body.data);
    counts[resource] = body.pagination.total;
  }
  const transcripts = await linesOf(join(at, 'transcripts.ndjson'));
  const ids = (await linesOf(join(at, 'conversations.ndjson'))).map(({ id }) => id);
  expect(transcripts.map(({ conversationId }) => conversationId)).toEqual(ids);
  for (const { conversationId, messages } of transcripts) {
    const newest = await agency.get(`/v1/conversations/${conversationId}/messages?limit=200`);
    expect(messages).toHaveLength(newest.body.total);
    expect(messages.slice(-200)).toEqual(newest.body.data);
  }
  const longest = transcripts.map(({ messages }) => messages).find(({ length }) => length > 200);
  expect(longest.map(({ content }: { content: string }) => content)).toEqual(
    Array.from({ length: 450 }, (_, index) => `Mensaje ${index + 1}`),
  );

  const attachments = await linesOf(join(at, 'attachments.ndjson'));
  for (const { id } of await linesOf(join(at, 'quotes.ndjson'))) {
    const { body } = await agency.get(`/v1/quotes/${id}/attachments`);
    const own = attachments.filter(({ quoteId }) => quoteId === id);
    expect(own).toMatchObject(body.data.map(({ url: _, ...fields }: { url: string }) => fields));
    for (const { id: attachmentId, file } of own) {
      expect(file.split('/')).toEqual(['files', id, expect.stringMatching(new RegExp(`^${attachmentId}-`))]);
      const stored = await readFile(join(service.dataDir, storageKey(agency.id, attachmentId)));
      expect((await readFile(join(at, file))).equals(stored)).toBe(true);
    }
  }
  const manifest = JSON.parse(await readFile(join(at, 'manifest.json'), 'utf8'));
  const messages = transcripts.reduce((sum, { messages }) => sum + messages.length, 0);
  expect(manifest.counts).toMatchObject({ ...counts, messages, attachments: 13, files: 13, missingFiles: 0 });
  const all = await contents(at);
  const text = Object.values(all).join('');
  for (const secret of [WORD, 'tcrm_', `${publicUrl}/files/`]) expect(text).not.toContain(secret);
  const { status, stdout } = verifyChecksums(at);
  expect([status, stdout.match(/: OK$/gm)?.length]).toEqual([0, Object.keys(all).length - 1]);
}

const args = (at: string, ...more: string[]) => ['export', '--all', '-o', at, ...more];

test('crm export --all exports every list of the API, and no other read is missing', () => {
  const reads = Object.entries(readDocument('openapi/openapi.json').paths).filter(([, { get }]) => get);
  const isOfList = (path: string) => exportable.some((name) => new RegExp(`/${name}(/{\\w+})?$`).test(path));
  expect(reads.map(([path]) => path).filter((path) => !isOfList(path))).toEqual([
    '/v1/conversations/{conversationId}/messages',
    '/v1/quotes/{quoteId}/attachments',
  ]);
});

test('crm export --all writes everything that a read key can read, with counts and checksums, and nothing of another agency', async () => {
  const agency = await populatedAgency();
  const at = folder('complete');
  const { key } = await agency.issueKey({ access: 'read' });
  const { code, stdout, stderr } = await crm(args(at), { url: origin, key });
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toContain('sha256sum -c SHA256SUMS');
  expect(stderr).toMatch(/Done: 13 quotes in .*, 13 attachments, 13 files\.\n/);
  await expectComplete(at, agency);
  expect(existsSync(folder('evil.pdf'))).toBe(false);

  const before = await contents(at);
  const again = await crm(args(at), { url: origin, key });
  expect([again.code, again.stderr]).toEqual([1, `${at} has a complete export. Choose another folder.\n`]);
  expect((await crm(args(at, '--resume'), { url: origin, key })).code).toBe(0);
  expect(await contents(at)).toEqual(before);
});

test('crm export --all reports a file that the service has lost, and ends with 2', async () => {
  const agency = await service.agency();
  const { id } = await quote(agency);
  const { stored } = await attachment(agency, service.storage, id, { fileName: 'gone.pdf' });
  await attachment(agency, service.storage, id, { fileName: 'here.pdf' });
  await service.storage.remove(storageKey(agency.id, stored.id));
  const at = folder('missing');
  const { code, stderr } = await crm(args(at), { url: origin, key: agency.key });
  expect(code).toBe(2);
  expect(stderr).toContain(`The file "gone.pdf" of quote ${id} cannot be downloaded: the response was 500.`);
  const files = await linesOf(join(at, 'attachments.ndjson'));
  expect(files).toMatchObject([{ file: null }, { fileName: 'here.pdf' }]);
  expect(verifyChecksums(at).status).toBe(0);
  // Another store has a part of each file.
  const store = createServer((_request, response) => response.end('x'));
  publicUrl = `http://127.0.0.1:${await portOf(store)}`;
  const cut = await crm(args(folder('cut')), { url: origin, key: agency.key });
  store.close();
  publicUrl = origin;
  expect(cut.stderr).toContain('cannot be downloaded: it has 1 bytes instead of ');
});

test('crm export --all rejects a folder with other files, and names the records that the key has no access to', async () => {
  const { key } = await (await service.agency()).issueKey({ resources: ['customers'] });
  const access = { url: origin, key };
  const stderr = expect.stringContaining('This key has no access to catalog, only to customers');
  expect(await crm(args(folder('partly')), access)).toMatchObject({ code: 1, stderr });
  const at = folder('mine');
  await mkdir(at);
  await writeFile(join(at, 'letter.txt'), 'Hola');
  expect((await crm(args(at), access)).stderr).toBe(`${at} has other files. Choose an empty folder.\n`);
  expect(await readdir(at)).toEqual(['letter.txt']);
});

describe('an interrupted export continues with --resume and has the same result', () => {
  let agency: Agency;
  let expected: Record<string, string>;
  let total: number;
  beforeAll(async () => {
    agency = await populatedAgency();
    requests.length = 0;
    await crm(args(folder('one-run')), { url: origin, key: agency.key });
    total = requests.length;
    expected = await contents(folder('one-run'));
  });

  test('when it was killed, without repeating finished lists', async () => {
    const path = folder('killed');
    const proxy = await startCuttingProxy(origin, Number.POSITIVE_INFINITY, (count) => {
      if (count === total - 4) child.kill('SIGKILL');
    });
    publicUrl = proxy.origin;
    const access = { url: proxy.origin, key: agency.key };
    const { child, ended } = startCrm(args(path, '--concurrency', '2'), access);
    expect((await ended).code).toBeNull();
    expect(existsSync(join(path, 'SHA256SUMS'))).toBe(false);
    requests.length = 0;
    const second = await crm(args(path, '--resume', '--concurrency', '2'), access);
    publicUrl = origin;
    await proxy.close();
    expect(second.code, second.stderr).toBe(0);
    expect(await contents(path)).toEqual(expected);
    expect(requests.filter((url) => url.includes('/messages'))).toEqual([]);
    // One page by ids, which verifies the agency; and the quotes that were not finished.
    expect(requests.filter((url) => /[?&](ids|offset)=/.test(url))).toEqual([expect.stringMatching('ids=')]);
  });

  test('but not without --resume, nor with the key of another organization', async () => {
    const other = await service.agency();
    await populate({ service, agency: other });
    const path = folder('mixed');
    const proxy = await startCuttingProxy(origin, Number.POSITIVE_INFINITY, (count) => {
      if (count === 10) proxy.lose(true);
    });
    const cut = await crm(['--retries', '0', ...args(path)], { url: proxy.origin, key: agency.key });
    expect(cut.stderr).toMatch(/To continue: crm export --all -o \S+ --resume\n$/);
    await proxy.close();
    const before = await contents(path);
    const again = await crm(args(path), { url: origin, key: agency.key });
    expect(again.stderr).toContain('is unfinished: use --resume to continue.');
    const resumed = await crm(args(path, '--resume'), { url: origin, key: other.key });
    expect(resumed.stderr).toContain('they belong to another agency. Choose another folder.');
    expect(await contents(path)).toEqual(before);
  });
});
