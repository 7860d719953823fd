import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { deleteAttachment } from '../src/quotes/attachments.repository.ts';
import { quoteRecord } from '../src/quotes/repository.ts';
import { useDashboard } from './support/dashboard.ts';
import { attachment, customer, opportunity, quote } from './support/records.ts';
import type { Agency } from './support/service.ts';

const TTL_MS = 300_000;
const NOW = Date.parse('2026-11-21T08:25:00Z');

/** The clock of signed links, set by each test that needs it to move. */
const clock = { now: NOW };
const { service, dashboard } = useDashboard(() => ({ now: () => clock.now }), { now: () => clock.now });

test('a quote as the dashboard writes it and an integration reads it, until it is archived', async () => {
  const agency = await service.agency();
  const other = await service.agency();
  const { put, patch, post, delete: archive } = dashboard.of(agency);
  const ana = await customer(agency, { firstName: 'Ana' });
  const { id: opportunityId } = await opportunity(agency, { customerId: ana.id });
  const id = randomUUID();

  const written = await put(`/quotes/${id}`, {
    opportunityId,
    title: 'Patagonia en familia',
    status: 'draft',
    price: 3_650,
    currency: 'USD',
  });
  const draft = {
    id,
    opportunityId,
    title: 'Patagonia en familia',
    status: 'draft',
    destination: null,
    customerId: ana.id,
    customerName: 'Ana',
    price: 3_650,
    currency: 'USD',
    token: expect.any(String),
    openCount: 0,
    firstOpenedAt: null,
    lastOpenedAt: null,
    publishedAt: null,
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  };
  expect(written).toMatchObject({ status: 201, body: draft });
  const shown = async (query = '') => (await agency.get(`/v1/quotes${query}`)).body;
  expect(await shown()).toEqual({ data: [draft], pagination: { limit: 25, offset: 0, total: 1 } });

  // A draft cannot be opened. Once published, it counts how often the customer opens it.
  expect(await post(`/quotes/${id}/opens`)).toMatchObject({
    status: 409,
    body: { error: { code: 'QUOTE_NOT_PUBLISHED' } },
  });
  await patch(`/quotes/${id}`, { status: 'published', price: null });
  await post(`/quotes/${id}/opens`);
  const opened = {
    ...written.body,
    status: 'published',
    price: null,
    openCount: 1,
    firstOpenedAt: expect.any(String),
    lastOpenedAt: expect.any(String),
    publishedAt: expect.any(String),
    updatedAt: expect.any(String),
  };
  for (const filter of ['?status=published', `?opportunityId=${opportunityId}`, '?query=FAMILIA'])
    expect(await shown(filter), filter).toEqual({
      data: [opened],
      pagination: { limit: 25, offset: 0, total: 1 },
    });
  expect((await shown('?status=draft')).pagination.total).toBe(0);

  const { stored } = await attachment(agency, service.storage, id, { fileName: 'itinerario.pdf' });
  expect((await agency.get(`/v1/quotes/${id}/attachments`)).body).toEqual({
    data: [
      {
        id: stored.id,
        fileName: 'itinerario.pdf',
        kind: 'itinerary',
        mimeType: 'application/pdf',
        sizeBytes: 2_000,
        url: expect.stringMatching(/^http:.*\/files\//),
      },
    ],
  });

  // Another organization sees nothing of it.
  expect((await other.get('/v1/quotes')).body.pagination.total).toBe(0);
  expect((await other.get(`/v1/quotes/${id}/attachments`)).status).toBe(404);

  expect(await archive(`/quotes/${id}`)).toMatchObject({
    status: 200,
    body: { id, archivedAt: expect.any(String) },
  });
  expect((await shown()).pagination.total).toBe(0);
  expect(await agency.get(`/v1/quotes/${id}/attachments`)).toMatchObject({
    status: 404,
    body: { error: { code: 'QUOTE_NOT_FOUND' } },
  });
});

test('a quote keeps the token and the openings that it was created with, and its public link finds it', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const { id: opportunityId } = await opportunity(agency);
  const path = `/quotes/${randomUUID()}`;
  const body = { opportunityId, title: 'Cartagena', status: 'published' };
  const opened = {
    openCount: 3,
    firstOpenedAt: '2025-01-01T10:00:00.000Z',
    lastOpenedAt: '2025-02-01T10:00:00.000Z',
  };
  const history = { ...body, ...opened, token: 'aurora/1' };
  const created = await call.put(path, history);
  expect(created).toMatchObject({ status: 201, body: { ...opened, token: 'aurora/1' } });

  // The link leads to the quote. It stays when the quote is replaced, and no other quote can have it.
  const found = await call.get(`/quotes?token=${encodeURIComponent('aurora/1')}`);
  expect(found.body.data).toEqual([created.body]);
  expect((await agency.get('/v1/quotes?token=aurora')).headers['x-ignored-parameters']).toBe('token');
  expect((await call.put(path, body)).body).toEqual(created.body);
  const rejected = [
    [await call.put(path, { ...body, token: 'aurora/2' }), 'cannot be changed after it was first set'],
    [await call.patch(path, { token: 'aurora/2' }), 'cannot be changed after it was first set'],
    [await call.put(`/quotes/${randomUUID()}`, history), 'is already the token of another quote'],
  ] as const;
  for (const [reply, message] of rejected)
    expect([reply.status, reply.body.error.details]).toEqual([400, [{ path: 'body.token', message }]]);
  const { body: elsewhere } = await dashboard
    .of(await service.agency())
    .get(`/quotes?token=${encodeURIComponent('aurora/1')}`);
  expect(elsewhere.data).toEqual([]);

  const longest = { ...body, token: '𝒳'.repeat(255), openCount: 2 ** 31 - 1 };
  expect((await call.put(`/quotes/${randomUUID()}`, longest)).body).toMatchObject(longest);

  // Sent by many at once, it is still one quote.
  const racing = `/quotes/${randomUUID()}`;
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => call.put(racing, { ...body, token: 'aurora/3' })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);

  // Openings go on from there. What is sent again of them has no effect.
  await call.post(`${path}/opens`, { openedAt: '2025-01-15T10:00:00Z' });
  const again = await call.put(path, history);
  expect(again).toMatchObject({ status: 200, body: { ...opened, openCount: 4 } });
  const ahead = { openedAt: new Date(Date.now() + 25 * 3_600_000).toISOString() };
  expect((await call.post(`${path}/opens`, ahead)).body.error.details).toEqual([
    { path: 'body.openedAt', message: 'must be at most 24 hours in the future' },
  ]);

  const attachments = await call.get(`${path}/attachments`);
  expect([attachments.status, attachments.body]).toEqual([200, { data: [] }]);
});

