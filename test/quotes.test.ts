import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { deleteAttachment } from '../src/quotes/attachments.ts';
import { quoteRecord } from '../src/quotes/repository.ts';
import { useDashboard } from './support/dashboard.ts';
import { populate } from './support/operations.ts';
import { attachment, quote as makeQuote, quote } from './support/records.ts';
import type { Agency } from './support/service.ts';

const TTL_MS = 300_000;
const NOW = Date.parse('2026-11-21T08:25:00Z');

/** The clock of signed links, set by each test that needs it to move. */
const clock = { now: NOW };
const { service, dashboard } = useDashboard(() => ({ now: () => clock.now }), { now: () => clock.now });

const QUOTES = '/v1/quotes';

const attachmentsOf = (agency: Agency, quoteId: string) => agency.get(`${QUOTES}/${quoteId}/attachments`);

const INVALID_LINK = {
  error: {
    code: 'FILE_LINK_INVALID',
    message: 'The link has expired or is not valid; ask for the attachments again.',
  },
};

const download = (path: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
  service.app.inject({ method, url: path, headers });

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

describe('listQuoteAttachments', () => {
  test('shows every attachment, oldest first, each with a link of its own', async () => {
    clock.now = NOW;
    const agency = await service.agency();
    const { id: quoteId } = await quote(agency);
    const first = await attachment(agency, service.storage, quoteId, {
      fileName: 'cotización.pdf',
      kind: 'itinerary',
      content: Buffer.from('uno'),
    });
    const second = await attachment(agency, service.storage, quoteId, {
      fileName: 'foto.jpg',
      kind: 'photo',
      mimeType: 'image/jpeg',
      content: Buffer.alloc(0),
    });
    const { status, body } = await attachmentsOf(agency, quoteId);
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [
        {
          id: first.stored.id,
          fileName: 'cotización.pdf',
          kind: 'itinerary',
          mimeType: 'application/pdf',
          sizeBytes: 3,
          url: expect.stringMatching(/^http:\/\/localhost:3000\/files\/[\w-]+$/),
        },
        {
          id: second.stored.id,
          fileName: 'foto.jpg',
          kind: 'photo',
          mimeType: 'image/jpeg',
          sizeBytes: 0,
          url: expect.stringMatching(/^http:\/\/localhost:3000\/files\/[\w-]+$/),
        },
      ],
    });
    expect(body.data[0].url).not.toBe(body.data[1].url);
  });

  test.each(['draft', 'published', 'disabled'])('works for a %s quote', async (status) => {
    const agency = await service.agency();
    const { id } = await quote(agency, { status });
    await attachment(agency, service.storage, id);
    expect((await attachmentsOf(agency, id)).body.data).toHaveLength(1);
  });
});

