import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createLogger } from '../src/http/logging.ts';
import { eraseFiles } from '../src/jobs/erase-files.ts';
import { readDocument } from './support/contract.ts';
import { buildDashboard, TOKEN, useDashboard } from './support/dashboard.ts';
import { operationsBy, populate, run } from './support/operations.ts';
import { attachment, conversation, message, opportunity, quote } from './support/records.ts';
import type { Agency } from './support/service.ts';
import { listen } from './support/socket.ts';
import { hasWord, inDatabase, inFiles, postgresLog } from './support/words.ts';

const lines: string[] = [];
const logTo = { write: (line: string) => lines.push(line) };
const { service, dashboard } = useDashboard(() => ({ logger: createLogger('trace', logTo) }), {
  logTo,
  logLevel: 'trace',
});

/** Every text of the person begins with this word, and ends with its place. */
const WORD = 'zqxolvidada';
const word = (place: string): string => `${WORD} ${place}`;

const email = (identifierValue: string) => ({ identifierType: 'email', identifierValue });

/** The fields of a new customer that take any text. */
const { properties: ofCustomer = {} } =
  readDocument('openapi/openapi.json').components.schemas.CustomerCreate ?? {};
const TEXTS = Object.keys(ofCustomer).filter((field) => {
  const { type, format, enum: values } = ofCustomer[field] ?? {};
  return [type].flat().includes('string') && format === undefined && values === undefined;
});

/** A customer with a text of the person in every field, its own and those of its opportunities, conversations and quotes. */
async function createPerson(agency: Agency) {
  const { body: created } = await agency.post(
    '/v1/customers',
    {
      ...Object.fromEntries(TEXTS.map((field) => [field, word(field)])),
      preferredLanguage: 'es',
      tags: [word('tag')],
      contacts: [
        email(`${WORD}@example.com`),
        { identifierType: 'web', identifierValue: word('visitor') },
        { identifierType: 'instagram', identifierValue: `${WORD}.instagram` },
      ],
    },
    { headers: { 'idempotency-key': 'the person' } },
  );
  const customerId: string = created.id;
  const lead = await opportunity(agency, {
    customerId,
    title: word('lead'),
    shortRef: word('reference'),
    destination: word('destination'),
    checkInDate: `2027-01-15 ${WORD}`,
    budgetMax: 900,
  });
  const archivedLead = await opportunity(agency, { customerId, title: word('archived lead') });
  await dashboard.of(agency).delete(`/opportunities/${archivedLead.id}`);
  const contact = word('thread contact');
  const older = await conversation(agency, { contact, contactName: word('older name') });
  const thread = await conversation(agency, {
    contact,
    contactName: word('thread name'),
    customerId,
    rotatedFrom: older.id,
  });
  const unclaimed = await conversation(agency, { channel: 'email', contact: `${WORD}@example.com` });
  for (const { id } of [older, thread])
    await message(agency, id, {
      content: word('message'),
      senderName: word('sender'),
      delivery: { providerMessageId: word('provider id'), templateName: word('template') },
    });
  await message(agency, unclaimed.id, {
    content: word('mail'),
    senderName: word('mail sender'),
    delivery: { externalId: word('external'), subject: word('subject') },
  });
  const offer = await quote(agency, {
    opportunityId: lead.id,
    title: word('offer'),
    destination: word('offer destination'),
    status: 'published',
    price: 1_450,
  });
  const headers = { 'idempotency-key': 'the opening' };
  await dashboard.of(agency).post(`/quotes/${offer.id}/opens`, {}, { headers });
  await attachment(agency, service.storage, offer.id, {
    fileName: word('file'),
    kind: word('kind'),
    content: Buffer.from(word('bytes')),
  });
  return { customerId, lead, older, thread, offer };
}

const hasText = (text: string): boolean => hasWord(text, WORD);

/** Columns with text of the agency and its systems only. */
const OF_THE_AGENCY: ReadonlySet<string> = new Set([
  'customers.preferred_language',
  'conversations.channel',
  'conversations.activity_state',
  'conversations.controlled_by',
  'conversations.language',
  'opportunities.budget_currency',
  'opportunities.sales_stage',
  'opportunities.temperature',
  'opportunities.temperature_override',
  'quotes.currency',
  'quotes.status',
  'quotes.token',
  'quote_attachments.mime_type',
  ...['whatsapp_messages', 'channel_messages'].flatMap((table) =>
    ['direction', 'message_type', 'delivery_status', 'provider_name'].map((column) => `${table}.${column}`),
  ),
]);

