import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import pg from 'pg';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { OutcomeUnknown } from '../src/contract/errors.ts';
import { databaseNow, type Queries } from '../src/db/index.ts';
import { createToken, readToken } from '../src/files/links.ts';
import { storageKey } from '../src/files/storage.ts';
import { ownDashboard, TOKEN, useDashboard } from './support/dashboard.ts';
import { failed, rejected } from './support/faults.ts';
import { attachment, formOf, type Part, quote } from './support/records.ts';
import { idsOf } from './support/service.ts';
import { listen, requestBytes } from './support/socket.ts';

const { service, dashboard } = await useDashboard();

const MEBIBYTE = 1024 * 1024;
const LIMIT = 25 * MEBIBYTE;

const fileOf = (content: string | Buffer<ArrayBuffer>, name = 'cotización.pdf', type = 'application/pdf') =>
  new File([content], name, { type });
const KIND: Part = ['kind', 'itinerary'];
const FILE: Part = ['file', fileOf('the bytes')];

/** A quote without attachments, and functions that upload to it and show what is stored. */
async function emptyQuote() {
  const agency = await service.agency();
  const { id } = await quote(agency);
  const path = `/quotes/${id}/attachments`;
  const upload = async (parts = [KIND, FILE], headers: Record<string, string> = {}, api = dashboard) => {
    const form = await formOf(...parts);
    return api.of(agency).post(path, form.body, { headers: { ...form.headers, ...headers } });
  };
  const rows = () => service.query('select * from quote_attachments where organization_id = $1', [agency.id]);
  const files = () => readdir(join(service.dataDir, agency.id)).catch(() => []);
  const expectNothingStored = async () => expect([await rows(), await files()]).toEqual([[], []]);
  return { agency, id, call: dashboard.of(agency), path, upload, rows, files, expectNothingStored };
}

describe('an upload', () => {
  test('stores the file as it was sent, and both APIs list it', async () => {
    const { agency, call, path, upload, rows, files } = await emptyQuote();
    const { status, body } = await upload();
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      fileName: 'cotización.pdf',
      kind: 'itinerary',
      mimeType: 'application/pdf',
      sizeBytes: 9,
      url: expect.stringMatching(/^http:\/\/localhost:3000\/files\//),
    });
    expect(await rows()).toMatchObject([{ id: body.id, size_bytes: '9' }]);
    expect(await files()).toEqual([body.id]);
    expect(await readFile(join(service.dataDir, agency.id, body.id), 'utf8')).toBe('the bytes');
    for (const list of [await agency.get(`/v1${path}`), await call.get(path)])
      expect(list.body).toEqual({ data: [{ ...body, url: expect.stringContaining('/files/') }] });
  });

  test('takes an empty file and one of 25 MiB, with its parts in either order; one byte more is 413 and stores nothing', async () => {
    for (const size of [0, LIMIT]) {
      const { upload } = await emptyQuote();
      const response = await upload([['file', fileOf(Buffer.alloc(size))], KIND]);
      expect(response).toMatchObject({ status: 201, body: { kind: 'itinerary', sizeBytes: size } });
    }
    // Three times as long as any other request may take to arrive.
    expect([dashboard, service].map(({ app }) => app.server.requestTimeout)).toEqual([60_000, 20_000]);
    const { upload, expectNothingStored } = await emptyQuote();
    const response = await upload([['file', fileOf(Buffer.alloc(LIMIT + 1))], KIND]);
    expect(response).toMatchObject(failed(413, 'PAYLOAD_TOO_LARGE'));
    await expectNothingStored();
  });

  test.each<[string, Part[], string[]]>([
    ['neither kind nor file', [['other', 'x']], ['body.kind', 'body.file']],
    ['text as its file', [KIND, ['file', 'text']], ['body.file']],
    ['a file as its kind', [['kind', fileOf('x')], FILE], ['body.kind']],
    ['two files', [KIND, FILE, FILE], ['body.file']],
    ['two kinds', [KIND, FILE, KIND], ['body.kind']],
    ['a kind that is not UTF-8', [['kind', 'i\ufffd'], FILE], ['body.kind']],
    ['more than 20 parts', [KIND, FILE, ...Array<Part>(19).fill(['x', 'x'])], ['body']],
    ['a part that every object has', [KIND, FILE, ['__proto__', 'x']], ['body']],
    ['a kind of 256 characters', [['kind', 'ñ'.repeat(256)], FILE], ['body.kind']],
    ['a file name of 256 characters', [KIND, ['file', fileOf('x', 'n'.repeat(256))]], ['body.file.fileName']],
  ])('with %s is a validation error that names it, and stores nothing', async (_name, parts, paths) => {
    const { upload, expectNothingStored } = await emptyQuote();
    expect(await upload(parts)).toMatchObject(rejected(...paths));
    await expectNothingStored();
  });

  test('ignores and reports unknown parts; strict handling rejects them', async () => {
    const { upload, expectNothingStored } = await emptyQuote();
    const parts: Part[] = [KIND, ['title', 'x'], FILE, ['preview', fileOf('x')]];
    const strict = await upload(parts, { prefer: 'handling=strict' });
    expect(strict).toMatchObject(rejected('body.title', 'body.preview'));
    await expectNothingStored();
    const headers = { 'x-ignored-parameters': 'body.title, body.preview' };
    expect(await upload(parts)).toMatchObject({ status: 201, headers });
  });

  test('that is JSON, ends within its file or has a file without a name is a validation error, and stores nothing', async () => {
    const { call, path, expectNothingStored } = await emptyQuote();
    const { body, headers } = await formOf(KIND, FILE);
    for (const [sent, type = headers['content-type']] of [
      ['{"kind":"itinerary"}', 'application/json'],
      [body.subarray(0, body.indexOf('the bytes') + 4)],
      [body.toString().replace('cotización.pdf', '')],
    ] as const) {
      const response = await call.post(path, Buffer.from(sent), { headers: { 'content-type': type } });
      expect(response).toMatchObject(failed(400, 'VALIDATION_FAILED'));
    }
    await expectNothingStored();
  });
});

