import { type SQL, sql } from 'drizzle-orm';
import { keyOnChannel } from '../../rules/contact-key.ts';
import { invalid } from '../contract/errors.ts';
import {
  activeCustomers,
  channelMessages,
  columns,
  columnsOf,
  conversations,
  customers,
  defineGet,
  defineLock,
  definePut,
  FIXED,
  type Json,
  keyIs,
  type MessageTable,
  NO_ID,
  type OrganizationScope,
  ofOrganization,
  type Params,
  type Put,
  parseJson,
  prepared,
  qb,
  type RecordKey,
  referenceRejected,
  sent,
  threads,
  whatsappMessages,
} from '../db/index.ts';
import { conversationRecordView } from './repository.ts';
import { ConversationPut, type ConversationRecord, type ConversationUpdate } from './schema.ts';

/**
 * Conversations in chains of rotated threads. A thread is written with the one that it continues, which never changes: a chain
 * grows at its end alone, and neither forks nor forms a circle.
 */

const threadView = { ...conversationRecordView, ...threads };

/**
 * Takes any thread of a chain.
 * @throws CONVERSATION_NOT_FOUND
 */
export const getConversation = defineGet('conversations.get_record', threadView);

/** A thread with messages stays in its store: the other store has no columns for their delivery. */
const isOfOtherStore = sql`(${conversations.messageCount} > 0
  and (${conversations.channel} = 'whatsapp') <> (${sent('channel')} = 'whatsapp'))`;

/** NO_ID stands for null. */
const isOtherThread = sql`(${conversations.id} is not null and coalesce(${sent('rotatedFrom')}, ${conversations.rotatedFrom}, ${NO_ID})
  <> coalesce(${conversations.rotatedFrom}, ${NO_ID}))`;

const { put } = definePut(threadView, getConversation, {
  columns: {
    ...columnsOf(ConversationPut, conversations),
    contactKey: conversations.contactKey,
    chainId: conversations.chainId,
    lastMessageAt: conversations.lastMessageAt,
  },
  insertOnly: ['rotatedFrom', 'chainId', 'lastMessageAt'],
  references: { customerId: activeCustomers },
  rules: [
    { path: 'rotatedFrom', message: FIXED, isBroken: isOtherThread },
    {
      path: 'channel',
      message: 'cannot change between whatsapp and another channel while the conversation has messages',
      isBroken: sql`coalesce(${isOfOtherStore}, false)`,
    },
  ],
});

/** @throws CONVERSATION_NOT_FOUND */
export const lockConversation = defineLock(conversations, getConversation);

/** Keeps the chain of the thread as it is until the transaction ends: who writes to a chain first locks its first thread. */
const lockChainStatement = prepared('conversations.lock_chain', ($: Params<RecordKey>) => {
  const chainId = sql`(select ${conversations.chainId} from ${conversations} where ${keyIs(conversations, $)})`;
  return qb
    .select({})
    .from(conversations)
    .where(keyIs(conversations, { id: chainId }))
    .for('no key update');
});

const { id, chainId, continuedBy, lastMessageAt } = conversations;

/** Without an active customer, the trigger `find_customer` looks for one, and then takes the archived one. */
const customerId = sql<string | null>`(select ${customers.id} from ${customers}
  where ${ofOrganization(customers)} and ${customers.id} = ${conversations.customerId} and ${activeCustomers.visible})`;

const lockThreadStatement = prepared('conversations.lock_thread', ($: Params<RecordKey>) => {
  const { channel, contactName, activityState, controlledBy, language } = conversations;
  const inherited = { lastMessageAt, contactName, customerId, activityState, controlledBy, language };
  return qb
    .select(columns({ chainId, continuedBy, channel, ...inherited }))
    .from(conversations)
    .where(keyIs(conversations, $))
    .for('no key update');
});

