import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { entityTag } from '../../rules/entity-tag.ts';
import { hashKey, makeKey } from '../../src/api-keys/api-key.ts';
import { scopeTo } from '../../src/db/run/scope.ts';
import { newId } from '../../src/db/sql/ids.ts';
import { makeToken } from '../../src/files/links.ts';
import { useDashboard } from '../support/dashboard.ts';
import { withoutTriggers } from '../support/databases.ts';
import {
  BELOW,
  CONTACT,
  DASHBOARD,
  type Has,
  LISTS,
  operationsBy,
  populate,
  requestOf,
  type Sent,
  send,
  type World,
} from '../support/operations.ts';
import { type Client, type Reply, type Service, startService } from '../support/service.ts';

/**
 * Two organizations have the same ids in every table, and differ in their texts. Each is asked what an organization
 * alone in its database is asked, and answers byte for byte the same. What the service makes itself is left aside: new
 * ids, moments, keys and signatures.
 */

const alone = useDashboard();
const shared = useDashboard();

/** In every text of the first twin, and of the organization alone. The second twin has the other one there. */
const [MARK, OTHER_MARK] = ['twina9', 'twinb9'];

/** In every twin three sets of records: one is changed, one removed, one left. */
const SETS = [0, 1, 2];

type Row = Record<string, unknown>;
type Column = { table: string; columns: string[] };

/** Every table with an organization, and its columns that are written. */
const tablesOf = (service: Service): Promise<Column[]> =>
  service.query<Column>(
    `select table_name as table, array_agg(quote_ident(column_name) order by ordinal_position)::text[] as columns
       from information_schema.columns
      where table_schema = 'public' and is_generated = 'NEVER'
      group by 1 having bool_or(column_name = 'organization_id') order by 1`,
  );

const allRows = async (service: Service, id: string): Promise<Map<string, Row[]>> => {
  const rows = new Map<string, Row[]>();
  for (const { table } of await tablesOf(service)) {
    const found = await service.query<{ row: Row }>(
      // Not to_jsonb, which would write variants and contacts in an order of its own.
      `select to_json(t) as row from ${table} t where organization_id = $1 order by to_jsonb(t)::text`,
      [id],
    );
    rows.set(
      table,
      found.map(({ row }) => row),
    );
  }
  return rows;
};

/** A copy of the organization in the other database, with the same ids and another mark in every text. */
async function twinOf(source: World, mark: string): Promise<World> {
  const id = newId();
  const key = makeKey();
  const from = source.agency;
  const { service } = shared;
  const tables = await tablesOf(source.service);
  const rows = await allRows(source.service, from.id);
  // The rows arrive in any order, those that follow from others too.
  await withoutTriggers(service.ownerUrl, async (client) => {
    await client.query('insert into organizations (id, name, created_at) select $1, $2, $3', [
      id,
      `Agency ${mark}`,
      CREATED,
    ]);
    for (const { table, columns } of tables) {
      for (const row of rows.get(table) ?? []) {
        const text = JSON.stringify(row).replaceAll(from.id, id).replaceAll(MARK, mark);
        const copy = JSON.parse(text);
        // A hash belongs to one key only.
        if (table === 'api_keys') {
          const isOpen = copy.name === 'test';
          const hash = isOpen
            ? hashKey(key)
            : createHash('sha256')
                .update(copy.hash + id)
                .digest('hex');
          copy.hash = `\\x${hash}`;
        }
        await client.query(
          `insert into ${table} (${columns}) select ${columns} from json_populate_record(null::${table}, $1)`,
          [JSON.stringify(copy)],
        );
      }
    }
  });
  const [files, copies] = [join(source.service.dataDir, from.id), join(service.dataDir, id)];
  await mkdir(copies);
  for (const name of await readdir(files))
    await writeFile(join(copies, name), (await readFile(join(files, name), 'utf8')).replaceAll(MARK, mark));
  return { ...shared, agency: { ...service.client(key), id, scope: scopeTo(service.db, id) } };
}

const CREATED = '2026-01-01T00:00:00.000Z';

let first: World;
let twins: [World, World];
/** Their rows before anything was asked. */
let copied: [Map<string, Row[]>, Map<string, Row[]>];
let sets: Has[];
let known: Set<string>;
/** What the service makes from then on has a later moment. */
let since: string;
beforeAll(async () => {
  const agency = await alone.service.agency(`Agency ${MARK}`);
  await alone.service.query('update organizations set created_at = $1', [CREATED]);
  first = { ...alone, agency };
  sets = [];
  for (const index of SETS) sets.push(await populate(first, MARK, index));
  twins = [await twinOf(first, MARK), await twinOf(first, OTHER_MARK)];
  copied = [
    await allRows(shared.service, twins[0].agency.id),
    await allRows(shared.service, twins[1].agency.id),
  ];
  known = new Set(sets.flatMap(({ word: _, organizationId: __, ...ids }) => Object.values(ids)));
  const [row] = await alone.service.query<{ now: string }>(
    `select to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now`,
  );
  since = row?.now ?? '';
});

