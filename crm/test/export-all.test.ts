import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../client/src/index.ts';
import { issueApiKey } from '../../src/api-keys/repository.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { ownLinks } from '../../src/files/links.ts';
import { storageKey } from '../../src/files/storage.ts';
import { readDocument } from '../../test/support/contract.ts';
import { type CuttingProxy, startCuttingProxy } from '../../test/support/cutting-proxy.ts';
import { appOf } from '../../test/support/instance.ts';
import { populate } from '../../test/support/operations.ts';
import { attachment, conversation, message, opportunity, quote } from '../../test/support/records.ts';
import { type Agency, useService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';
import { exportable } from '../src/export.ts';
import { crm, startCrm, useFolder } from './command.ts';

const service = useService();
const folder = useFolder();
const WORD = 'Vecina';

/** Where clients reach the service, for its links. */
let publicUrl = '';
let origin = '';
/** What the service was asked for. */
const asked: string[] = [];
let close: () => Promise<unknown>;
beforeAll(async () => {
  const app = await appOf(service, {
    links: {
      sign: (scope, file) =>
        ownLinks({ secrets: service.secrets, publicUrl, ttlSeconds: 300 }).sign(scope, file),
    },
    files: { root: service.dataDir, secrets: service.secrets },
  });
  app.server.on('request', ({ url = '' }) => asked.push(url));
  ({ origin } = await listen({ app }));
  publicUrl = origin;
  close = () => app.close();
  await populate({ service, agency: await service.agency() }, WORD);
});
afterAll(() => close());

const readKey = async ({ scope }: Agency): Promise<string> =>
  parseJson(await issueApiKey(scope, { name: 'export', access: 'read' })).key;

const NAMES = ['../../../evil.pdf', 'Cotización "final".pdf', 'a/b\\c:d.pdf', `${'ñ'.repeat(250)}.pdf`, '..'];

/** An agency with something in every list, a conversation of 450 messages in two threads, and files with names of all kinds. */
async function full(): Promise<Agency> {
  const agency = await service.agency();
  await populate({ service, agency });
  const older = await conversation(agency, { contact: '+525500000001' });
  const { id } = await conversation(agency, { contact: '+525500000001', rotatedFrom: older.id });
  await service.query(
    `insert into whatsapp_messages (organization_id, conversation_id, id, arrival, content, direction, message_type, created_at)
     select $1, case when n < 200 then $2::uuid else $3::uuid end, gen_random_uuid(), n, 'Mensaje ' || n, 'inbound', 'text',
       '2026-10-01'::timestamptz + n / 3 * interval '1 s' from generate_series(1, 450) n`,
    [agency.id, older.id, id],
  );
  await service.query(
    `update conversations set message_count = (select count(*) from whatsapp_messages
       where organization_id = $1 and conversation_id = conversations.id) where organization_id = $1 and id = any($2)`,
    [agency.id, [older.id, id]],
  );
  const { id: opportunityId } = await opportunity(agency);
  for (let count = 0; count < 12; count += 1) {
    const thread = await conversation(agency, { contact: `+5255000001${count + 10}` });
    await message(agency, thread.id, { content: `Hola ${count}` });
    const offer = await quote(agency, { opportunityId, title: `Oferta ${count}` });
    await attachment(agency, service.storage, offer.id, {
      fileName: NAMES[count] ?? `${count}.pdf`,
      content: Buffer.from(`bytes of ${count} `.repeat(1 + 10_000 * (count % 2))),
    });
  }
  return agency;
}

const linesOf = async (path: string) =>
  (await readFile(path, 'utf8'))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/** Asks the program that people know. */
function sums(at: string): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync('sha256sum', ['-c', 'SHA256SUMS'], {
    cwd: at,
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

/** Every file of a folder with its bytes, but for what says when it was made. */
async function contents(at: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(at, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    found[path.slice(at.length + 1)] = await readFile(path, 'latin1');
  }
  const { counts } = JSON.parse(found['manifest.json'] ?? '{}');
  return {
    ...found,
    'manifest.json': JSON.stringify(counts),
    SHA256SUMS: found.SHA256SUMS?.replace(/.*manifest.*\n/, '') ?? '',
  };
}

/** The folder is all that the agency has in /v1, and nothing of another one. */
async function expectWhole(at: string, agency: Agency): Promise<void> {
  const paths = { products: 'catalog/products' } as Record<string, string>;
  const counts: Record<string, number> = {};
  for (const resource of exportable) {
    const { body } = await agency.get(`/v1/${paths[resource] ?? resource}?limit=100`);
    const rows = await linesOf(join(at, `${resource}.ndjson`));
    expect(rows, resource).toEqual(body.data);
    expect(rows.length, resource).toBe(body.pagination.total);
    counts[resource] = rows.length;
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
  let bytes = 0;
  for (const { id } of await linesOf(join(at, 'quotes.ndjson'))) {
    const { body } = await agency.get(`/v1/quotes/${id}/attachments`);
    const listed = body.data.map(({ url: _url, ...described }: { url: string }) => described);
    const mine = attachments.filter(({ quoteId }) => quoteId === id);
    expect(mine.map(({ quoteId: _id, file: _file, sha256: _sum, ...described }) => described)).toEqual(
      listed,
    );
    for (const { id: attachmentId, file, sizeBytes } of mine) {
      expect(file.split('/')).toEqual(['files', id, expect.stringMatching(new RegExp(`^${attachmentId}-`))]);
      const stored = await readFile(join(service.dataDir, storageKey(agency.id, attachmentId)));
      expect((await readFile(join(at, file))).equals(stored)).toBe(true);
      bytes += sizeBytes;
    }
  }
  const manifest = JSON.parse(await readFile(join(at, 'manifest.json'), 'utf8'));
  expect(manifest).toEqual({
    startedAt: expect.any(String),
    finishedAt: expect.any(String),
    counts: {
      ...counts,
      transcripts: transcripts.length,
      messages: transcripts.reduce((sum, { messages }) => sum + messages.length, 0),
      attachments: attachments.length,
      files: attachments.length,
      bytes,
      missingFiles: 0,
      gone: 0,
    },
  });
  const all = await contents(at);
  expect(Object.keys(all).sort()).toEqual(
    [
      ...['SHA256SUMS', 'manifest.json', 'transcripts.ndjson', 'attachments.ndjson'],
      ...exportable.map((resource) => `${resource}.ndjson`),
      ...attachments.map(({ file }) => file),
    ].sort(),
  );
  const text = Object.values(all).join('');
  for (const secret of [WORD, 'tcrm_', `${publicUrl}/files/`]) expect(text).not.toContain(secret);
  const checked = sums(at);
  expect([checked.status, checked.output.match(/: OK$/gm)?.length]).toEqual([0, Object.keys(all).length - 1]);
}

const args = (at: string, ...more: string[]) => ['export', '--all', '-o', at, ...more];

describe('crm export --all', () => {
  test('reads whatever the API can read: every list of the document, and what belongs to their records', () => {
    const { paths } = readDocument('openapi/openapi.json');
    const names = Object.keys(createClient({ apiKey: 'none', baseUrl: 'https://crm.example.com' }));
    expect([...exportable].sort()).toEqual(names.sort());
    const isOfList = (path: string) =>
      exportable.some((name) => new RegExp(`/${name}(/{\\w+})?$`).test(path));
    const others = Object.keys(paths).filter((path) => paths[path]?.get && !isOfList(path));
    expect(others).toEqual([
      '/v1/conversations/{conversationId}/messages',
      '/v1/quotes/{quoteId}/attachments',
    ]);
  });

  test('writes all that a key which only reads can see, with counts and checksums, and nothing of another agency', async () => {
    const agency = await full();
    const at = folder('whole');
    const key = await readKey(agency);
    const { code, stdout, stderr } = await crm(args(at), { url: origin, key });
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('sha256sum -c SHA256SUMS');
    expect(stderr).toMatch(/Done: 13 quotes in .*, 13 attachments, 13 files\.\n/);
    await expectWhole(at, agency);
    expect(existsSync(folder('evil.pdf'))).toBe(false);

    const before = await contents(at);
    const again = await crm(args(at), { url: origin, key });
    expect([again.code, again.stderr]).toEqual([1, `${at} has a complete export. Choose another folder.\n`]);
    expect((await crm(args(at, '--resume'), { url: origin, key })).code).toBe(0);
    expect(await contents(at)).toEqual(before);

    const { file } = (await linesOf(join(at, 'attachments.ndjson')))[0];
    await appendFile(join(at, file), 'x');
    await appendFile(join(at, 'customers.ndjson'), '\n');
    const changed = sums(at);
    expect(changed.status).toBe(1);
    expect(changed.output.match(/^.*: FAILED$/gm)?.sort()).toEqual([
      'customers.ndjson: FAILED',
      `${file}: FAILED`,
    ]);
  });

  test('writes the lists as CSV where it is told to', async () => {
    const agency = await full();
    const at = folder('csv');
    expect((await crm(args(at, '--format', 'csv'), { url: origin, key: agency.key })).code).toBe(0);
    const { counts } = JSON.parse(await readFile(join(at, 'manifest.json'), 'utf8'));
    expect((await linesOf(join(at, 'transcripts.ndjson'))).length).toBe(counts.conversations);
    expect(await readFile(join(at, 'customers.csv'), 'utf8')).toContain('contacts.whatsapp');
    expect([counts.attachments, sums(at).status]).toEqual([13, 0]);
  });

  test('says which file the service no longer has, and ends with 2', async () => {
    const agency = await service.agency();
    const { id } = await quote(agency);
    const { stored } = await attachment(agency, service.storage, id, { fileName: 'gone.pdf' });
    await attachment(agency, service.storage, id, { fileName: 'here.pdf' });
    await service.storage.remove(storageKey(agency.id, stored.id));
    const at = folder('missing');
    const { code, stderr } = await crm(args(at), { url: origin, key: agency.key });
    expect(code).toBe(2);
    expect(stderr).toContain(
      `The file "gone.pdf" of quote ${id} cannot be downloaded: the response was 500.`,
    );
    expect(await linesOf(join(at, 'attachments.ndjson'))).toMatchObject([
      { fileName: 'gone.pdf', file: null, sha256: null },
      { fileName: 'here.pdf', file: expect.any(String) },
    ]);
    const { counts } = JSON.parse(await readFile(join(at, 'manifest.json'), 'utf8'));
    expect(counts).toMatchObject({ attachments: 2, files: 1, missingFiles: 1 });
    expect(sums(at).status).toBe(0);
  });

  test('writes to no folder with other files, and names what the key must not read', async () => {
    const agency = await full();
    const at = folder('mine');
    await mkdir(at);
    await writeFile(join(at, 'letter.txt'), 'Hola');
    const rejected = await crm(args(at), { url: origin, key: agency.key });
    expect([rejected.code, rejected.stderr]).toEqual([1, `${at} has other files. Choose an empty folder.\n`]);
    expect(await readdir(at)).toEqual(['letter.txt']);

    const { key } = parseJson(await issueApiKey(agency.scope, { name: 'site', resources: ['customers'] }));
    const partly = await crm(args(folder('partly')), { url: origin, key });
    expect(partly.code).toBe(1);
    expect(partly.stderr).toContain('This key has no access to catalog, only to customers');
  });
});

describe('an interrupted export continues with --resume, and has the same result', () => {
  let agency: Agency;
  let expected: Record<string, string>;
  let requests: number;
  beforeAll(async () => {
    agency = await full();
    asked.length = 0;
    await crm(args(folder('one-run')), { url: origin, key: agency.key });
    requests = asked.length;
    expected = await contents(folder('one-run'));
  });

  /** Runs until the service has answered so often, ends that run, and goes on. */
  async function broken(name: string, at: number, end: (proxy: CuttingProxy, kill: () => void) => void) {
    const path = folder(name);
    const holder: { kill: () => void } = { kill: () => undefined };
    const proxy = await startCuttingProxy(origin, Number.POSITIVE_INFINITY, (count) => {
      if (count === at) end(proxy, holder.kill);
    });
    publicUrl = proxy.origin;
    const to = { url: proxy.origin, key: agency.key };
    const first = startCrm(['--retries', '0', ...args(path, '--concurrency', '2')], to);
    holder.kill = () => first.child.kill('SIGKILL');
    const ended = await first.ended;
    expect(existsSync(join(path, 'SHA256SUMS'))).toBe(false);
    proxy.lose(false);
    const unfinished = await crm(args(path), to);
    if (existsSync(join(path, 'crm-export.state'))) {
      expect(unfinished.code).toBe(1);
      expect(unfinished.stderr).toContain('is unfinished: use --resume to continue.');
    }
    asked.length = 0;
    const second = await crm(args(path, '--resume', '--concurrency', '2'), to);
    publicUrl = origin;
    await proxy.close();
    expect(second.code, second.stderr).toBe(0);
    expect(await contents(path)).toEqual(expected);
    return { ended, asked: [...asked] };
  }

  test.each([2, 20, 44])('when it was killed at the %ith response', async (at) => {
    expect(at).toBeLessThan(requests);
    const { ended } = await broken(`killed-${at}`, at, (_proxy, kill) => kill());
    expect(ended.code).toBeNull();
  });

  test('when the network failed, and says how to continue', async () => {
    const { ended } = await broken('dead', 30, (proxy) => proxy.lose(true));
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/To continue: crm export --all -o \S+ --resume\n$/);
  });

  test('without repeating finished requests', async () => {
    const late = requests - 4;
    const { asked: again } = await broken('late', late, (proxy) => proxy.lose(true));
    expect(again.filter((url) => url.includes('/messages'))).toEqual([]);
    // One page of a list by its ids, to know the agency; and the quotes that were under way.
    expect(again.filter((url) => /[?&](ids|offset)=/.test(url))).toEqual([expect.stringContaining('ids=')]);
    expect(again.length).toBeLessThan(requests / 2);
  });

  test('but not with the key of another organization', async () => {
    const other = await service.agency();
    await populate({ service, agency: other });
    const path = folder('mixed');
    const proxy = await startCuttingProxy(origin, Number.POSITIVE_INFINITY, (count) => {
      if (count === 10) proxy.lose(true);
    });
    await crm(['--retries', '0', ...args(path)], { url: proxy.origin, key: agency.key });
    await proxy.close();
    const before = await contents(path);
    const { code, stderr } = await crm(args(path, '--resume'), { url: origin, key: other.key });
    expect(code).toBe(1);
    expect(stderr).toContain('they belong to another agency. Choose another folder.');
    expect(await contents(path)).toEqual(before);
    await rm(path, { recursive: true });
  });
});
