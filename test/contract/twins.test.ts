import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { archiveCatalogProduct } from '../../src/catalog/repository.ts';
import { scopeTo } from '../../src/db/run/scope.ts';
import { newId } from '../../src/db/sql/ids.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { makeToken } from '../../src/files/links.ts';
import { entityTag } from '../../src/http/conditional.ts';
import { hashKey, makeKey } from '../../src/keys/api-key.ts';
import { issueApiKey } from '../../src/keys/repository.ts';
import { type Dashboard, useDashboard } from '../dashboard/dashboard.ts';
import { administer } from '../support/databases.ts';
import {
  attachment,
  conversation,
  customer,
  member,
  message,
  opportunity,
  quote,
  stage,
} from '../support/records.ts';
import { routesOf } from '../support/router.ts';
import { type Agency, type Client, type Reply, type Service, startService } from '../support/service.ts';

/**
 * Two organizations have the same ids in every table, and differ in their texts. Each is asked what an organization
 * alone in its database is asked, and answers byte for byte the same. What the service makes itself is left aside: new
 * ids, moments, keys and signatures.
 */

const alone = useDashboard();
const shared = useDashboard();

/** In every text of the first twin, and of the organization alone. The second twin has the other one there. */
const [MARK, OTHER_MARK] = ['twina9', 'twinb9'];
const CONTACT = { identifierType: 'whatsapp', identifierValue: '+525512345678' };

type World = { service: Service; dashboard: Dashboard; agency: Agency };

/** Everything that has an id is there two times or more: one is changed or archived, another one is left. */
async function populate({ service, agency }: World) {
  const made = async <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> => {
    const records: T[] = [];
    for (let index = 0; index < count; index += 1) records.push(await make(index));
    return records;
  };
  const product = (index: number) =>
    agency.post(
      '/v1/catalog/products',
      {
        title: `Patagonia ${index} ${MARK}`,
        externalReferenceCode: `REF-${index}`,
        variants: [{ label: `Alta ${MARK}` }, { label: `Baja ${MARK}` }],
      },
      { headers: { 'idempotency-key': `product ${index}` } },
    );
  const products = (await made(4, product)).map(({ body }) => body.id as string);
  for (const archived of products.slice(2)) await archiveCatalogProduct(agency.scope, archived);
  const customers = (
    await made(3, (index) =>
      customer(agency, {
        firstName: `Ana ${index} ${MARK}`,
        tags: [`vip ${MARK}`],
        contacts: [index === 0 ? CONTACT : { identifierType: 'web', identifierValue: `${index} ${MARK}` }],
      }),
    )
  ).map(({ id }) => id as string);
  const [customerId] = customers;
  const stages = (await made(2, (position) => stage(agency, { name: `Nuevo ${MARK}`, position }))).map(idOf);
  const members = (await made(2, (n) => member(agency, { userId: `u${n}`, name: `Lucía ${MARK}` }))).map(
    idOf,
  );
  const opportunities = (
    await made(3, () =>
      opportunity(agency, {
        title: `Viaje ${MARK}`,
        customerId,
        stageId: stages[0],
        sellerMemberId: members[0],
      }),
    )
  ).map(idOf);
  const thread = await conversation(agency, { customerId, contactName: `Ana ${MARK}` });
  const next = await conversation(agency, {
    channel: 'web',
    contact: `ana ${MARK}`,
    rotatedFrom: thread.id,
    customerId,
  });
  const messages = (
    await made(4, (index) =>
      message(agency, index % 2 ? next.id : thread.id, {
        content: `Hola ${index} ${MARK}`,
        createdAt: `2026-10-0${index + 1}T10:00:00.000Z`,
      }),
    )
  ).map(idOf);
  const quotes = (
    await made(3, (index) =>
      quote(agency, { opportunityId: opportunities[0], title: `Oferta ${index} ${MARK}`, customerId }),
    )
  ).map(idOf);
  const files = (
    await made(2, (index) =>
      attachment(agency, service.storage, quotes[0] ?? '', {
        fileName: `${index} ${MARK}.pdf`,
        content: Buffer.from(`Oferta ${index} ${MARK}`),
      }),
    )
  ).map(({ stored }) => stored.id);
  const keys = await made(
    2,
    async (n) => parseJson(await issueApiKey(agency.scope, { name: `${n} ${MARK}` })).id,
  );
  return {
    products,
    customers,
    stages,
    members,
    opportunities,
    conversations: [thread.id as string, next.id as string],
    messages,
    quotes,
    files,
    keys,
  };
}

