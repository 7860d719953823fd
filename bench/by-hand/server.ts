import { createHmac, hash } from 'node:crypto';
import fastify, { type FastifyError } from 'fastify';
import pg from 'pg';
import { pino } from 'pino';
import { v7 } from 'uuid';
import { ZodError, type ZodObject } from 'zod';
import { contactKey, keyOnChannel, phoneNumber } from '../../rules/contact-key.ts';
import * as catalog from '../../src/catalog/schema.ts';
import * as chats from '../../src/conversations/schema.ts';
import * as people from '../../src/customers/schema.ts';
import { Opportunity, OpportunityListQuery } from '../../src/opportunities/schema.ts';
import { Quote, QuoteAttachment, QuoteListQuery } from '../../src/quotes/schema.ts';

/**
 * The operations of the rows as a good developer would write them by hand: one short statement for each request, with JSON built by
 * PostgreSQL. It promises less than the service: a conflict does not name its owner, a write that changes nothing still writes,
 * threads are not rotated, and there are no entity tags and no fair queues. It shows what those promises cost.
 */

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });

type Row = { body: string; created?: boolean };

const names = new Map<string, string>();

/** The only row of a result. Each connection prepares a statement once, unless its plan depends on the values. */
async function run(text: string, values: unknown[], isPrepared = true): Promise<Row | undefined> {
  if (!names.has(text)) names.set(text, `statement ${names.size}`);
  return (await pool.query<Row>({ text, values, ...(isPrepared && { name: names.get(text) }) })).rows[0];
}

const columnOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The columns of the fields in the body. Lists cannot be null. */
const toColumns = (body: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(body)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]) => [columnOf(field), /^(in|ex)cludes$/.test(field) ? (value ?? []) : value]),
  );

const iso = (time: string): string => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** The select list of the fields of a response, under their names. */
const select = ({ shape }: ZodObject, of: string, sources: Record<string, string> = {}): string =>
  Object.keys(shape)
    .map((field) => [field, sources[field] ?? `${of}.${columnOf(field)}`])
    .map(([field = '', source = '']) => `${field.endsWith('At') ? iso(source) : source} as "${field}"`)
    .join();

/** The value of a record that the column of `r` refers to. */
const named = (value: string, table: string, column: string): string =>
  `(select ${value} from ${table} n where n.organization_id = r.organization_id and n.id = r.${column})`;
const fullName = "nullif(concat_ws(' ', nullif(first_name, ''), nullif(last_name, '')), '')";
const customerName = named(fullName, 'customers', 'customer_id');

/** What a filter compares with its value, if that is more than the column of its name. */
const CONDITIONS: Record<string, string> = {
  query: 'search like contains_pattern($)',
  ids: 'id = any($::uuid[])',
  contact: `id = any(array(select customer_id from customer_contacts
    where organization_id = $1 and contact_key = $ and archived_at is null))`,
};

const newestIn = (table: string): string =>
  `(select content, direction, message_type, created_at, arrival from ${table} m
  where m.organization_id = r.organization_id and m.conversation_id = r.id
  order by created_at desc nulls last, arrival desc nulls last limit 1)`;
const LastMessage = chats.ConversationRecord.shape.lastMessage.unwrap();
const lastMessage = `(select row_to_json(item) from (
  select ${select(LastMessage, 'm', { content: 'left(content, 200)' })}
  from (${newestIn('whatsapp_messages')} union all ${newestIn('channel_messages')}) m
  order by m.created_at desc, arrival desc limit 1) item)`;

/** A table, the parameters of its list, and the JSON of its record `r`. */
const kind = (table: string, query: ZodObject, record: ZodObject, sources: Record<string, string>) => ({
  ...{ table, query, json: `(select row_to_json(item) from (select ${select(record, 'r', sources)}) item)` },
  ...(table === 'conversations'
    ? { visible: 'continued_by is null', order: 'last_message_at' }
    : { visible: 'archived_at is null', order: 'updated_at' }),
});
type Kind = ReturnType<typeof kind>;

const { Conversation, ConversationRecord, ConversationListQuery } = chats;
const conversations = kind('conversations', ConversationListQuery, Conversation, { customerName });
const inbox = kind('conversations', ConversationListQuery, ConversationRecord, { customerName, lastMessage });
const quotes = kind('quotes', QuoteListQuery, Quote, { customerName });
const opportunities = kind('opportunities', OpportunityListQuery, Opportunity, {
  customerName,
  sellerName: named('name', 'team_members', 'seller_member_id'),
  stage: named('key', 'pipeline_stages', 'stage_id'),
  temperature: 'coalesce(r.temperature_override, r.temperature)',
});

