import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { newFolder } from '../support/folder.ts';
import { MAIN, startProcess } from '../support/process.ts';
import { conversation, customer, message, product } from '../support/records.ts';
import { useService } from '../support/service.ts';
import { ATTACKS, type Attack, connectAll, get, post } from './attacks.ts';
import { startClients } from './clients.ts';
import { openAgency, openInstance, TOKEN } from './instance.ts';
import { startFront } from './nginx.ts';

/** The service in 512 MiB behind the nginx of deploy/, under attacks, and while keys that only read ask for the largest responses. */

const LIMIT_MIB = 512;
const ATTACK_MS = 12_000;

/** A character of each size: one byte, three, four, and one that JSON escapes with six. */
const CHARACTERS = ['x', '€', '😀', '\u0001'];

const service = await useService();
type Large = { id: string; key: string; customerId: string; conversationId: string };
const agencies: Large[] = [];

/** Copies the only record of the organization until the table has so many. */
async function copyAll(organization: string, table: string, count: number): Promise<void> {
  const columns = await service.query<{ name: string }>(
    `select quote_ident(attname) as name from pg_attribute where attrelid = $1::regclass and attnum > 0
      and not attisdropped and attgenerated = '' and attname not in ('id', 'contact_keys')`,
    [table],
  );
  const names = columns.map(({ name }) => name);
  await service.query(
    `insert into ${table} (id, ${names}) select gen_random_uuid(), ${names} from ${table}, generate_series(2, $2)
      where organization_id = $1`,
    [organization, count],
  );
}

/** An organization with the largest page of products and of customers, and the largest transcript. */
async function fillAgency(character: string): Promise<Large> {
  const agency = await service.agency();
  const bytes = Buffer.byteLength(JSON.stringify(character)) - 2;
  // One character beyond Latin-1 doubles a JavaScript text.
  const fill = (kib: number) => `€${character.repeat(Math.min(49_000, Math.floor((kib * 1024) / bytes)))}`;
  await product(agency, { variants: Array(3).fill({ label: 'x', description: fill(40) }) });
  const { id: customerId } = await customer(agency, { summary: fill(62) });
  const { id: conversationId } = await conversation(agency, { channel: 'web', contact: 'a', customerId });
  await message(agency, conversationId, { content: fill(62) });
  await copyAll(agency.id, 'products', 100);
  await copyAll(agency.id, 'customers', 100);
  await copyAll(agency.id, 'channel_messages', 200);
  await service.query('update conversations set message_count = 200 where id = $1', [conversationId]);
  return { id: agency.id, key: agency.key, customerId, conversationId };
}

beforeAll(async () => {
  for (const character of CHARACTERS) agencies.push(await fillAgency(character));
}, 600_000);

const products = ({ key }: Large) => get('/v1/catalog/products?limit=100', key);
const customers = ({ key }: Large) => get('/v1/customers?limit=100', key);
const transcript = ({ key, conversationId }: Large) =>
  get(`/v1/conversations/${conversationId}/messages?limit=200`, key);
const ofDashboard =
  (path: (agency: Large) => string) =>
  (agency: Large): string =>
    get(`/dashboard/v1/organizations/${agency.id}/${path(agency)}`, TOKEN);
const call =
  (name: string, args: (agency: Large) => object) =>
  (agency: Large): string => {
    const params = { name, arguments: args(agency) };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    return post('/mcp', agency.key, body.length) + body;
  };

type Reading = 'quickly' | 'slowly' | 'never';

/** Keeps sixty requests of four organizations open. */
const request =
  (textOf: (agency: Large) => string, reading: Reading): Attack =>
  ({ port, dashboardPort }) => {
    const texts = agencies.map((agency) => textOf(agency).replace('\r\n', '\r\nConnection: close\r\n'));
    const isOfDashboard = texts[0]?.startsWith('GET /dashboard/');
    connectAll(isOfDashboard ? dashboardPort : port, 60, (socket, index) => {
      socket.write(texts[index % texts.length] ?? '');
      if (reading !== 'never') socket.resume();
      if (reading !== 'slowly') return;
      socket.on('data', () => {
        socket.pause();
        setTimeout(() => socket.resume(), 50);
      });
    });
  };

const LARGEST: [string, request: (agency: Large) => string, Reading][] = [
  ['products', products, 'quickly'],
  ['products', products, 'slowly'],
  ['products', products, 'never'],
  ['customers', customers, 'slowly'],
  ['a transcript', transcript, 'slowly'],
  [
    'a transcript of the dashboard',
    ofDashboard(({ conversationId }) => `conversations/${conversationId}/messages?limit=200`),
    'slowly',
  ],
  ['an export of a person', ofDashboard(({ customerId }) => `customers/${customerId}/export`), 'slowly'],
  ['products for an agent', call('listCatalogProducts', () => ({ limit: 100 })), 'slowly'],
  [
    'a transcript for an agent',
    call('getConversationTranscript', ({ conversationId }) => ({ conversationId, limit: 200 })),
    'slowly',
  ],
];

const ROOT = '/sys/fs/cgroup';
/** The files differ between the two versions of control groups. */
const VERSION = existsSync(join(ROOT, 'memory'))
  ? { root: join(ROOT, 'memory'), limit: 'memory.limit_in_bytes', peak: 'memory.max_usage_in_bytes' }
  : { root: ROOT, limit: 'memory.max', peak: 'memory.peak' };

const INTO_GROUP = 'echo $$ >"$GROUP/cgroup.procs" && exec "$0" "$@"';

/** A control group with so much memory, for processes of the service: Linux, as root. It is removed with the test. */
async function boundMemory(bytes: number) {
  const group = join(VERSION.root, `crm-${randomUUID()}`);
  await mkdir(group);
  // A process that was just killed leaves the group a little later.
  onTestFinished(() => vi.waitFor(() => rmdir(group), { timeout: 60_000 }));
  await writeFile(join(group, VERSION.limit), String(bytes));
  return {
    start: (environment: Record<string, string>) =>
      startProcess(
        { ...environment, GROUP: group, NODE_OPTIONS: '--max-semi-space-size=8' },
        ['-c', INTO_GROUP, process.execPath, MAIN],
        'sh',
      ),
    /** In MiB. */
    peak: async () => Math.round(Number(await readFile(join(group, VERSION.peak), 'utf8')) / 1024 / 1024),
  };
}

describe(`in ${LIMIT_MIB} MiB, well-behaved clients of another agency notice nothing of`, () => {
  test.each([
    ...ATTACKS,
    ...LARGEST.map(([name, textOf, reading]): [string, Attack] => [
      `${name}, read ${reading}`,
      request(textOf, reading),
    ]),
  ])('%s', async (name, attack) => {
    const memory = await boundMemory(LIMIT_MIB * 1024 * 1024);
    const environment = { DATABASE_URL: service.url, DATA_DIR: await newFolder(), LOG_LEVEL: 'warn' };
    const front = await startFront([await openInstance(environment, memory.start)]);
    const other = await openAgency(service.url);
    attack(front, agencies[0]?.key ?? '');
    await pause(2_000);
    const { failures, requests, stop } = startClients(front.port, other.key, [100, 1_000, 4_000], 10);
    await pause(ATTACK_MS);
    await stop();
    const peak = await memory.peak();
    process.stdout.write(`| ${name} | ${peak} MiB | ${failures.length} of ${requests()} |\n`);
    expect(failures).toEqual([]);
    expect(peak).toBeLessThan(LIMIT_MIB);
    expect(requests()).toBeGreaterThan(0);
  });
});