const idOf = ({ id }: { id: string }): string => id;

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
      `select to_jsonb(t) as row from ${table} t where organization_id = $1 order by to_jsonb(t)::text`,
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
  await administer(service.ownerUrl, async (client) => {
    // The rows arrive in any order.
    await client.query('begin');
    // On a cluster, its nodes are told too. Elsewhere it is a name without meaning.
    await client.query(`set local citus.propagate_set_commands = 'local'`);
    await client.query('set local session_replication_role = replica');
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
          `insert into ${table} (${columns}) select ${columns} from jsonb_populate_record(null::${table}, $1)`,
          [JSON.stringify(copy)],
        );
      }
    }
    await client.query('commit');
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
let ids: Awaited<ReturnType<typeof populate>>;
let known: Set<string>;
/** What the service makes from then on has a later moment. */
let since: string;
beforeAll(async () => {
  const agency = await alone.service.agency(`Agency ${MARK}`);
  await alone.service.query('update organizations set created_at = $1', [CREATED]);
  first = { ...alone, agency };
  ids = await populate(first);
  twins = [await twinOf(first, MARK), await twinOf(first, OTHER_MARK)];
  copied = [
    await allRows(shared.service, twins[0].agency.id),
    await allRows(shared.service, twins[1].agency.id),
  ];
  known = new Set(Object.values(ids).flat());
  const [row] = await alone.service.query<{ now: string }>(
    `select to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now`,
  );
  since = row?.now ?? '';
});

type Sent = { path: string; body?: object | Buffer; headers?: Record<string, string> };
type Form = () => Sent | Sent[] | Promise<Sent>;

const DASHBOARD = '/dashboard/v1';
const BELOW = `${DASHBOARD}/organizations/{organizationId}`;
const at = (list: string[], index: number): string => list[index] ?? '';
const repeated = { 'idempotency-key': 'of both' };

async function upload(): Promise<Sent> {
  const form = new FormData();
  form.append('kind', 'itinerary');
  form.append('file', new Blob([`the bytes of ${MARK}`]), `${MARK}.txt`);
  const response = new Response(form);
  const headers = { 'content-type': response.headers.get('content-type') ?? '', ...repeated };
  return {
    path: `${BELOW}/quotes/${at(ids.quotes, 0)}/attachments`,
    headers,
    body: Buffer.from(await response.arrayBuffer()),
  };
}