/** They are about organizations, and belong to none. */
const OF_NO_ORGANIZATION = [`GET ${DASHBOARD}/organizations`, `POST ${DASHBOARD}/organizations`];

/** After the first of them only the second one writes. */
const CLOSING = [`DELETE ${BELOW}`, `POST ${BELOW}/reopen`];
const WALK = [
  ...operationsBy('GET', 'POST', 'PATCH', 'PUT', 'DELETE').filter(
    (name) => ![...OF_NO_ORGANIZATION, ...CLOSING].includes(name),
  ),
  ...CLOSING,
];

/** What the operation is asked: a read of every set, and of a list each filter alone. */
async function requestsOf(name: string): Promise<Sent[]> {
  const [changed, removed, left] = sets as [Has, Has, Has];
  const [method = '', path = ''] = name.split(' ');
  if (method !== 'GET') return [await requestOf(name, method === 'DELETE' ? removed : changed)];
  const asked = await Promise.all(sets.map((has) => requestOf(name, has)));
  const list = LISTS[name];
  if (!list) {
    const { archivedProductId: productId, olderConversationId: conversationId } = left;
    return [...asked, await requestOf(name, left, { productId, conversationId })];
  }
  const filters: Record<string, string> = {
    query: MARK,
    tag: `vip ${MARK}`,
    stageId: changed.pipelineStageId,
    sellerMemberId: changed.teamMemberId,
    customerId: changed.customerId,
    opportunityId: changed.opportunityId,
    externalReferenceCode: 'REF-1',
  };
  const values = Object.entries(list.filters).map(([filter, { loaded }]) => [
    filter,
    filters[filter] ?? loaded,
  ]);
  return [
    { method, path },
    { method, path: `${path}?limit=1&offset=1` },
    ...[...values, ['query', MARK]].map(([filter = '', value = '']) => ({
      method,
      path: `${path}?${new URLSearchParams({ [filter]: value })}`,
    })),
  ];
}

const markOf = (world: World): string => (world === twins[1] ? OTHER_MARK : MARK);

/** Sends it as this organization would, with its mark in every text, and names the other one wherever a request could. */
function ask(world: World, { method, path, body, headers = {} }: Sent): Promise<Reply> {
  const own = (text: string) =>
    text.replaceAll(MARK, markOf(world)).replaceAll(first.agency.id, world.agency.id);
  const other = (world === twins[1] ? twins[0] : twins[1]).agency.id;
  const naming = { organizationId: other, organization_id: other };
  const payload = Buffer.isBuffer(body)
    ? Buffer.from(own(body.toString('latin1')), 'latin1')
    : body && { ...JSON.parse(own(JSON.stringify(body))), ...naming };
  return send(world, {
    method,
    path: `${own(path)}${path.includes('?') ? '&' : '?'}${new URLSearchParams(naming)}`,
    headers: { ...headers, 'x-organization-id': other, 'organization-id': other },
    ...(payload && { body: payload }),
  });
}

const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
const ID = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g;

/** The text without what the service made itself, and with the mark of the organization alone. */
const comparable = (world: World, text: string): string =>
  text
    .replaceAll(world.agency.id, 'the organization')
    .replaceAll(markOf(world), MARK)
    .replace(MOMENT, (moment) => (moment >= since ? 'a moment' : moment))
    .replace(ID, (id) => (known.has(id) ? id : 'an id'))
    .replace(/"start":"tcrm_\w+","last4":"\w+"/g, 'what it is recognised by')
    .replace(/tcrm_\w{43}_\w{6}/g, 'a key')
    // It is saved once in a while.
    .replace(/"lastUsedAt":(null|"a moment")/g, 'its last use')
    .replace(/\/files\/[\w-]+/g, '/files/a token');

/** Status, headers and body of an answer, as they can be compared. Tag and length are those of its body. */
function shown(world: World, { status, headers, text }: Reply): object {
  const { date: _date, 'x-request-id': _id, 'content-length': length, etag, ...rest } = headers;
  const told = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, comparable(world, String(value))]),
  );
  return {
    status,
    ...told,
    isWhole: Number(length) === Buffer.byteLength(text),
    tagged: etag === undefined ? 'not' : etag === entityTag(text),
    body: comparable(world, text),
  };
}

