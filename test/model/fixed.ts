import fc from 'fast-check';
import { BELOW, OPERATIONS } from './operations.ts';
import { type Fields, type Kind, operations } from './organization.ts';
import {
  type Chosen,
  fieldArbitraries,
  type RequestStep,
  SHARED,
  type Step,
  TIMESTAMPS,
  WORDS,
} from './steps.ts';

/** Fixed steps, before and after the random ones, and a fixed sequence of steps that random ones seldom contain. */

const [one, two, three, four] = SHARED as [string, string, string, string];

const requestOf =
  (agency: 0 | 1) =>
  (name: string, ids: unknown[] = [], body: unknown = {}, query: Fields = {}): RequestStep => ({
    agency,
    name: name.replace('~', BELOW),
    ids: ids as Chosen[],
    query,
    body: body as Fields,
  });

const first = (choose: Chosen['choose']): Chosen => ({ choose, n: 0 });
const lastArchived = (choose: Kind): Chosen => ({ choose, n: 0, isArchived: true });

const TRANSCRIPT = 'GET /v1/conversations/{conversationId}/messages';

const TRANSCRIPT_RECORD = `GET ${BELOW}/conversations/{conversationId}/messages`;

/** Records of each kind, most of them with ids that the other organization uses too. */
export const initialSteps = (agency: 0 | 1): Step[] => {
  const send = requestOf(agency);
  const contact = { identifierType: 'web', identifierValue: 'erased' };
  const thread = { channel: 'whatsapp', contact: '+525512345678', contactName: 'Ana' };
  const message = { choose: 'message', n: 0 };
  const inbound = { direction: 'inbound', messageType: 'text', createdAt: TIMESTAMPS[1] };
  return [
    // An erased customer.
    send('POST /v1/customers', [], { firstName: 'Eva', summary: WORDS[0], contacts: [contact] }),
    send('POST ~/customers/{customerId}/erase', [first('customers')]),
    send('POST ~/customers/{customerId}/erase', [lastArchived('customers')]),
    send('GET ~/customers/{customerId}', [lastArchived('customers')]),
    ...[one, two].flatMap((id, n) => [
      send('POST /v1/customers', [], {
        firstName: 'Ana',
        lastName: WORDS[n],
        tags: [WORDS[1 - n]],
        contacts: [{ identifierType: 'web', identifierValue: `first ${n}` }],
      }),
      send('POST /v1/catalog/products', [], { title: WORDS[n] }),
      send('PUT ~/pipeline-stages/{pipelineStageId}', [id], { key: ['new', 'won'][n], name: 'x' }),
      send('PUT ~/team-members/{teamMemberId}', [id], {
        userId: `user ${n + 1}`,
        name: 'Eva',
        email: 'eva@example.com',
      }),
      send('PUT ~/opportunities/{opportunityId}', [id], {
        salesStage: 'new',
        customerId: first('customers'),
      }),
      send('PUT ~/quotes/{quoteId}', [id], {
        title: 'x',
        destination: WORDS[n],
        status: 'published',
        opportunityId: id,
      }),
    ]),
    send('PUT ~/conversations/{conversationId}', [one], { ...thread, customerId: first('customers') }),
    send('PUT ~/conversations/{conversationId}', [two], {
      ...thread,
      contactName: 'Ana Peña',
      rotatedFrom: one,
    }),
    send('PUT ~/conversations/{conversationId}', [three], { channel: 'web', contact: 'visitor' }),
    // Without a message or a name.
    send('PUT ~/conversations/{conversationId}', [four], { ...thread, contactName: null }),
    ...[one, three].map((id) =>
      send('PUT ~/conversations/{conversationId}/messages/{messageId}', [id, message], {
        ...inbound,
        content: 'Hola',
      }),
    ),
    send('POST ~/conversations/{conversationId}/messages', [two], {
      data: [{ ...inbound, id: message, content: 'Buenas' }],
    }),
    // A change of a contact's type alone.
    send('PATCH /v1/customers/{customerId}', [first('customers')], {
      contacts: [{ identifierType: 'messenger', identifierValue: 'first 0' }],
    }),
    send('DELETE /v1/catalog/products/{productId}', [first('products')]),
    send('POST ~/catalog/products/{productId}/restore', [lastArchived('products')]),
  ];
};

/** Two PATCH requests for each field alone: derived data must follow each single field. */
const eachFieldAlone = (): Step[] =>
  Object.entries(OPERATIONS)
    .filter(([name]) => name.startsWith('PATCH'))
    .flatMap(([name, { kind }]) =>
      Object.entries(fieldArbitraries(name)).flatMap(([field, value], seed) => {
        const ids = [
          ...(kind ? [kind] : []),
          ...(['contact', 'message'] as const).filter((child) => name.includes(`{${child}Id}`)),
        ].map(first);
        const values = fc.uniqueArray(value, { minLength: 2, maxLength: 2, selector: JSON.stringify });
        const [bodies = []] = fc.sample(values, { seed, numRuns: 1 });
        return bodies.flatMap((sent): Step[] => [
          requestOf(0)(name, ids, { [field]: sent }),
          { agency: 0, job: 'compare' },
        ]);
      }),
    );

