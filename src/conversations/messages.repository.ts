import { and, eq, getTableName, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import { ApiError, type FieldError, invalid, validationFailed } from '../contract/errors.ts';
import { name } from '../contract/fields.ts';
import {
  as,
  body,
  type Columns,
  channelMessages,
  columnsOf,
  conversations,
  type Fields,
  fieldsOf,
  inTransaction,
  isId,
  isoTime,
  type Json,
  jsonOf,
  jsonRow,
  keyIs,
  type OrganizationScope,
  ofOrganization,
  type Params,
  type Put,
  parseJson,
  prepared,
  qb,
  type RecordKey,
  recordNotFound,
  threads,
  whatsappMessages,
} from '../db/index.ts';
import { lockChainStatement } from './chains.repository.ts';
import {
  type ConversationMessage,
  ConversationMessageImport,
  type ConversationMessagePut,
  ConversationMessageRecord,
  type ConversationMessageUpdate,
  type ConversationTranscriptQuery,
  type DeliveryReport,
  type ImportedMessages,
} from './schema.ts';

/** Messages have two stores; the channel of the conversation decides which one. */

type MessageTable = typeof whatsappMessages | typeof channelMessages;
type MessageKey = RecordKey & { conversationId: string };

/** `delivery`: the columns for what the provider reports. */
function defineStore(table: MessageTable, delivery: Columns) {
  const reported = Object.keys(ConversationMessageRecord.shape.delivery.shape).map((field) => [
    field,
    delivery[field] ?? sql`null::text`,
  ]);
  const fields = fieldsOf(ConversationMessageRecord, table, {
    delivery: jsonRow(Object.fromEntries(reported)),
  });
  return {
    table,
    delivery,
    fields,
    get: prepared(`${getTableName(table)}.get`, ($: Params<MessageKey>) =>
      qb
        .select(body(fields))
        .from(table as PgTable)
        .where(and(keyIs(table, $), eq(table.conversationId, $.conversationId))),
    ),
  };
}

const stores = {
  whatsapp: defineStore(whatsappMessages, {
    providerMessageId: whatsappMessages.providerMessageId,
    status: whatsappMessages.deliveryStatus,
    statusAt: whatsappMessages.deliveryStatusAt,
    templateName: whatsappMessages.templateName,
  }),
  others: defineStore(channelMessages, {
    providerName: channelMessages.providerName,
    externalId: channelMessages.externalId,
    subject: channelMessages.subject,
  }),
};
type StoreName = keyof typeof stores;
const storeNames = Object.keys(stores) as StoreName[];

type Message = ConversationMessageImport;
/** The path of a message in the request, by its index. */
type PathOf = (index: number) => string;

/** Delivery fields that the store has no column for. */
const misplaced = (store: StoreName, messages: readonly Message[], pathOf: PathOf): FieldError[] =>
  messages.flatMap(({ delivery }, index) =>
    Object.entries(delivery ?? {})
      .filter(([field, value]) => value != null && !(field in stores[store].delivery))
      .map(([field]) => ({
        path: `${pathOf(index)}.delivery.${field}`,
        message: "is not kept for this conversation's channel",
      })),
  );

const columnNames = Object.fromEntries(
  Object.entries({
    ...columnsOf(ConversationMessageImport.omit({ delivery: true }), whatsappMessages),
    ...stores.whatsapp.delivery,
    ...stores.others.delivery,
  }).map(([field, { name }]) => [field, name]),
);

const toRow = ({ delivery, ...message }: Message): object =>
  Object.fromEntries(
    Object.entries({ ...message, ...delivery }).map(([field, value]) => [columnNames[field] ?? field, value]),
  );

type Writing = { organizationId: string; conversationId: string; messages: string; stores: StoreName[] };

const writeStatement = prepared(
  'conversations.write_messages',
  ($: Params<Writing>) => sql<{ store: StoreName | null; inserted: number | null }>`
    select store, inserted from write_messages(${$.organizationId}, ${$.conversationId}, ${$.messages}, ${$.stores})`,
);

/** @throws CONVERSATION_NOT_FOUND, VALIDATION_FAILED naming delivery fields of the other store */
async function writeMessages(
  { db, organizationId }: OrganizationScope,
  conversationId: string,
  messages: readonly Message[],
  pathOf: PathOf,
): Promise<{ store: StoreName; inserted: number }> {
  const [written] = await db.write(writeStatement, {
    organizationId,
    conversationId,
    messages: JSON.stringify(messages.map(toRow)),
    stores: storeNames.filter((store) => misplaced(store, messages, pathOf).length === 0),
  });
  if (!written?.store) throw recordNotFound(threads, conversationId);
  const { store, inserted } = written;
  if (inserted === null) throw validationFailed(misplaced(store, messages, pathOf));
  return { store, inserted };
}

/**
 * Creates or replaces messages, all or none.
 * @throws the errors of `writeMessages`
 */
export async function putMessages(
  scope: OrganizationScope,
  conversationId: string,
  messages: readonly Message[],
): Promise<ImportedMessages> {
  const { inserted } = await writeMessages(scope, conversationId, messages, (index) => `body.data[${index}]`);
  return { inserted, updated: messages.length - inserted };
}

const messageNotFound = (id: string) => new ApiError('MESSAGE_NOT_FOUND', { id });

/** @throws MESSAGE_NOT_FOUND */
async function getMessage(
  { db, organizationId }: OrganizationScope,
  store: StoreName,
  conversationId: string,
  id: string,
): Promise<Json<ConversationMessageRecord>> {
  const [row] = await db.read(stores[store].get, { organizationId, conversationId, id });
  if (!row) throw messageNotFound(id);
  return row.body;
}

/** @throws the errors of `writeMessages` */
export async function putMessage(
  scope: OrganizationScope,
  conversationId: string,
  id: string,
  input: ConversationMessagePut,
): Promise<Put<ConversationMessageRecord>> {
  const { store, inserted } = await writeMessages(scope, conversationId, [{ ...input, id }], () => 'body');
  return { created: inserted === 1, body: await getMessage(scope, store, conversationId, id) };
}

const lockThreadStatement = prepared('conversations.lock_thread', ($: Params<RecordKey>) =>
  qb
    .select(as({ channel: conversations.channel }))
    .from(conversations)
    .where(keyIs(conversations, $))
    .for('no key update'),
);

/**
 * Locks the chain and the conversation.
 * @throws CONVERSATION_NOT_FOUND
 */
async function lockStore({ db, organizationId }: OrganizationScope, id: string): Promise<StoreName> {
  await db.write(lockChainStatement, { organizationId, id });
  const [thread] = await db.write(lockThreadStatement, { organizationId, id });
  if (!thread) throw recordNotFound(threads, id);
  return thread.channel === 'whatsapp' ? 'whatsapp' : 'others';
}

/**
 * Reads the message under the lock of its conversation.
 * @throws CONVERSATION_NOT_FOUND, MESSAGE_NOT_FOUND
 */
export const lockMessage = async (
  scope: OrganizationScope,
  conversationId: string,
  id: string,
): Promise<Json<ConversationMessageRecord>> =>
  getMessage(scope, await lockStore(scope, conversationId), conversationId, id);

/**
 * Changes the fields of the body, also single ones of `delivery`.
 * @throws MESSAGE_NOT_FOUND, and the errors of `writeMessages`
 */
export const updateMessage = (
  scope: OrganizationScope,
  conversationId: string,
  id: string,
  { delivery, ...input }: ConversationMessageUpdate,
): Promise<Json<ConversationMessageRecord>> =>
  inTransaction(scope, async (within) => {
    const stored = parseJson(await lockMessage(within, conversationId, id));
    const whole = { ...stored, ...(input as Partial<ConversationMessagePut>) };
    const delivered = delivery === null ? null : { ...stored.delivery, ...delivery };
    const message = { ...whole, delivery: delivered };
    const { store } = await writeMessages(within, conversationId, [message], () => 'body');
    return getMessage(within, store, conversationId, id);
  });

type Reported = { organizationId: string; providerMessageId: string };
type Report = Reported & { status: string; statusAt: string | null };

/** The messages with this provider id, locked in the order of an import. */
const reported = ($: Params<Reported>): SQL => sql`
  select * from ${whatsappMessages}
  where ${ofOrganization(whatsappMessages, $)} and ${whatsappMessages.providerMessageId} = ${$.providerMessageId}
  order by ${whatsappMessages.conversationId}, ${whatsappMessages.id} for no key update`;

/** From the first to the last; an unknown status is further. */
const STATUSES = sql.raw(`'{queued,sent,delivered,read,played,failed}'::text[]`);

const rank = (status: SQLWrapper): SQL => sql`coalesce(array_position(${STATUSES}, ${status}), 7), ${status}`;

const { conversationId, deliveryStatus, deliveryStatusAt, deliveryAssumedAt } = whatsappMessages;

/** A report without a timestamp comes before those with one; of one timestamp the further status counts. So reports have no order. */
const reportStatement = prepared(
  'whatsapp_messages.report',
  ($: Params<Report>) => sql<never>`
    with reported as materialized (${reported($)})
    update ${whatsappMessages} set delivery_status = ${$.status}, delivery_status_at = coalesce(${$.statusAt}::timestamptz, now()),
      delivery_assumed_at = case when ${$.statusAt}::timestamptz is null then now() end
    from reported
    where ${ofOrganization(whatsappMessages, $)} and ${conversationId} = reported.conversation_id
      and ${whatsappMessages.id} = reported.id
      and (${deliveryStatus} is null or row(
        case when ${deliveryStatusAt} is distinct from ${deliveryAssumedAt} then ${deliveryStatusAt} else '-infinity' end,
        ${rank(deliveryStatus)}) < row(coalesce(${$.statusAt}::timestamptz(3), '-infinity'), ${rank(sql`${$.status}::text`)}))`,
);

const reportedStatement = prepared(
  'whatsapp_messages.reported',
  ($: Params<Reported>): SQL<{ body: Json<ConversationMessageRecord> }> => sql`
    select ${jsonRow(stores.whatsapp.fields)} as body from (${reported($)}) as ${whatsappMessages}
    order by ${whatsappMessages.createdAt} desc, ${whatsappMessages.arrival} desc limit 1`,
);

/**
 * Reads, and in a transaction locks, the message with this provider id: a status webhook knows no other id.
 * @throws MESSAGE_NOT_FOUND
 */
export async function lockReported(
  { db, organizationId }: OrganizationScope,
  providerMessageId: string,
): Promise<Json<ConversationMessageRecord>> {
  const isText = name().safeParse(providerMessageId).success;
  const [row] = isText ? await db.write(reportedStatement, { organizationId, providerMessageId }) : [];
  if (!row) throw messageNotFound(providerMessageId);
  return row.body;
}

/** @throws MESSAGE_NOT_FOUND */
export async function reportDelivery(
  scope: OrganizationScope,
  providerMessageId: string,
  { status, statusAt }: DeliveryReport,
): Promise<Json<ConversationMessageRecord>> {
  const { db, organizationId } = scope;
  if (status !== undefined && name().safeParse(providerMessageId).success)
    await db.write(reportStatement, {
      organizationId,
      providerMessageId,
      status,
      statusAt: statusAt ?? null,
    });
  return lockReported(scope, providerMessageId);
}

/** A position in a transcript. */
type Position = { createdAt: string; arrival: string };

/** For rows named `message` from either store. */
const messageFields: Fields<ConversationMessage> = {
  id: sql`message.id`,
  conversationId: sql`message.conversation_id`,
  content: sql`message.content`,
  createdAt: isoTime(sql`message.created_at`),
  direction: sql`message.direction`,
  messageType: sql`message.message_type`,
  senderName: sql`message.sender_name`,
};

export const messageRecordFields: Fields<ConversationMessageRecord> = {
  ...messageFields,
  delivery: sql`message.delivery`,
};

/** Chosen messages of both stores, as rows for `fields`. */
export const fromStores = (fields: object, choose: (table: MessageTable) => SQL): SQL =>
  sql.join(
    Object.values(stores).map(
      ({ table, fields: { delivery } }) => sql`(
        select ${table.id}, ${table.conversationId}, ${table.content}, ${table.createdAt}, ${table.direction},
          ${table.messageType}, ${table.senderName}, ${table.arrival} ${'delivery' in fields ? sql`, ${delivery} as delivery` : sql``}
        from ${table} where ${ofOrganization(table)} and ${choose(table)})`,
    ),
    sql` union all `,
  );

const chainOf = ($: Params<RecordKey>): SQL => sql`
  select ${conversations.id}, ${conversations.messageCount} from ${conversations}
  where ${ofOrganization(conversations, $)} and ${conversations.chainId} = (
    select ${conversations.chainId} from ${conversations} where ${keyIs(conversations, $)})`;

type TranscriptValues = RecordKey & Position & { limit: number };

/** Which side of a position, and the order of the messages from there. */
const BEFORE = { side: sql`<`, order: sql`desc nulls last` };
const AFTER = { side: sql`>`, order: sql`asc nulls first` };

/** The transcript index of a store finds the nearest messages of each thread. */
const transcript = (fields: Fields<unknown>, { side, order }: typeof BEFORE, $: Params<TranscriptValues>) =>
  sql<{ body: string }>`with
    threads as materialized (${chainOf($)}),
    nearest as (
      select message.* from threads cross join lateral (${fromStores(
        fields,
        ({ conversationId, createdAt, arrival }) => sql`${conversationId} = threads.id
          and (${createdAt}, ${arrival}) ${side} (${$.createdAt}::timestamptz, ${$.arrival}::bigint)
          order by ${createdAt} ${order}, ${arrival} ${order} limit ${$.limit}`,
      )}) message
      order by message.created_at ${order}, message.arrival ${order}
      limit ${$.limit})
    select concat('{"data":[', (
      select string_agg(${jsonRow(fields)}::text, ',' order by message.created_at, message.arrival) from nearest message),
      '],"total":', sum(threads.message_count), '}') as body
    from threads having count(*) > 0`;

/**
 * No row: no such conversation. Null: the message is not in its transcript. Threads can have messages with
 * the same id.
 */
const positionStatement = prepared(
  'conversations.position_of_message',
  ($: Params<RecordKey & { messageId: string }>): SQL<Position | { createdAt: null }> => sql`
    with threads as materialized (${chainOf($)})
    select ${isoTime(sql`message.created_at`)} as "createdAt", message.arrival
    from threads left join (${fromStores(
      messageFields,
      ({ id, conversationId }) =>
        sql`${id} = ${$.messageId} and ${conversationId} in (select threads.id from threads)`,
    )}) message on true
    order by message.created_at desc nulls last, message.arrival desc limit 1`,
);

const MAX_BIGINT = String(2n ** 63n - 1n);

/** The position that `before` or `after` names: a message, a timestamp, or the end. */
async function positionOf(
  { db, organizationId }: OrganizationScope,
  id: string,
  { before = 'infinity', after }: ConversationTranscriptQuery,
): Promise<Position> {
  const sent = after ?? before;
  if (!isId(sent)) return { createdAt: sent, arrival: after === undefined ? '0' : MAX_BIGINT };
  const [position] = await db.read(positionStatement, { organizationId, id, messageId: sent });
  if (!position) throw recordNotFound(threads, id);
  if (position.createdAt !== null) return position;
  const path = after === undefined ? 'query.before' : 'query.after';
  throw invalid(path, 'is not the id of a message in this transcript');
}

/** The function reads the newest messages of a chain, or those beside a position, oldest first. It takes any thread of the chain. */
function defineTranscript<Message extends ConversationMessage>(name: string, fields: Fields<Message>) {
  const before = prepared(name, ($: Params<TranscriptValues>) => transcript(fields, BEFORE, $));
  const after = prepared(`${name}_after`, ($: Params<TranscriptValues>) => transcript(fields, AFTER, $));
  return async (
    scope: OrganizationScope,
    id: string,
    query: ConversationTranscriptQuery,
  ): Promise<Json<{ data: Message[]; total: number }>> => {
    const { db, organizationId } = scope;
    if (!isId(id)) throw recordNotFound(threads, id);
    const position = await positionOf(scope, id, query);
    const statement = query.after === undefined ? before : after;
    const [row] = await db.read(statement, { organizationId, id, limit: query.limit, ...position });
    if (!row) throw recordNotFound(threads, id);
    return jsonOf(row.body);
  };
}

/** @throws CONVERSATION_NOT_FOUND, VALIDATION_FAILED for a message of another transcript */
export const getTranscript = defineTranscript('conversations.transcript', messageFields);

/** The same with `delivery`. */
export const getTranscriptRecord = defineTranscript('conversations.transcript_record', messageRecordFields);