/** What each operation is asked, in this order. Those with a key for repeats are sent twice. */
const WALK: Record<string, Form> = {
  'GET /v1/catalog/products': () => [
    { path: '/v1/catalog/products' },
    { path: '/v1/catalog/products?query=patagonia&limit=1' },
    { path: `/v1/catalog/products?externalReferenceCode=REF-1` },
  ],
  'GET /v1/catalog/products/{productId}': () =>
    ids.products.map((id) => ({ path: `/v1/catalog/products/${id}` })),
  'GET /v1/customers': () => [
    { path: '/v1/customers' },
    { path: '/v1/customers?query=5512345678' },
    { path: `/v1/customers?tag=vip%20${MARK}&offset=1` },
  ],
  'GET /v1/customers/{customerId}': () => ids.customers.map((id) => ({ path: `/v1/customers/${id}` })),
  'GET /v1/opportunities': () => [
    { path: '/v1/opportunities' },
    { path: `/v1/opportunities?stageId=${at(ids.stages, 0)}` },
    { path: `/v1/opportunities?query=${MARK}` },
  ],
  'GET /v1/opportunities/{opportunityId}': () =>
    ids.opportunities.map((id) => ({ path: `/v1/opportunities/${id}` })),
  'GET /v1/conversations': () => [
    { path: '/v1/conversations' },
    { path: `/v1/conversations?customerId=${at(ids.customers, 0)}` },
    { path: `/v1/conversations?query=${MARK}` },
  ],
  'GET /v1/conversations/{conversationId}/messages': () =>
    ids.conversations.map((id) => ({ path: `/v1/conversations/${id}/messages` })),
  'GET /v1/quotes': () => [
    { path: '/v1/quotes' },
    { path: `/v1/quotes?opportunityId=${at(ids.opportunities, 0)}&query=oferta` },
  ],
  'GET /v1/quotes/{quoteId}/attachments': () =>
    ids.quotes.map((id) => ({ path: `/v1/quotes/${id}/attachments` })),
  'GET /v1/team': () => ({ path: '/v1/team' }),
  [`GET ${BELOW}`]: () => ({ path: BELOW }),
  [`GET ${BELOW}/api-keys`]: () => ({ path: `${BELOW}/api-keys` }),
  [`GET ${BELOW}/catalog/products`]: () => ({ path: `${BELOW}/catalog/products?archived=true` }),
  'POST /v1/catalog/products': () => [
    {
      path: '/v1/catalog/products',
      headers: repeated,
      body: { title: `Nuevo ${MARK}`, variants: [{ label: MARK }] },
    },
  ],
  'POST /v1/customers': () => [
    { path: '/v1/customers', body: { contacts: [CONTACT], firstName: MARK } },
    {
      path: '/v1/customers',
      headers: repeated,
      body: { firstName: MARK, contacts: [{ identifierType: 'email', identifierValue: 'new@example.com' }] },
    },
  ],
  'PATCH /v1/catalog/products/{productId}': () => ({
    path: `/v1/catalog/products/${at(ids.products, 0)}`,
    body: { title: `Cambiado ${MARK}`, variants: [{ label: MARK }] },
  }),
  'PATCH /v1/customers/{customerId}': () => ({
    path: `/v1/customers/${at(ids.customers, 0)}`,
    body: { lastName: MARK, contacts: [CONTACT, { identifierType: 'web', identifierValue: MARK }] },
  }),
  'DELETE /v1/catalog/products/{productId}': () => ({ path: `/v1/catalog/products/${at(ids.products, 1)}` }),
  'DELETE /v1/customers/{customerId}': () => ({ path: `/v1/customers/${at(ids.customers, 1)}` }),
  [`POST ${BELOW}/api-keys`]: () => ({
    path: `${BELOW}/api-keys`,
    headers: repeated,
    body: { name: `sync ${MARK}` },
  }),
  [`POST ${BELOW}/api-keys/{apiKeyId}/rotate`]: () => ({
    path: `${BELOW}/api-keys/${at(ids.keys, 0)}/rotate`,
    headers: repeated,
    body: { overlapSeconds: 60 },
  }),
  [`DELETE ${BELOW}/api-keys/{apiKeyId}`]: () => ({ path: `${BELOW}/api-keys/${at(ids.keys, 1)}` }),
  [`PATCH ${BELOW}/catalog/products/{productId}`]: () => ({
    path: `${BELOW}/catalog/products/${at(ids.products, 0)}`,
    body: { coverImage: `https://example.com/${MARK}.jpg` },
  }),
  [`POST ${BELOW}/catalog/products/{productId}/restore`]: () => ({
    path: `${BELOW}/catalog/products/${at(ids.products, 2)}/restore`,
    headers: repeated,
  }),
  [`PUT ${BELOW}/pipeline-stages/{pipelineStageId}`]: () => ({
    path: `${BELOW}/pipeline-stages/${at(ids.stages, 0)}`,
    body: { key: 'won', name: `Ganado ${MARK}`, position: 3 },
  }),
  [`PUT ${BELOW}/team-members/{teamMemberId}`]: () => ({
    path: `${BELOW}/team-members/${at(ids.members, 0)}`,
    body: { userId: 'u0', name: MARK, email: 'u0@example.com' },
  }),
  [`PUT ${BELOW}/opportunities/{opportunityId}`]: () => ({
    path: `${BELOW}/opportunities/${at(ids.opportunities, 0)}`,
    body: { salesStage: 'won', title: MARK, customerId: at(ids.customers, 2), stageId: at(ids.stages, 1) },
  }),
  [`PUT ${BELOW}/conversations/{conversationId}`]: () => ({
    path: `${BELOW}/conversations/${at(ids.conversations, 0)}`,
    body: {
      channel: 'whatsapp',
      contact: '+525512345678',
      contactName: MARK,
      customerId: at(ids.customers, 2),
    },
  }),
  [`PUT ${BELOW}/conversations/{conversationId}/messages/{messageId}`]: () => ({
    path: `${BELOW}/conversations/${at(ids.conversations, 0)}/messages/${at(ids.messages, 0)}`,
    body: { content: `Otra vez ${MARK}`, direction: 'outbound', messageType: 'text' },
  }),
  [`POST ${BELOW}/conversations/{conversationId}/messages`]: () => ({
    path: `${BELOW}/conversations/${at(ids.conversations, 1)}/messages`,
    headers: repeated,
    body: { data: [{ id: at(ids.messages, 1), content: MARK, direction: 'inbound', messageType: 'text' }] },
  }),
  [`PUT ${BELOW}/quotes/{quoteId}`]: () => ({
    path: `${BELOW}/quotes/${at(ids.quotes, 0)}`,
    body: { opportunityId: at(ids.opportunities, 1), title: MARK, status: 'published' },
  }),
  [`POST ${BELOW}/quotes/{quoteId}/opens`]: () => ({
    path: `${BELOW}/quotes/${at(ids.quotes, 0)}/opens`,
    headers: repeated,
    body: { openedAt: '2026-10-05T10:00:00.000Z' },
  }),
  [`POST ${BELOW}/quotes/{quoteId}/attachments`]: upload,
  [`DELETE ${BELOW}/quotes/{quoteId}/attachments/{attachmentId}`]: () => ({
    path: `${BELOW}/quotes/${at(ids.quotes, 0)}/attachments/${at(ids.files, 1)}`,
  }),
  [`DELETE ${BELOW}/pipeline-stages/{pipelineStageId}`]: () => ({
    path: `${BELOW}/pipeline-stages/${at(ids.stages, 1)}`,
  }),
  [`DELETE ${BELOW}/team-members/{teamMemberId}`]: () => ({
    path: `${BELOW}/team-members/${at(ids.members, 1)}`,
  }),
  [`DELETE ${BELOW}/opportunities/{opportunityId}`]: () => ({
    path: `${BELOW}/opportunities/${at(ids.opportunities, 2)}`,
  }),
  [`DELETE ${BELOW}/quotes/{quoteId}`]: () => ({ path: `${BELOW}/quotes/${at(ids.quotes, 2)}` }),
};

