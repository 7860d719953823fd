import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { generateKey } from '../../src/api-keys/api-key.ts';
import { newId } from '../../src/db/sql/ids.ts';
import { createLogger } from '../../src/http/logging.ts';
import { attachment, conversation, customer, message, quote } from '../support/records.ts';
import { startService, useService } from '../support/service.ts';
import { exchange, listen, requestBytes } from '../support/socket.ts';
import { postgresLog } from '../support/words.ts';

/** What is in a request stays out of the log: every kind of line is provoked, and searched for what was planted. */

const lines: string[] = [];
const service = useService({
  logTo: { write: (line: string) => lines.push(line) },
  logLevel: 'trace',
  requestsPerMinute: 1_000,
});

const SECRET = 'planted-secret';
/** Planted text is told apart by its place, and found however it is written. */
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
  // The line of a request is written when its answer has left.
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  return { text: lines.join(''), entries: lines.map((line): Record<string, unknown> => JSON.parse(line)) };
};

const contact = (identifierType: string, identifierValue: string) => ({ identifierType, identifierValue });

test('a run of every kind of request leaves no key, contact, message, signed token or anything of a query, body, path or header in the log', async () => {
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

    const thread = await conversation(agency, { contact: planted('handle'), contactName: planted('name') });
    await message(agency, thread.id, { content: planted('message'), senderName: planted('sender') });
    await agency.get(`/v1/conversations/${thread.id}/messages`);
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

test('a fault that the log tells all of quotes none of the data that PostgreSQL quotes', async () => {
  // Of its own: its tables are broken on purpose.
  const own: string[] = [];
  const broken = await startService({
    logTo: { write: (line: string) => own.push(line) },
    logLevel: 'trace',
  });
  onTestFinished(broken.close);
  const agency = await broken.agency();
  await broken.query('alter table customers add constraint no_secrets check (summary not like $$planted%$$)');
  await broken.query('alter table products alter column operator type integer using null');
  await broken.query('alter table products alter column valid_from type varchar(3)');
  const answers = [
    await agency.post('/v1/customers', {
      summary: planted('summary'),
      contacts: [contact('web', planted('contact'))],
    }),
    await agency.post('/v1/catalog/products', { title: planted('title'), operator: planted('operator') }),
    await agency.post('/v1/catalog/products', { title: planted('title'), validFrom: planted('date') }),
  ];
  for (const { status, text } of answers) {
    expect(status).toBe(500);
    expectNoSecret(text);
  }
  const errors = own.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
  expect(errors.map(({ err }) => err.sqlState)).toEqual(['23514', '22P02', '22001']);
  for (const { err, requestId } of errors) {
    expect(Object.keys(err).sort()).toEqual(
      ['message', 'sqlState', 'stack', 'type', ...(err.constraint ? ['constraint'] : [])].sort(),
    );
    expect(requestId).toMatch(/^[\w-]{36}$/);
  }
  expect(errors[0].err.message).toBe('PostgreSQL error 23514');
  // A cluster tells it in the message alone, beside the data.
  if (inject('workerUrls').length === 0) expect(errors[0].err.constraint).toBe('no_secrets');
  expectNoSecret(own.join(''), agency.key);
});

test('the cause of a fault is told, and nothing of it quoted either', () => {
  const sent = { severity: 'ERROR', code: '22P02', detail: SECRET, where: SECRET };
  const cause = Object.assign(new Error(`invalid input: "${SECRET}"`), sent);
  const err = Object.assign(new Error('it failed', { cause }), { params: [SECRET] });
  const written: string[] = [];
  createLogger('error', { write: (line: string) => written.push(line) }).error({ err }, 'INTERNAL_ERROR');
  expect(JSON.parse(written.join('')).err).toMatchObject({
    message: 'it failed',
    cause: { sqlState: '22P02' },
  });
  expectNoSecret(written.join(''));
});

// Only of the suite's own server it is known where the log is.
describe.runIf(process.env.TEST_POSTGRES === undefined)("PostgreSQL's own log", () => {
  test('has nothing of a contact that was refused, however many ask for it at once', async () => {
    const agency = await service.agency();
    const [taken, raced, violated] = [newId(), newId(), newId()];
    const create = (value: string) => agency.post('/v1/customers', { contacts: [contact('web', value)] });
    const owner = (await create(taken)).body.id;
    const other = (await create(newId())).body.id;
    const refused = [
      await create(taken),
      await agency.patch(`/v1/customers/${other}`, { contacts: [contact('web', taken)] }),
      ...(await Promise.all(Array.from({ length: 20 }, () => create(raced)))),
    ];
    expect(refused.map(({ status }) => status).sort()).toEqual([201, ...Array(21).fill(409)]);

    // What it would look like: a violation of the key that makes a contact one customer's.
    const insert = service.query(
      `insert into customer_contact_keys (organization_id, customer_id, identifier_type, contact_key)
        select $1, $2, 'web', $3 from generate_series(1, 2)`,
      [agency.id, owner, violated],
    );
    await expect(insert).rejects.toMatchObject({ code: '23505' });
    const text = (await postgresLog(service)) ?? '';
    expect([taken, raced, violated].map((value) => text.includes(value))).toEqual([false, false, true]);
  });
});

test('the line of a request is one for every answer, carries its id, and has exactly these fields', async () => {
  const agency = await service.agency();
  // A new field is a decision: it must hold nothing that a client sends but its own request id.
  const line = {
    level: 30,
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    requestId: 'my-own-id',
    method: 'GET',
    milliseconds: expect.any(Number),
    databaseMilliseconds: expect.any(Number),
    msg: 'request',
  };
  const whose = { organizationId: agency.id, apiKeyId: expect.stringMatching(/^[\da-f-]{36}$/) };
  for (const [url, key, expected] of [
    ['/v1/customers/x', agency.key, { ...whose, route: '/v1/customers/:customerId', status: 404 }],
    ['/v1/customers?limit=0', agency.key, { ...whose, route: '/v1/customers', status: 400 }],
    ['/v1/team', 'nonsense', { route: '/v1/team', status: 401 }],
    [`/v1/${SECRET}`, 'nonsense', { status: 404 }],
    ['/openapi.json', 'nonsense', { route: '/openapi.json', status: 200 }],
    ['/files/x', 'nonsense', { route: '/files/:token', status: 403 }],
  ] as const) {
    const headers = { 'x-api-key': key, 'x-request-id': 'my-own-id' };
    const { entries } = await logOf(() => service.app.inject({ url, headers }));
    expect(entries.filter(({ msg }) => msg === 'request')).toEqual([{ ...line, ...expected }]);
  }
});