test('a DELETE removes the row and the file, also by ids in upper case, and nothing through another quote', async () => {
  const { agency, call, path, upload, rows, files } = await emptyQuote();
  const { body: neighbour } = await upload();
  const { body: deleted } = await upload();
  const elsewhere = `/quotes/${(await quote(agency)).id}/attachments/${deleted.id}`;
  for (const headers of [{}, { 'if-match': '"another"' }])
    expect((await call.delete(elsewhere, { headers })).status).toBe(404);
  const upperCase = `${path}/${deleted.id}`.replace(/[\da-f-]{36}/g, (id) => id.toUpperCase());
  const { body } = await dashboard.of({ id: agency.id.toUpperCase() }).delete(upperCase);
  expect(body).toEqual({ id: deleted.id, deletedAt: expect.any(String) });
  expect(await rows()).toMatchObject([{ id: neighbour.id }]);
  expect(await files()).toEqual([neighbour.id]);
});

test('an upload that breaks off leaves nothing; one that is rejected is read on, for clients that send all before they read', async () => {
  const { agency, path, rows, files } = await emptyQuote();
  const { port } = await listen(dashboard);
  const { body, headers } = await formOf(KIND, FILE);
  const sent = { ...headers, authorization: `Bearer ${TOKEN}`, 'content-length': String(64 * MEBIBYTE) };
  function begin(target: string, bytes: number) {
    const socket = connect(port, '127.0.0.1');
    socket.write(requestBytes('POST', `/dashboard/v1/organizations/${agency.id}${target}`, sent));
    socket.write(body.subarray(0, body.indexOf('the bytes')));
    const written = new Promise((done) => socket.write(Buffer.alloc(bytes), done));
    return { socket, written };
  }
  const { socket } = begin(path, MEBIBYTE);
  await expect.poll(files).toEqual([expect.stringMatching(/\.partial$/)]);
  socket.destroy();
  await expect.poll(files).toEqual([]);
  expect(await rows()).toEqual([]);
  const whole = begin(`/quotes/${agency.id}/attachments`, 32 * MEBIBYTE);
  expect(await whole.written).toBeFalsy();
  whole.socket.destroy();
});