describe('a signed link', () => {
  test('downloads the bytes of the file, without a key, as an attachment that no cache keeps', async () => {
    const { path, content } = await linked();
    const { statusCode, headers, rawPayload } = await download(path);
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
  });

  test('works until it expires, five minutes later, and not a millisecond longer', async () => {
    const { path } = await linked();
    clock.now = NOW + TTL_MS - 1;
    expect((await download(path)).statusCode).toBe(200);
    clock.now = NOW + TTL_MS;
    const { statusCode, headers, body } = await download(path);
    expect(statusCode).toBe(403);
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(JSON.parse(body)).toEqual(INVALID_LINK);
  });

  test('is made anew at every answer, with the whole lifetime before it', async () => {
    const { agency, quoteId, url } = await linked();
    clock.now = NOW + TTL_MS - 1;
    const [again] = (await attachmentsOf(agency, quoteId)).body.data;
    expect(again.url).not.toBe(url);
    clock.now = NOW + 2 * TTL_MS - 2;
    expect((await download(new URL(again.url).pathname)).statusCode).toBe(200);
  });

  test('is refused when any of its bits was changed', async () => {
    const { token } = await linked();
    const bytes = Buffer.from(token, 'base64url');
    for (const index of bytes.keys()) {
      const changed = Buffer.from(bytes);
      changed[index] = (changed[index] ?? 0) ^ (1 << (index % 8));
      const { statusCode, body } = await download(`/files/${changed.toString('base64url')}`);
      expect(statusCode, `byte ${index}`).toBe(403);
      expect(JSON.parse(body)).toEqual(INVALID_LINK);
    }
  });

  test('is refused in any other spelling, though it would decode to the same bytes', async () => {
    const { token } = await linked();
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const last = alphabet.indexOf(token.at(-1) ?? '');
    const spellings = [
      `${token}=`,
      `${token}==`,
      `${token}A`,
      ` ${token}`.replace(' ', '%20'),
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
    for (const spelling of spellings) {
      const { statusCode, body } = await download(`/files/${spelling}`);
      expect(statusCode, spelling).toBe(403);
      expect(JSON.parse(body)).toEqual(INVALID_LINK);
    }
  });

  test('is signed over organization, attachment and expiry: parts of two good links make no third', async () => {
    const [one, two] = [await linked(), await linked()];
    const [a, b] = [Buffer.from(one.token, 'base64url'), Buffer.from(two.token, 'base64url')];
    for (const cut of [16, 32, 38]) {
      const mixed = Buffer.concat([a.subarray(0, cut), b.subarray(cut)]).toString('base64url');
      expect((await download(`/files/${mixed}`)).statusCode).toBe(403);
    }
  });

  test('is dead when its quote is archived or its attachment deleted', async () => {
    const [archived, deleted] = [await linked(), await linked()];
    await quoteRecord.archive(archived.agency.scope, archived.quoteId);
    await deleteAttachment(deleted.agency.scope, deleted.quoteId, deleted.id);
    for (const { path } of [archived, deleted]) {
      const { statusCode, body } = await download(path);
      expect(statusCode).toBe(403);
      expect(JSON.parse(body)).toEqual(INVALID_LINK);
    }
    expect((await attachmentsOf(deleted.agency, deleted.quoteId)).body).toEqual({ data: [] });
  });

  test('needs no key and looks at none', async () => {
    const { path } = await linked();
    for (const headers of [{ authorization: 'Bearer nonsense' }, { 'x-api-key': 'nonsense' }]) {
      expect((await download(path, headers)).statusCode).toBe(200);
    }
  });
});

describe('a range of a file', () => {
  test.each([
    ['bytes=0-4', 0, 4],
    ['bytes=1990-', 1990, 1999],
    ['bytes=-10', 1990, 1999],
    ['bytes=1999-5000', 1999, 1999],
    ['bytes=0-', 0, 1999],
  ])('%s is answered with those bytes', async (range, from, to) => {
    const { path, content } = await linked();
    const { statusCode, headers, rawPayload } = await download(path, { range });
    expect(statusCode).toBe(206);
    expect(headers['content-range']).toBe(`bytes ${from}-${to}/2000`);
    expect(rawPayload.equals(content.subarray(from, to + 1))).toBe(true);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
  });

  test.each(['bytes=2000-', 'bytes=9999-99999', 'bytes=-0'])(
    '%s is outside of the file: 416, which names its size',
    async (range) => {
      const { path } = await linked();
      const { statusCode, headers, body } = await download(path, { range });
      expect(statusCode).toBe(416);
      expect(headers['content-range']).toBe('bytes */2000');
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      expect(headers).not.toHaveProperty('content-disposition');
      expect(JSON.parse(body)).toEqual({
        error: {
          code: 'RANGE_NOT_SATISFIABLE',
          message: 'The range is not within the file; Content-Range has its size.',
        },
      });
      const head = await download(path, { range }, 'HEAD');
      expect(head.statusCode).toBe(416);
      expect(head.headers['content-range']).toBe('bytes */2000');
      expect(head.body).toBe('');
    },
  );

  test('every range of an empty file is outside of it', async () => {
    const { path } = await linked({ content: Buffer.alloc(0) });
    const { statusCode, headers } = await download(path, { range: 'bytes=0-' });
    expect(statusCode).toBe(416);
    expect(headers['content-range']).toBe('bytes */0');
  });

  test.each(['bytes=a-b', 'bytes=5-1'])('%j is no range of any file: 416', async (range) => {
    const { path } = await linked();
    expect((await download(path, { range })).statusCode).toBe(416);
  });

  test.each(['lines=1-2', 'bytes', 'bytes=0-1,5-6', 'bytes=-2001', 'bytes=-65536', '\t'])(
    '%j asks for no single range: the whole file',
    async (range) => {
      const { path, content } = await linked();
      const { statusCode, rawPayload } = await download(path, { range });
      expect(statusCode).toBe(200);
      expect(rawPayload.equals(content)).toBe(true);
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
});

describe('the name and type of a file, whatever they are, make an answer', () => {
  test.each([
    'cotización.pdf',
    'a "b" \\ c.pdf',
    '漢字 🌋.pdf',
    '../../etc/passwd',
    'a\r\nSet-Cookie: x=1',
    'C:\\x.pdf',
    '%00',
    ';',
    'x'.repeat(255),
  ])('file name %j', async (fileName) => {
    const { path, content } = await linked({ fileName });
    const { statusCode, headers, rawPayload } = await download(path);
    expect(statusCode).toBe(200);
    expect(rawPayload.equals(content)).toBe(true);
    expect(headers).not.toHaveProperty('set-cookie');
    expect(String(headers['content-disposition'])).toMatch(/^attachment; filename/);
  });

  test.each(['text/html', 'image/svg+xml', 'application/x; charset=utf-8'])(
    'type %s is told as it is, and never sniffed',
    async (mimeType) => {
      const { path } = await linked({ mimeType });
      const { headers } = await download(path);
      expect(headers['content-type']).toBe(mimeType);
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(String(headers['content-disposition'])).toMatch(/^attachment;/);
    },
  );

  test.each(['漢字', 'a\r\nSet-Cookie: x=1', '\u007f', 'é'])(
    'type %j, which no header can hold, is told as bytes',
    async (mimeType) => {
      const { path, content } = await linked({ mimeType });
      const { statusCode, headers, rawPayload } = await download(path);
      expect(statusCode).toBe(200);
      expect(headers['content-type']).toBe('application/octet-stream');
      expect(rawPayload.equals(content)).toBe(true);
    },
  );
});

async function furnished() {
  clock.now = NOW;
  const agency = await service.agency();
  return { agency, has: await populate({ service, agency }), call: dashboard.of(agency) };
}

test('the token of a quote is made once, however often it is replaced, archived and brought back', async () => {
  const { has, call } = await furnished();
  const id = randomUUID();
  const put = (title: string) =>
    call.put(`/quotes/${id}`, { opportunityId: has.opportunityId, title, status: 'draft' });
  const { token } = (await put('one')).body;
  expect(token).toMatch(/^[0-9A-Za-z]{43}$/);
  expect((await put('two')).body.token).toBe(token);
  await call.delete(`/quotes/${id}`);
  expect((await put('three')).body.token).toBe(token);
  const other = await call.put(`/quotes/${randomUUID()}`, {
    opportunityId: has.opportunityId,
    title: 'four',
    status: 'draft',
  });
  expect(other.body.token).not.toBe(token);
});

describe('publishedAt is when the quote was first published', () => {
  const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  async function draft() {
    const { has, call, agency } = await furnished();
    const path = `/quotes/${randomUUID()}`;
    const body = { opportunityId: has.opportunityId, title: 'Oaxaca' };
    const put = async (fields: object) => (await call.put(path, { ...body, ...fields })).body;
    const patch = async (fields: object) => (await call.patch(path, fields)).body;
    expect((await put({ status: 'draft' })).publishedAt).toBe(null);
    const shown = async () =>
      (await agency.get('/v1/quotes')).body.data.find(({ title }: { title: string }) => title === 'Oaxaca');
    return { put, patch, shown };
  }

  test('by a PATCH or a PUT that does not send it', async () => {
    for (const verb of ['patch', 'put'] as const) {
      const quote = await draft();
      const published = await quote[verb]({ status: 'published' });
      expect(published.publishedAt).toEqual(MOMENT);
      expect((await quote.shown()).publishedAt).toBe(published.publishedAt);
    }
  });

  test('and stays, whatever becomes of the quote later', async () => {
    const { put, patch } = await draft();
    const { publishedAt } = await patch({ status: 'published' });
    for (const answer of [
      await put({ status: 'published' }),
      await patch({ status: 'disabled' }),
      await put({ status: 'draft' }),
      await patch({ status: 'published', publishedAt: null }),
      await patch({ title: 'Puebla' }),
    ])
      expect(answer.publishedAt).toBe(publishedAt);
  });

  test('a moment that is sent is kept; a draft can be cleared of it', async () => {
    const { put, patch } = await draft();
    const sent = { status: 'published', publishedAt: '2026-10-01T08:00:00.000Z' };
    expect((await put(sent)).publishedAt).toBe(sent.publishedAt);
    expect((await patch({ publishedAt: '2026-10-02T08:00:00Z' })).publishedAt).toBe(
      '2026-10-02T08:00:00.000Z',
    );
    expect((await patch({ status: 'draft', publishedAt: null })).publishedAt).toBe(null);
  });
});

describe('openQuote', () => {
  test('counts, keeps the earliest and the latest opening, and moves the quote to the first place', async () => {
    const { agency, has, call } = await furnished();
    const neighbour = await furnished();
    const before = await dashboard.stored(neighbour.agency);
    const quote = (await agency.get('/v1/quotes')).body.data[0];
    const newer = await makeQuote(agency);
    const open = (body?: object) => call.post(`/quotes/${has.quoteId}/opens`, body);

    const first = await open({ openedAt: '2026-11-20T10:00:00-05:00' });
    expect(first.status).toBe(200);
    expect(first.body).toEqual({
      ...quote,
      openCount: 1,
      firstOpenedAt: '2026-11-20T15:00:00.000Z',
      lastOpenedAt: '2026-11-20T15:00:00.000Z',
      updatedAt: expect.any(String),
    });
    expect(first.body.updatedAt > newer.updatedAt).toBe(true);
    await open({ openedAt: '2026-11-19T00:00:00Z' });
    const third = await open();
    expect(third.body).toEqual({
      ...quote,
      openCount: 3,
      firstOpenedAt: '2026-11-19T00:00:00.000Z',
      lastOpenedAt: new Date(NOW).toISOString(),
      updatedAt: expect.any(String),
    });
    expect(third.body.updatedAt > first.body.updatedAt).toBe(true);
    expect((await agency.get('/v1/quotes')).body.data).toEqual([third.body, newer]);
    expect(await dashboard.stored(neighbour.agency)).toEqual(before);
  });

  test('takes an empty object, and no body with a JSON content type', async () => {
    const { has, call } = await furnished();
    expect((await call.post(`/quotes/${has.quoteId}/opens`, {})).body.openCount).toBe(1);
    const bare = await call.post(`/quotes/${has.quoteId}/opens`, undefined, {
      headers: { 'content-type': 'application/json' },
    });
    expect(bare.body.openCount).toBe(2);
  });

  test('counts each of 50 simultaneous openings', async () => {
    const { has, call } = await furnished();
    await Promise.all(
      Array.from({ length: 50 }, (_, second) =>
        call.post(`/quotes/${has.quoteId}/opens`, {
          openedAt: new Date(NOW + ((second * 7) % 50) * 1_000).toISOString(),
        }),
      ),
    );
    const { body } = await call.post(`/quotes/${has.quoteId}/opens`);
    expect(body).toMatchObject({
      openCount: 51,
      firstOpenedAt: new Date(NOW).toISOString(),
      lastOpenedAt: new Date(NOW + 49_000).toISOString(),
    });
  });

  test.each(['draft', 'disabled'])('of a quote that is %s is refused, and counts nothing', async (status) => {
    const { has, call, agency } = await furnished();
    await call.patch(`/quotes/${has.quoteId}`, { status });
    const before = await dashboard.stored(agency);
    const refused = await call.post(`/quotes/${has.quoteId}/opens`);
    expect([refused.status, refused.body.error.code]).toEqual([409, 'QUOTE_NOT_PUBLISHED']);
    expect(await dashboard.stored(agency)).toEqual(before);
  });
});