type Children = { table: string; parent: string };
const childrenOf = ({ table, parent }: Children): string =>
  `${table} c where c.organization_id = r.organization_id and c.${parent} = r.id`;
const listOf = (child: ZodObject, children: Children): string =>
  `(select coalesce(json_agg(row_to_json(child)), '[]') from (
    select ${select(child, 'c')} from ${childrenOf(children)} order by c.position) child)`;

const CONTACTS = { table: 'customer_contacts', parent: 'customer_id' };
const customers = kind('customers', people.CustomerListQuery, people.Customer, {
  displayName: fullName,
  contacts: listOf(people.CustomerContact, CONTACTS),
});
const VARIANTS = { table: 'product_variants', parent: 'product_id' };
const products = kind('products', catalog.CatalogProductListQuery, catalog.CatalogProduct, {
  variants: listOf(catalog.CatalogProductVariant, VARIANTS),
});

const VALUES: Record<string, (sent: string) => unknown> = {
  ids: (sent) => sent.split(','),
  contact: (sent) => contactKey(sent.includes('@') ? 'email' : 'whatsapp', sent),
};

type Call = { org: string; id: string; query: unknown; body: unknown; key: string | undefined };

function page({ table, query: parameters, json, visible, order }: Kind, { org, query }: Call) {
  const { limit, offset, ...sent } = parameters.parse(query);
  const filters = Object.entries(sent).filter(([, value]) => value !== undefined);
  const conditions = filters.map(([name]) => CONDITIONS[name] ?? `${columnOf(name)} = $`);
  const where = [visible, ...conditions.map((text, index) => text.replace(/\$(?!\d)/, `$${index + 4}`))];
  const from = `from ${table} where organization_id = $1 and ${where.join(' and ')}`;
  const text = `select json_build_object('data', coalesce(json_agg(item), '[]'), 'pagination', json_build_object(
      'limit', $2::integer, 'offset', $3::integer, 'total', (select count(*) ${from})))::text as body
    from (select ${json} as item from (
      select * ${from} order by ${order} desc nulls last, id desc nulls last limit $2 offset $3) r) page`;
  const values = filters.map(([name, value]) => VALUES[name]?.(String(value)) ?? value);
  return run(text, [org, limit, offset, ...values], sent.query === undefined);
}

function get({ table, json, visible }: Kind, { org, id }: Pick<Call, 'org' | 'id'>) {
  const text = `select ${json}::text as body from ${table} r where organization_id = $1 and id = $2 and ${visible}`;
  return run(text, [org, id]);
}

/** A repeat waits for the first request with the key, and then reads its record. */
async function create({ org, body, key }: Call, kind: Kind, record: object, of: Children, rows: object[]) {
  const [{ table, parent }, own] = [of, toColumns(record)];
  const ofChild = ['id', 'position', ...Object.keys(toColumns(rows[0] ?? {}))];
  const sent = key === undefined ? [] : [key, JSON.stringify(body)];
  const digests = sent.map((text) => hash('sha256', text, 'buffer'));
  const claim = `claim as (insert into idempotency_keys (organization_id, fingerprint, body_hash, record_id)
    values ($1, $4, $5, $2) on conflict do nothing returning record_id),`;
  const text = `with ${key === undefined ? '' : claim}
    made as (insert into ${kind.table} (${['organization_id', 'id', ...Object.keys(own)].join()})
      select ${['$1', '$2', ...Object.keys(own).map((_, index) => `$${index + 4 + digests.length}`)].join()}
      ${key === undefined ? '' : 'from claim'} returning *),
    made_children as (insert into ${table} (${['organization_id', parent, ...ofChild].join()})
      select ${['made.organization_id', 'made.id', ...ofChild.map((name) => `child.${name}`)].join()}
      from made, json_populate_recordset(null::${table}, $3) child returning *)
    select ${kind.json.replace(childrenOf(of), 'made_children c')}::text as body, true as created from made r`;
  const numbered = rows.map((row, position) => toColumns({ ...row, id: v7(), position }));
  const made = await run(text, [org, v7(), JSON.stringify(numbered), ...digests, ...Object.values(own)]);
  if (made || key === undefined) return made;
  const find = 'select record_id as body from idempotency_keys where organization_id=$1 and fingerprint=$2';
  return get(kind, { org, id: (await run(find, [org, digests[0]]))?.body ?? '' });
}