/** A success of each operation that random sequences could reject each time. */
const eachOperation = (): Step[] => {
  const send = requestOf(0);
  const third = (choose: Kind): Chosen => ({ choose, n: 2 });
  // A conversation on another channel gives no name to a contact, whose own has none.
  const contacts = [{ identifierType: 'messenger', identifierValue: 'third' }];
  const thread = { channel: 'web', contact: 'third', contactName: 'Ana' };
  return [
    send('POST ~/catalog/products', [], { title: 'x' }),
    send('PUT ~/conversations/{conversationId}', [one.replace(/1$/, '8')], {
      channel: 'messenger',
      contact: 'third',
    }),
    send('PUT ~/conversations/{conversationId}', [three], thread),
    send('POST ~/customers', [], { contacts }),
    ...['/v1', '~'].flatMap((api) => [
      send(`GET ${api}/catalog/products/{productId}`, [first('products')]),
      send(`GET ${api}/customers/{customerId}`, [first('customers')]),
      send(`GET ${api}/opportunities/{opportunityId}`, [one]),
    ]),
    send('DELETE ~/catalog/products/{productId}', [third('products')]),
    send('DELETE ~/customers/{customerId}', [third('customers')]),
    send('POST ~/quotes/{quoteId}/opens', [two], { openedAt: TIMESTAMPS[0] }),
    send('GET ~/conversations/{conversationId}', [one]),
    ...[
      'pipeline-stages/{pipelineStageId}',
      'team-members/{teamMemberId}',
      'opportunities/{opportunityId}',
      'quotes/{quoteId}',
    ].flatMap((path) => [
      send(`GET ~/${path}`, [two]),
      send(`DELETE ~/${path}`, [two]),
      send(`POST ~/${path}/restore`, [two]),
    ]),
  ];
};

