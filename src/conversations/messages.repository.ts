import { and, eq, getTableName, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { ApiError, type FieldError, validationFailed } from '../contract/errors.ts';
import { name } from '../contract/fields.ts';
import {
  type Columns,
  channelMessages,
  columnsOf,
  conversations,
  fieldsOf,
  type Get,
  type Json,
  jsonRow,
  keyIs,
  type MessageTable,
  type OrganizationScope,
  ofOrganization,
  type Params,
  type Put,
  parseJson,
  prepared,
  type RecordKey,
  recordNotFound,
  rowsInOrder,
  selectJson,
  TOUCHED,
  threads,
  whatsappMessages,
} from '../db/index.ts';
import { lockThread } from './chains.repository.ts';
import {
  ConversationMessageImport,
  type ConversationMessagePut,
  ConversationMessageRecord,
  type ConversationMessageUpdate,
  type DeliveryReport,
} from './schema.ts';

/** Messages have two stores; the channel of the conversation decides which one. */

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
      selectJson(fields, table, and(keyIs(table, $), eq(table.conversationId, $.conversationId))),
    ),
  };
}

export const stores = {
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
        message: "is not a field of this conversation's channel",
      })),
  );

const written: Columns = {
  ...columnsOf(ConversationMessageImport.omit({ delivery: true }), whatsappMessages),
  ...stores.whatsapp.delivery,
  ...stores.others.delivery,
};

const toRow = ({ delivery, ...message }: Message): object =>
  Object.fromEntries(
    Object.entries({ ...message, ...delivery }).map(([field, value]) => [
      written[field]?.name ?? field,
      value,
    ]),
  );

type Writing = { organizationId: string; conversationId: string; messages: string; stores: StoreName[] };

const writeStatement = prepared(
  'conversations.write_messages',
  ($: Params<Writing>) => sql<{ store: StoreName | null; inserted: number | null }>`
    select store, inserted from write_messages(${$.organizationId}, ${$.conversationId}, ${$.messages}, ${$.stores})`,
);