async function askAll(name: string, sents: Sent[]): Promise<void> {
  expect(sents.length).toBeGreaterThan(0);
  for (const sent of sents) {
    // With a key for repeats, each is sent twice.
    for (const again of sent.method === 'POST' ? [false, true] : [false]) {
      const keyed = { ...sent, headers: { ...sent.headers, 'idempotency-key': `of all ${name}` } };
      const asked = sent.method === 'POST' ? keyed : sent;
      const expected = await ask(first, asked);
      // Both at once: lookups of one turn are sent together.
      const answers = await Promise.all(twins.map((twin) => ask(twin, asked)));
      for (const [index, answer] of answers.entries()) {
        const twin = twins[index] ?? first;
        const label = `${name} of twin ${index}${again ? ', again' : ''}: ${sent.path}`;
        expect(shown(twin, answer), label).toEqual(shown(first, expected));
        expect(answer.text, label).not.toContain(markOf(twin) === MARK ? OTHER_MARK : MARK);
      }
      if (sent.method !== 'GET') expect(expected.status, name).toBeLessThan(300);
    }
  }
}

test('the twins have the same ids in every table, and differ in their marks', () => {
  const [one, two] = copied;
  const idsOf = (found: Row[] = []) => found.map(({ id }) => id).sort();
  for (const [table, rows] of one) {
    expect(rows.length, table).toBeGreaterThan(0);
    expect(idsOf(two.get(table)), table).toEqual(idsOf(rows));
  }
  expect(JSON.stringify([...one])).not.toContain(OTHER_MARK);
  expect(JSON.stringify([...two])).not.toContain(MARK);
});

test('every operation answers each twin what it answers an organization alone, and so do all reads after them', async () => {
  const requests = new Map<string, Sent[]>();
  for (const name of WALK) requests.set(name, await requestsOf(name));
  for (const [name, sents] of requests) await askAll(name, sents);
  const taken = { method: 'POST', path: '/v1/customers', body: { contacts: [CONTACT], firstName: MARK } };
  const conflicts = await Promise.all([first, ...twins].map((world) => ask(world, taken)));
  for (const [index, { status, text }] of conflicts.entries()) {
    expect(status).toBe(409);
    expect(text, `of ${index}`).toBe(conflicts[0]?.text);
  }
  for (const [name, [sent]] of requests)
    if (sent?.method === 'GET')
      for (const each of requests.get(name) ?? [])
        for (const twin of twins)
          expect(shown(twin, await ask(twin, each)), `${name} in the end`).toEqual(
            shown(first, await ask(first, each)),
          );
});

test('a signed link of each twin gives its own file, though both files and both quotes have one id', async () => {
  const attachmentId = sets[0]?.attachmentId ?? '';
  const download = async (world: World, organizationId = world.agency.id) => {
    const token = makeToken(world.service.secrets, { organizationId, attachmentId }, Date.now() + 60_000);
    const { statusCode, headers, body } = await world.service.app.inject(`/files/${token}`);
    return { statusCode, name: headers['content-disposition'], body };
  };
  for (const world of [first, ...twins]) {
    const mark = markOf(world);
    expect(await download(world)).toEqual({
      statusCode: 200,
      name: `attachment; filename="0 ${mark}.pdf"`,
      body: `Oferta 0 ${mark}`,
    });
  }
  expect(await download(twins[0], newId())).toMatchObject({ statusCode: 403 });
});

test('each twin has its own requests in a minute, and its own last use, though their keys have one id', async () => {
  const used = () =>
    shared.service.query<{ at: Date | null }>(
      `select last_used_at as at from api_keys where name = 'test' and organization_id = any ($1)`,
      [twins.map(({ agency }) => agency.id)],
    );
  await shared.service.query('update api_keys set last_used_at = null');
  const instance = await startService({ beside: shared.service, requestsPerMinute: 100 });
  const [one, two] = [instance.client(twins[0].agency.key), instance.client(twins[1].agency.key)];
  const remaining = async (client: Client) => (await client.get('/v1/team')).headers['x-ratelimit-remaining'];
  expect([await remaining(one), await remaining(one), await remaining(two), await remaining(one)]).toEqual([
    '99',
    '98',
    '99',
    '97',
  ]);
  await instance.close();
  const moments = await used();
  expect(moments).toHaveLength(2);
  for (const { at } of moments) expect(at).not.toBeNull();
});