describe('between the file and its row', () => {
  test('a quote that is archived gets no attachment, and the file is removed', async () => {
    const { id, call, upload, expectNothingStored } = await emptyQuote();
    const put: typeof service.storage.put = async (key, content) => {
      await service.storage.put(key, content);
      await call.delete(`/quotes/${id}`);
    };
    const api = await ownDashboard(service, { storage: { ...service.storage, put } });
    const response = await upload(undefined, {}, api);
    expect(response).toMatchObject(failed(404, 'QUOTE_NOT_FOUND'));
    await expectNothingStored();
  });

  test('a storage that fails to remove a file changes no response', async () => {
    const { agency, path, upload, rows, files } = await emptyQuote();
    const remove = () => Promise.reject(new Error('The disk does not respond.'));
    const api = await ownDashboard(service, { storage: { ...service.storage, remove } });
    const uploadAgain = () => upload(undefined, { 'idempotency-key': 'one' }, api);
    const { body } = await uploadAgain();
    expect(await uploadAgain()).toMatchObject({ status: 201, body: { id: body.id } });
    expect((await api.of(agency).delete(`${path}/${body.id}`)).status).toBe(200);
    expect([(await rows()).length, (await files()).length]).toEqual([0, 2]);
  });

  test.skipIf(inject('workerUrls').length > 0)(
    'a DELETE whose commit fails leaves the row, the file and the quote',
    async () => {
      const { call, id, path, upload, rows, files } = await emptyQuote();
      const { body } = await upload();
      const before = await call.get(`/quotes/${id}`);
      await service.query(`create function full_disk() returns trigger language plpgsql as $$
        begin raise exception 'full' using errcode = 'disk_full'; end $$;
        create constraint trigger full_disk after delete on quote_attachments
        deferrable initially deferred for each row execute function full_disk()`);
      onTestFinished(async () => {
        await service.query('drop function full_disk cascade');
      });
      expect((await call.delete(`${path}/${body.id}`)).status).toBe(503);
      expect([await rows(), await files()]).toMatchObject([[{ id: body.id }], [body.id]]);
      expect((await call.get(`/quotes/${id}`)).body).toEqual(before.body);
    },
  );

  const deadlock = Object.assign(new pg.DatabaseError('deadlock', 0, 'error'), { code: '40P01' });
  const unknown = new OutcomeUnknown(new Error('terminated'));
  test.each([
    ['does not find the quote, no file is stored', 'quotes.get_record', new Error('terminated'), 0],
    ['cannot tell the time, neither file nor row is stored', 'clock.now', new Error('terminated'), 0],
    ['rejects the row, the file is removed', 'transaction', deadlock, 0],
    ['may have stored the row, the file stays', 'transaction', new Error('terminated'), 1],
    ['cannot be read behind the row, the file stays', 'transaction', unknown, 1],
  ])('if the database %s', async (_name, failed, error, count) => {
    const { upload, rows, files } = await emptyQuote();
    const fail = () => Promise.reject(error);
    const failing = (queries: Queries): Queries => ({
      ...queries,
      ...(failed === 'transaction'
        ? { transaction: fail }
        : { read: (one, values) => (one.name === failed ? fail() : queries.read(one, values)) }),
    });
    const db = { ...service.db, for: (id: string) => failing(service.db.for(id)) };
    expect(await upload(undefined, {}, await ownDashboard(service, { db }))).toMatchObject({ status: 503 });
    expect([await rows(), await files()]).toMatchObject([[], { length: count }]);
  });
});

