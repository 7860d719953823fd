import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { populate } from '../support/operations.ts';
import { quote as makeQuote } from '../support/records.ts';
import { useDashboard } from './dashboard.ts';

const NOW = Date.parse('2026-11-21T12:00:00.000Z');
const { service, dashboard } = useDashboard(() => ({ now: () => NOW }));

async function furnished() {
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