/** They are about organizations, and belong to none. */
const OF_NO_ORGANIZATION = [`GET ${DASHBOARD}/organizations`, `POST ${DASHBOARD}/organizations`];

const markOf = (world: World): string => (world === twins[1] ? OTHER_MARK : MARK);

/** Sends it as this organization would, with its mark in every text. */
async function ask(world: World, method: string, { path, body, headers = {} }: Sent): Promise<Reply> {
  const own = (text: string) =>
    text.replaceAll(MARK, markOf(world)).replace('{organizationId}', world.agency.id);
  const payload = Buffer.isBuffer(body)
    ? Buffer.from(own(body.toString('latin1')), 'latin1')
    : body && JSON.parse(own(JSON.stringify(body)));
  const send = { ...(payload && { body: payload }), headers };
  return path.startsWith(DASHBOARD)
    ? world.dashboard.request(method, own(path).slice(DASHBOARD.length), send)
    : world.agency.request(method, own(path), send);
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

async function askAll(name: string): Promise<void> {
  const [method = ''] = name.split(' ');
  const sents = [(await WALK[name]?.()) ?? []].flat();
  expect(sents.length).toBeGreaterThan(0);
  for (const sent of sents) {
    for (const again of sent.headers?.['idempotency-key'] ? [false, true] : [false]) {
      const expected = await ask(first, method, sent);
      // Both at once: lookups of one turn are sent together.
      const answers = await Promise.all(twins.map((twin) => ask(twin, method, sent)));
      for (const [index, answer] of answers.entries()) {
        const twin = twins[index] ?? first;
        const label = `${name} of twin ${index}${again ? ', again' : ''}: ${sent.path}`;
        expect(shown(twin, answer), label).toEqual(shown(first, expected));
        expect(answer.text, label).not.toContain(markOf(twin) === MARK ? OTHER_MARK : MARK);
      }
    }
  }
}

test('the walk has every operation of both routers, and no other', () => {
  const routes = [...routesOf(shared.service.app), ...routesOf(shared.dashboard.app)].filter(
    (route) => route.includes('/v1') && !route.startsWith('HEAD '),
  );
  expect(routes.sort()).toEqual([...Object.keys(WALK), ...OF_NO_ORGANIZATION].sort());
});

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
  for (const name of Object.keys(WALK)) await askAll(name);
  for (const name of Object.keys(WALK).filter((one) => one.startsWith('GET '))) await askAll(name);
});

test('a signed link of each twin gives its own file, though both files and both quotes have one id', async () => {
  const attachmentId = at(ids.files, 0);
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
