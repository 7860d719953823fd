import { type SQL, sql } from 'drizzle-orm';
import { validationFailed } from '../contract/errors.ts';
import { inTransaction, type OrganizationScope } from '../db/pool/scope.ts';
import type { Put } from '../db/repository/put.ts';
import { missing, type RecordKey, rowOf, tableName } from '../db/repository/view.ts';
import { type Columns, columnsOf, fieldsOf } from '../db/sql/field-columns.ts';
import { isId } from '../db/sql/ids.ts';
import { type Json, jsonRow, selectList } from '../db/sql/json.ts';
import { columnList, sentRows } from '../db/sql/row.ts';
import { type Params, prepared } from '../db/sql/statement.ts';
import {
  channelMessages,
  conversations,
  newestThreads,
  threads,
  whatsappMessages,
} from '../db/tables/index.ts';
import { dateChainStatement, holdChainsStatement } from './chains.repository.ts';
import {
  ConversationMessage,
  ConversationMessageImport,
  type ConversationMessagePut,
  type ImportedMessages,
} from './schema.ts';

/** Messages. The channel of their conversation decides in which of two stores they are kept. */

type MessageTable = typeof whatsappMessages | typeof channelMessages;

type Messages = { organizationId: string; conversationId: string; messages: string };

const columnNames = (columns: Columns, scope: string): SQL =>
  sql.join(
    Object.values(columns).map(({ name }) => sql`${sql.identifier(scope)}.${sql.identifier(name)}`),
    sql`, `,
  );

/** The statements of one message store. `delivery` are the columns for what the provider reports. */
function defineStore<Delivery extends string>(table: MessageTable, delivery: Columns<Delivery>) {
  const columns: Columns = {
    ...columnsOf(ConversationMessageImport.omit({ delivery: true }), table),
    ...delivery,
  };
  const { id: _id, createdAt: _createdAt, ...others } = columns;
  const replaced: Columns = { ...others, createdAt: table.createdAt };
  const name = tableName({ table });
  const ofConversation = ($: Params<{ organizationId: string; conversationId: string }>): SQL =>
    sql`${table.organizationId} = ${$.organizationId} and ${table.conversationId} = ${$.conversationId}`;

  return {
    delivery: delivery as Columns,

    /**
     * Inserts the messages that are new, in their order, and updates the stored ones that differ: only these rows are returned.
     * PostgreSQL sets `xmax` of a row that `on conflict` updates. A message without `createdAt` keeps what it has, or gets now.
     */
    write: prepared(
      `${name}.write`,
      ($: Params<Messages>) => sql<{ isNew: boolean }>`
        insert into ${table} (organization_id, conversation_id, id, ${columnList(replaced)})
        select ${$.organizationId}::uuid, ${$.conversationId}::uuid, sent.id, ${columnNames(others, 'sent')},
          coalesce(sent.created_at,
            (select ${table.createdAt} from ${table} where ${ofConversation($)} and ${table.id} = sent.id), now())
        from ${sentRows(columns, $.messages)} order by sent.place
        on conflict (organization_id, conversation_id, id) do update
          set (${columnList(replaced)}) = row(${columnNames(replaced, 'excluded')})
          where row(${columnNames(replaced, name)}) is distinct from row(${columnNames(replaced, 'excluded')})
        returning xmax = 0 as "isNew"`,
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

/** The thread, and the newest of its chain, which shows when the latest message came. */
const lockStatement = prepared(
  'conversations.lock_to_write_messages',
  ($: Params<RecordKey>): SQL<Thread> => sql`
    select ${selectList({ id: conversations.id, channel: conversations.channel, chainId: conversations.chainId })}
    from ${conversations}
    where ${conversations.organizationId} = ${$.organizationId} and ${conversations.chainId} = (
        select ${conversations.chainId} from ${conversations} where ${rowOf(threads, $)})
      and (${conversations.id} = ${$.id} or ${newestThreads.visible})
    order by ${conversations.id} for no key update`,
);

/** Inserts the new messages, and updates the stored ones. */
async function writeMessages(
  { db, organizationId }: OrganizationScope,
  { id, chainId }: Thread,
  store: Store,
  sent: readonly ConversationMessageImport[],
): Promise<ImportedMessages> {
  const messages = JSON.stringify(sent.map(({ delivery, ...message }) => ({ ...message, ...delivery })));
  const written = await db.write(store.write, { organizationId, conversationId: id, messages });
  const inserted = written.filter(({ isNew }) => isNew).length;
  if (written.length > 0) await db.write(dateChainStatement, { organizationId, id, chainId, inserted });
  return { inserted, updated: sent.length - inserted };
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
    const [, locked] = await Promise.all([
      within.db.read(holdChainsStatement, { organizationId }),
      within.db.write(lockStatement, { organizationId, id }),
    ]);
    const thread = locked.find((each) => each.id === id.toLowerCase());
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