/** Locks the chain, then the thread: what the next thread inherits. Undefined if there is none. */
export async function lockThread(scope: OrganizationScope, id: string) {
  const [[chain], [thread]] = await Promise.all([
    scope.write(lockChainStatement, { id }),
    scope.write(lockThreadStatement, { id }),
  ]);
  return chain && thread;
}

/**
 * Locks the chain first, as a PUT with `rotatedFrom` does.
 * @throws CONVERSATION_NOT_FOUND
 */
export async function lockToPutConversation(
  scope: OrganizationScope,
  id: string,
): Promise<Json<ConversationRecord>> {
  await lockThread(scope, id);
  return getConversation(scope, id);
}

const latestIn = (store: MessageTable): SQL => sql`(
  select max(${store.createdAt}) from ${store}
  where ${ofOrganization(store)} and ${store.conversationId} = ${id})`;

/** The timestamp of the chain's latest message is now that of the next thread. */
const continueStatement = prepared(
  'conversations.continue',
  ($: Params<RecordKey & { continuedBy: string }>) =>
    qb
      .update(conversations)
      .set({
        continuedBy: sql`${$.continuedBy}`,
        lastMessageAt: sql`greatest(${latestIn(whatsappMessages)}, ${latestIn(channelMessages)})`,
      })
      .where(keyIs(conversations, $)),
);

type Values = ConversationUpdate & { lastMessageAt?: string | null };

/**
 * The trigger `find_customer` finds the customer of a thread without one; NO_ID is the null that was sent.
 * @param input the fields of the request
 */
function write(
  scope: OrganizationScope,
  id: string,
  record: Values,
  input: ConversationUpdate,
  chain = id,
): Promise<Put<ConversationRecord>> {
  const { channel = '', contact = '' } = record;
  const customerId = input.customerId === null ? NO_ID : record.customerId;
  const rotatedFrom = input.rotatedFrom === null ? NO_ID : input.rotatedFrom;
  const contactKey = keyOnChannel(channel, contact);
  return put(scope, id, { ...record, customerId, contactKey, chainId: chain }, { ...input, rotatedFrom });
}

/** Writes a thread with what its body omits of the one that it continues. */
const writeNext = (scope: OrganizationScope, id: string, input: ConversationPut, rotatedFrom: string) =>
  scope.transaction(async (within) => {
    const previous = await lockThread(within, rotatedFrom);
    if (!previous) throw referenceRejected('rotatedFrom');
    const { chainId, continuedBy, ...inherited } = previous;
    if (continuedBy !== null && continuedBy !== id)
      throw invalid('body.rotatedFrom', 'is already continued by another thread');
    const written = await write(within, id, { ...inherited, ...input }, input, chainId);
    const continued = { id: rotatedFrom, continuedBy: id };
    if (written.created) await within.write(continueStatement, continued);
    return written;
  });

/** @throws VALIDATION_FAILED naming `customerId`, `rotatedFrom`, `channel` or `createdAt` */
export function putConversation(
  scope: OrganizationScope,
  id: string,
  input: ConversationPut,
): Promise<Put<ConversationRecord>> {
  const { rotatedFrom } = input;
  const thread = id.toLowerCase();
  return rotatedFrom ? writeNext(scope, thread, input, rotatedFrom) : write(scope, thread, input, input);
}

/** @throws CONVERSATION_NOT_FOUND, VALIDATION_FAILED naming what `putConversation` names */
export const updateConversation = (
  scope: OrganizationScope,
  id: string,
  input: ConversationUpdate,
): Promise<Json<ConversationRecord>> =>
  scope.transaction(async (within) => {
    const stored = parseJson(await lockConversation(within, id));
    const { channel = stored.channel, contact = stored.contact } = input;
    const keyOf = (channel: string, contact: string) => keyOnChannel(channel, contact) ?? contact;
    const isSame = channel === stored.channel && keyOf(channel, contact) === keyOf(channel, stored.contact);
    const customerId = isSame ? (stored.customerId ?? NO_ID) : null;
    const { body } = await write(within, id.toLowerCase(), { ...stored, customerId, ...input }, input);
    return body;
  });
