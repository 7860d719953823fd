import { type SQL, sql } from 'drizzle-orm';
import { conversationFields, conversationJoins, messageFields } from '../../conversations/repository.ts';
import type { Conversation, ConversationMessage } from '../../conversations/schema.ts';
import type { Queries } from '../../db/client.ts';
import { violatedConstraint } from '../../db/faults.ts';
import { isId } from '../../db/ids.ts';
import { jsonRows } from '../../db/json.ts';
import { countLive } from '../../db/live-count.ts';
import {
  type Put,
  type PutRow,
  type PutValues,
  provingReferences,
  type References,
  referenceRefused,
  refusedReferences,
  settlingRaces,
  storedAndInput,
} from '../../db/put.ts';
import { names, namesOf, recordsFrom, toRecord, touched, type Writable, writable } from '../../db/record.ts';
import { channelMessages, conversations, customers, whatsappMessages } from '../../db/schema/index.ts';
import type { OrganizationScope } from '../../db/scope.ts';
import { prepared, type Statement } from '../../db/statement.ts';
import { type ApiError, notFound, validationFailed } from '../../errors.ts';
import type {
  ConversationMessageImport,
  ConversationMessagePut,
  ConversationPut,
  ImportedMessages,
} from './schema.ts';

const organizationId = sql.placeholder('organizationId');
const id = sql.placeholder('id');
const rotatedFrom = sql.placeholder('rotatedFrom');

const ofOrganization = sql`${conversations.organizationId} = ${organizationId}`;
const oneConversation = sql`${ofOrganization} and ${conversations.id} = ${id}`;

/** What a PUT replaces in place. */
const columns = writable({
  channel: conversations.channel,
  contact: conversations.contact,
  contactName: conversations.contactName,
  customerId: conversations.customerId,
  activityState: conversations.activityState,
  controlledBy: conversations.controlledBy,
  language: conversations.language,
});

/** What a PUT also says, and what changes other threads too. */
const chainColumns = writable({ rotatedFrom: conversations.rotatedFrom });

const references: References = {
  customerId: {
    column: conversations.customerId,
    to: customers,
    foreignKey: 'conversations_customer_fkey',
  },
};

type ConversationRow = PutRow<Conversation> & {
  /** The thread is to continue another one than it does now; nothing was written. */
  relinked: boolean;
};

/**
 * Puts everything but the place in a chain; with `linking`, that place is left for the statements below. A thread that
 * has messages stays in its message store: the other one has no columns for what the provider reported of them.
 */
const putStatement = prepared<ConversationRow, PutValues & { linking: boolean }>(
  'put_conversation',
  sql`with ${storedAndInput(conversations)},
    refused as (${refusedReferences(references)} union all
      select 'channel' from input, stored where (stored.record).message_count > 0
        and (input.channel = 'whatsapp') <> ((stored.record).channel = 'whatsapp')),
    relinked as (
      select from input left join stored on true
      where not ${sql.placeholder('linking')} and input.rotated_from is distinct from (stored.record).rotated_from),
    created as (
      insert into ${conversations} (organization_id, id, chain_id, ${names(columns)})
      select ${organizationId}::uuid, ${id}::uuid, ${id}::uuid, ${namesOf('input', columns)} from input
      where not exists (select from stored) and not exists (select from refused) and not exists (select from relinked)
      on conflict (organization_id, id) do nothing returning *),
    changed as (
      update ${conversations} set (${names(columns)}) = row(${namesOf('input', columns)}),
        updated_at = ${touched(conversations.updatedAt)}
      from stored, input
      where ${oneConversation} and not exists (select from refused) and not exists (select from relinked)
        and row(${namesOf('(stored.record)', columns)}) is distinct from row(${namesOf('input', columns)})
      returning ${conversations}.*),
    counted as (${countLive('conversations', sql`select count(*) from created`)})
    select (${jsonRows(
      conversationFields,
      sql`from (select * from created union all select * from changed union all
          select (record).* from stored where not exists (select from changed)) conversations
        ${conversationJoins}`,
    )}) as body, exists (select from created) as created, (select array_agg(field) from refused) as refused,
      exists (select from relinked) as relinked`,
);

/** Chains of an organization change one after another: which threads a change concerns is known only from all of them. */
const lockChainsStatement = prepared<unknown, { organizationId: string }>(
  'lock_conversation_chains',
  sql`select pg_advisory_xact_lock(hashtextextended(concat('conversation chains ', ${organizationId}::text), 0))`,
);

/** The thread and all that continue it. */
const tail = sql`tail as (
  select ${conversations.id} from ${conversations} where ${oneConversation}
  union all
  select ${conversations.id} from ${conversations} join tail on ${conversations.rotatedFrom} = tail.id where ${ofOrganization})`;

type Link = { isMissing: boolean; isOwnTail: boolean; isContinued: boolean; isDone: boolean };
type LinkValues = { organizationId: string; id: string; rotatedFrom: string | null };

