import { type SQL, sql } from 'drizzle-orm';
import { keyOnChannel } from '../../rules/contact-key.ts';
import { type ApiError, validationFailed } from '../contract/errors.ts';
import { isUniqueViolation } from '../db/pool/faults.ts';
import { inTransaction, LostRace, type OrganizationScope } from '../db/pool/scope.ts';
import { defineGet, defineLockedGet } from '../db/repository/get.ts';
import { type Put, putSteps, referenceRefused, type Stored } from '../db/repository/put.ts';
import { missing, type RecordKey, rowOf } from '../db/repository/view.ts';
import { defineUpdate } from '../db/repository/write.ts';
import { columnsOf } from '../db/sql/field-columns.ts';
import { type Json, selectList } from '../db/sql/json.ts';
import { type Params, prepared } from '../db/sql/statement.ts';
import {
  channelMessages,
  conversations,
  liveCustomers,
  threads,
  whatsappMessages,
} from '../db/tables/index.ts';
import { conversationRecordView, type MessageStore } from './repository.ts';
import { ConversationPut, type ConversationRecord, type ConversationUpdate } from './schema.ts';

/**
 * Conversations, and the chains of rotated threads. A chain is one line of threads: it neither forks nor closes a
 * circle.
 */

const conversationColumns = {
  ...columnsOf(ConversationPut.omit({ rotatedFrom: true }), conversations),
  contactKey: conversations.contactKey,
};

export const threadView = { ...conversationRecordView, ...threads };

/** A new thread begins a chain of its own. Linking it to another thread is a separate step. */
const steps = putSteps(threadView, {
  columns: conversationColumns,
  insertOnly: { chainId: conversations.chainId },
  references: { customerId: liveCustomers },
});

/** Any thread of a chain. Throws CONVERSATION_NOT_FOUND. */
export const getConversation = defineGet(threadView, 'conversations.get_record');

const patchThread = defineUpdate(threadView, conversationColumns);

const chainsKey = ($: Params<{ organizationId: string }>): SQL =>
  sql`hashtextextended(concat('conversation chains ', ${$.organizationId}::text), 0)`;

/** Keeps the chains of an organization as they are until the transaction ends. Taken before any thread is locked. */
export const holdChainsStatement = prepared(
  'conversations.hold_chains',
  ($: Params<{ organizationId: string }>) => sql`select pg_advisory_xact_lock_shared(${chainsKey($)})`,
);

/**
 * Lets the chains of an organization change one after another. Only all chains together show which threads a change
 * concerns.
 */
const lockChainsStatement = prepared(
  'conversations.lock_chains',
  ($: Params<{ organizationId: string }>) => sql`select pg_advisory_xact_lock(${chainsKey($)})`,
);

const lockThread = defineLockedGet(threadView, 'conversations.get_record');

/**
 * The chains are locked before any thread, as for a PUT.
 * @throws CONVERSATION_NOT_FOUND
 */
export async function lockConversation(
  scope: OrganizationScope,
  id: string,
): Promise<Json<ConversationRecord>> {
  await scope.db.write(lockChainsStatement, { organizationId: scope.organizationId });
  return lockThread(scope, id);
}

type Thread = {
  id: string;
  channel: string;
  contact: string;
  contactName: string | null;
  contactKey: string | null;
  messageCount: number;
  rotatedFrom: string | null;
  continuedBy: string | null;
  chainId: string;
};

const threadColumns = selectList({
  id: conversations.id,
  channel: conversations.channel,
  contact: conversations.contact,
  contactName: conversations.contactName,
  contactKey: conversations.contactKey,
  messageCount: conversations.messageCount,
  rotatedFrom: conversations.rotatedFrom,
  continuedBy: conversations.continuedBy,
  chainId: conversations.chainId,
});

const threadStatement = prepared(
  'conversations.thread',
  ($: Params<RecordKey>): SQL<Thread> =>
    sql`select ${threadColumns} from ${conversations} where ${rowOf(threads, $)}`,
);

const chainStatement = prepared(
  'conversations.chain',
  ($: Params<{ organizationId: string; chainId: string }>): SQL<Thread> => sql`
    select ${threadColumns} from ${conversations}
    where ${conversations.organizationId} = ${$.organizationId} and ${conversations.chainId} = ${$.chainId}`,
);

