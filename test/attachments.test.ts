import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { DashboardOptions } from '../src/dashboard-app.ts';
import type { FileStorage } from '../src/files/storage.ts';
import { buildDashboard, TOKEN, useDashboard } from './support/dashboard.ts';
import { quote } from './support/records.ts';
import { listen } from './support/socket.ts';

const { service, dashboard } = useDashboard();

const MEBIBYTE = 1024 * 1024;
const LIMIT = 25 * MEBIBYTE;
const BOUNDARY = 'boundary-of-the-test';
const TYPE = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

type Part = { name: string; content: string | Buffer; fileName?: string; type?: string };

const head = ({ name, fileName, type }: Omit<Part, 'content'>): string =>
  [
    `--${BOUNDARY}`,
    `Content-Disposition: form-data; name="${name}"${fileName === undefined ? '' : `; filename="${fileName}"`}`,
    ...(type === undefined ? [] : [`Content-Type: ${type}`]),
    '\r\n',
  ].join('\r\n');

const form = (...parts: Part[]): Buffer =>
  Buffer.concat([
    ...parts.flatMap((part) => [Buffer.from(head(part)), Buffer.from(part.content), Buffer.from('\r\n')]),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);

const KIND: Part = { name: 'kind', content: 'itinerary' };
const FILE: Part = {
  name: 'file',
  content: 'the bytes',
  fileName: 'cotización.pdf',
  type: 'application/pdf',
};

const pathsOf = (body: { error: { details: { path: string }[] } }): string[] =>
  body.error.details.map(({ path }) => path);

async function furnished() {
  const agency = await service.agency();
  const has = await quote(agency);
  const call = dashboard.of(agency);
  const path = `/quotes/${has.id}/attachments`;
  const attach = (body: Buffer, headers: Record<string, string> = {}) =>
    call.post(path, body, { headers: { ...TYPE, ...headers } });
  const rows = () => service.query('select * from quote_attachments where organization_id = $1', [agency.id]);
  const files = () => readdir(join(service.dataDir, agency.id)).catch(() => []);
  const expectNothing = async () => expect([await rows(), await files()]).toEqual([[], []]);
  return { agency, has, call, path, attach, rows, files, expectNothing };
}

describe('createQuoteAttachment', () => {
  test('stores the file as it was sent, and lists it in /v1', async () => {
    const { agency, has, attach, rows, files } = await furnished();
    const { status, body } = await attach(form(KIND, FILE));
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      fileName: 'cotización.pdf',
      kind: 'itinerary',
      mimeType: 'application/pdf',
      sizeBytes: 9,
      url: expect.stringMatching(/^http:\/\/localhost:3000\/files\//),
    });
    expect(await rows()).toMatchObject([{ id: body.id, quote_id: has.id, size_bytes: '9' }]);
    expect(await files()).toEqual([body.id]);
    expect(await readFile(join(service.dataDir, agency.id, body.id), 'utf8')).toBe('the bytes');
    const listed = await agency.get(`/v1/quotes/${has.id}/attachments`);
    expect(listed.body.data).toEqual([{ ...body, url: expect.any(String) }]);
    const downloaded = await service.app.inject(new URL(body.url).pathname);
    expect(downloaded.body).toBe('the bytes');
    expect(downloaded.headers['content-type']).toBe('application/pdf');
  });

  test.each([
    ['the parts in either order, and an empty file', 0],
    ['a file of exactly 25 MiB', LIMIT],
  ])('takes %s', async (_what, size) => {
    const { attach } = await furnished();
    const { status, body } = await attach(form({ ...FILE, content: Buffer.alloc(size) }, KIND));
    expect([status, body.kind, body.sizeBytes]).toEqual([201, 'itinerary', size]);
  });

  test.each([
    ['kind first', [KIND]],
    ['file first', []],
  ])('refuses one byte more with 413 and keeps nothing of it (%s)', async (_order, before) => {
    const { attach, expectNothing } = await furnished();
    const { status, body } = await attach(form(...before, { ...FILE, content: Buffer.alloc(LIMIT + 1) }));
    expect([status, body.error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    await expectNothing();
  });

  test.each([
    ['text/html; charset=utf-8', 'text/html'],
    ['nonsense', 'application/octet-stream'],
    ['text/html<script>', 'application/octet-stream'],
    ['', 'text/plain'],
  ])('records the type %j as %s', async (type, recorded) => {
    const { attach } = await furnished();
    expect((await attach(form(KIND, { ...FILE, type }))).body.mimeType).toBe(recorded);
  });

  test.each<[string, Part[], string[]]>([
    ['no file', [KIND], ['body.file']],
    ['no kind', [FILE], ['body.kind']],
    ['nothing', [], ['body.kind', 'body.file']],
    ['a file that is text', [KIND, { name: 'file', content: 'text' }], ['body.file']],
    ['a kind that is a file', [{ ...FILE, name: 'kind' }, FILE], ['body.kind']],
    ['two files', [KIND, FILE, FILE], ['body.file']],
    ['two kinds', [KIND, FILE, KIND], ['body.kind']],
    ['an empty kind', [{ ...KIND, content: '' }, FILE], ['body.kind']],
    ['a kind of 256 characters', [{ ...KIND, content: 'ñ'.repeat(256) }, FILE], ['body.kind']],
    ['a file name of 256 characters', [KIND, { ...FILE, fileName: 'n'.repeat(256) }], ['body.file.fileName']],
    ['a file without a name', [KIND, { ...FILE, fileName: '' }], ['body.file.fileName']],
  ])('refuses %s, names it and keeps nothing', async (_what, parts, paths) => {
    const { attach, expectNothing } = await furnished();
    const { status, body } = await attach(form(...parts));
    expect([status, body.error.code, pathsOf(body)]).toEqual([400, 'VALIDATION_FAILED', paths]);
    await expectNothing();
  });

  test('names parts that mean nothing, and refuses them when asked to be strict', async () => {
    const { attach, expectNothing } = await furnished();
    const body = form(KIND, { name: 'title', content: 'x' }, FILE, { ...FILE, name: 'preview' });
    const strict = await attach(body, { prefer: 'handling=strict' });
    expect([strict.status, pathsOf(strict.body)]).toEqual([400, ['body.title', 'body.preview']]);
    await expectNothing();
    const tolerated = await attach(body);
    expect(tolerated.status).toBe(201);
    expect(tolerated.headers['x-ignored-parameters']).toBe('body.title, body.preview');
  });

  test.each([
    ['JSON', { 'content-type': 'application/json' }, '{"kind":"itinerary"}'],
    ['text', { 'content-type': 'text/plain' }, 'kind=itinerary'],
    ['multipart without a boundary', { 'content-type': 'multipart/form-data' }, 'kind'],
    ['a body that ends in the middle', TYPE, form(KIND, FILE).subarray(0, -30)],
    ['a body that ends in its first part', TYPE, form(KIND, FILE).subarray(0, 50)],
  ])('refuses %s with 400', async (_what, headers, body) => {
    const { call, path, expectNothing } = await furnished();
    const answer = await call.post(path, body, { headers });
    expect([answer.status, answer.body.error.code]).toEqual([400, 'VALIDATION_FAILED']);
    await expectNothing();
  });
});

test('deleteQuoteAttachment removes the row and the file, also by ids in upper case', async () => {
  const { agency, has, attach, rows, files } = await furnished();
  const kept = (await attach(form(KIND, FILE))).body;
  const { id } = (await attach(form(KIND, FILE))).body;
  const path = `/quotes/${has.id.toUpperCase()}/attachments/${id.toUpperCase()}`;
  const { body } = await dashboard.of({ id: agency.id.toUpperCase() }).delete(path);
  expect(body).toEqual({ id, deletedAt: expect.any(String) });
  expect(await rows()).toMatchObject([{ id: kept.id, organization_id: agency.id }]);
  expect(await files()).toEqual([kept.id]);
});

describe('over the network', () => {
  let port = 0;
  beforeAll(async () => {
    ({ port } = await listen(dashboard));
  });
  afterAll(() => dashboard.app.server.closeAllConnections());

  /** Sends the beginning of an upload and reads what comes back, without ever finishing it. */
  async function begin(agencyId: string, path: string) {
    const socket = connect(port, '127.0.0.1');
    const received: Buffer[] = [];
    const answered = new Promise<string>((done) => {
      socket.on('data', (chunk) => {
        received.push(chunk);
        const text = Buffer.concat(received).toString();
        if (text.includes('"message"')) done(text);
      });
      socket.on('error', () => done('connection error'));
    });
    socket.write(
      [
        `POST /dashboard/v1/organizations/${agencyId}${path} HTTP/1.1`,
        'Host: localhost',
        `Authorization: Bearer ${TOKEN}`,
        `Content-Type: ${TYPE['content-type']}`,
        'Transfer-Encoding: chunked',
        '\r\n',
      ].join('\r\n'),
    );
    const send = (bytes: Buffer) =>
      new Promise<void>((done) => {
        socket.write(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes]));
        socket.write('\r\n', () => done());
      });
    await send(Buffer.from(`${form(KIND).subarray(0, -BOUNDARY.length - 6)}${head(FILE)}`));
    return { socket, send, answered };
  }

  test('a file is refused as soon as it is too large; its connection serves on once the rest was sent', async () => {
    const { agency, path, expectNothing } = await furnished();
    const { socket, send, answered } = await begin(agency.id, path);
    for (let sent = 0; sent <= LIMIT; sent += MEBIBYTE) await send(Buffer.alloc(MEBIBYTE));
    expect(await answered).toMatch(/^HTTP\/1\.1 413 [\s\S]*PAYLOAD_TOO_LARGE/);
    await expectNothing();
    const next = new Promise<string>((done) => socket.once('data', (chunk) => done(chunk.toString())));
    for (let more = 0; more < 5; more += 1) await send(Buffer.alloc(MEBIBYTE));
    socket.write('0\r\n\r\nGET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(await next).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test('of an upload that breaks off nothing stays', async () => {
    const { agency, path, rows, files } = await furnished();
    const { socket, send } = await begin(agency.id, path);
    await send(Buffer.alloc(MEBIBYTE));
    await expect.poll(files).toEqual([expect.stringMatching(/\.partial$/)]);
    socket.destroy();
    await expect.poll(files).toEqual([]);
    expect(await rows()).toEqual([]);
  });
});

describe('between file and row', () => {
  const beside = async (options: Partial<DashboardOptions>) => {
    const other = await buildDashboard(service, options);
    onTestFinished(() => other.app.close());
    return other;
  };

  /** The disk storage, telling and doing more. */
  const watched = (also: { afterPut?: () => Promise<void>; remove?: FileStorage['remove'] }) => {
    const removed: string[] = [];
    const storage: FileStorage = {
      ...service.storage,
      put: async (key, content) => {
        await service.storage.put(key, content);
        await also.afterPut?.();
      },
      remove: async (key) => {
        removed.push(key);
        await (also.remove ?? service.storage.remove)(key);
      },
    };
    return { storage, removed };
  };

  test('a quote that is archived meanwhile gets no attachment, and the file goes again', async () => {
    const { agency, has, path, call, expectNothing } = await furnished();
    const { storage, removed } = watched({
      afterPut: async () => {
        await call.delete(`/quotes/${has.id}`);
      },
    });
    const other = await beside({ storage });
    const { status, body } = await other.of(agency).post(path, form(KIND, FILE), { headers: TYPE });
    expect([status, body.error.code, removed.length]).toEqual([404, 'QUOTE_NOT_FOUND', 1]);
    await expectNothing();
  });

  test('a file that the storage does not remove changes no answer', async () => {
    const { agency, has, call, path, rows, files } = await furnished();
    const { storage } = watched({ remove: () => Promise.reject(new Error('the disk does not answer')) });
    const other = await beside({ storage });
    const attach = (key: string) =>
      other.of(agency).post(path, form(KIND, FILE), { headers: { ...TYPE, 'idempotency-key': key } });
    const first = await attach('one');
    const again = await attach('one');
    expect([again.status, again.body.id]).toEqual([201, first.body.id]);
    const deleted = await other.of(agency).delete(`${path}/${first.body.id}`);
    expect([deleted.status, deleted.body.id]).toEqual([200, first.body.id]);
    await call.delete(`/quotes/${has.id}`);
    const refused = await attach('two');
    expect([refused.status, refused.body.error.code]).toEqual([404, 'QUOTE_NOT_FOUND']);
    expect(await rows()).toEqual([]);
    expect(await files()).toHaveLength(3);
  });

  test('a row that the database refuses takes its file with it; one of unknown fate keeps it', async () => {
    const { agency, path, files } = await furnished();
    const failing = (error: object) => ({
      ...service.db,
      for: (organizationId: string) => ({
        ...service.db.for(organizationId),
        write: () => Promise.reject(Object.assign(new Error('fault'), error)),
      }),
    });
    const attempt = async (error: object) => {
      const other = await beside({ db: failing(error) });
      return (await other.of(agency).post(path, form(KIND, FILE), { headers: TYPE })).status;
    };
    expect(await attempt({ code: '40001', severity: 'ERROR' })).toBe(503);
    expect(await files()).toEqual([]);
    expect(await attempt({ code: 'ECONNRESET' })).toBe(503);
    expect(await files()).toHaveLength(1);
  });
});