/** Steps that random sequences seldom contain. */
export const rareSteps = (): Step[] => {
  const send = requestOf(0);
  const list = (name: string, query: Fields): Step => send(name, [], {}, query);
  const openQuote = (openedAt = TIMESTAMPS[0]) => send('POST ~/quotes/{quoteId}/opens', [one], { openedAt });
  const restores = [0, 1, 2].map((n) =>
    send('POST ~/customers/{customerId}/restore', [{ choose: 'customers', n, isArchived: true }]),
  );
  const message = { direction: 'inbound', messageType: 'text', createdAt: TIMESTAMPS[0] };
  return [
    ...eachOperation(),
    // A tag and a destination that are parts of others; a later page of a search.
    list('GET /v1/customers', { tag: WORDS[0] }),
    list('GET /v1/catalog/products', { destination: WORDS[1] }),
    list('GET /v1/customers', { query: 'ana', offset: 1 }),
    // Two variants in reverse order, with a new one between them.
    send('PATCH ~/catalog/products/{productId}', [first('products')], {
      variants: [{ label: 'A', fromPrice: 10 }, { label: 'B' }],
    }),
    send('PATCH ~/catalog/products/{productId}', [first('products')], {
      variants: [{ id: { choose: 'variant', n: 1 } }, { label: 'C' }, { id: { choose: 'variant', n: 0 } }],
    }),
    // Another spelling of a number changes nothing.
    ...['+52 55 8888 7777', '+52-55-8888-7777'].map((identifierValue) =>
      send('PATCH /v1/customers/{customerId}', [first('customers')], {
        contacts: [{ identifierType: 'whatsapp', identifierValue }],
      }),
    ),
    // Conversations change when they get a message, long after they were created.
    ...[14, 15, 16, 17].map((n) =>
      list('GET /v1/conversations', { updatedBefore: { choose: 'timestamp', n } }),
    ),
    send('POST /v1/customers', [], {
      contacts: [{ identifierType: 'whatsapp', identifierValue: '+525512345678' }],
    }),
    // A conversation without a customer gets the one with its contact, and names this contact in its own organization.
    ...([0, 1] as const).map((agency) =>
      requestOf(agency)('PUT ~/conversations/{conversationId}', [three], {
        channel: 'web',
        contact: 'first 1',
        contactName: WORDS[agency],
      }),
    ),
    send('PATCH ~/opportunities/{opportunityId}', [one], {
      agentTemperature: 'hot',
      temperatureOverride: 'cold',
    }),
    ...['hot', 'cold'].map((temperature) => list('GET /v1/opportunities', { temperature })),
    // Messages with one timestamp, not in the order of their ids. The first is replaced, and stays the first.
    send('POST ~/conversations/{conversationId}/messages', [four], {
      data: [3, 1, 2].map((n) => ({ ...message, content: WORDS[n], id: { choose: 'message', n } })),
    }),
    send('PUT ~/conversations/{conversationId}/messages/{messageId}', [four, { choose: 'message', n: 3 }], {
      ...message,
      content: 'Otra',
    }),
    send(TRANSCRIPT, [four]),
    // A thread stays in its chain.
    send('PATCH ~/conversations/{conversationId}', [two], { rotatedFrom: null }),
    { agency: 0, job: 'compare' },
    send('GET /v1/conversations'),
    send('PATCH ~/conversations/{conversationId}', [two], { rotatedFrom: one }),
    // The retention of an archived product has ended.
    send('DELETE /v1/catalog/products/{productId}', [first('products')]),
    { agency: 0, sql: 'age', of: lastArchived('products'), text: '' },
    send('POST ~/catalog/products/{productId}/restore', [lastArchived('products')]),
    list('GET ~/catalog/products', { archived: 'true' }),
    { agency: 0, job: 'purge' },
    { agency: 0, sql: 'delete', of: first('products'), text: '' },
    { agency: 0, job: 'compare' },
    // The customer of a quote is another one than that of its opportunity.
    ...[0, 1].flatMap((n) => {
      const id = [three, four][n] as string;
      const customerId = [first('customers'), { choose: 'customers', n: 1 }];
      return [
        send('PUT ~/opportunities/{opportunityId}', [id], { salesStage: 'new', customerId: customerId[n] }),
        send('PUT ~/quotes/{quoteId}', [id], {
          title: 'x',
          status: 'draft',
          opportunityId: id,
          customerId: customerId[1 - n],
        }),
      ];
    }),
    // Archived customers are restored, except erased and merged ones; merged ones not even when their contacts are free again.
    send('POST ~/customers/{customerId}/erase', [first('customers')]),
    ...[0, 1].map((n) =>
      send('POST /v1/customers', [], {
        summary: WORDS[n],
        tags: [WORDS[n], 'both'],
        contacts: [{ identifierType: 'web', identifierValue: `merged ${n}` }],
      }),
    ),
    send('DELETE /v1/customers/{customerId}', [first('customers')]),
    ...restores,
    ...[1, 1, 2, 0].map((n) =>
      send('POST ~/customers/{customerId}/merge', [first('customers')], {
        from: { choose: 'customers', n },
      }),
    ),
    send('PATCH /v1/customers/{customerId}', [first('customers')], {
      contacts: [{ identifierType: 'web', identifierValue: 'alone' }],
    }),
    ...restores,
    ...[
      {},
      { query: '5512' },
      { tag: 'both' },
      { contact: '+525512345678', contactType: 'whatsapp' },
      { contact: '+525512345678', contactType: 'telefono' },
    ].map((query) => list('GET ~/customers', { ...query, archived: 'true' })),
    // An opening that is reported late, and a quote whose opportunity is archived.
    openQuote(TIMESTAMPS[2]),
    openQuote(),
    send('DELETE ~/opportunities/{opportunityId}', [two]),
    send('PUT ~/quotes/{quoteId}', [two], { title: 'x', status: 'draft', opportunityId: two }),
    send('POST ~/opportunities/{opportunityId}/restore', [two]),
    // Every product has been deleted above.
    send('POST /v1/catalog/products', [], { title: 'x' }),
    ...eachFieldAlone(),
  ];
};

/** All lists, searches and transcripts. */
export const readSteps = (agency: 0 | 1): Step[] => {
  const read = (name: string, query: Fields = {}, ids: string[] = []) =>
    requestOf(agency)(name, ids, {}, query);
  const lists = Object.keys(OPERATIONS).filter((name) => /^GET [^}]*(\{organizationId\}[^}]*)?$/.test(name));
  const hasQuery = (name: string) =>
    operations[name.slice(4)]?.get?.parameters?.some((parameter) => parameter.name === 'query');
  return [
    ...lists.map((name) => read(name, { limit: 100 })),
    ...lists
      .filter((name) => name.startsWith('GET /v1') && hasQuery(name))
      .flatMap((name) => ['ana oax', 'sur', 'BOGOTA', '5512'].map((query) => read(name, { query }))),
    ...SHARED.flatMap((id) => [read(TRANSCRIPT, {}, [id]), read(TRANSCRIPT_RECORD, {}, [id])]),
    ...[0, 1].map((n) => read('GET /v1/conversations', { customerId: { choose: 'customers', n } })),
    read(`GET ${BELOW}/catalog/products`, { archived: 'true' }),
  ];
};
