import { type SQL, sql } from 'drizzle-orm';
import { validationFailed } from '../contract/errors.ts';
import { inTransaction, type OrganizationScope } from '../db/pool/scope.ts';
import type { Put } from '../db/repository/put.ts';
import { missing, type RecordKey, rowOf, tableName } from '../db/repository/view.ts';
import { type Columns, columnsOf, fieldsOf } from '../db/sql/field-columns.ts';
import { isId } from '../db/sql/ids.ts';
import { type Json, jsonRow, selectList } from '../db/sql/json.ts';
import { columnList, rowValues, valueList } from '../db/sql/row.ts';
import { type Params, prepared } from '../db/sql/statement.ts';
import {
  channelMessages,
  conversations,
  newestThreads,
  threads,
  whatsappMessages,
} from '../db/tables/index.ts';
import { holdChainsStatement } from './chains.repository.ts';
import {
  ConversationMessage,
  ConversationMessageImport,
  type ConversationMessagePut,
  type ImportedMessages,
} from './schema.ts';

/** Messages. The channel of their conversation decides in which of two stores they are kept. */

/** One message: its fields, and what its provider reports. */
type MessageValues = {
  organizationId: string;
  conversationId: string;
  id: string;
  createdAt: string | null;
} & Record<string, unknown>;

type MessageTable = typeof whatsappMessages | typeof channelMessages;