/** @throws CONVERSATION_NOT_FOUND, VALIDATION_FAILED naming delivery fields of the other store */
async function writeMessages(
  scope: OrganizationScope,
  conversationId: string,
  messages: readonly Message[],
  pathOf: PathOf,
): Promise<{ store: StoreName; inserted: number }> {
  const [written] = await scope.write(writeStatement, {
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
) {
  const { inserted } = await writeMessages(scope, conversationId, messages, (index) => `body.data[${index}]`);
  return { inserted, updated: messages.length - inserted };
}

const messageNotFound = (id: string) => new ApiError('MESSAGE_NOT_FOUND', { id });

/** @throws MESSAGE_NOT_FOUND */
async function getMessage(
  scope: OrganizationScope,
  store: StoreName,
  conversationId: string,
  id: string,
): Promise<Json<ConversationMessageRecord>> {
  const [row] = await scope.read(stores[store].get, { conversationId, id });
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

/**
 * Reads the message under the lock of its conversation.
 * @throws CONVERSATION_NOT_FOUND, MESSAGE_NOT_FOUND
 */
export const lockMessage =
  (conversationId: string): Get<ConversationMessageRecord> =>
  async (scope, id) => {
    const thread = await lockThread(scope, conversationId);
    if (!thread) throw recordNotFound(threads, conversationId);
    return getMessage(scope, thread.channel === 'whatsapp' ? 'whatsapp' : 'others', conversationId, id);
  };

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
  scope.transaction(async (within) => {
    const stored = parseJson(await lockMessage(conversationId)(within, id));
    const delivered = delivery === null ? null : { ...stored.delivery, ...delivery };
    const message = { ...stored, ...(input as Partial<ConversationMessagePut>), delivery: delivered };
    const { store } = await writeMessages(within, conversationId, [message], () => 'body');
    return getMessage(within, store, conversationId, id);
  });

type Reported = { organizationId: string; providerMessageId: string };
type Report = Reported & { status: string; statusAt: string | null };

const isReported = ($: Params<Reported>) =>
  and(ofOrganization(whatsappMessages), sql`${whatsappMessages.providerMessageId} = ${$.providerMessageId}`);

/** The messages with this provider id, locked in the order of an import. */
const reported = ($: Params<Reported>): SQL => sql`
  select * from ${whatsappMessages} where ${isReported($)}
  order by ${whatsappMessages.conversationId}, ${whatsappMessages.id} for no key update`;

/** From the first to the last; an unknown status is further. */
const STATUSES = sql.raw(`'{queued,sent,delivered,read,played,failed}'::text[]`);

const rank = (status: SQLWrapper): SQL => sql`coalesce(array_position(${STATUSES}, ${status}), 7), ${status}`;

const { conversationId, deliveryStatus, deliveryStatusAt, deliveryAssumedAt } = whatsappMessages;

/** The first threads of the chains with these messages, before the messages: an import locks them so. */
const lockReportedStatement = prepared('conversations.lock_reported', ($: Params<Reported>) => {
  const { chainId, id } = conversations;
  const chains = sql`array(select ${chainId} from ${conversations} where ${ofOrganization(conversations)} and ${id} = any(array(
    select ${whatsappMessages.conversationId} from ${whatsappMessages} where ${isReported($)})))`;
  return rowsInOrder(conversations, and(ofOrganization(conversations), sql`${id} = any(${chains})`)).for(
    'no key update',
  );
});

/** A report without a timestamp comes before those with one; of one timestamp the further status counts. So reports have no order. */
const reportStatement = prepared(
  'whatsapp_messages.report',
  ($: Params<Report>) => sql<never>`
    with reported as materialized (select found.*, now() as reported_at from (${reported($)}) found),
    changed as (update ${whatsappMessages} set delivery_status = ${$.status}, delivery_status_at = coalesce(${$.statusAt}::timestamptz, reported_at),
      delivery_assumed_at = case when ${$.statusAt}::timestamptz is null then reported_at end
    from reported
    where ${ofOrganization(whatsappMessages)} and ${conversationId} = reported.conversation_id
      and ${whatsappMessages.id} = reported.id
      and (${deliveryStatus} is null or row(
        case when ${deliveryStatusAt} is distinct from ${deliveryAssumedAt} then ${deliveryStatusAt} else '-infinity' end,
        ${rank(deliveryStatus)}) < row(coalesce(${$.statusAt}::timestamptz(3), '-infinity'), ${rank(sql`${$.status}::text`)}))
      returning ${conversationId})
    update ${conversations} set updated_at = ${TOUCHED} from changed
    where ${ofOrganization(conversations)} and ${conversations.id} = changed.conversation_id`,
);

const reportedStatement = prepared(
  'whatsapp_messages.reported',
  ($: Params<Reported>): SQL<{ body: Json<ConversationMessageRecord> }> => sql`
    select ${jsonRow(stores.whatsapp.fields)} as body from (${reported($)}) as ${whatsappMessages}
    order by ${whatsappMessages.createdAt} desc, ${whatsappMessages.arrival} desc limit 1`,
);

/**
 * Writes the report, and returns the message with this provider id: a status webhook knows no other id.
 * @throws MESSAGE_NOT_FOUND
 */
export async function reportDelivery(
  scope: OrganizationScope,
  providerMessageId: string,
  { status, statusAt }: DeliveryReport,
): Promise<Json<ConversationMessageRecord>> {
  const key = { providerMessageId };
  const isText = name().safeParse(providerMessageId).success;
  const [row] = isText
    ? await scope.transaction(({ write }) => {
        // Sent together.
        write(lockReportedStatement, key);
        if (status !== undefined) write(reportStatement, { ...key, status, statusAt: statusAt ?? null });
        return write(reportedStatement, key);
      })
    : [];
  if (!row) throw messageNotFound(providerMessageId);
  return row.body;
}

/** @throws MESSAGE_NOT_FOUND */
export const lockReported = (scope: OrganizationScope, providerMessageId: string) =>
  reportDelivery(scope, providerMessageId, {});
