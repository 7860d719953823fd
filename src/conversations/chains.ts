import { type SQL, sql } from 'drizzle-orm';
import { defineGet, defineLockedGet } from '../db/define/get.ts';
import { type Put, putSteps, referenceRefused } from '../db/define/put.ts';
import { type RecordKey, rowOf } from '../db/define/view.ts';
import { LostRace, violatedConstraint } from '../db/run/faults.ts';
import { inTransaction, type OrganizationScope } from '../db/run/scope.ts';
import { conversations, liveCustomers, threads } from '../db/schema/index.ts';
import { columnsOf } from '../db/sql/field-columns.ts';
import { type Json, selectList } from '../db/sql/json.ts';
import { type Params, prepared } from '../db/sql/statement.ts';
import { type ApiError, validationFailed } from '../errors.ts';
import { conversationView } from './repository.ts';
import { type Conversation, ConversationPut } from './schema.ts';

/**
 * Conversations, and the chains of rotated threads. A chain is one line of threads: it neither forks nor closes a
 * circle.
 */

const conversationColumns = columnsOf(ConversationPut.omit({ rotatedFrom: true }), conversations);

const threadView = { ...conversationView, ...threads };

/** A new thread begins a chain of its own. Linking it to another thread is a separate step. */
const steps = putSteps(threadView, {
  columns: conversationColumns,
  insertOnly: { chainId: conversations.chainId },
  references: { customerId: liveCustomers },
});

const getConversation = defineGet(threadView);

/**
 * Lets the chains of an organization change one after another. Only all chains together show which threads a change
 * concerns.
 */
const lockChainsStatement = prepared(
  'conversations.lock_chains',
  ($: Params<{ organizationId: string }>) => sql`
    select pg_advisory_xact_lock(hashtextextended(concat('conversation chains ', ${$.organizationId}::text), 0))`,
);

const lockThread = defineLockedGet(threadView);

/**
 * The chains are locked before any thread, as for a PUT.
 * @throws CONVERSATION_NOT_FOUND
 */
export async function lockConversation(scope: OrganizationScope, id: string): Promise<Json<Conversation>> {
  await scope.db.write(lockChainsStatement, { organizationId: scope.organizationId });
  return lockThread(scope, id);
}

type Thread = {
  id: string;
  channel: string;
  messageCount: number;
  rotatedFrom: string | null;
  continuedBy: string | null;
  chainId: string;
};

const threadColumns = selectList({
  id: conversations.id,
  channel: conversations.channel,
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
  await db.write(relabelStatement, { organizationId, ids: tail, chainId: target?.chainId ?? id });
}

/**
 * A thread that has messages stays in its message store. The other store has no columns for what the provider
 * reported.
 */
function refuseStoreChange(thread: Thread | undefined, channel: string): void {
  if (!thread || thread.messageCount === 0) return;
  if ((thread.channel === 'whatsapp') === (channel === 'whatsapp')) return;
  const message = 'cannot change between whatsapp and another channel while the conversation has messages';
  throw validationFailed([{ path: 'body.channel', message }]);
}

/**
 * Puts everything but the thread's place in a chain.
 * @param expected the thread that this one continued before anything was locked
 * @throws LostRace when that has changed since
 */
async function putThread(
  scope: OrganizationScope,
  id: string,
  { rotatedFrom: _, ...input }: ConversationPut,
  expected: string | null,
): Promise<boolean> {
  const stored = await steps.lock(scope, id);
  await steps.checkReferences(scope, input, stored);
  if (stored) {
    const thread = await findThread(scope, id);
    if (thread?.rotatedFrom !== expected) throw new LostRace('The thread was moved by somebody else.');
    refuseStoreChange(thread, input.channel);
    await steps.replace(scope, id, input);
  } else {
    await steps.insert(scope, id, { ...input, chainId: id });
  }
  return !stored;
}

/** A unique index is the last to refuse a fork, also for a writer that does not take the lock of the chains. */
const refusingForks = <Result>(write: () => Promise<Result>): Promise<Result> =>
  write().catch((error) => {
    throw violatedConstraint(error) === 'conversations_rotated_from_key' ? isContinuedAlready() : error;
  });

/**
 * Creates the conversation, or replaces it. Each chain of rotated threads stays one line.
 * @throws VALIDATION_FAILED naming `customerId`, `rotatedFrom` or `channel`
 */
export async function putConversation(
  scope: OrganizationScope,
  id: string,
  input: ConversationPut,
): Promise<Put<Conversation>> {
  const rotatedFrom = input.rotatedFrom?.toLowerCase() ?? null;
  return refusingForks(() =>
    inTransaction(scope, async (within) => {
      const place = async () => (await findThread(within, id))?.rotatedFrom ?? null;
      let expected = await place();
      const isRelinked = expected !== rotatedFrom;
      if (isRelinked) {
        // The chains are locked before any thread, so that two writers never wait for each other.
        await within.db.write(lockChainsStatement, { organizationId: within.organizationId });
        expected = await place();
      }
      const created = await putThread(within, id, input, expected);
      if (isRelinked) await link(within, id, rotatedFrom);
      return { created, body: await getConversation(within, id) };
    }),
  );
}
