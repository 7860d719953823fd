import { and, eq, or, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { keyOnChannel } from '../../rules/contact-key.ts';
import { type ApiError, invalid } from '../contract/errors.ts';
import {
  activeCustomers,
  as,
  channelMessages,
  columnsOf,
  conversations,
  customerContactKeys,
  customers,
  defineGet,
  defineLockedGet,
  inTransaction,
  isUniqueViolation,
  type Json,
  keyIs,
  LostRace,
  newestThreads,
  type OrganizationScope,
  ofOrganization,
  type Params,
  type Put,
  prepared,
  putSteps,
  qb,
  type RecordKey,
  recordNotFound,
  referenceRejected,
  threads,
  whatsappMessages,
} from '../db/index.ts';
import { conversationRecordView } from './repository.ts';
import { ConversationPut, type ConversationRecord, type ConversationUpdate } from './schema.ts';

/** Conversations in chains of rotated threads. A chain neither forks nor forms a circle. */

export const threadView = { ...conversationRecordView, ...threads };

/** A new thread begins its own chain. Linking it is a separate step. */
const steps = putSteps(threadView, {
  columns: {
    ...columnsOf(ConversationPut, conversations),
    contactKey: conversations.contactKey,
    chainId: conversations.chainId,
    continuedBy: conversations.continuedBy,
    messageCount: conversations.messageCount,
  },
  insertOnly: ['rotatedFrom', 'chainId', 'continuedBy', 'messageCount'],
  references: { customerId: activeCustomers },
});

/**
 * Takes any thread of a chain.
 * @throws CONVERSATION_NOT_FOUND
 */
export const getConversation = defineGet(threadView, 'conversations.get_record');

const chainsKey = ($: Params<{ organizationId: string }>): SQL =>
  sql`hashtextextended(concat('conversation chains ', ${$.organizationId}::text), 0)`;

/** Keeps the organization's chains unchanged until the transaction ends. Taken before any thread is locked. */
export const holdChainsStatement = prepared(
  'conversations.hold_chains',
  ($: Params<{ organizationId: string }>) => sql`select pg_advisory_xact_lock_shared(${chainsKey($)})`,
);

/**
 * Serializes changes of the organization's chains: which threads a change affects is known only while no
 * chain moves.
 */
const lockChainsStatement = prepared(
  'conversations.lock_chains',
  ($: Params<{ organizationId: string }>) => sql`select pg_advisory_xact_lock(${chainsKey($)})`,
);

const lockThread = defineLockedGet(threadView, 'conversations.get_record');

/**
 * Locks the chains before the thread, as a PUT does.
 * @throws CONVERSATION_NOT_FOUND
 */
export async function lockConversation(
  scope: OrganizationScope,
  id: string,
): Promise<Json<ConversationRecord>> {
  await scope.db.write(lockChainsStatement, { organizationId: scope.organizationId });
  return lockThread(scope, id);
}

type Place = { id: string; chainId: string; rotatedFrom: string | null; continuedBy: string | null };

const { id, chainId, rotatedFrom, continuedBy } = conversations;
const [next, thread] = [alias(conversations, 'next'), alias(conversations, 'thread')];

const placeStatement = prepared('conversations.place', ($: Params<RecordKey>) =>
  qb.select(as({ id, chainId, rotatedFrom, continuedBy })).from(conversations).where(keyIs(conversations, $)),
);

const findThread = async ({ db, organizationId }: OrganizationScope, id: string) =>
  (await db.read(placeStatement, { organizationId, id }))[0];

/** The thread and all threads that continue it. */
const tailStatement = prepared(
  'conversations.tail',
  ($: Params<RecordKey>): SQL<{ id: string }> => sql`
    with recursive tail as (
      select ${id}, ${continuedBy} from ${conversations} where ${keyIs(conversations, $)}
      union all
      select ${next.id}, ${next.continuedBy} from tail join ${conversations} as ${next}
        on ${ofOrganization(next, $)} and ${next.id} = tail.continued_by)
    select id from tail`,
);

type Move = RecordKey & { rotatedFrom: string | null; left: string | null; tail: string[]; chainId: string };

const moveStatement = prepared('conversations.move', ($: Params<Move>) =>
  qb
    .update(conversations)
    .set({
      rotatedFrom: sql`case when ${id} = ${$.id} then ${$.rotatedFrom}::uuid else ${rotatedFrom} end`,
      continuedBy: sql`case when ${id} = ${$.rotatedFrom}::uuid then ${$.id} when ${id} = ${$.left}::uuid then null
        else ${continuedBy} end`,
      chainId: sql`case when ${id} = any(${$.tail}::uuid[]) then ${$.chainId} else ${chainId} end`,
    })
    .where(
      and(
        ofOrganization(conversations, $),
        sql`${id} = any(${$.tail}::uuid[] || ${$.rotatedFrom}::uuid || ${$.left}::uuid)`,
      ),
    ),
);

const latestIn = (
  store: typeof whatsappMessages | typeof channelMessages,
  $: Params<{ organizationId: string }>,
): SQL => sql`(
  select max(${store.createdAt}) from ${store}
  where ${ofOrganization(store, $)} and ${store.conversationId} = ${thread.id})`;

/**
 * Adds to the number of messages of a thread, and sets its last timestamp; the newest thread of the chain
 * gets that of the chain. `updated_at` moves even if neither changes, as after an edited message. The caller
 * holds the chains and has locked both threads.
 */
export const dateChainStatement = prepared(
  'conversations.date_chain',
  ($: Params<RecordKey & { chainId: string; inserted: number }>) => {
    const { updatedAt, messageCount } = conversations;
    return qb
      .update(conversations)
      .set({
        updatedAt: sql`${updatedAt} + interval '1 ms'`,
        messageCount: sql`${messageCount} + case when ${id} = ${$.id} then ${$.inserted}::integer else 0 end`,
        lastMessageAt: sql`(
          select max(greatest(${latestIn(whatsappMessages, $)}, ${latestIn(channelMessages, $)}))
          from ${conversations} as ${thread}
          where ${ofOrganization(thread, $)} and ${thread.chainId} = ${$.chainId}
            and (${thread.id} = ${id} or ${newestThreads.visible}))`,
      })
      .where(
        and(
          ofOrganization(conversations, $),
          eq(chainId, $.chainId),
          or(eq(id, $.id), newestThreads.visible),
        ),
      );
  },
);

const rotationRejected = (message: string): ApiError => invalid('body.rotatedFrom', message);

const isContinuedAlready = (): ApiError => rotationRejected('is already continued by another thread');

/**
 * Moves the thread, with all that continue it, to the end of another chain; null begins its own chain. The
 * caller has locked the chains.
 */
async function move(
  scope: OrganizationScope,
  { id, chainId: leftChain, rotatedFrom: left }: Omit<Place, 'continuedBy'>,
  rotatedFrom: string | null,
): Promise<void> {
  const { db, organizationId } = scope;
  const key = { organizationId, id };
  const tail = (await db.read(tailStatement, key)).map((thread) => thread.id);
  const target = rotatedFrom === null ? undefined : await findThread(scope, rotatedFrom);
  if (rotatedFrom !== null && !target) throw referenceRejected(['rotatedFrom']);
  if (target && tail.includes(target.id))
    throw rotationRejected('would create a cycle: that thread continues this one');
  if (target && target.continuedBy !== null && target.continuedBy !== id) throw isContinuedAlready();
  const chainId = target?.chainId ?? id;
  await db.write(moveStatement, { ...key, rotatedFrom, left, tail, chainId });
  await db.write(dateChainStatement, { ...key, id: left ?? id, chainId: leftChain, inserted: 0 });
  await db.write(dateChainStatement, { ...key, id: rotatedFrom ?? id, chainId, inserted: 0 });
}

const { contactName, customerId, activityState, controlledBy, language } = conversations;

/** Fields that a thread inherits from the one that it continues. */
const inheritedStatement = prepared('conversations.inherited', ($: Params<RecordKey>) =>
  qb
    .select(as({ contactName, customerId, activityState, controlledBy, language }))
    .from(conversations)
    .where(keyIs(conversations, $)),
);

type Omitted = {
  organizationId: string;
  channel: string;
  contactKey: string | null;
  stored: string | null;
  isSame: boolean;
};

/** Only active customers have contact keys. Without one, an archived customer stays, and whoever had the same contact. */
const customerOfContactStatement = prepared(
  'conversations.customer_of_contact',
  ($: Params<Omitted>) => sql<{ customerId: string | null }>`
    select coalesce(
      (select ${customerContactKeys.customerId} from ${customerContactKeys}
        where ${ofOrganization(customerContactKeys, $)}
          and ${customerContactKeys.contactKey} = ${$.contactKey}
          and ${customerContactKeys.identifierType} = ${$.channel}),
      (select ${customers.id} from ${customers}
        where ${ofOrganization(customers, $)} and ${customers.id} = ${$.stored}
          and (${$.isSame} or ${customers.archivedAt} is not null))) as "customerId"`,
);

type Thread = Place & ConversationPut & { contactKey: string | null; messageCount: number };

/** Fills what the body omits, from the continued thread. The trigger `find_customer` finds the customer of a new thread. */
async function completed(
  { db, organizationId }: OrganizationScope,
  { rotatedFrom, ...input }: ConversationPut,
  stored: Thread | undefined,
): Promise<ConversationUpdate> {
  const [previous] = rotatedFrom
    ? await db.read(inheritedStatement, { organizationId, id: rotatedFrom })
    : [];
  const record = { ...previous, ...input };
  if (!stored || input.customerId !== undefined || record.customerId) return record;
  const { channel, contact } = input;
  const contactKey = keyOnChannel(channel, contact);
  const isSame = contactKey !== null && contactKey === stored.contactKey && channel === stored.channel;
  const omitted = { organizationId, channel, contactKey, stored: stored.customerId ?? null, isSame };
  const [found] = await db.read(customerOfContactStatement, omitted);
  return { ...record, customerId: found?.customerId };
}

/** A thread with messages stays in its store: the other store has no columns for their delivery. */
function rejectStoreChange(stored: Thread | undefined, channel: string | undefined): void {
  if (!stored || stored.messageCount === 0) return;
  if ((stored.channel === 'whatsapp') === (channel === 'whatsapp')) return;
  const message = 'cannot change between whatsapp and another channel while the conversation has messages';
  throw invalid('body.channel', message);
}

/**
 * Writes a thread, and then moves it to its place in a chain. Without `rotatedFrom` it stays there.
 * @param whole the body of a PUT, with its defaults; undefined: CONVERSATION_NOT_FOUND for an unknown thread
 */
const writeThread = (
  scope: OrganizationScope,
  id: string,
  sent: ConversationUpdate,
  whole?: (scope: OrganizationScope, stored: Thread | undefined) => Promise<ConversationUpdate>,
): Promise<Put<ConversationRecord>> =>
  inTransaction(scope, async (within) => {
    const { db, organizationId } = within;
    const rotatedFrom = sent.rotatedFrom?.toLowerCase() ?? sent.rotatedFrom;
    const isElsewhere = (thread: Pick<Place, 'rotatedFrom'> | undefined): boolean =>
      rotatedFrom !== undefined && (thread?.rotatedFrom ?? null) !== rotatedFrom;
    // Chains are locked before threads, so that two writers never deadlock.
    const isLocked = isElsewhere(await findThread(within, id));
    if (isLocked) await db.write(lockChainsStatement, { organizationId });
    const stored = (await steps.lock(within, id)) as Thread | undefined;
    if (!stored && !whole) throw recordNotFound(threads, id);
    if (isElsewhere(stored) && !isLocked) throw new LostRace('The thread was moved by somebody else.');
    await steps.check(within, sent, stored);
    const record: ConversationUpdate = whole ? await whole(within, stored) : { ...stored, ...sent };
    const { channel = '', contact = '' } = record;
    rejectStoreChange(stored, channel);
    const contactKey = keyOnChannel(channel, contact);
    if (stored) await steps.replace(within, id, { ...record, contactKey });
    else await steps.insert(within, id, { ...record, contactKey, chainId: id, messageCount: 0 });
    // A trigger has given a new contact its customer; null that was sent stays.
    if (sent.customerId === null) await steps.replace(within, id, { ...record, contactKey });
    if (rotatedFrom !== undefined && isElsewhere(stored))
      await move(within, stored ?? { id, chainId: id, rotatedFrom: null }, rotatedFrom);
    return { created: !stored, body: await getConversation(within, id) };
  }).catch((error) => {
    // A unique index rejects a fork even by a writer that does not lock the chains.
    throw isUniqueViolation(error) ? isContinuedAlready() : error;
  });

/** @throws VALIDATION_FAILED naming `customerId`, `rotatedFrom`, `channel` or `createdAt` */
export function putConversation(
  scope: OrganizationScope,
  id: string,
  { rotatedFrom = null, ...input }: ConversationPut,
): Promise<Put<ConversationRecord>> {
  const sent = { ...input, rotatedFrom };
  return writeThread(scope, id.toLowerCase(), sent, (within, stored) => completed(within, sent, stored));
}

/** @throws CONVERSATION_NOT_FOUND, VALIDATION_FAILED naming what `putConversation` names */
export async function updateConversation(
  scope: OrganizationScope,
  id: string,
  input: ConversationUpdate,
): Promise<Json<ConversationRecord>> {
  const { body } = await writeThread(scope, id.toLowerCase(), input);
  return body;
}