/** The statements of one message store. `delivery` are the columns for what the provider reports. */
function defineStore<Delivery extends string>(table: MessageTable, delivery: Columns<Delivery>) {
  const message = columnsOf(ConversationMessageImport.omit({ delivery: true }), table);
  const columns: Columns = { ...message, ...delivery };
  const { createdAt, ...others } = message;
  const replaced: Columns = { ...others, ...delivery };
  const name = tableName({ table });
  const ofConversation = ($: Params<{ organizationId: string; conversationId: string }>): SQL =>
    sql`${table.organizationId} = ${$.organizationId} and ${table.conversationId} = ${$.conversationId}`;
  const sent = valueList(replaced);

  return {
    columns,
    delivery: delivery as Columns,

    stored: prepared(
      `${name}.stored`,
      ($: Params<{ organizationId: string; conversationId: string; ids: string[] }>) =>
        sql<{
          id: string;
        }>`select ${table.id} from ${table} where ${ofConversation($)} and ${table.id} = any(${$.ids}::uuid[])`,
    ),

    /** A message without `createdAt` gets the present moment. */
    insert: prepared(
      `${name}.insert`,
      ($: Params<MessageValues>) => sql`
        insert into ${table} (organization_id, conversation_id, ${columnList(replaced)}, created_at)
        values (${$.organizationId}, ${$.conversationId}, ${sent}, coalesce(${$.createdAt}::timestamptz, now()))`,
    ),

    /** A message without `createdAt` keeps the one it has. Only a row that differs is written. */
    update: prepared(
      `${name}.update`,
      ($: Params<MessageValues>) => sql`
        update ${table} set (${columnList(replaced)}, created_at)
          = row(${sent}, coalesce(${$.createdAt}::timestamptz, ${createdAt}))
        where ${ofConversation($)} and ${table.id} = ${$.id}
          and row(${sql.join(Object.values(replaced), sql`, `)}, ${createdAt})
            is distinct from row(${sent}, coalesce(${$.createdAt}::timestamptz, ${createdAt}))`,
    ),

    /** The thread counts its messages. It and the newest thread of its chain show when the latest came. */
    count: prepared(
      `${name}.count`,
      (
        $: Params<{
          organizationId: string;
          conversationId: string;
          chainId: string;
          inserted: number;
          ids: string[];
        }>,
      ) => sql`
        update ${conversations} set
          message_count = ${conversations.messageCount}
            + case when ${conversations.id} = ${$.conversationId} then ${$.inserted}::integer else 0 end,
          last_message_at = greatest(${conversations.lastMessageAt}, (
            select max(${createdAt}) from ${table} where ${ofConversation($)} and ${table.id} = any(${$.ids}::uuid[])))
        where ${conversations.organizationId} = ${$.organizationId} and (${conversations.id} = ${$.conversationId}
          or (${conversations.chainId} = ${$.chainId} and ${newestThreads.visible}))`,
    ),

    get: prepared(
      `${name}.get`,
      ($: Params<RecordKey & { conversationId: string }>): SQL<{ body: Json<ConversationMessage> }> => sql`
        select ${jsonRow(fieldsOf(ConversationMessage, table))} as body from ${table}
        where ${ofConversation($)} and ${table.id} = ${$.id}`,
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

/** The delivery fields of a message that its store has no column for. */
const misplaced = (store: Store, { delivery }: ConversationMessagePut, path: string) =>
  Object.entries(delivery ?? {})
    .filter(([field, value]) => value !== undefined && value !== null && !(field in store.delivery))
    .map(([field]) => ({
      path: `${path}.delivery.${field}`,
      message: "is not kept for this conversation's channel",
    }));

/** The conversation of the messages. */
type Thread = { id: string; channel: string; chainId: string };

const lockStatement = prepared(
  'conversations.lock_channel',
  ($: Params<RecordKey>): SQL<Thread> => sql`
    select ${selectList({ id: conversations.id, channel: conversations.channel, chainId: conversations.chainId })}
    from ${conversations} where ${rowOf(threads, $)} for no key update`,
);

/** Inserts the new messages, and updates the stored ones. */
async function writeMessages(
  { db, organizationId }: OrganizationScope,
  { id: conversationId, chainId }: Thread,
  store: Store,
  messages: readonly ConversationMessageImport[],
): Promise<ImportedMessages> {
  const key = { organizationId, conversationId };
  const ids = messages.map(({ id }) => id.toLowerCase());
  const stored = new Set((await db.read(store.stored, { ...key, ids })).map(({ id }) => id));
  await Promise.all(
    messages.map(({ delivery, ...message }) =>
      db.write(stored.has(message.id.toLowerCase()) ? store.update : store.insert, {
        ...rowValues(store.columns, { ...message, ...delivery }),
        ...key,
      } as unknown as MessageValues),
    ),
  );
  const inserted = messages.length - stored.size;
  await db.write(store.count, { ...key, chainId, inserted, ids });
  return { inserted, updated: stored.size };
}

/**
 * Locks the conversation, and runs `work` on its message store.
 * @throws CONVERSATION_NOT_FOUND, VALIDATION_FAILED naming delivery fields of the other store
 */
const underLock = <Result>(
  scope: OrganizationScope,
  id: string,
  messages: readonly { path: string; message: ConversationMessagePut }[],
  work: (scope: OrganizationScope, store: Store, thread: Thread) => Promise<Result>,
): Promise<Result> =>
  inTransaction(scope, async (within) => {
    if (!isId(id)) throw missing(threads, id);
    const { organizationId } = within;
    await within.db.read(holdChainsStatement, { organizationId });
    const [thread] = await within.db.write(lockStatement, { organizationId, id });
    if (!thread) throw missing(threads, id);
    const store = thread.channel === 'whatsapp' ? stores.whatsapp : stores.others;
    const faults = messages.flatMap(({ message, path }) => misplaced(store, message, path));
    if (faults.length > 0) throw validationFailed(faults);
    return work(within, store, thread);
  });

/**
 * Creates the messages, or replaces those that are there, all or none.
 * @throws CONVERSATION_NOT_FOUND, VALIDATION_FAILED naming delivery fields of the other store
 */
export const putMessages = (
  scope: OrganizationScope,
  conversationId: string,
  messages: readonly ConversationMessageImport[],
): Promise<ImportedMessages> =>
  underLock(
    scope,
    conversationId,
    messages.map((message, index) => ({ message, path: `body.data[${index}]` })),
    (within, store, thread) => writeMessages(within, thread, store, messages),
  );

/**
 * Creates the message, or replaces it.
 * @throws CONVERSATION_NOT_FOUND, VALIDATION_FAILED naming delivery fields of the other store
 */
export const putMessage = (
  scope: OrganizationScope,
  conversationId: string,
  id: string,
  input: ConversationMessagePut,
): Promise<Put<ConversationMessage>> =>
  underLock(scope, conversationId, [{ message: input, path: 'body' }], async (within, store, thread) => {
    const { inserted } = await writeMessages(within, thread, store, [{ ...input, id }]);
    const { organizationId } = within;
    const [row] = await within.db.read(store.get, { organizationId, conversationId, id });
    if (!row) throw new Error('A message was written and is not there.');
    return { created: inserted === 1, body: row.body };
  });

/**
 * Reads the message under the lock of its conversation; undefined when there is none.
 * @throws CONVERSATION_NOT_FOUND
 */
export const lockMessage = (
  scope: OrganizationScope,
  conversationId: string,
  id: string,
): Promise<Json<ConversationMessage> | undefined> =>
  underLock(scope, conversationId, [], async ({ db, organizationId }, store) => {
    const [row] = await db.read(store.get, { organizationId, conversationId, id });
    return row?.body;
  });
