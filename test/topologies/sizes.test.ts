import { once } from 'node:events';
import { Agent, get, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { createCatalogProduct, productStatements } from '../../src/catalog/repository.ts';
import { CatalogProductCreate } from '../../src/catalog/schema.ts';
import { putConversation } from '../../src/conversations/chains.repository.ts';
import { putMessages } from '../../src/conversations/messages.repository.ts';
import { createCustomer, customerStatements } from '../../src/customers/repository.ts';
import { newId, type OrganizationScope, openDatabase, parseJson, scopeTo } from '../../src/db/index.ts';
import { administer, createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { boundMemory } from './bounded.ts';
import { startClients } from './clients.ts';
import { openAgency, openInstance, TOKEN, temporaryFolder } from './instance.ts';
import { startFront } from './nginx.ts';

/**
 * The service in 512 MiB behind the nginx of deploy/, while keys that only read ask for the largest responses. Well-behaved
 * clients of another agency notice nothing, and everybody is served within ten seconds after the end.
 */

const LIMIT_MIB = 512;
const ATTACK_MS = Number(process.env.ATTACK_MS ?? 12_000);

/** A character of each size: one byte, three, four, and one that JSON escapes with six. */
const ALPHABETS = { Latin: 'x', euro: '€', emoji: '😀', control: '\u0001' };

type Large = { id: string; key: string; customerId: string; conversationId: string };
let database: TestDatabase;
let other: { id: string; key: string };
const agencies: Large[] = [];

const KIB = 1024;
const bytesOf = (character: string): number => Buffer.byteLength(JSON.stringify(character)) - 2;
const fill = (character: string, bytes: number): string =>
  character.repeat(Math.floor(bytes / bytesOf(character)));

const web = () => ({ identifierType: 'web' as const, identifierValue: newId() });

/** Copies the only record of the organization until the table has so many. */
async function copyAll(organization: string, table: string, count: number): Promise<void> {
  await administer(database.ownerUrl, async (client) => {
    const { rows } = await client.query(
      `select quote_ident(attname) as name from pg_attribute where attrelid = $1::regclass and attnum > 0
        and not attisdropped and attgenerated = '' and attname <> 'id'`,
      [table],
    );
    const columns = rows.map(({ name }) => name);
    const values = columns.map((name) => (name === 'contact_keys' ? `'{}'` : name));
    await client.query(
      `insert into ${table} (id, ${columns}) select gen_random_uuid(), ${values} from ${table}, generate_series(2, $2)
        where organization_id = $1`,
      [organization, count],
    );
  });
}

/** A product of nearly 128 KiB. */
function createLargest(scope: OrganizationScope, character: string) {
  const text = fill(character, 120 * KIB);
  const part = Math.min(45_000, Math.floor((45 * KIB) / bytesOf(character)));
  const variants = Array.from({ length: Math.ceil(text.length / part) }, (_, index) => ({
    label: 'x',
    description: text.slice(index * part, (index + 1) * part),
  }));
  return createCatalogProduct(scope, productStatements, CatalogProductCreate.parse({ title: '€', variants }));
}

/** Fills an organization: its largest page of products, of customers, and its largest transcript. */
async function fillAgency(character: string): Promise<Large> {
  const agency = await openAgency(database.url);
  const db = openDatabase({ url: database.url, poolSize: 2, maxWaiting: 500, statementTimeout: 60_000 });
  const scope = scopeTo(db, agency.id);
  // The largest records, with one character beyond Latin-1.
  await createLargest(scope, character);
  const tags: string[] = [];
  const text = `€${fill(character, Math.min(49_999 * bytesOf(character), 62 * KIB))}`;
  await createCustomer(scope, customerStatements, { summary: text, tags, contacts: [web()] });
  await copyAll(agency.id, 'products', 100);
  await copyAll(agency.id, 'customers', 100);
  const contact = web();
  const { id: customerId } = parseJson(
    await createCustomer(scope, customerStatements, { tags, contacts: [contact] }),
  );
  const conversationId = newId();
  await putConversation(scope, conversationId, {
    channel: 'web',
    contact: contact.identifierValue,
    customerId,
  });
  await putMessages(scope, conversationId, [
    { id: newId(), content: text, direction: 'inbound', messageType: 'text' },
  ]);
  await copyAll(agency.id, 'channel_messages', 200);
  await administer(database.ownerUrl, (client) =>
    client.query('update conversations set message_count = 200 where id = $1', [conversationId]),
  );
  await db.close();
  return { ...agency, customerId, conversationId };
}

beforeAll(async () => {
  database = await createTestDatabase(inject('serverUrl'));
  other = await openAgency(database.url);
  for (const character of Object.values(ALPHABETS)) agencies.push(await fillAgency(character));
  return () => database.drop();
}, 600_000);

const KINDS = ['headers', 'products', 'customers', 'transcript', 'dashboard', 'export', 'mcp'] as const;
type Kind = (typeof KINDS)[number];

/** What one request of this kind asks for, of an agency. */
function requestOf(kind: Kind, { id, key, customerId, conversationId }: Large) {
  const organization = `/dashboard/v1/organizations/${id}`;
  const auth = { authorization: `Bearer ${key}` };
  const internal = { authorization: `Bearer ${TOKEN}` };
  const call = (name: string, args: object) => ({
    path: '/mcp',
    method: 'POST',
    headers: { ...auth, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args },
    }),
  });
  switch (kind) {
    case 'headers':
      return { path: `/v1/customers?limit=1&x=${'('.repeat(5_600)}`, headers: auth };
    case 'products':
      return { path: '/v1/catalog/products?limit=100', headers: auth };
    case 'customers':
      return { path: '/v1/customers?limit=100', headers: auth };
    case 'transcript':
      return { path: `/v1/conversations/${conversationId}/messages?limit=200`, headers: auth };
    case 'dashboard':
      return {
        path: `${organization}/conversations/${conversationId}/messages?limit=200`,
        headers: internal,
      };
    case 'export':
      return { path: `${organization}/customers/${customerId}/export`, headers: internal };
    case 'mcp':
      return call('listCatalogProducts', { limit: 100 });
  }
}

