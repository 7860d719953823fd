import { hash } from 'node:crypto';
import fastify, { type FastifyError, type FastifyReply } from 'fastify';
import pg from 'pg';
import { pino } from 'pino';
import { v7 } from 'uuid';
import { ZodError, type ZodObject } from 'zod';
import { contactKey, phoneNumber, searchText } from '../../rules/contact-key.ts';
import {
  CatalogProductCreate,
  CatalogProductListQuery,
  CatalogProductUpdate,
} from '../../src/catalog/schema.ts';
import { ConversationFilters, ConversationTranscriptQuery } from '../../src/conversations/schema.ts';
import { CustomerCreate, CustomerListQuery, CustomerUpdate } from '../../src/customers/schema.ts';
import { OpportunityListQuery } from '../../src/opportunities/schema.ts';
import { QuoteListQuery } from '../../src/quotes/schema.ts';

/**
 * The operations of the rows as a good developer would write them by hand: one short statement for each
 * request, with JSON built by PostgreSQL. It promises less than the service: a conflict does not name its owner, a PATCH
 * that changes nothing still writes, and there are no entity tags and no fair queues. It shows what those promises cost.
 */

declare module 'fastify' {
  interface FastifyRequest {
    organizationId: string;
  }
}

type Row = Record<string, unknown>;

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });

const columnOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const TIME = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`;

/** The select list of the fields, under their names in the response. */
const select = (fields: string, of: string): string =>
  fields
    .split(/\s+/)
    .map((field) => {
      const column = `${of}.${columnOf(field)}`;
      return `${field.endsWith('At') ? `to_char(${column} at time zone 'UTC', ${TIME})` : column} as "${field}"`;
    })
    .join();

const NEWEST = 'order by updated_at desc nulls last, id desc nulls last';
const ACTIVE = 'archived_at is null';
const NAME = (of: string): string =>
  `nullif(concat_ws(' ', nullif(${of}.first_name, ''), nullif(${of}.last_name, '')), '')`;

type Listed = {
  path: string;
  table: string;
  /** The select list of a record `r`, without its children. */
  fields: string;
  children?: { name: string; table: string; parent: string; fields: string };
  /** The records that a list has, and its order. */
  visible?: string;
  order?: string;
  /** Conditions of the list, by query parameter. */
  filters: Record<string, (value: string) => string>;
  query: ZodObject;
};

type Kind = Listed & {
  children: NonNullable<Listed['children']>;
  update: ZodObject;
  /** The columns of a body, and its children. */
  toRows: (body: unknown) => { record: Row; children: Row[] };
};

const contains = (value: string): string => `search like contains_pattern(${value})`;
const equals = (column: string) => (value: string) => `${column} = ${value}`;

/** The value of a record that the column refers to. */
const named = (value: string, table: string, column: string): string =>
  `(select ${value} from ${table} n where n.organization_id = r.organization_id and n.id = r.${column})`;
const customerName = `${named(NAME('n'), 'customers', 'customer_id')} as "customerName"`;

const lists: Listed[] = [
  {
    path: '/v1/conversations',
    table: 'conversations',
    fields: `${select('id channel contact contactName customerId activityState controlledBy language lastMessageAt createdAt', 'r')},
      ${customerName}`,
    visible: 'continued_by is null',
    order: 'order by last_message_at desc nulls last, id desc nulls last',
    filters: { channel: equals('channel'), activityState: equals('activity_state') },
    query: ConversationFilters,
  },
  {
    path: '/v1/quotes',
    table: 'quotes',
    fields: `${select(
      `id opportunityId title status destination customerId price currency token openCount firstOpenedAt lastOpenedAt publishedAt
      createdAt updatedAt`,
      'r',
    )}, ${customerName}`,
    filters: { status: equals('status'), opportunityId: equals('opportunity_id') },
    query: QuoteListQuery,
  },
  {
    path: '/v1/opportunities',
    table: 'opportunities',
    fields: `${select(
      `id title shortRef destination customerId sellerMemberId budgetMin budgetMax budgetCurrency checkInDate nights passengerCount
      salesStage stageId qualifiedAt lastActivityAt createdAt updatedAt`,
      'r',
    )}, ${customerName}, ${named('n.name', 'team_members', 'seller_member_id')} as "sellerName",
      ${named('n.key', 'pipeline_stages', 'stage_id')} as stage, coalesce(r.temperature_override, r.temperature) as temperature`,
    filters: { salesStage: equals('sales_stage'), stageId: equals('stage_id') },
    query: OpportunityListQuery,
  },
];

/** JSON of a record `r`, with its children from a table or from the statement's own CTE. */
function json({ fields, children }: Listed, made?: string): string {
  if (!children) return `(select row_to_json(item) from (select ${fields}) item)`;
  const { name, table, parent, fields: ofChild } = children;
  const from = made ?? `${table} c where c.organization_id = r.organization_id and c.${parent} = r.id`;
  return `(select row_to_json(item) from (select ${fields},
    (select coalesce(json_agg(row_to_json(child)), '[]') from (select ${select(ofChild, 'c')} from ${from} order by c.position) child) as "${name}"
  ) item)`;
}

/** The columns of the fields in the body. Lists cannot be null. */
const toColumns = (body: object): Row =>
  Object.fromEntries(
    Object.entries(body)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]) => [columnOf(field), /^(in|ex)cludes$/.test(field) ? (value ?? []) : value]),
  );

const customers: Kind = {
  path: '/v1/customers',
  table: 'customers',
  fields: `${select('id firstName lastName city country preferredLanguage summary tags createdAt updatedAt', 'r')},
    ${NAME('r')} as "displayName"`,
  children: {
    name: 'contacts',
    table: 'customer_contacts',
    parent: 'customer_id',
    fields: 'id identifierType identifierValue displayName phoneNumber',
  },
  filters: { query: contains, tag: (value) => `tags @> array[${value}]::text[]` },
  query: CustomerListQuery,
  update: CustomerUpdate.omit({ contacts: true }),
  toRows: (body) => {
    const { contacts, ...customer } = CustomerCreate.parse(body);
    const children = contacts.map(({ identifierType, identifierValue }) => ({
      identifierType,
      identifierValue,
      contactKey: contactKey(identifierType, identifierValue) ?? '',
      phoneNumber: phoneNumber(identifierType, identifierValue),
    }));
    const contactSearch = children.map(searchText).join('\u001f');
    return { record: toColumns({ ...customer, contactSearch }), children: children.map(toColumns) };
  },
};

const products: Kind = {
  path: '/v1/catalog/products',
  table: 'products',
  fields: select(
    `id title type status pricingMode budgetTier capacityMin capacityMax coverImage currency description shortDescription
    specialConditions destinations durationDays durationHours includes excludes gallery externalReferenceCode fromPrice priceMax
    operator priceBasis validFrom validUntil createdAt updatedAt`,
    'r',
  ),
  children: {
    name: 'variants',
    table: 'product_variants',
    parent: 'product_id',
    fields: `id label position status capacityMin capacityMax currency description shortDescription durationDays durationHours
    includes excludes fromPrice priceMax`,
  },
  filters: {
    query: contains,
    status: equals('status'),
    type: equals('type'),
    budgetTier: equals('budget_tier'),
    externalReferenceCode: equals('external_reference_code'),
  },
  query: CatalogProductListQuery,
  update: CatalogProductUpdate,
  toRows: (body) => {
    const { variants, ...product } = CatalogProductCreate.parse(body);
    const lists = { includes: [], excludes: [] };
    return {
      record: toColumns(product),
      children: variants.map((variant) => ({ ...lists, ...toColumns(variant) })),
    };
  },
};

/** The body in the only row of a statement's result. Each connection prepares a named statement once. */
async function bodyOf(
  text: string,
  values: readonly unknown[],
  name?: string,
  on: Pick<pg.ClientBase, 'query'> = pool,
): Promise<string | undefined> {
  const { rows } = await on.query({ text, values: [...values], ...(name !== undefined && { name }) });
  return rows[0]?.body;
}

async function list(kind: Listed, organizationId: string, sent: unknown): Promise<string | undefined> {
  const { limit, offset, ...filters } = kind.query.parse(sent) as Record<string, string>;
  const names = Object.keys(filters).filter((name) => filters[name] !== undefined);
  const where = [
    `organization_id = $1 and ${kind.visible ?? ACTIVE}`,
    ...names.map((name, index) => kind.filters[name]?.(`$${index + 4}`)),
  ].join(' and ');
  const text = `select json_build_object('data', coalesce(json_agg(item), '[]'), 'pagination', json_build_object(
      'limit', $2::integer, 'offset', $3::integer, 'total', (select count(*) from ${kind.table} where ${where})))::text as body
    from (select ${json(kind)} as item from (select * from ${kind.table} where ${where} ${kind.order ?? NEWEST} limit $2 offset $3) r) page`;
  // The best plan of a search depends on its text.
  const name = filters.query === undefined ? [kind.table, 'list', ...names].join(' ') : undefined;
  return bodyOf(text, [organizationId, limit, offset, ...names.map((key) => filters[key])], name);
}

const get = (kind: Kind, organizationId: string, id: string): Promise<string | undefined> =>
  bodyOf(
    `select ${json(kind)}::text as body from ${kind.table} r
    where organization_id = $1 and id = $2 and archived_at is null`,
    [organizationId, id],
    `${kind.table} get`,
  );

/** For a statement whose fields depend on the body. */
const nameOf = (text: string): string => hash('sha256', text, 'base64url');

function create(
  kind: Kind,
  organizationId: string,
  body: unknown,
  on: Pick<pg.ClientBase, 'query'> = pool,
  id = v7(),
): Promise<string | undefined> {
  const { children } = kind;
  const { record, children: rows } = kind.toRows(body);
  const own = Object.keys(record);
  const ofChild = Object.keys(rows[0] ?? {});
  const text = `with made as (
      insert into ${kind.table} (${['organization_id', 'id', ...own].join()})
      values (${['$1', '$2', ...own.map((_, index) => `$${index + 4}`)].join()}) returning *),
    made_children as (
      insert into ${children.table} (${['organization_id', children.parent, 'id', 'position', ...ofChild].join()})
      select ${['$1', '$2', 'id', 'position', ...ofChild].join()}
      from json_populate_recordset(null::${children.table}, $3::json) returning *)
    select ${json(kind, 'made_children c')}::text as body from made r`;
  const numbered = rows.map((row, position) => ({ ...row, id: v7(), position }));
  return bodyOf(
    text,
    [organizationId, id, JSON.stringify(numbered), ...Object.values(record)],
    nameOf(text),
    on,
  );
}

/** A repeat waits for the first request at the key, and then reads its record. */
async function createOnce(
  kind: Kind,
  organizationId: string,
  body: unknown,
  key: string,
): Promise<string | undefined> {
  const client = await pool.connect();
  const [id, fingerprint] = [v7(), hash('sha256', key, 'buffer')];
  try {
    await client.query('begin');
    const claimed = await client.query({
      name: 'claim key',
      text: `insert into idempotency_keys (organization_id, fingerprint, body_hash, record_id)
        values ($1, $2, $3, $4) on conflict do nothing`,
      values: [organizationId, fingerprint, hash('sha256', JSON.stringify(body), 'buffer'), id],
    });
    if (claimed.rowCount === 0) {
      const { rows } = await client.query(
        'select record_id from idempotency_keys where organization_id = $1 and fingerprint = $2',
        [organizationId, fingerprint],
      );
      await client.query('commit');
      return await get(kind, organizationId, rows[0].record_id);
    }
    const created = await create(kind, organizationId, body, client, id);
    await client.query('commit');
    return created;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

/** The contacts of an archived customer are free for others. */
const archive = (organizationId: string, id: string): Promise<string | undefined> =>
  bodyOf(
    `with archived as (update customers set archived_at = now(), updated_at = now()
      where organization_id = $1 and id = $2 and archived_at is null returning organization_id, id),
    released as (update customer_contacts c set archived_at = now() from archived
      where c.organization_id = archived.organization_id and c.customer_id = archived.id)
    select json_build_object('id', id, 'archived', true)::text as body from archived`,
    [organizationId, id],
    'customers archive',
  );

/** The newest messages of all threads of the chain, oldest first. */
const transcript = (organizationId: string, id: string, limit: unknown): Promise<string | undefined> => {
  const fields = 'id conversationId content createdAt direction messageType senderName';
  const columns =
    'organization_id, id, conversation_id, content, created_at, direction, message_type, sender_name, arrival';
  return bodyOf(
    `with threads as (select id, message_count from conversations where organization_id = $1
      and chain_id = (select chain_id from conversations where organization_id = $1 and id = $2))
    select json_build_object('data', coalesce((
        select json_agg(message order by at, arrival) from (
          select (select row_to_json(item) from (select ${select(fields, 'm')}) item) as message, m.created_at as at, m.arrival from (
            select ${columns} from whatsapp_messages where organization_id = $1 and conversation_id = any(array(select id from threads))
            union all
            select ${columns} from channel_messages where organization_id = $1 and conversation_id = any(array(select id from threads))
            order by created_at desc, arrival desc limit $3) m) newest), '[]'),
      'total', sum(message_count))::text as body from threads having count(*) > 0`,
    [organizationId, id, limit],
    'transcript',
  );
};

function update(kind: Kind, organizationId: string, id: string, body: unknown): Promise<string | undefined> {
  const changes = toColumns(kind.update.parse(body));
  const assignments = Object.keys(changes).map((column, index) => `${column} = $${index + 3}`);
  const text = `update ${kind.table} r set ${[...assignments, 'updated_at = now()'].join()}
    where organization_id = $1 and id = $2 and archived_at is null returning ${json(kind)}::text as body`;
  return bodyOf(text, [organizationId, id, ...Object.values(changes)], nameOf(text));
}

/** How long a key that was found stays cached. */
const REMEMBERED_MS = 60_000;
const known = new Map<string, { organizationId: string; until: number }>();

async function organizationOf(authorization = ''): Promise<string | undefined> {
  const token = /^bearer (\S+)$/i.exec(authorization)?.[1];
  if (token === undefined) return undefined;
  const remembered = known.get(token);
  if (remembered && remembered.until > Date.now()) return remembered.organizationId;
  known.delete(token);
  const { rows } = await pool.query(
    `select organization_id from api_keys
    where hash = $1 and revoked_at is null and (expires_at is null or expires_at > now())`,
    [hash('sha256', token, 'buffer')],
  );
  if (rows[0])
    known.set(token, { organizationId: rows[0].organization_id, until: Date.now() + REMEMBERED_MS });
  return rows[0]?.organization_id;
}

const app = fastify({
  disableRequestLogging: true,
  loggerInstance: pino(pino.destination({ minLength: 4_096, sync: false })),
});

const errorBody = (code: string, message: string) => ({ error: { code, message } });

app.decorateRequest('organizationId', '');
app.addHook('onRequest', async (request, reply) => {
  const organizationId = await organizationOf(request.headers.authorization);
  if (organizationId === undefined)
    return reply.code(401).send(errorBody('UNAUTHORIZED', 'The API key is missing or not valid.'));
  request.organizationId = organizationId;
});
app.addHook('onResponse', async ({ log, method, url }, { statusCode, elapsedTime }) => {
  log.info({ method, url, statusCode, elapsedTime }, 'request completed');
});

/** By SQLSTATE: a unique violation, and an id that is not a UUID. */
const STATUSES: Record<string, number> = { 23505: 409, '22P02': 404 };

app.setErrorHandler((error: FastifyError, { log }, reply) => {
  const status = error instanceof ZodError ? 400 : (STATUSES[error.code] ?? error.statusCode ?? 500);
  if (status === 500) log.error(error);
  reply
    .code(status)
    .send(errorBody(error.code ?? 'REJECTED', status === 500 ? 'Internal error' : error.message));
});

/** PostgreSQL built the body. */
const respond = (reply: FastifyReply, body: string | undefined, status = 200): FastifyReply =>
  body === undefined
    ? reply.code(404).send(errorBody('NOT_FOUND', 'There is no such record.'))
    : reply.code(status).type('application/json; charset=utf-8').send(body);

type One = { Params: { id: string } };

for (const kind of [customers, products, ...lists])
  app.get(kind.path, async ({ organizationId, query }, reply) =>
    respond(reply, await list(kind, organizationId, query)),
  );

for (const kind of [customers, products]) {
  app.post(kind.path, async ({ organizationId, body, headers }, reply) => {
    const key = headers['idempotency-key']?.toString();
    const created =
      key === undefined ? create(kind, organizationId, body) : createOnce(kind, organizationId, body, key);
    return respond(reply, await created, 201);
  });
  app.get<One>(`${kind.path}/:id`, async ({ organizationId, params }, reply) =>
    respond(reply, await get(kind, organizationId, params.id)),
  );
  app.patch<One>(`${kind.path}/:id`, async ({ organizationId, params, body }, reply) =>
    respond(reply, await update(kind, organizationId, params.id, body)),
  );
}

app.delete<One>(`${customers.path}/:id`, async ({ organizationId, params }, reply) =>
  respond(reply, await archive(organizationId, params.id)),
);
app.get<One>('/v1/conversations/:id/messages', async ({ organizationId, params, query }, reply) => {
  const { limit } = ConversationTranscriptQuery.parse(query);
  return respond(reply, await transcript(organizationId, params.id, limit));
});

await app.listen({ host: process.env.HOST ?? '127.0.0.1', port: Number(process.env.PORT) });
process.once('SIGTERM', async () => {
  await app.close();
  await pool.end();
  process.exit(0);
});
