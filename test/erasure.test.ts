import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
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

/** Text that the person has, or what is tied to it. Each place has its own, and all of them begin alike. */
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

/** A person with text in every field of it and of what is tied to it. */
async function person(agency: Agency) {
  const { body: known } = await agency.post(
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
  const customerId = known.id as string;
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

/** Text columns that hold words of the agency and its systems, and none of a person. */
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
  const { customerId, lead, older, thread, offer } = await person(agency);

  const before = await inDatabase(service, WORD);
  const tables =
    'customers conversations whatsapp_messages channel_messages opportunities quotes quote_attachments';
  const texts = await service.query<{ name: string }>(
    `select table_name || '.' || column_name as name from information_schema.columns
     where table_schema = 'public' and table_name = any($1) and (data_type in ('text', 'json') or udt_name = '_text')`,
    [tables.split(' ')],
  );
  const unsaid = texts
    .map(({ name }) => name)
    .filter((name) => !before.has(name) && !OF_THE_AGENCY.has(name));
  expect(unsaid, 'give the person a word there, in the test').toEqual([]);
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
  /** The reads whose answers have text of the person. */
  const telling = async (ids: typeof has): Promise<string[]> => {
    const found: string[] = [];
    for (const name of reads) if (hasText((await run(world, name, ids)).text)) found.push(name);
    return found;
  };
  const ofPerson = /customers|opportunities|conversations|quotes/;
  expect(await telling(mine), 'each read shows the person').toEqual(
    reads.filter((name) => ofPerson.test(name)),
  );

  expect((await dashboard.of(agency).post(`/customers/${customerId}/erase`)).status).toBe(200);

  expect([...(await inDatabase(service, WORD))]).toEqual([]);
  expect(await inFiles(service.dataDir, WORD)).toEqual([]);
  for (const ids of [has, mine]) expect(await telling(ids)).toEqual([]);
  for (const list of ['customers', 'opportunities', 'conversations', 'quotes'])
    expect((await agency.get(`/v1/${list}?query=${WORD}`)).body.pagination.total, list).toBe(0);

  const said = lines.map((line) => JSON.parse(line));
  for (const route of [
    '/v1/customers',
    '/dashboard/v1/organizations/:organizationId/customers/:customerId/erase',
  ])
    expect(said).toContainEqual(expect.objectContaining({ method: 'POST', route }));
  expect(hasText(lines.join(''))).toBe(false);
  expect(hasText((await postgresLog(service)) ?? '')).toBe(false);

  expect(await dashboard.stored(other)).toEqual(neighbour);
});

test('while the storage fails, the customer shows a pending erasure, and the job finishes it', async () => {
  const job = { db: service.db, logger: createLogger('silent'), batchSize: 1 };
  // It goes over all organizations.
  await eraseFiles({ ...job, storage: service.storage });
  const agency = await service.agency();
  const { customerId } = await person(agency);
  let refusing = true;
  const storage = {
    ...service.storage,
    remove: async (key: string) => {
      if (refusing) throw new Error('The storage is away.');
      await service.storage.remove(key);
    },
  };
  const { app, of } = await buildDashboard(service, { storage });
  const call = of(agency);
  const { body } = await call.post(`/customers/${customerId}/erase`);
  expect(body.erased.attachments).toBe(1);
  const pending = async () => (await call.get(`/customers/${customerId}`)).body.erasurePending;
  expect(await pending()).toBe(true);
  expect(await eraseFiles({ ...job, storage })).toEqual({ erasedFiles: 0 });
  expect(await pending()).toBe(true);
  refusing = false;
  expect(await eraseFiles({ ...job, storage })).toEqual({ erasedFiles: 1 });
  expect(await pending()).toBe(false);
  expect(await readdir(join(service.dataDir, agency.id))).toEqual([]);
  expect(await eraseFiles({ ...job, storage })).toEqual({ erasedFiles: 0 });
  await app.close();
});

test('an erasure that fails halfway erases nothing', async () => {
  const agency = await service.agency();
  const { customerId } = await person(agency);
  const before = await dashboard.stored(agency);
  const lock = 'alter table erasures add constraint refused check (customer_id <> ';
  await service.query(`${lock} '${customerId}')`);
  expect((await dashboard.of(agency).post(`/customers/${customerId}/erase`)).status).toBe(500);
  await service.query('alter table erasures drop constraint refused');
  expect(await dashboard.stored(agency)).toEqual(before);
});

test('the list that docs/operating.md saves beside a backup has the ids of the erased, and erases them again after a restore', async () => {
  const manual = readFileSync('docs/operating.md', 'utf8');
  const [, query = ''] = /-c "(select organization_id, customer_id from erasures [^"]+)"/.exec(manual) ?? [];
  const agency = await service.agency();
  const { customerId } = await person(agency);
  const rows = (table: string) =>
    service.query<{ row: unknown }>(
      `select to_jsonb(t) as row from ${table} t where organization_id = $1 and id = $2`,
      [agency.id, customerId],
    );
  const [backup] = await rows('customers');
  const call = dashboard.of(agency);
  const { body } = await call.post(`/customers/${customerId}/erase`);
  const list = await service.query<{ organization_id: string; customer_id: string }>(query);
  expect(list).toContainEqual({ organization_id: agency.id, customer_id: customerId });

  await service.query('delete from erasures where customer_id = $1', [customerId]);
  await service.query(
    `update customers set (first_name, summary, archived_at) =
       (select first_name, summary, archived_at from jsonb_populate_record(null::customers, $1)) where id = $2`,
    [JSON.stringify(backup?.row), customerId],
  );
  expect((await agency.get(`/v1/customers/${customerId}`)).body.firstName).toBe(word('firstName'));
  const [, script = ''] = /^node --input-type=module -e "\n([\s\S]+?)"$/m.exec(manual) ?? [];
  const { origin } = await listen(dashboard);
  const folder = await mkdtemp(join(tmpdir(), 'crm-erased-'));
  await writeFile(join(folder, 'erased.txt'), `${agency.id} ${customerId}\n${agency.id} ${randomUUID()}\n`);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', script.replace('http://localhost:3001', origin)],
    { cwd: folder, env: { DASHBOARD_TOKEN: TOKEN } },
  );
  await rm(folder, { recursive: true });
  expect(stdout).toMatch(new RegExp(`^200 ${body.id}\\n404 `));
  expect(hasText(JSON.stringify(await dashboard.stored(agency)))).toBe(false);
});
