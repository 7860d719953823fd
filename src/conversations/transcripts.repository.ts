import { type SQL, sql } from 'drizzle-orm';
import { invalid } from '../contract/errors.ts';
import {
  conversations,
  type Fields,
  isId,
  isoTime,
  jsonOf,
  jsonRow,
  keyIs,
  type MessageTable,
  type OrganizationScope,
  ofOrganization,
  type Params,
  prepared,
  type RecordKey,
  recordNotFound,
  threads,
} from '../db/index.ts';
import { stores } from './messages.repository.ts';
import type {
  ConversationMessage,
  ConversationMessageRecord,
  ConversationTranscriptQuery,
} from './schema.ts';

/** A transcript joins the messages of both stores, of all threads of a chain. */

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
  where ${ofOrganization(conversations)} and ${conversations.chainId} = (
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

/** No row: no such conversation. Null: the message is not in its transcript. Two rows: two threads have messages with this id. */
const positionStatement = prepared(
  'conversations.position_of_message',
  ($: Params<RecordKey & { messageId: string }>): SQL<Position | { createdAt: null }> => sql`
    with threads as materialized (${chainOf($)})
    select ${isoTime(sql`message.created_at`)} as "createdAt", message.arrival
    from (select from threads limit 1) found left join (${fromStores(
      messageFields,
      ({ id, conversationId }) =>
        sql`${id} = ${$.messageId} and ${conversationId} = any(array(select threads.id from threads))`,
    )}) message on true
    limit 2`,
);

const MAX_BIGINT = String(2n ** 63n - 1n);

/** The position that `before` or `after` names: a message, a timestamp, or the end. */
async function positionOf(
  scope: OrganizationScope,
  id: string,
  { before = 'infinity', after }: ConversationTranscriptQuery,
): Promise<Position> {
  const sent = after ?? before;
  if (!isId(sent)) return { createdAt: sent, arrival: after === undefined ? '0' : MAX_BIGINT };
  const [position, other] = await scope.read(positionStatement, { id, messageId: sent });
  if (!position) throw recordNotFound(threads, id);
  const path = after === undefined ? 'query.before' : 'query.after';
  if (position.createdAt === null) throw invalid(path, 'is not the id of a message in this transcript');
  if (other) throw invalid(path, 'is the id of a message in two threads: send a date-time');
  return position;
}

/** The function reads the newest messages of a chain, or those beside a position, oldest first. It takes any thread of the chain. */
function defineTranscript<Message extends ConversationMessage>(name: string, fields: Fields<Message>) {
  const before = prepared(name, ($: Params<TranscriptValues>) => transcript(fields, BEFORE, $));
  const after = prepared(`${name}_after`, ($: Params<TranscriptValues>) => transcript(fields, AFTER, $));
  return async (scope: OrganizationScope, id: string, query: ConversationTranscriptQuery) => {
    if (!isId(id)) throw recordNotFound(threads, id);
    const position = await positionOf(scope, id, query);
    const statement = query.after === undefined ? before : after;
    const [row] = await scope.read(statement, { id, limit: query.limit, ...position });
    if (!row) throw recordNotFound(threads, id);
    return jsonOf<{ data: Message[]; total: number }>(row.body);
  };
}

/** @throws CONVERSATION_NOT_FOUND, VALIDATION_FAILED for a message of another transcript */
export const getTranscript = defineTranscript('conversations.transcript', messageFields);

/** The same with `delivery`. */
export const getTranscriptRecord = defineTranscript('conversations.transcript_record', messageRecordFields);
