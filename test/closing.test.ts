import { describe, expect, test } from 'vitest';
import { issueApiKey } from '../src/api-keys/repository.ts';
import { parseJson } from '../src/db/sql/json.ts';
import { readDocument } from './support/contract.ts';
import { useDashboard } from './support/dashboard.ts';
import { countAtWork, hold } from './support/databases.ts';
import { findDrift } from './support/drift.ts';
import { BELOW, populate } from './support/operations.ts';
import { attachment, customer, opportunity, quote } from './support/records.ts';

/** An organization that leaves: closed, read on for 30 days, and opened again. test/jobs/purge-organizations.test.ts has its end. */

const { service, dashboard } = useDashboard();

const CLOSED = {
  error: {
    code: 'ORGANIZATION_CLOSED',
    message: 'The organization is closed. Reopen it to write.',
  },
};
const DAYS_30 = 30 * 24 * 3_600_000;
/** They are for an organization that is closed. */
const OF_THE_END = [`DELETE ${BELOW}`, `POST ${BELOW}/reopen`];

const close = (agency: { id: string }) => dashboard.of(agency).delete('');
const reopen = (agency: { id: string }) => dashboard.of(agency).post('/reopen');
/** As if it had been closed that long ago. */
const age = (agency: { id: string }, ago: string) =>
  service.query('update organizations set closed_at = now() - $2::interval where id = $1', [agency.id, ago]);
const statusOf = async (key: string) => (await service.client(key).get('/v1/team')).status;

test('is answered with when it ends, which the organization shows too, and the same again', async () => {
  const agency = await service.agency('Viajes Ñandú');
  const before = (await dashboard.of(agency).get('')).body;
  const { status, body, text } = await close(agency);
  expect(status).toBe(200);
  expect(body).toEqual({ id: agency.id, closedAt: expect.any(String), purgeAt: expect.any(String) });
  expect(Date.parse(body.purgeAt) - Date.parse(body.closedAt)).toBe(DAYS_30);
  expect((await close(agency)).text).toBe(text);
  const shown = { ...before, closedAt: body.closedAt, purgeAt: body.purgeAt };
  expect((await dashboard.of(agency).get('')).body).toEqual(shown);
  expect((await dashboard.get('/organizations?limit=100')).body.data).toContainEqual(shown);
  const answers = await Promise.all(Array.from({ length: 20 }, () => close(agency)));
  expect(new Set(answers.map((answer) => answer.text))).toEqual(new Set([text]));
  expect((await reopen(agency)).body).toEqual(before);
  expect((await reopen(agency)).body).toEqual(before);
});

describe('while it is closed', () => {
  test('a signed link lives its minutes, and new ones are signed for those who export', async () => {
    const agency = await service.agency();
    const { id, customerId } = await quote(agency, { customerId: (await customer(agency)).id });
    const { content } = await attachment(agency, service.storage, id);
    const [{ url }] = (await agency.get(`/v1/quotes/${id}/attachments`)).body.data;
    await close(agency);
    const exported = await dashboard.of(agency).get(`/customers/${customerId}/export`);
    const [{ url: signed }] = exported.body.quotes[0].attachments;
    for (const link of [url, signed]) {
      const { status, text } = await service.client('').get(new URL(link).pathname, { key: null });
      expect([status, text]).toEqual([200, content.toString()]);
    }
  });

  test('a new organization may have its name, and no key is issued for it', async () => {
    const agency = await service.agency('Una Sola');
    await close(agency);
    expect((await dashboard.post('/organizations', { name: 'Una Sola' })).status).toBe(201);
    expect((await dashboard.of(agency).post('/api-keys', { name: 'site' })).body).toEqual(CLOSED);
    // One that came into the table all the same opens nothing.
    const { key } = parseJson(await issueApiKey(agency.scope, { name: 'by hand' }));
    expect(await statusOf(key)).toBe(401);
  });
});

test('a write that is under way while it is closed is finished, and nobody waits for it; the next one is refused', async () => {
  const agency = await service.agency();
  const { id } = await opportunity(agency);
  const locked = 'select from opportunities where organization_id = $1 and id = $2 for update';
  const letGo = await hold(service.ownerUrl, locked, [agency.id, id]);
  const call = dashboard.of(agency);
  const put = call.put(`/opportunities/${id}`, { salesStage: 'won' });
  await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
  expect((await close(agency)).status).toBe(200);
  await letGo();
  expect((await put).status).toBe(200);
  expect((await call.get(`/opportunities/${id}`)).body.salesStage).toBe('won');
  expect((await call.delete(`/opportunities/${id}`)).body).toEqual(CLOSED);
  expect(await findDrift(service, agency)).toEqual([]);
});

describe('opening it again', () => {
  test('at the last moment brings back all that it had', async () => {
    const agency = await service.agency();
    await populate({ service, agency });
    const before = await dashboard.stored(agency);
    await close(agency);
    await age(agency, '29 days 23 hours 59 minutes');
    expect((await reopen(agency)).body).toMatchObject({ id: agency.id, closedAt: null, purgeAt: null });
    expect(await dashboard.stored(agency)).toEqual(before);
    expect(await statusOf(agency.key)).toBe(200);
    expect((await close(agency)).body.closedAt > new Date(Date.now() - 3_600_000).toISOString()).toBe(true);
  });

  test('after 30 days is too late: it is gone, also before the purge', async () => {
    const agency = await service.agency();
    await close(agency);
    await age(agency, '30 days 1 second');
    const call = dashboard.of(agency);
    for (const { body } of [await reopen(agency), await close(agency), await call.get('/customers')])
      expect(body.error.code).toBe('ORGANIZATION_NOT_FOUND');
    expect((await dashboard.get('/organizations?limit=100')).text).not.toContain(agency.id);
    await expect.poll(() => statusOf(agency.key)).toBe(401);
  });
});

test('the document says of every write of an organization that it can be closed, and of no read', () => {
  for (const [path, operations] of Object.entries(readDocument('openapi/dashboard.json').paths))
    for (const [method, { responses }] of Object.entries(operations)) {
      const name = `${method.toUpperCase()} ${path}`;
      const says = JSON.stringify(responses[409] ?? '').includes('ORGANIZATION_CLOSED');
      const isWrite = path.startsWith(BELOW) && method !== 'get';
      expect(says, name).toBe(isWrite && !OF_THE_END.includes(name));
    }
});