const attachmentsOf = (agency: Agency, quoteId: string) => agency.get(`/v1/quotes/${quoteId}/attachments`);

const isRefused = ({ statusCode, body }: { statusCode: number; body: string }, link?: string) =>
  expect([statusCode, JSON.parse(body)], link).toEqual([
    403,
    {
      error: {
        code: 'FILE_LINK_INVALID',
        message: 'The link has expired or is not valid. List the attachments again.',
      },
    },
  ]);

const download = (path: string, headers: Record<string, string> = {}) =>
  service.app.inject({ url: path, headers });

/** A quote with one attachment, and the link to it. */
async function linked(fields: Parameters<typeof attachment>[3] = {}) {
  clock.now = NOW;
  const agency = await service.agency();
  const { id: quoteId } = await quote(agency);
  const { stored, content } = await attachment(agency, service.storage, quoteId, fields);
  const [{ url }] = (await attachmentsOf(agency, quoteId)).body.data;
  const path = new URL(url).pathname;
  return { agency, quoteId, id: stored.id, content, url, path, token: path.slice('/files/'.length) };
}

test.each([{}, { authorization: 'Bearer nonsense' }, { 'x-api-key': 'nonsense' }])(
  'a signed link downloads the bytes of the file, looks at no key, and no cache keeps the answer: %j',
  async (sent) => {
    const { path, content } = await linked();
    const { statusCode, headers, rawPayload } = await download(path, sent);
    expect(statusCode).toBe(200);
    expect(rawPayload.equals(content)).toBe(true);
    expect(headers).toMatchObject({
      'content-type': 'application/pdf',
      'content-length': '2000',
      'content-disposition': `attachment; filename="cotizaci?n.pdf"; filename*=UTF-8''cotizaci%C3%B3n.pdf`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'accept-ranges': 'bytes',
      'x-request-id': expect.any(String),
    });
  },
);

test('a signed link works until it expires, five minutes later, and not a millisecond longer', async () => {
  const { path } = await linked();
  clock.now = NOW + TTL_MS - 1;
  expect((await download(path)).statusCode).toBe(200);
  clock.now = NOW + TTL_MS;
  const expired = await download(path);
  isRefused(expired);
  expect(expired.headers['content-type']).toBe('application/json; charset=utf-8');
});

test('a signed link is refused when any of its bits was changed', async () => {
  const { token } = await linked();
  const bytes = Buffer.from(token, 'base64url');
  for (const index of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[index] = (changed[index] ?? 0) ^ (1 << (index % 8));
    isRefused(await download(`/files/${changed.toString('base64url')}`), `byte ${index}`);
  }
});

