import { expect, onTestFinished, test } from 'vitest';
import { generateKey } from '../../src/api-keys/api-key.ts';
import { newId } from '../../src/db/index.ts';
import { TOKEN, useDashboard } from '../support/dashboard.ts';
import { ownLog } from '../support/instance.ts';
import { operationsBy, populate, run } from '../support/operations.ts';
import { contact, web } from '../support/records.ts';
import { startService } from '../support/service.ts';
import { exchange, listen, requestBytes } from '../support/socket.ts';
import { hasWord, postgresLog } from '../support/words.ts';

/** Nothing of a request is in the log: the tests cause every kind of log line, and search it for planted text. */

const { logger, lines } = ownLog('trace');
const { service, dashboard } = await useDashboard({ logger }, { logger });

const SECRET = 'planted-secret';

function expectNoSecret(entries: unknown[], ...more: string[]): void {
  const hasSecret = (entry: unknown) => [SECRET, ...more].some((one) => hasWord(JSON.stringify(entry), one));
  expect(entries.filter(hasSecret)).toEqual([]);
}

test('the log has no key, token, contact, message or other part of a request to any operation, or to none', async () => {
  const agency = await service.agency();
  const world = { service, dashboard, agency };
  const { port } = await listen(service);
  const bogus = generateKey();
  lines.length = 0;
  const has = await populate(world, SECRET);
  const contacts = [contact('email', `${SECRET}@a.example`), contact('whatsapp', '+5215598765432')];
  for (const _twice of [1, 2]) await agency.post('/v1/customers', { contacts });
  for (const type of ['application/json', `text/${SECRET}`])
    await agency.request('POST', '/v1/customers', { headers: { 'content-type': type }, body: `{"${SECRET}` });
  const headers = { cookie: SECRET, 'user-agent': SECRET, referer: SECRET };
  for (const path of [
    'team',
    `customers?query=${SECRET}&${SECRET}=1`,
    `customers?tag=${SECRET}&limit=${SECRET}`,
  ])
    for (const prefer of ['', 'handling=strict'])
      await agency.get(`/v1/${path}`, { headers: { ...headers, prefer } });
  for (const path of [`customers/${SECRET}`, `${SECRET}?${SECRET}`]) await agency.get(`/v1/${path}`);
  for (const key of [bogus, SECRET]) await agency.get('/v1/team', { key });
  await agency.get('/v1/team', { key: null, headers: { authorization: `Basic ${SECRET}` } });

  const [{ url }] = (await agency.get(`/v1/quotes/${has.quoteId}/attachments`)).body.data;
  const token = new URL(url).pathname.split('/').at(-1) ?? '';
  for (const sent of [token, `${token.slice(0, -6)}AAAAAA`]) await service.app.inject(`/files/${sent}`);
  await service.app.inject({ url: `/files/${token}`, headers: { range: 'bytes=99999-' } });

  const over = (target: string, sent = {}) => exchange(port, requestBytes('GET', target, sent));
  await over(`/v1/customers/${SECRET}%zz`);
  await over('/v1/team', { Host: null, 'X-Secret': SECRET });
  await over('/v1/team', { 'X-Long': SECRET.repeat(2_000) });
  await exchange(port, `${SECRET}\r\n\r\n`, null);
  for (const name of operationsBy('GET', 'POST', 'PUT', 'PATCH', 'DELETE')) await run(world, name, has);

  // The line of a request is written after its response.
  await expect.poll(() => lines.length).toBeGreaterThan(100);
  for (const { requestId } of lines) expect(requestId).toMatch(/^[\w-]{8,64}$/);
  const statuses = new Set(lines.map(({ status }) => status));
  for (const status of [200, 201, 400, 401, 403, 404, 409]) expect(statuses).toContain(status);
  expectNoSecret(lines, TOKEN, agency.key.slice(11), bogus.slice(11), '5598765432', token.slice(0, 40));
});

test('the logged errors of PostgreSQL have their SQLSTATE, and none of the data that PostgreSQL quotes', async () => {
  type Line = { level: number; err: { sqlState: string; cause?: { sqlState: string } } };
  const { logger, lines } = ownLog<Line>('trace');
  const broken = await startService({ logger });
  onTestFinished(broken.close);
  const agency = await broken.agency();
  await broken.query('alter table customers add constraint no_secrets check (summary not like $$planted%$$)');
  await broken.query('alter table products alter column operator type integer using null');
  await broken.query('alter table products alter column valid_from type varchar(3)');
  const title = SECRET;
  const responses = [
    await agency.post('/v1/customers', { summary: SECRET, contacts: [web(SECRET)] }),
    await agency.post('/v1/catalog/products', { title, operator: SECRET }),
    await agency.post('/v1/catalog/products', { title, validFrom: SECRET }),
  ];
  for (const { status, text } of responses) {
    expect(status).toBe(500);
    expectNoSecret([text]);
  }
  const errors = lines.filter(({ level }) => level === 50);
  expect(errors.map(({ err }) => err.sqlState)).toEqual(['23514', '22P02', '22001']);
  const fields = ['message', 'sqlState', 'stack', 'statement', 'type', 'constraint'];
  for (const { err } of errors) expect(fields).toEqual(expect.arrayContaining(Object.keys(err)));
  const cause = await broken.query('select $1::integer', [SECRET]).catch((error: unknown) => error);
  logger.error(new Error('An error with a cause.', { cause }));
  expect(lines.at(-1)?.err.cause?.sqlState).toBe('22P02');
  expectNoSecret(lines, agency.key);
});

// The path of the log is known only for the suite's own PostgreSQL.
test.runIf(process.env.TEST_POSTGRES === undefined)(
  "PostgreSQL's own log has nothing of a rejected contact, also after simultaneous requests",
  async () => {
    const agency = await service.agency();
    const [taken, raced, violated] = [newId(), newId(), newId()];
    const create = (value: string) => agency.post('/v1/customers', { contacts: [web(value)] });
    const { body: owner } = await create(taken);
    const { body: other } = await create(newId());
    const responses = [
      await create(taken),
      await agency.patch(`/v1/customers/${other.id}`, { contacts: [web(taken)] }),
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