const continueStatement = prepared(
  'conversations.set_continued_by',
  ($: Params<RecordKey & { continuedBy: string | null }>) => sql`
    update ${conversations} set continued_by = ${$.continuedBy} where ${rowOf(threads, $)}`,
);

const rotateStatement = prepared(
  'conversations.set_rotated_from',
  ($: Params<RecordKey & { rotatedFrom: string | null }>) => sql`
    update ${conversations} set rotated_from = ${$.rotatedFrom} where ${rowOf(threads, $)}`,
);

const relabelStatement = prepared(
  'conversations.set_chain',
  ($: Params<{ organizationId: string; ids: string[]; chainId: string }>) => sql`
    update ${conversations} set chain_id = ${$.chainId}
    where ${conversations.organizationId} = ${$.organizationId} and ${conversations.id} = any(${$.ids}::uuid[])`,
);

const latestIn = (store: MessageStore, $: Params<{ organizationId: string }>): SQL => sql`(
  select max(${store.createdAt}) from ${store}
  where ${store.organizationId} = ${$.organizationId} and ${store.conversationId} = thread.id)`;

/**
 * Counts the messages that a thread got. Each thread of its chain shows the latest timestamp of its messages, and the newest
 * that of the chain. The caller holds the chains, and has locked the threads that change.
 */
export const dateChainStatement = prepared(
  'conversations.date_chain',
  ($: Params<RecordKey & { chainId: string; inserted: number }>) => sql`
    update ${conversations} set last_message_at = dated.at,
      message_count = message_count + case when ${conversations.id} = ${$.id} then ${$.inserted}::integer else 0 end
    from (
      select thread.id, case when thread.continued_by is null then max(latest.at) over () else latest.at end as at
      from ${conversations} as thread cross join lateral (
        select greatest(${latestIn(whatsappMessages, $)}, ${latestIn(channelMessages, $)}) as at) latest
      where thread.organization_id = ${$.organizationId} and thread.chain_id = ${$.chainId}) dated
    where ${conversations.organizationId} = ${$.organizationId} and ${conversations.id} = dated.id
      and (${conversations.id} = ${$.id} or ${conversations.lastMessageAt} is distinct from dated.at)`,
);

const findThread = async ({ db, organizationId }: OrganizationScope, id: string) =>
  (await db.read(threadStatement, { organizationId, id }))[0];

/** The ids of the thread and of all threads that continue it. */
function tailOf(thread: Thread, chain: readonly Thread[]): string[] {
  const next = new Map(chain.map(({ id, rotatedFrom }) => [rotatedFrom, id]));
  const tail = [thread.id];
  for (let id = next.get(thread.id); id !== undefined; id = next.get(id)) tail.push(id);
  return tail;
}

const rotationRefused = (message: string): ApiError =>
  validationFailed([{ path: 'body.rotatedFrom', message }]);

const isContinuedAlready = (): ApiError => rotationRefused('is continued by another thread already');

/**
 * Moves the thread, with all that continue it, to the end of another chain. With null it begins a chain of its own.
 * The caller holds the lock of the chains.
 * @throws VALIDATION_FAILED naming `rotatedFrom`
 */
async function link(scope: OrganizationScope, id: string, rotatedFrom: string | null): Promise<void> {
  const { db, organizationId } = scope;
  const thread = await findThread(scope, id);
  if (!thread || thread.rotatedFrom === rotatedFrom) return;
  const chain = await db.read(chainStatement, { organizationId, chainId: thread.chainId });
  const tail = tailOf(thread, chain);

  const target = rotatedFrom === null ? undefined : await findThread(scope, rotatedFrom);
  if (rotatedFrom !== null && !target) throw referenceRefused(['rotatedFrom']);
  if (target && tail.includes(target.id))
    throw rotationRefused('would close a circle: that thread continues this one');
  if (target && target.continuedBy !== null && target.continuedBy !== id) throw isContinuedAlready();

  if (thread.rotatedFrom !== null)
    await db.write(continueStatement, { organizationId, id: thread.rotatedFrom, continuedBy: null });
  if (target) await db.write(continueStatement, { organizationId, id: target.id, continuedBy: id });
  await db.write(rotateStatement, { organizationId, id, rotatedFrom });
  const joined = target?.chainId ?? id;
  await db.write(relabelStatement, { organizationId, ids: tail, chainId: joined });
  for (const chainId of [thread.chainId, joined])
    await db.write(dateChainStatement, { organizationId, id, chainId, inserted: 0 });
}