describe('a signed link', () => {
  async function signedLink(fields: Parameters<typeof attachment>[3] = {}) {
    const agency = await service.agency();
    const { id: quoteId } = await quote(agency);
    const { stored, content } = await attachment(agency, service.storage, quoteId, fields);
    const [{ url }] = (await agency.get(`/v1/quotes/${quoteId}/attachments`)).body.data;
    return { agency, quoteId, id: stored.id, content, path: new URL(url).pathname };
  }

  const download = (url: string, headers = {}) => service.app.inject({ url, headers });

  async function expectInvalid(path: string): Promise<void> {
    const { statusCode, body } = await download(path);
    const message = 'The link has expired or is not valid. List the attachments again.';
    const error = { code: 'FILE_LINK_INVALID', message };
    expect([statusCode, JSON.parse(body)], path).toEqual([403, { error }]);
  }

  test('downloads the file without a key, whatever key is sent with it', async () => {
    const { path, content } = await signedLink();
    for (const sent of [{}, { authorization: 'Bearer nonsense', 'x-api-key': 'nonsense' }]) {
      const { statusCode, headers, rawPayload } = await download(path, sent);
      expect([statusCode, rawPayload.equals(content)]).toEqual([200, true]);
      expect(headers).toMatchObject({
        'content-type': 'application/pdf',
        'content-length': '2000',
        'content-disposition': `attachment; filename="cotizaci?n.pdf"; filename*=UTF-8''cotizaci%C3%B3n.pdf`,
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      });
    }
  });

  test('is not valid five minutes after it was signed, nor with another character or spelling', async () => {
    const before = Math.floor(await databaseNow(service.db));
    const { agency, id, path } = await signedLink();
    const now = await databaseNow(service.db);
    const { expiresAt = 0 } = readToken(service.secret, path.slice('/files/'.length)) ?? {};
    expect(expiresAt - 300_000).toBeGreaterThanOrEqual(before);
    expect(expiresAt - 300_000).toBeLessThanOrEqual(now);
    const file = { organizationId: agency.id, attachmentId: id };
    const signed = (at: number) => `/files/${createToken(service.secret, file, Math.floor(at))}`;
    expect((await download(signed(now + 60_000))).statusCode).toBe(200);
    await expectInvalid(signed(now));
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const sameBytes = path.slice(0, -1) + alphabet[alphabet.indexOf(path.at(-1) ?? '') ^ 1];
    for (const spelling of [sameBytes, `${path}=`, `${path}%0A`, '/files/', `/files/${'x'.repeat(5_000)}`])
      await expectInvalid(spelling);
    for (let at = '/files/'.length; at < path.length; at += 1)
      await expectInvalid(`${path.slice(0, at)}${path[at] === '0' ? '1' : '0'}${path.slice(at + 1)}`);
  });

  test('of a file that the storage has lost, whole or in part, or that has grown, is 500', async () => {
    const { agency, id, path, content } = await signedLink();
    const key = storageKey(agency.id, id);
    for (const other of ['half', `${content}more`, undefined]) {
      if (other === undefined) await service.storage.remove(key);
      else await service.storage.put(key, Readable.from([other]));
      const { statusCode, body } = await download(path);
      expect([statusCode, JSON.parse(body).error.code]).toEqual([500, 'INTERNAL_ERROR']);
    }
  });

  test('is no longer valid when its quote is archived or its attachment deleted', async () => {
    const [archived, deleted] = [await signedLink(), await signedLink()];
    await dashboard.of(archived.agency).delete(`/quotes/${archived.quoteId}`);
    await dashboard.of(deleted.agency).delete(`/quotes/${deleted.quoteId}/attachments/${deleted.id}`);
    for (const { path } of [archived, deleted]) await expectInvalid(path);
  });

  test.each([
    ['漢字 🌋 "b" \\ c.pdf', 'text/html', 'text/html'],
    ['a\r\nSet-Cookie: x=1', 'application/octet-stream', 'application/octet-stream'],
  ])(
    'of a file with the name %j and the type %j is of the type %s, to be saved',
    async (fileName, mimeType, type) => {
      const { path, content } = await signedLink({ fileName, mimeType });
      const { headers, rawPayload } = await download(path);
      expect(rawPayload.equals(content)).toBe(true);
      expect(headers).toMatchObject({ 'content-type': type, 'x-content-type-options': 'nosniff' });
      expect(headers['content-disposition']).toMatch(/^attachment; filename/);
      expect(headers).not.toHaveProperty('set-cookie');
    },
  );
});

test('a quote has at most 200 attachments, however many arrive at once; each that comes or goes moves its updatedAt', async () => {
  const { agency, call, id, path, upload, files } = await emptyQuote();
  const updated = async () => (await call.get(`/quotes/${id}`)).body.updatedAt as string;
  const [created, { body: first }] = [await updated(), await upload()];
  const added = await updated();
  expect((await call.delete(`${path}/${first.id}`)).status).toBe(200);
  expect([added > created, (await updated()) > added]).toEqual([true, true]);
  await service.query(
    `insert into quote_attachments (organization_id, id, quote_id, file_name, kind, mime_type, size_bytes)
      select $1, gen_random_uuid(), $2, 'a', 'a', 'a', 1 from generate_series(1, 198)`,
    [agency.id, id],
  );
  const replies = await Promise.all(Array.from({ length: 6 }, () => upload()));
  expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, 400, 400, 400, 400]);
  const tooMany = rejected(['body.file', 'is too many: a quote has at most 200 attachments']);
  expect(replies.find(({ status }) => status === 400)).toMatchObject(tooMany);
  // The oldest came at one time. The index would hide a statement that does not order them.
  await service.query('drop index if exists quote_attachments_quote_idx');
  const shown = idsOf(await agency.get(`/v1${path}`)).slice(0, 198);
  expect(shown).toEqual([...shown].sort());
  // The rejected files are gone, and the quote has not moved.
  expect(await files()).toHaveLength(2);
  const full = await updated();
  await upload();
  expect(await updated()).toBe(full);
});