test('a signed link is refused in any other spelling, though it would decode to the same bytes', async () => {
  const { token } = await linked();
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(token.at(-1) ?? '');
  const spellings = [
    `${token}=`,
    `${token}A`,
    `%20${token}`,
    `${token}%0A`,
    `${token}%00`,
    token.slice(0, -1),
    token.slice(0, -1) + alphabet[last ^ 1],
    `${token}.${token}`,
    token.toLowerCase(),
    `-${token}`,
    '',
    '%F0%9F%8C%8B',
    'x'.repeat(5_000),
    'A'.repeat(94),
  ];
  for (const spelling of spellings) isRefused(await download(`/files/${spelling}`), spelling);
});

test('a signed link is dead when its quote is archived or its attachment deleted', async () => {
  const [archived, deleted] = [await linked(), await linked()];
  await quoteRecord.archive(archived.agency.scope, archived.quoteId);
  await deleteAttachment(deleted.agency.scope, deleted.quoteId, deleted.id);
  for (const { path } of [archived, deleted]) isRefused(await download(path));
  expect((await attachmentsOf(deleted.agency, deleted.quoteId)).body).toEqual({ data: [] });
});

test.each([
  ['bytes=0-4', 0, 4],
  ['bytes=1990-', 1990, 1999],
  ['bytes=-10', 1990, 1999],
  ['bytes=1999-5000', 1999, 1999],
])('of the range %s of a file those bytes are answered', async (range, from, to) => {
  const { path, content } = await linked();
  const { statusCode, headers, rawPayload } = await download(path, { range });
  expect([statusCode, headers['content-range']]).toEqual([206, `bytes ${from}-${to}/2000`]);
  expect(rawPayload.equals(content.subarray(from, to + 1))).toBe(true);
});

test.each([
  ['bytes=2000-', 2_000],
  ['bytes=-0', 2_000],
  ['bytes=0-', 0],
  ['bytes=a-b', 2_000],
  ['bytes=5-1', 2_000],
])('the range %s is not within a file of %d bytes: 416, which names its size', async (range, size) => {
  const { path } = await linked({ content: Buffer.alloc(size) });
  const { statusCode, headers, body } = await download(path, { range });
  expect([statusCode, headers['content-range']]).toEqual([416, `bytes */${size}`]);
  const message = 'The range begins after the end of the file. Content-Range has the size of the file.';
  expect(JSON.parse(body)).toEqual({ error: { code: 'RANGE_NOT_SATISFIABLE', message } });
});

test.each(['lines=1-2', 'bytes', 'bytes=0-1,5-6', 'bytes=-2001', '\t'])(
  'the range %j is no single one: the whole file',
  async (range) => {
    const { path, content } = await linked();
    const { statusCode, rawPayload } = await download(path, { range });
    expect([statusCode, rawPayload.equals(content)]).toEqual([200, true]);
  },
);

test('only a file that is still the same is continued', async () => {
  const { path } = await linked();
  const etag = String((await download(path)).headers.etag);
  expect((await download(path, { range: 'bytes=5-9', 'if-range': etag })).statusCode).toBe(206);
  expect((await download(path, { range: 'bytes=5-9', 'if-range': '"other"' })).statusCode).toBe(200);
  const { statusCode, body } = await download(path, { 'if-match': '"other"' });
  expect(statusCode).toBe(412);
  expect(JSON.parse(body).error.code).toBe('PRECONDITION_FAILED');
});

test.each([
  ['a "b" \\ c.pdf', 'text/html', 'text/html'],
  ['漢字 🌋.pdf', 'image/svg+xml', 'image/svg+xml'],
  ['../../etc/passwd', 'application/x; charset=utf-8', 'application/x; charset=utf-8'],
  ['a\r\nSet-Cookie: x=1', '漢字', 'application/octet-stream'],
  ['x'.repeat(255), 'a\r\nSet-Cookie: x=1', 'application/octet-stream'],
  [';', '\u007f', 'application/octet-stream'],
])('a file with the name %j and the type %j is told as %s, to be saved', async (fileName, mimeType, told) => {
  const { path, content } = await linked({ fileName, mimeType });
  const { headers, rawPayload } = await download(path);
  expect(rawPayload.equals(content)).toBe(true);
  expect([headers['content-type'], headers['x-content-type-options']]).toEqual([told, 'nosniff']);
  expect(headers).not.toHaveProperty('set-cookie');
  expect(String(headers['content-disposition'])).toMatch(/^attachment; filename/);
});

test('an opening without a moment is of now', async () => {
  clock.now = NOW;
  const agency = await service.agency();
  const { id } = await quote(agency, { status: 'published' });
  const headers = { 'content-type': 'application/json' };
  const { body } = await dashboard.of(agency).post(`/quotes/${id}/opens`, undefined, { headers });
  expect(body).toMatchObject({ openCount: 1, lastOpenedAt: new Date(NOW).toISOString() });
});