type Reading = 'fast' | 'slowly' | 'nothing';

/** Keeps so many requests open until it is over. */
function attack(
  ports: { port: number; dashboardPort: number },
  kind: Kind,
  reading: Reading,
  of: Large[],
  count: number,
) {
  let isOver = false;
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  const stop = () => {
    isOver = true;
    agent.destroy();
  };
  onTestFinished(stop);
  async function one(index: number): Promise<void> {
    const { path, body, ...options } = {
      body: undefined,
      method: 'GET',
      ...requestOf(kind, of[index % of.length] as Large),
    };
    const port = path.startsWith('/dashboard') ? ports.dashboardPort : ports.port;
    while (!isOver) {
      const outgoing = request({ host: '127.0.0.1', port, path, agent, ...options });
      outgoing.on('error', () => undefined).end(body);
      const [response] = await once(outgoing, 'response').catch(() => [undefined]);
      if (!response) {
        await pause(100);
        continue;
      }
      response.on('error', () => undefined);
      if (reading === 'nothing') {
        await once(response, 'close').catch(() => undefined);
      } else if (reading === 'slowly') {
        response.on('data', () => {
          response.pause();
          setTimeout(() => response.resume(), 50);
        });
        await once(response, 'close').catch(() => undefined);
      } else {
        response.resume();
        await once(response, 'close').catch(() => undefined);
      }
    }
  }
  for (let index = 0; index < count; index += 1) one(index).catch(() => undefined);
  return stop;
}

const statusOf = (port: number): Promise<number> =>
  new Promise((done) => {
    const headers = { 'x-api-key': other.key };
    get({ host: '127.0.0.1', port, path: '/v1/team', headers, agent: false }, (response) => {
      response.resume();
      done(response.statusCode ?? 0);
    }).on('error', () => done(0));
  });

async function endure(kind: Kind, reading: Reading, of: Large[], count: number) {
  const memory = await boundMemory(LIMIT_MIB * KIB * KIB);
  const environment = { DATABASE_URL: database.url, DATA_DIR: await temporaryFolder(), LOG_LEVEL: 'warn' };
  const instance = await openInstance(environment, memory.start);
  // With a single instance, nginx would not take it out.
  const others = kind === 'headers' ? [await openInstance(environment), await openInstance(environment)] : [];
  const front = await startFront([instance, ...others]);
  await statusOf(front.port);
  const stop = attack(front, kind, reading, of, count);
  await pause(1_000);
  const clients = startClients(front.port, other.key, [300], 20);
  await pause(ATTACK_MS);
  await clients.stop();
  stop();
  await pause(10_000);
  const after: number[] = [];
  for (let index = 0; index < 20; index += 1) after.push(await statusOf(front.port));
  const { exitCode, signalCode } = instance.process().child;
  return {
    failures: clients.failures,
    requests: clients.requests(),
    after,
    peak: await memory.peak(),
    isAlive: exitCode === null && signalCode === null,
  };
}

const only = process.env.ONLY?.split(',');

describe(`in ${LIMIT_MIB} MiB, nobody else notices the largest responses of`, () => {
  test.each(
    KINDS.flatMap((kind) =>
      (['fast', 'slowly', 'nothing'] as const).flatMap((reading) =>
        (['one key', 'four keys'] as const).map((keys) => ({ kind, reading, keys })),
      ),
    ).filter(
      ({ kind, reading, keys }) => !only || only.some((name) => `${kind} ${reading} ${keys}`.includes(name)),
    ),
  )('$kind, read $reading, by $keys', async ({ kind, reading, keys }) => {
    const of = keys === 'one key' ? agencies.slice(1, 2) : agencies;
    const { failures, requests, after, peak, isAlive } = await endure(kind, reading, of, 60);
    process.stdout.write(
      `| ${kind} ${reading} ${keys} | ${peak} MiB | ${failures.length} of ${requests} ${[...new Set(failures)]} | after ${[...new Set(after)]} | alive ${isAlive} |\n`,
    );
    expect({ isAlive, failures, after: [...new Set(after)] }).toEqual({
      isAlive: true,
      failures: [],
      after: [200],
    });
    expect(peak).toBeLessThan(LIMIT_MIB);
    expect(requests).toBeGreaterThan(0);
  });
});
