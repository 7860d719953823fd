import { expect, onTestFinished, test } from 'vitest';
import { generateKey } from '../../src/api-keys/api-key.ts';
import { newId } from '../../src/db/index.ts';
import { createLogger } from '../../src/http/logging.ts';
import { buildDashboard, TOKEN } from '../support/dashboard.ts';
import { attachment, conversation, customer, message, quote } from '../support/records.ts';
import { startService, useService } from '../support/service.ts';
import { exchange, listen, requestBytes } from '../support/socket.ts';
import { postgresLog } from '../support/words.ts';

/** Nothing of a request is in the log: the tests cause every kind of log line, and search it for planted text. */

const lines: string[] = [];
const service = useService({
  logTo: { write: (line: string) => lines.push(line) },
  logLevel: 'trace',
  requestsPerMinute: 1_000,
});

const SECRET = 'planted-secret';
/** The place tells which text was found. */
const planted = (place: string): string => `${SECRET}-${place}`;
const SPELLINGS = [SECRET, encodeURIComponent(SECRET), Buffer.from(SECRET).toString('base64').slice(0, -4)];

function expectNoSecret(text: string, ...more: string[]): void {
  for (const secret of [...SPELLINGS, ...more]) {
    const at = text.toLowerCase().indexOf(secret.toLowerCase());
    expect(at < 0 ? '' : text.slice(Math.max(0, at - 200), at + 100)).toBe('');
  }
}

const logOf = async (work: () => Promise<unknown>) => {
  lines.length = 0;
  await work();
  // The line of a request is written after its response.
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  return { text: lines.join(''), entries: lines.map((line): Record<string, unknown> => JSON.parse(line)) };
};

const contact = (identifierType: string, identifierValue: string) => ({ identifierType, identifierValue });

test('the log has no key, contact, message, signed token or other part of a request', async () => {
  const agency = await service.agency();
  const { port } = await listen(service);
  const bogus = generateKey();
  let token = '';
  const { text, entries } = await logOf(async () => {
    const ana = await customer(agency, {
      firstName: planted('first-name'),
      summary: planted('summary'),
      tags: [planted('tag')],
      contacts: [contact('email', `${SECRET}@example.com`), contact('whatsapp', '+5215598765432')],
    });
    await agency.post('/v1/customers', { contacts: [contact('email', `${SECRET}@example.com`)] });
    await agency.patch(`/v1/customers/${ana.id}`, { lastName: planted('last-name') });
    await agency.patch(`/v1/customers/${ana.id}`, { contacts: [contact('web', planted('contact'))] });
    await agency.post('/v1/catalog/products', { title: planted('title'), [planted('unknown-field')]: 1 });
    await agency.post('/v1/catalog/products', { title: '', currency: planted('currency') });
    await agency.request('POST', '/v1/customers', {
      headers: { 'content-type': 'application/json' },
      body: `{"${planted('bad-json')}`,
    });
    await agency.request('POST', '/v1/customers', {
      headers: { 'content-type': `text/${planted('type')}` },
      body: planted('body'),
    });
    await agency.get(`/v1/customers?query=${planted('query')}&${planted('parameter')}=1`);
    await agency.get(`/v1/customers?tag=${planted('tag')}&limit=${planted('limit')}`);
    await agency.get(`/v1/customers?${planted('strict')}=1`, { headers: { prefer: 'handling=strict' } });
    await agency.get(`/v1/customers/${planted('id')}`);
    await agency.get(`/v1/${planted('route')}?${planted('query')}`);
    await agency.get('/v1/team', {
      headers: { cookie: planted('cookie'), 'user-agent': planted('agent'), referer: planted('referer') },
    });
    await agency.get('/v1/team', { key: bogus });
    await agency.get('/v1/team', { key: planted('key') });
    await agency.get('/v1/team', { key: null, headers: { authorization: `Basic ${planted('basic')}` } });

    const { id: conversationId } = await conversation(agency, {
      contact: planted('handle'),
      contactName: planted('name'),
    });
    await message(agency, conversationId, { content: planted('message'), senderName: planted('sender') });
    await agency.get(`/v1/conversations/${conversationId}/messages`);
    await agency.get(`/v1/conversations?query=${planted('conversation')}`);

    const offer = await quote(agency, { title: planted('quote') });
    await attachment(agency, service.storage, offer.id, { fileName: planted('file') });
    const [{ url }] = (await agency.get(`/v1/quotes/${offer.id}/attachments`)).body.data;
    token = new URL(url).pathname.split('/').at(-1) ?? '';
    await service.app.inject(`/files/${token}`);
    await service.app.inject(`/files/${token.slice(0, -6)}AAAAAA`);
    await service.app.inject({ url: `/files/${token}`, headers: { range: 'bytes=99999-' } });

    const over = (target: string, headers = {}) => exchange(port, requestBytes('GET', target, headers));
    await over(`/v1/customers/${planted('escape')}%zz`);
    await over('/v1/team', { Host: null, 'X-Secret': planted('host') });
    await over('/v1/team', { 'X-Long': planted('long').repeat(2_000) });
    await exchange(port, `${planted('garbage')}\r\n\r\n`, null);
  });

  expect(entries.length).toBeGreaterThan(25);
  for (const { requestId } of entries) expect(requestId).toMatch(/^[\w-]{8,64}$/);
  const statuses = new Set(entries.map(({ status }) => status));
  for (const status of [200, 201, 400, 401, 403, 404, 409]) expect(statuses).toContain(status);
  expectNoSecret(text, agency.key.slice(11), bogus.slice(11), '5598765432', token.slice(0, 40));
});