test('after an erasure no table, file, log line or response has text of the person, and another organization keeps everything', async () => {
  const [agency, other] = [await service.agency(), await service.agency()];
  const world = { service, dashboard, agency };
  const has = await populate(world, 'Neighbour');
  await populate({ service, agency: other }, 'Other');
  const neighbour = await dashboard.stored(other);
  lines.length = 0;
  const { customerId, lead, older, thread, offer } = await createPerson(agency);

  const before = await inDatabase(service, WORD);
  const tables =
    'customers conversations whatsapp_messages channel_messages opportunities quotes quote_attachments';
  const texts = await service.query<{ name: string }>(
    `select table_name || '.' || column_name as name from information_schema.columns
     where table_schema = 'public' and table_name = any($1) and (data_type in ('text', 'json') or udt_name = '_text')`,
    [tables.split(' ')],
  );
  const withoutWord = texts
    .map(({ name }) => name)
    .filter((name) => !before.has(name) && !OF_THE_AGENCY.has(name));
  expect(withoutWord, 'Let createPerson write a text into each').toEqual([]);
  expect([...before]).toContain('idempotency_keys.body');
  expect(await inFiles(service.dataDir, WORD)).not.toEqual([]);

  const mine = {
    ...has,
    customerId,
    opportunityId: lead.id,
    conversationId: thread.id,
    olderConversationId: older.id,
    quoteId: offer.id,
  };
  const reads = operationsBy('GET');
  /** The reads whose responses have a text of the person. */
  const readsWithText = async (ids: typeof has): Promise<string[]> => {
    const found: string[] = [];
    for (const name of reads) if (hasText((await run(world, name, ids)).text)) found.push(name);
    return found;
  };
  const ofPerson = /customers|opportunities|conversations|quotes/;
  expect(await readsWithText(mine), 'Each read returns a text of the person before the erasure').toEqual(
    reads.filter((name) => ofPerson.test(name)),
  );

  expect((await dashboard.of(agency).post(`/customers/${customerId}/erase`)).status).toBe(200);

  expect([...(await inDatabase(service, WORD))]).toEqual([]);
  expect(await inFiles(service.dataDir, WORD)).toEqual([]);
  for (const ids of [has, mine]) expect(await readsWithText(ids)).toEqual([]);
  for (const list of ['customers', 'opportunities', 'conversations', 'quotes'])
    expect((await agency.get(`/v1/${list}?query=${WORD}`)).body.pagination.total, list).toBe(0);

  const logged = lines.map((line) => JSON.parse(line));
  for (const route of [
    '/v1/customers',
    '/dashboard/v1/organizations/:organizationId/customers/:customerId/erase',
  ])
    expect(logged).toContainEqual(expect.objectContaining({ method: 'POST', route }));
  expect(hasText(lines.join(''))).toBe(false);
  expect(hasText((await postgresLog(service)) ?? '')).toBe(false);

  expect(await dashboard.stored(other)).toEqual(neighbour);
});

test('while the storage fails, the customer has a pending erasure, and the job finishes it', async () => {
  const job = { db: service.db, logger: createLogger('silent'), batchSize: 1 };
  // The job is for all organizations: it first finishes the erasures of other tests.
  await eraseFiles({ ...job, storage: service.storage });
  const agency = await service.agency();
  const { customerId } = await createPerson(agency);
  let isFailing = true;
  const storage = {
    ...service.storage,
    remove: async (key: string) => {
      if (isFailing) throw new Error('The storage does not respond.');
      await service.storage.remove(key);
    },
  };
  const { app, of } = await buildDashboard(service, { storage });
  const call = of(agency);
  const isPending = async () => (await call.get(`/customers/${customerId}`)).body.erasurePending;
  expect((await call.post(`/customers/${customerId}/erase`)).body.erased.attachments).toBe(1);
  expect(await eraseFiles({ ...job, storage })).toEqual({ erasedFiles: 0 });
  expect(await isPending()).toBe(true);
  isFailing = false;
  expect(await eraseFiles({ ...job, storage })).toEqual({ erasedFiles: 1 });
  expect(await isPending()).toBe(false);
  expect(await readdir(join(service.dataDir, agency.id))).toEqual([]);
  expect(await eraseFiles({ ...job, storage })).toEqual({ erasedFiles: 0 });
  await app.close();
});

test('an erasure that fails halfway changes nothing', async () => {
  const agency = await service.agency();
  const { customerId } = await createPerson(agency);
  const before = await dashboard.stored(agency);
  await service.query(`alter table erasures add constraint rejected check (customer_id <> '${customerId}')`);
  expect((await dashboard.of(agency).post(`/customers/${customerId}/erase`)).status).toBe(500);
  await service.query('alter table erasures drop constraint rejected');
  expect(await dashboard.stored(agency)).toEqual(before);
});

test('the list that docs/operating.md saves beside a backup has the ids of erased customers, and erases them again after a restore', async () => {
  const manual = readFileSync('docs/operating.md', 'utf8');
  const [, query = ''] = /-c '(select organization_id, customer_id from erasures [^']+)'/.exec(manual) ?? [];
  const [, script = ''] = /^node --input-type=module -e "\n([\s\S]+?)" <erased\.txt$/m.exec(manual) ?? [];
  const agency = await service.agency();
  const { customerId } = await createPerson(agency);
  const [backup] = await service.query<{ row: unknown }>(
    'select to_jsonb(c) as row from customers c where organization_id = $1 and id = $2',
    [agency.id, customerId],
  );
  await dashboard.of(agency).post(`/customers/${customerId}/erase`);
  expect(await service.query(query)).toContainEqual({ organization_id: agency.id, customer_id: customerId });

  await service.query('delete from erasures where customer_id = $1', [customerId]);
  await service.query(
    `update customers set (first_name, summary, archived_at) =
       (select first_name, summary, archived_at from jsonb_populate_record(null::customers, $1)) where id = $2`,
    [JSON.stringify(backup?.row), customerId],
  );
  expect((await agency.get(`/v1/customers/${customerId}`)).body.firstName).toBe(word('firstName'));
  const { origin } = await listen(dashboard);
  const running = promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', script.replace('http://localhost:3001', origin)],
    { env: { DASHBOARD_TOKEN: TOKEN } },
  );
  running.child.stdin?.end(`${agency.id} ${customerId}\n${agency.id} ${randomUUID()}\n`);
  const { stdout } = await running;
  expect(stdout).toMatch(new RegExp(`^200 ${customerId}\\n404 `));
  expect(hasText(JSON.stringify(await dashboard.stored(agency)))).toBe(false);
});
