import { and, eq, getTableName, or, type SQL, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import { ApiError, invalid, validationFailed } from '../contract/errors.ts';
import { name } from '../contract/fields.ts';
import {
  as,
  body,
  type Columns,
  channelMessages,
  columnList,
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
  newestThreads,
  type OrganizationScope,
  ofOrganization,
  type Params,
  type Put,
  parseJson,
  prepared,
  qb,
  type RecordKey,
  recordNotFound,
  sentRows,
  threads,
  whatsappMessages,
} from '../db/index.ts';
import { dateChainStatement, holdChainsStatement } from './chains.repository.ts';
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
type ThreadKey = { organizationId: string; conversationId: string };

const qualified = (columns: Columns, scope: string): SQL =>
  sql.join(
    Object.values(columns).map(({ name }) => sql`${sql.identifier(scope)}.${sql.identifier(name)}`),
    sql`, `,
  );

/** `delivery`: the columns for what the provider reports. */
function defineStore(table: MessageTable, delivery: Columns) {
  const sent: Columns = {
    ...columnsOf(ConversationMessageImport.omit({ delivery: true }), table),
    ...delivery,
  };
  const { id: _id, createdAt: _createdAt, ...others } = sent;
  const inserted: Columns = { ...others, createdAt: table.createdAt };
  const shown = Object.fromEntries(Object.entries(inserted).filter(([field]) => !(field in delivery)));
  const name = getTableName(table);
  const ofThread = ($: Params<ThreadKey>) =>
    and(ofOrganization(table, $), eq(table.conversationId, $.conversationId));
  const fieldNames = Object.keys(ConversationMessageRecord.shape.delivery.shape);
  const fields = fieldsOf(ConversationMessageRecord, table, {
    delivery: jsonRow(
      Object.fromEntries(fieldNames.map((field) => [field, delivery[field] ?? sql`null::text`])),
    ),
  });

  return {
    table,
    delivery,
    fields,

    /**
     * Inserts new messages in order, and updates those that differ in what a transcript shows; returns only
     * these. PostgreSQL sets `xmax` of a row that `on conflict` updates. Without `createdAt`, a message keeps its timestamp, or gets
     * now. `arrival` is in nanoseconds: the lock of the chain orders statements, and positions add less than a
     * microsecond.
     */
    write: prepared(
      `${name}.write`,
      ($: Params<ThreadKey & { messages: string }>) => sql<{ isNew: boolean }>`
        insert into ${table} (organization_id, conversation_id, id, arrival, ${columnList(inserted)})
        select ${$.organizationId}::uuid, ${$.conversationId}::uuid, sent.id,
          extract(epoch from statement_timestamp()) * 1e9 + sent.place, ${qualified(others, 'sent')},
          coalesce(sent.created_at, (select ${table.createdAt} from ${table} where ${ofThread($)} and ${table.id} = sent.id), now())
        from ${sentRows(sent, $.messages)} order by sent.place
        on conflict (organization_id, conversation_id, id) do update
          set (${columnList(shown)}) = row(${qualified(shown, 'excluded')})
          where row(${qualified(shown, name)}) is distinct from row(${qualified(shown, 'excluded')})
        returning xmax = 0 as "isNew"`,
    ),

    /** Replaces what the provider reports of messages that were there. */
    deliver: prepared(
      `${name}.deliver`,
      ($: Params<ThreadKey & { messages: string }>) => sql`
        update ${table} set (${columnList(delivery)}) = row(${qualified(delivery, 'sent')})
        from ${sentRows(sent, $.messages)}
        where ${ofThread($)} and ${table.id} = sent.id
          and row(${qualified(delivery, name)}) is distinct from row(${qualified(delivery, 'sent')})`,
    ),

    get: prepared(`${name}.get`, ($: Params<RecordKey & ThreadKey>) =>
      qb
        .select(body(fields))
        .from(table as PgTable)
        .where(and(ofThread($), eq(table.id, $.id))),
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
type Store = (typeof stores)[keyof typeof stores];

/** Delivery fields that the store has no column for. */
const misplaced = (store: Store, { delivery }: ConversationMessagePut, path: string) =>
  Object.entries(delivery ?? {})
    .filter(([field, value]) => value != null && !(field in store.delivery))
    .map(([field]) => ({
      path: `${path}.delivery.${field}`,
      message: "is not kept for this conversation's channel",
    }));

const chainIdOf = ($: Params<RecordKey>) =>
  qb
    .select(as({ chainId: conversations.chainId }))
    .from(conversations)
    .where(keyIs(conversations, $));

type Thread = { id: string; channel: string; chainId: string };

/** The thread and the newest one of its chain, which has the timestamp of the latest message. */
const lockThreadStatement = prepared('conversations.lock_to_write_messages', ($: Params<RecordKey>) => {
  const { id, channel, chainId } = conversations;
  return qb
    .select(as({ id, channel, chainId }))
    .from(conversations)
    .where(
      and(
        ofOrganization(conversations, $),
        eq(chainId, chainIdOf($)),
        or(eq(id, $.id), newestThreads.visible),
      ),
    )
    .orderBy(id)
    .for('no key update');
});

/** @param pathOfMessage the path of a message in the request, by its index */
async function writeMessages(
  scope: OrganizationScope,
  { id, chainId }: Thread,
  store: Store,
  sent: readonly ConversationMessageImport[],
  pathOfMessage: (index: number) => string,
): Promise<ImportedMessages> {
  const { db, organizationId } = scope;
  const errors = sent.flatMap((message, index) => misplaced(store, message, pathOfMessage(index)));
  if (errors.length > 0) throw validationFailed(errors);
  const messages = JSON.stringify(sent.map(({ delivery, ...message }) => ({ ...message, ...delivery })));
  const values = { organizationId, conversationId: id, messages };
  const written = await db.write(store.write, values);
  const inserted = written.filter(({ isNew }) => isNew).length;
  if (inserted < sent.length) await db.write(store.deliver, values);
  if (written.length > 0) await db.write(dateChainStatement, { organizationId, id, chainId, inserted });
  return { inserted, updated: sent.length - inserted };
}

/** Locks the conversation, and runs `work` on its message store. */
const underLock = <Result>(
  scope: OrganizationScope,
  id: string,
  work: (scope: OrganizationScope, store: Store, thread: Thread) => Promise<Result>,
): Promise<Result> =>
  inTransaction(scope, async (within) => {
    if (!isId(id)) throw recordNotFound(threads, id);
    const { organizationId } = within;
    const [, locked] = await Promise.all([
      within.db.read(holdChainsStatement, { organizationId }),
      within.db.write(lockThreadStatement, { organizationId, id }),
    ]);
    const thread = locked.find((each) => each.id === id.toLowerCase());
    if (!thread) throw recordNotFound(threads, id);
    return work(within, thread.channel === 'whatsapp' ? stores.whatsapp : stores.others, thread);
  });

/**
 * Creates or replaces messages, all or none.
 * @throws CONVERSATION_NOT_FOUND, VALIDATION_FAILED naming delivery fields of the other store
 */
export const putMessages = (
  scope: OrganizationScope,
  conversationId: string,
  messages: readonly ConversationMessageImport[],
): Promise<ImportedMessages> =>
  underLock(scope, conversationId, (within, store, thread) =>
    writeMessages(within, thread, store, messages, (index) => `body.data[${index}]`),
  );

/** @throws MESSAGE_NOT_FOUND */
async function messageIn(
  { db, organizationId }: OrganizationScope,
  store: Store,
  conversationId: string,
  id: string,
): Promise<Json<ConversationMessageRecord>> {
  const [row] = await db.read(store.get, { organizationId, conversationId, id });
  if (!row) throw new ApiError('MESSAGE_NOT_FOUND', { id });
  return row.body;
}

/** @throws the errors of `putMessages` */
export const putMessage = (
  scope: OrganizationScope,
  conversationId: string,
  id: string,
  input: ConversationMessagePut,
): Promise<Put<ConversationMessageRecord>> =>
  underLock(scope, conversationId, async (within, store, thread) => {
    const { inserted } = await writeMessages(within, thread, store, [{ ...input, id }], () => 'body');
    return { created: inserted === 1, body: await messageIn(within, store, conversationId, id) };
  });

/**
 * Changes the fields of the body, also single ones of `delivery`.
 * @throws MESSAGE_NOT_FOUND, and the errors of `putMessages`
 */
export const updateMessage = (
  scope: OrganizationScope,
  conversationId: string,
  id: string,
  { delivery, ...input }: ConversationMessageUpdate,
): Promise<Json<ConversationMessageRecord>> =>
  underLock(scope, conversationId, async (within, store, thread) => {
    const stored = parseJson(await messageIn(within, store, conversationId, id));
    const whole = { ...stored, ...(input as Partial<ConversationMessagePut>) };
    const delivered = delivery === null ? null : { ...stored.delivery, ...delivery };
    await writeMessages(within, thread, store, [{ ...whole, delivery: delivered }], () => 'body');
    return messageIn(within, store, conversationId, id);
  });

type Reported = { organizationId: string; providerMessageId: string };

const isReported = ($: Params<Reported>): SQL =>
  sql`${ofOrganization(whatsappMessages, $)} and ${whatsappMessages.providerMessageId} = ${$.providerMessageId}`;

const { deliveryStatus, deliveryStatusAt } = whatsappMessages;

/** A report that is older than the stored one, or that was there, changes nothing. */
const reportStatement = prepared(
  'whatsapp_messages.report',
  ($: Params<Reported & { status: string; statusAt: string }>) => sql`
    update ${whatsappMessages} set delivery_status = ${$.status}, delivery_status_at = ${$.statusAt}::timestamptz
    where ${isReported($)} and (${deliveryStatusAt} is null or ${deliveryStatusAt} <= ${$.statusAt}::timestamptz)
      and row(${deliveryStatus}, ${deliveryStatusAt}) is distinct from row(${$.status}::text, ${$.statusAt}::timestamptz(3))`,
);

const reportedStatement = prepared(
  'whatsapp_messages.reported',
  ($: Params<Reported>): SQL<{ body: Json<ConversationMessageRecord> }> => sql`
    select ${jsonRow(stores.whatsapp.fields)} as body from ${whatsappMessages} where ${isReported($)}
    order by ${whatsappMessages.createdAt} desc, ${whatsappMessages.arrival} desc limit 1 for no key update`,
);

/**
 * Reads, and in a transaction locks, the message that the provider calls so: a status webhook knows no other id.
 * @throws MESSAGE_NOT_FOUND
 */
export async function lockReported(
  { db, organizationId }: OrganizationScope,
  providerMessageId: string,
): Promise<Json<ConversationMessageRecord>> {
  const isText = name().safeParse(providerMessageId).success;
  const [row] = isText ? await db.write(reportedStatement, { organizationId, providerMessageId }) : [];
  if (!row) throw new ApiError('MESSAGE_NOT_FOUND', { id: providerMessageId });
  return row.body;
}

/** @throws MESSAGE_NOT_FOUND */
export async function reportDelivery(
  scope: OrganizationScope,
  providerMessageId: string,
  { status, statusAt = new Date().toISOString() }: DeliveryReport,
): Promise<Json<ConversationMessageRecord>> {
  const { db, organizationId } = scope;
  if (status !== undefined && name().safeParse(providerMessageId).success)
    await db.write(reportStatement, { organizationId, providerMessageId, status, statusAt });
  return lockReported(scope, providerMessageId);
}

/**
 * Reads the message under the lock of its conversation; undefined if there is none.
 * @throws CONVERSATION_NOT_FOUND
 */
export const lockMessage = (
  scope: OrganizationScope,
  conversationId: string,
  id: string,
): Promise<Json<ConversationMessageRecord> | undefined> =>
  underLock(scope, conversationId, async ({ db, organizationId }, store) => {
    const [row] = await db.read(store.get, { organizationId, conversationId, id });
    return row?.body;
  });

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
  where ${ofOrganization(conversations, $)} and ${conversations.chainId} = ${chainIdOf($)}`;

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