test('the log of an upload has no token', async () => {
  const agency = await service.agency();
  const { id } = await quote(agency);
  const logger = createLogger('trace', { write: (line: string) => lines.push(line) });
  const dashboard = await buildDashboard(service, { logger });
  onTestFinished(() => dashboard.app.close());
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const part = (name: string) => `--x\r\nContent-Disposition: form-data; ${name}\r\n\r\n${SECRET}\r\n`;
  const body = `${part('name="kind"')}${part(`name="file"; filename="${SECRET}"`)}--x--\r\n`;
  const { text } = await logOf(async () => {
    const sent = Buffer.from(body);
    expect((await dashboard.of(agency).post(`/quotes/${id}/attachments`, sent, { headers })).status).toBe(
      201,
    );
  });
  expectNoSecret(text, TOKEN);
});

test('the logged errors of PostgreSQL have their SQLSTATE, and none of the data that PostgreSQL quotes', async () => {
  const brokenLines: string[] = [];
  const broken = await startService({
    logTo: { write: (line: string) => brokenLines.push(line) },
    logLevel: 'trace',
  });
  onTestFinished(broken.close);
  const agency = await broken.agency();
  await broken.query('alter table customers add constraint no_secrets check (summary not like $$planted%$$)');
  await broken.query('alter table products alter column operator type integer using null');
  await broken.query('alter table products alter column valid_from type varchar(3)');
  const responses = [
    await agency.post('/v1/customers', {
      summary: planted('summary'),
      contacts: [contact('web', planted('contact'))],
    }),
    await agency.post('/v1/catalog/products', { title: planted('title'), operator: planted('operator') }),
    await agency.post('/v1/catalog/products', { title: planted('title'), validFrom: planted('date') }),
  ];
  for (const { status, text } of responses) {
    expect(status).toBe(500);
    expectNoSecret(text);
  }
  const errors = brokenLines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
  expect(errors.map(({ err }) => err.sqlState)).toEqual(['23514', '22P02', '22001']);
  const fields = ['message', 'sqlState', 'stack', 'statement', 'type', 'constraint'];
  for (const { err } of errors) expect(fields).toEqual(expect.arrayContaining(Object.keys(err)));
  expectNoSecret(brokenLines.join(''), agency.key);
});

// The path of the log is known only for the suite's own PostgreSQL.
test.runIf(process.env.TEST_POSTGRES === undefined)(
  "PostgreSQL's own log has nothing of a rejected contact, also after simultaneous requests",
  async () => {
    const agency = await service.agency();
    const [taken, raced, violated] = [newId(), newId(), newId()];
    const create = (value: string) => agency.post('/v1/customers', { contacts: [contact('web', value)] });
    const { body: owner } = await create(taken);
    const { body: other } = await create(newId());
    const responses = [
      await create(taken),
      await agency.patch(`/v1/customers/${other.id}`, { contacts: [contact('web', taken)] }),
      ...(await Promise.all(Array.from({ length: 20 }, () => create(raced)))),
    ];
    expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(21).fill(409)]);

    // PostgreSQL logs the values of a statement that violates the unique key.
    const insert = service.query(
      `insert into customer_contact_keys (organization_id, customer_id, identifier_type, contact_key)
        select $1, $2, 'web', $3 from generate_series(1, 2)`,
      [agency.id, owner.id, violated],
    );
    await expect(insert).rejects.toMatchObject({ code: '23505' });
    const log = await postgresLog(service);
    expect(log).toContain(violated);
    expect(log).not.toContain(taken);
    expect(log).not.toContain(raced);
  },
);

test('each request is logged in one line with exactly these fields', async () => {
  const agency = await service.agency();
  // A new field must not contain anything that a client sends, except the request id.
  const line = {
    level: 30,
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    requestId: 'my-own-id',
    method: 'GET',
    milliseconds: expect.any(Number),
    databaseMilliseconds: expect.any(Number),
    msg: 'request',
  };
  const owner = { organizationId: agency.id, apiKeyId: expect.stringMatching(/^[\da-f-]{36}$/) };
  for (const [url, key, expected] of [
    ['/v1/customers/x', agency.key, { ...owner, route: '/v1/customers/:customerId', status: 404 }],
    [`/v1/${SECRET}`, 'nonsense', { status: 404 }],
    ['/files/x', 'nonsense', { route: '/files/:token', status: 403 }],
  ] as const) {
    const headers = { 'x-api-key': key, 'x-request-id': 'my-own-id' };
    const { entries } = await logOf(() => service.app.inject({ url, headers }));
    expect(entries.filter(({ msg }) => msg === 'request')).toEqual([{ ...line, ...expected }]);
  }
});