const examineLinkStatement = prepared<Link, LinkValues>(
  'examine_conversation_link',
  sql`with recursive ${tail},
    target as (select * from ${conversations} where ${ofOrganization} and ${conversations.id} = ${rotatedFrom})
    select not exists (select from target) as "isMissing",
      exists (select from target join tail on tail.id = target.id) as "isOwnTail",
      exists (select from target where continued_by <> ${id}) as "isContinued",
      ${conversations.rotatedFrom} is not distinct from ${rotatedFrom} as "isDone"
    from ${conversations} where ${oneConversation}`,
);

/** Takes the thread, with all that continue it, from the end of one chain to the end of another, or to begin its own. */
const linkStatement = prepared<unknown, LinkValues>(
  'link_conversation',
  sql`with recursive ${tail},
    thread as (select rotated_from from ${conversations} where ${oneConversation}),
    parted as (
      update ${conversations} set continued_by = null from thread
      where ${ofOrganization} and ${conversations.id} = thread.rotated_from
      returning 1),
    joined as (
      update ${conversations} set continued_by = ${id} where ${ofOrganization} and ${conversations.id} = ${rotatedFrom}
      returning chain_id),
    linked as (
      update ${conversations} set rotated_from = ${rotatedFrom}, updated_at = ${touched(conversations.updatedAt)},
        chain_id = coalesce((select chain_id from joined), ${id})
      where ${oneConversation} returning chain_id),
    relabelled as (
      update ${conversations} set chain_id = linked.chain_id from tail, linked
      where ${ofOrganization} and ${conversations.id} = tail.id and ${conversations.id} <> ${id}),
    counted as (${countLive(
      'conversations',
      sql`select (select count(*) from parted) - (select count(*) from joined)`,
    )})
    select`,
);

const rotationRefused = (message: string): ApiError =>
  validationFailed([{ path: 'body.rotatedFrom', message }]);

async function link(transaction: Queries, values: LinkValues): Promise<void> {
  const [found] = await transaction.write(examineLinkStatement, values);
  if (!found || found.isDone) return;
  if (values.rotatedFrom !== null) {
    if (found.isMissing) throw referenceRefused(['rotatedFrom']);
    if (found.isOwnTail) throw rotationRefused('would close a circle: that thread continues this one');
    if (found.isContinued) throw rotationRefused('is continued by another thread already');
  }
  await transaction.write(linkStatement, values);
}

function refuseStoreChange(row: ConversationRow | undefined): void {
  if (!row?.refused?.includes('channel')) return;
  const message = 'cannot change between whatsapp and another channel while the conversation has messages';
  throw validationFailed([{ path: 'body.channel', message }]);
}

/** The index says last whether a chain forks: also for a writer that does not take the lock above. */
const refusingForks = <Result>(write: () => Promise<Result>): Promise<Result> =>
  write().catch((error) => {
    throw violatedConstraint(error) === 'conversations_rotated_from_key'
      ? rotationRefused('is continued by another thread already')
      : error;
  });

/**
 * Creates the conversation, or replaces it, and keeps the chains of rotated threads in one line each.
 * @throws VALIDATION_FAILED naming `customerId`, `rotatedFrom` or `channel`
 */
export async function putConversation(
  scope: OrganizationScope,
  id: string,
  input: ConversationPut,
): Promise<Put<Conversation>> {
  const { db, organizationId } = scope;
  const record = JSON.stringify({ ...toRecord(columns, input), ...toRecord(chainColumns, input) });
  const values = { organizationId, id, record };
  const putLinked = async (transaction: Queries): Promise<ConversationRow | undefined> => {
    await transaction.write(lockChainsStatement, { organizationId });
    const [row] = await transaction.write(putStatement, { ...values, linking: true });
    if (row?.body && !row.refused) {
      await link(transaction, { organizationId, id, rotatedFrom: input.rotatedFrom ?? null });
    }
    return row;
  };
  const putOnce = async () => {
    const [row] = await db.write(putStatement, { ...values, linking: false });
    return row?.relinked && !row.refused ? db.transaction(putLinked) : row;
  };
  return settlingRaces(async () => {
    const row = await provingReferences(references, () => refusingForks(putOnce));
    refuseStoreChange(row);
    return row;
  });
}

const conversationNotFound = (id: string): ApiError => notFound('CONVERSATION_NOT_FOUND', 'conversation', id);

type MessageStore = typeof whatsappMessages | typeof channelMessages;

const messageColumns = (store: MessageStore) => ({
  id: store.id,
  content: store.content,
  direction: store.direction,
  messageType: store.messageType,
  senderName: store.senderName,
  createdAt: store.createdAt,
});

/** What each store keeps of a message's delivery. */
const deliveryColumns = {
  whatsapp: writable({
    providerMessageId: whatsappMessages.providerMessageId,
    status: whatsappMessages.deliveryStatus,
    statusAt: whatsappMessages.deliveryStatusAt,
    templateName: whatsappMessages.templateName,
  }),
  others: writable({
    providerName: channelMessages.providerName,
    externalId: channelMessages.externalId,
    subject: channelMessages.subject,
  }),
};