function createCustomer(call: Call): Promise<Row | undefined> {
  const { contacts, ...customer } = people.CustomerCreate.parse(call.body);
  const children = contacts.map(({ identifierType: type, identifierValue: value }) => ({
    ...{ identifierType: type, identifierValue: value, phoneNumber: phoneNumber(type, value) },
    contactKey: contactKey(type, value) ?? '',
  }));
  const contactSearch = children.map((one) => `${one.identifierValue}\u001f${one.contactKey}`).join('\u001f');
  return create(call, customers, { ...customer, contactSearch }, CONTACTS, children);
}

function createProduct(call: Call): Promise<Row | undefined> {
  const { variants, ...product } = catalog.CatalogProductCreate.parse(call.body);
  const children = variants.map((variant) => ({ includes: [], excludes: [], ...variant }));
  return create(call, products, product, VARIANTS, children);
}

function update({ org, id, body }: Call): Promise<Row | undefined> {
  const changes = toColumns(people.CustomerUpdate.omit({ contacts: true }).parse(body));
  const assignments = Object.keys(changes).map((column, index) => `${column} = $${index + 3},`);
  const text = `update customers r set ${assignments.join('')} updated_at = now()
    where organization_id = $1 and id = $2 and archived_at is null returning ${customers.json}::text as body`;
  return run(text, [org, id, ...Object.values(changes)]);
}

/** The contacts of an archived customer are free for others. */
function archive({ org, id }: Call): Promise<Row | undefined> {
  const text = `with archived as (update customers set archived_at = now(), updated_at = now()
      where organization_id = $1 and id = $2 and archived_at is null returning organization_id, id),
    released as (update customer_contacts c set archived_at = now() from archived
      where c.organization_id = archived.organization_id and c.customer_id = archived.id)
    select json_build_object('id', id, 'archived', true)::text as body from archived`;
  return run(text, [org, id]);
}

/** The newest messages of all threads of the chain, oldest first. */
function transcript({ org, id, query }: Call): Promise<Row | undefined> {
  const messagesOf = (table: string): string =>
    `select organization_id, id, conversation_id, content, created_at, direction, message_type, sender_name, arrival
    from ${table} where organization_id = $1 and conversation_id = any(array(select id from threads))`;
  const message = `(select row_to_json(item) from (select ${select(chats.ConversationMessage, 'm')}) item)`;
  const text = `with threads as (select id, message_count from conversations where organization_id = $1
      and chain_id = (select chain_id from conversations where organization_id = $1 and id = $2))
    select json_build_object('data', coalesce((select json_agg(message order by at, arrival) from (
          select ${message} as message, m.created_at as at, m.arrival
          from (${messagesOf('whatsapp_messages')} union all ${messagesOf('channel_messages')}
            order by created_at desc, arrival desc limit $3) m) newest), '[]'),
      'total', sum(message_count))::text as body from threads having count(*) > 0`;
  return run(text, [org, id, chats.ConversationTranscriptQuery.parse(query).limit]);
}

/** Without a customer, it gets the one that has the contact. */
function putConversation({ org, id, body }: Call): Promise<Row | undefined> {
  const { customerId, createdAt, rotatedFrom: _, ...sent } = chats.ConversationPut.parse(body);
  const contactKey = keyOnChannel(sent.channel, sent.contact);
  const empty = { contactName: null, activityState: null, controlledBy: null, language: null };
  const own = toColumns({ contactKey, ...sent, ...empty, ...sent });
  const columns = Object.keys(own);
  const text = `insert into conversations as r (organization_id, id, chain_id, created_at, customer_id, ${columns.join()})
    values ($1, $2, $2, coalesce($3::timestamptz, now()), coalesce($4, (select customer_id from customer_contacts
      where organization_id = $1 and contact_key = $5 and identifier_type = $6 and archived_at is null)), ${columns.map((_, index) => `$${index + 5}`).join()})
    on conflict (organization_id, id) do update set updated_at = now(), customer_id = coalesce(excluded.customer_id, r.customer_id),
      ${columns.map((column) => `${column} = excluded.${column}`).join()}
    returning xmax = 0 as created, ${inbox.json}::text as body`;
  return run(text, [org, id, createdAt, customerId, ...Object.values(own)]);
}

/** All messages in one insert, and the count and date of the thread. */
function putMessages({ org, id, body }: Call): Promise<Row | undefined> {
  const messages = chats.ConversationMessagesImport.parse(body).data.map(({ delivery, ...message }) =>
    toColumns({ createdAt: new Date(), ...message, providerMessageId: delivery?.providerMessageId }),
  );
  const columns = 'content direction message_type sender_name created_at provider_message_id'.split(' ');
  const text = `with written as (
      insert into whatsapp_messages (organization_id, conversation_id, id, ${columns.join()})
      select $1, $2, id, ${columns.join()} from json_populate_recordset(null::whatsapp_messages, $3)
      on conflict (organization_id, conversation_id, id) do update set ${columns.map((column) => `${column} = excluded.${column}`).join()}
      returning created_at, (xmax = 0)::integer as is_new),
    counts as (select sum(is_new) as inserted, count(*) - sum(is_new) as updated, max(created_at) as latest from written),
    dated as (update conversations set message_count = message_count + inserted, updated_at = now(),
      last_message_at = greatest(last_message_at, latest) from counts where organization_id = $1 and id = $2)
    select json_build_object('inserted', inserted, 'updated', updated)::text as body from counts`;
  return run(text, [org, id, JSON.stringify(messages)]);
}