/**
 * A thread that has messages stays in its message store. The other store has no columns for what the provider
 * reported.
 */
function refuseStoreChange(thread: Thread | undefined, channel: string | undefined): void {
  if (!thread || thread.messageCount === 0 || channel === undefined) return;
  if ((thread.channel === 'whatsapp') === (channel === 'whatsapp')) return;
  const message = 'cannot change between whatsapp and another channel while the conversation has messages';
  throw validationFailed([{ path: 'body.channel', message }]);
}

/** A unique index is the last to refuse a fork, also for a writer that does not take the lock of the chains. */
const refusingForks = <Result>(write: () => Promise<Result>): Promise<Result> =>
  write().catch((error) => {
    throw isUniqueViolation(error) ? isContinuedAlready() : error;
  });

type Input = Omit<ConversationUpdate, 'rotatedFrom'> & { contactKey: string | null };

/**
 * Writes a thread, and then moves it to its place in a chain. Without `rotatedFrom` it stays where it is.
 * @param create the step that writes a thread which is not there yet; without it, CONVERSATION_NOT_FOUND
 */
const writeThread = (
  scope: OrganizationScope,
  id: string,
  { rotatedFrom: sentPlace, ...input }: ConversationUpdate,
  change: (scope: OrganizationScope, input: Input, stored: Stored) => Promise<unknown>,
  create?: (scope: OrganizationScope, input: Input) => Promise<unknown>,
): Promise<Put<ConversationRecord>> =>
  refusingForks(() =>
    inTransaction(scope, async (within) => {
      const rotatedFrom = sentPlace === null ? null : sentPlace?.toLowerCase();
      const place = async () => (await findThread(within, id))?.rotatedFrom ?? null;
      let expected = await place();
      const isMoved = rotatedFrom !== undefined && expected !== rotatedFrom;
      if (isMoved) {
        // The chains are locked before any thread, so that two writers never wait for each other.
        await within.db.write(lockChainsStatement, { organizationId: within.organizationId });
        expected = await place();
      }
      const stored = await steps.lock(within, id);
      if (!stored && !create) throw missing(threads, id);
      const before = stored && (await findThread(within, id));
      if (before && before.rotatedFrom !== expected)
        throw new LostRace('The thread was moved by somebody else.');
      await steps.check(within, input, stored);
      refuseStoreChange(before, input.channel);
      const { channel = '', contact = '' } = { ...before, ...input };
      const written = { ...input, contactKey: keyOnChannel(channel, contact) };
      if (stored) await change(within, written, stored);
      else await create?.(within, written);
      if (isMoved) await link(within, id, rotatedFrom);
      return { created: !stored, body: await getConversation(within, id) };
    }),
  );

/**
 * Creates the conversation, or replaces it. Each chain of rotated threads stays one line.
 * @throws VALIDATION_FAILED naming `customerId`, `rotatedFrom` or `channel`
 */
export const putConversation = (
  scope: OrganizationScope,
  id: string,
  { rotatedFrom = null, ...input }: ConversationPut,
): Promise<Put<ConversationRecord>> =>
  writeThread(
    scope,
    id.toLowerCase(),
    { ...input, rotatedFrom },
    (within, written, stored) => steps.replace(within, id, written, stored),
    (within, written) => steps.insert(within, id, { ...written, chainId: id }),
  );

/**
 * Changes the fields that the body has; null clears one.
 * @throws CONVERSATION_NOT_FOUND, VALIDATION_FAILED naming `customerId`, `rotatedFrom` or `channel`
 */
export async function updateConversation(
  scope: OrganizationScope,
  id: string,
  input: ConversationUpdate,
): Promise<Json<ConversationRecord>> {
  const { body } = await writeThread(scope, id.toLowerCase(), input, (within, written) =>
    patchThread(within, id, written),
  );
  return body;
}