type MessageValues = { organizationId: string; id: string; messages: string };

/**
 * Writes messages of the conversation `id`, whose row is locked: what is stored is what the statement sees. A message
 * without a moment keeps the one it has, or gets the present.
 */
const writeMessages = (store: MessageStore, columns: Writable, answer: SQL): SQL => {
  const ofConversation = sql`${store.organizationId} = ${organizationId} and ${store.conversationId} = ${id}`;
  return sql`with sent as (select * from ${recordsFrom(store, 'messages')}),
    stored as (select ${store}.* from ${store} join sent on sent.id = ${store.id} where ${ofConversation}),
    input as (
      select ${sql.join(
        [...columns.values()].map((name) =>
          name === 'created_at'
            ? sql`coalesce(sent.created_at, stored.created_at, now()) as created_at`
            : sql`sent.${sql.identifier(name)}`,
        ),
        sql`, `,
      )}
      from sent left join stored on stored.id = sent.id),
    inserted as (
      insert into ${store} (organization_id, conversation_id, ${names(columns)})
      select ${organizationId}::uuid, ${id}::uuid, ${namesOf('input', columns)} from input
      where not exists (select from stored where stored.id = input.id)
      returning *),
    changed as (
      update ${store} set (${names(columns)}) = row(${namesOf('input', columns)}) from input
      where ${ofConversation} and ${store.id} = input.id
        and row(${namesOf(storeName(store), columns)}) is distinct from row(${namesOf('input', columns)})
      returning ${store}.*),
    written as (select * from inserted union all select * from changed),
    counted as (
      update ${conversations} set message_count = message_count + (select count(*) from inserted),
        last_message_at = greatest(last_message_at, (select max(created_at) from written))
      where ${oneConversation} and exists (select from written))
    ${answer}`;
};

const storeName = (store: MessageStore): string =>
  store === whatsappMessages ? 'whatsapp_messages' : 'channel_messages';

const importAnswer = sql`select (select count(*) from inserted)::int as inserted,
  (select count(*) from stored)::int as updated`;

const putAnswer = sql`select (${jsonRows(
  messageFields,
  sql`from (select * from written union all select * from stored where not exists (select from written)) message`,
)}) as body, exists (select from inserted) as created`;

function storeOf(store: MessageStore, delivery: Writable) {
  const columns: Writable = new Map([...writable(messageColumns(store)), ...delivery]);
  return {
    columns,
    delivery,
    import: prepared<ImportedMessages, MessageValues>(
      `import_${storeName(store)}`,
      writeMessages(store, columns, importAnswer),
    ),
    put: prepared<Put<ConversationMessage>, MessageValues>(
      `put_${storeName(store)}`,
      writeMessages(store, columns, putAnswer),
    ),
  };
}

const stores = {
  whatsapp: storeOf(whatsappMessages, deliveryColumns.whatsapp),
  others: storeOf(channelMessages, deliveryColumns.others),
};
type Store = (typeof stores)[keyof typeof stores];

/** What is said of a message's delivery that its store has no place for. */
const misplaced = (store: Store, { delivery }: ConversationMessagePut, path: string) =>
  Object.entries(delivery ?? {})
    .filter(([field, value]) => value !== undefined && value !== null && !store.delivery.has(field))
    .map(([field]) => ({
      path: `${path}.delivery.${field}`,
      message: "is not kept for this conversation's channel",
    }));

const lockConversationStatement = prepared<{ channel: string }, { organizationId: string; id: string }>(
  'lock_conversation',
  sql`select ${conversations.channel} as channel from ${conversations} where ${oneConversation} for no key update`,
);

/** Writes messages under their conversation's lock, into the store of its channel, all or none. */
async function underLock<Row>(
  { db, organizationId }: OrganizationScope,
  id: string,
  messages: readonly { path: string; message: ConversationMessageImport }[],
  statementOf: (store: Store) => Statement<Row, MessageValues>,
): Promise<Row> {
  const rows = isId(id)
    ? await db.transaction(async (transaction) => {
        const [conversation] = await transaction.write(lockConversationStatement, { organizationId, id });
        if (!conversation) return [];
        const store = conversation.channel === 'whatsapp' ? stores.whatsapp : stores.others;
        const faults = messages.flatMap(({ message, path }) => misplaced(store, message, path));
        if (faults.length > 0) throw validationFailed(faults);
        const records = messages.map(({ message: { delivery, ...message } }) =>
          toRecord(store.columns, { ...message, ...delivery }),
        );
        return transaction.write(statementOf(store), {
          organizationId,
          id,
          messages: JSON.stringify(records),
        });
      })
    : [];
  const [row] = rows;
  if (!row) throw conversationNotFound(id);
  return row;
}

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
    (store) => store.import,
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
  underLock(scope, conversationId, [{ message: { ...input, id }, path: 'body' }], (store) => store.put);