async function attachments({ org, id }: Call): Promise<Row | undefined> {
  const text = `select (select coalesce(json_agg(item), '[]') from (
      select ${select(QuoteAttachment.omit({ url: true }), 'a')} from quote_attachments a where a.organization_id = q.organization_id and quote_id = q.id
      order by created_at, id) item)::text as body
    from quotes q where organization_id = $1 and id = $2 and archived_at is null`;
  const found = await run(text, [org, id]);
  const signed = JSON.parse(found?.body ?? '[]').map((file: { id: string }) => {
    const link = `${org}/${file.id}/${Date.now() + 300_000}`;
    const signature = createHmac('sha256', 'a secret').update(link).digest('base64url');
    return { ...file, url: `http://localhost/files/${link}/${signature}` };
  });
  return found && { body: JSON.stringify({ data: signed }) };
}

/** A key that was found stays cached. */
const REMEMBERED_MS = 60_000;
const known = new Map<string, { org: string; until: number }>();

async function organizationOf(authorization = ''): Promise<string | undefined> {
  const token = /^bearer (\S+)$/i.exec(authorization)?.[1] ?? '';
  const remembered = known.get(token);
  if (remembered && remembered.until > Date.now()) return remembered.org;
  const text = `select organization_id as body from api_keys
    where hash = $1 and revoked_at is null and (expires_at is null or expires_at > now())`;
  const org = (await run(text, [hash('sha256', token, 'buffer')]))?.body;
  if (org !== undefined) known.set(token, { org, until: Date.now() + REMEMBERED_MS });
  return org;
}

const app = fastify({
  bodyLimit: 4_194_304,
  disableRequestLogging: true,
  loggerInstance: pino(pino.destination({ minLength: 4_096, sync: false })),
});

app.addHook('onResponse', async ({ log, method, url }, { statusCode, elapsedTime }) => {
  log.info({ method, url, statusCode, elapsedTime }, 'request completed');
});

app.setErrorHandler((error: FastifyError, { log }, reply) => {
  const status = error instanceof ZodError ? 400 : error.code === '23505' ? 409 : (error.statusCode ?? 500);
  if (status === 500) log.error(error);
  const message = status === 500 ? 'Internal error' : error.message;
  return reply.code(status).send({ error: { code: error.code, message } });
});

const ROUTES: Record<string, (call: Call) => Promise<Row | undefined>> = {
  'GET /v1/customers': (call) => page(customers, call),
  'GET /v1/catalog/products': (call) => page(products, call),
  'GET /v1/conversations': (call) => page(conversations, call),
  'GET /dashboard/conversations': (call) => page(inbox, call),
  'GET /v1/quotes': (call) => page(quotes, call),
  'GET /v1/opportunities': (call) => page(opportunities, call),
  'GET /v1/conversations/:id/messages': transcript,
  'GET /v1/quotes/:id/attachments': attachments,
  'GET /v1/customers/:id': (call) => get(customers, call),
  'GET /v1/catalog/products/:id': (call) => get(products, call),
  'POST /v1/customers': createCustomer,
  'POST /v1/catalog/products': createProduct,
  'PATCH /v1/customers/:id': update,
  'DELETE /v1/customers/:id': archive,
  'PUT /dashboard/conversations/:id': putConversation,
  'POST /dashboard/conversations/:id/messages': putMessages,
};

for (const [route, handle] of Object.entries(ROUTES)) {
  const [method = '', url = ''] = route.split(' ');
  app.route<{ Params: { id: string } }>({
    ...{ method, url },
    handler: async ({ params: { id }, query, body, headers }, reply) => {
      const org = await organizationOf(headers.authorization);
      if (org === undefined) throw Object.assign(new Error('Unauthorized'), { statusCode: 401 });
      const row = await handle({ org, id, query, body, key: headers['idempotency-key']?.toString() });
      if (!row) throw Object.assign(new Error('Not found'), { statusCode: 404 });
      const status = row.created ? 201 : 200;
      return reply.code(status).type('application/json; charset=utf-8').send(row.body);
    },
  });
}

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
