import fc from 'fast-check';
import { isNullable, resolved, type Schema } from '../support/contract.ts';
import { fieldsMadeOf, type Kinds, madeOf } from '../support/values.ts';
import { BELOW, OPERATIONS } from './operations.ts';
import { active, type Fields, KINDS, type Kind, type Organization, operations } from './organization.ts';

/** Random steps, generated from the OpenAPI documents: a new field or filter is generated too. */

/** Stands in a request for an existing value, which is chosen when the request is sent. */
export type Chosen = {
  choose: Kind | 'contact' | 'message' | 'timestamp' | 'ids' | 'variant' | 'token';
  n: number;
  isArchived?: true;
};

export type Step = { agency: 0 | 1 } & (
  | {
      name: string;
      ids: Chosen[];
      query: Fields;
      body: Fields;
    }
  | { sql: 'change' | 'archive' | 'restore' | 'copy' | 'age' | 'delete'; of: Chosen; text: string }
  /** At the same time, about one record. */
  | { competing: RequestStep[] }
  | { job: 'purge' | 'compare' }
);
export type RequestStep = Extract<Step, { name: string }>;
export type SqlStep = Extract<Step, { sql: string }>;

const choose = (choose: Chosen['choose']): fc.Arbitrary<Chosen> =>
  fc.record({ choose: fc.constant(choose), n: fc.nat({ max: 999 }) });

/** Ids that both organizations give to records, so that each id exists in both. */
export const SHARED = [1, 2, 3, 4].map((n) => `01936f5e-0000-7000-8000-00000000000${n}`);
const UNKNOWN = '01936f5e-0000-7000-8000-000000000009';

const archived = (kind: Kind) => choose(kind).map((chosen): Chosen => ({ ...chosen, isArchived: true }));

export const WORDS = ['Oaxaca', 'Oaxaca sur', 'Bogotá', 'Ñandú 100%', 'a_b\\c', 'Ana'];
const PARTS = 'oax|ana|BOGOTA|nandu|0%|_|\\|sur|ana oax|5512|@example|visi|zz'.split('|');
export const TIMESTAMPS = [
  '2026-10-01T10:00:00.000Z',
  '2026-10-02T10:00:00.000Z',
  '2026-10-02T10:00:00.001Z',
];

/** Contacts, some of them in two spellings, some with one value in two channels. */
const CONTACTS = [
  ['whatsapp', '+525512345678'],
  ['whatsapp', '+52 1 55 1234 5678'],
  ['telefono', '+525512345678'],
  ['telefono', '+52 (55) 1234-5678'],
  ['email', 'Ana@example.com'],
  ['email', 'ana@example.com'],
  ['instagram', '@Ana'],
  ['web', 'visitor'],
  ['messenger', 'visitor'],
];
const contactOf = ([type, value = '']: string[]): string =>
  `${type} ${value.replace(/\D/g, '').slice(-8) || value.toLowerCase()}`;

const contacts = fc
  .uniqueArray(fc.constantFrom(...CONTACTS), { selector: contactOf, minLength: 1, maxLength: 3 })
  .map((list) => list.map(([identifierType, identifierValue]) => ({ identifierType, identifierValue })));

/** The values of fields and parameters whose schema says too little. */
const NAMED: Record<string, fc.Arbitrary<unknown>> = {
  contacts,
  key: fc.constantFrom('new', 'won', 'lost'),
  userId: fc.constantFrom(...[1, 2, 3, 4, 5, 6].map((n) => `user ${n}`)),
  email: fc.constantFrom('ana@example.com', 'eva@example.com'),
  channel: fc.constantFrom('whatsapp', 'whatsapp', 'instagram', 'web', 'sms'),
  contact: fc.constantFrom(...CONTACTS.map(([, value]) => value)),
  customerId: choose('customers'),
  from: choose('customers'),
  mergedInto: choose('customers'),
  sellerMemberId: choose('members'),
  stageId: choose('stages'),
  opportunityId: choose('opportunities'),
  rotatedFrom: choose('conversations'),
  query: fc.constantFrom(...PARTS),
  limit: fc.constantFrom(1, 2, 3, 100),
  offset: fc.constantFrom(0, 1, 2, 5),
  ids: choose('ids'),
  token: choose('token'),
  before: fc.oneof(choose('message'), fc.constantFrom(...TIMESTAMPS)),
  after: fc.oneof(choose('message'), fc.constantFrom(...TIMESTAMPS)),
  id: choose('message'),
  checkInDate: fc.constantFrom('2027-01-15', '2027-01-15, con Ana', 'enero'),
};

const ARBITRARIES: Kinds<fc.Arbitrary<unknown>> = {
  own: (_schema, name) => (/(Since|Before)$/.test(name) ? choose('timestamp') : NAMED[name]),
  closed: (_schema, values) => fc.constantFrom(...values),
  boolean: () => fc.boolean(),
  integer: () => fc.constantFrom(1, 2, 12),
  number: () => fc.constantFrom(1, 2.5, 1200),
  string: ({ format, maxLength, minLength }) => {
    if (format === 'date-time') return fc.constantFrom(...TIMESTAMPS);
    if (format === 'date') return fc.constantFrom('2027-03-31', '2027-04-01');
    if (maxLength === 3) return fc.constantFrom('USD', 'EUR');
    return fc.constantFrom(...WORDS, ...(minLength === undefined ? [''] : []));
  },
  array: ({ minItems = 0 }, entry) =>
    fc.uniqueArray(entry, {
      maxLength: 2,
      minLength: Number(minItems),
      selector: (made) =>
        (made as Fields).id ? (made as Fields).id.n % SHARED.length : JSON.stringify(made),
    }),
  /** All required fields, and any others. */
  object: ({ required = [] }, fields) => fc.record(fields, { requiredKeys: required as string[] }),
  around: (value, schema) =>
    isNullable(schema)
      ? fc.oneof({ weight: 3, arbitrary: value }, { weight: 1, arbitrary: fc.constant(null) })
      : value,
};

/** At most three filters, because more would find nothing. */
const queryOf = (parameters: { name: string; in: string; schema: Schema }[]): fc.Arbitrary<Fields> => {
  const known = parameters.filter((parameter) => parameter.in === 'query');
  if (known.length === 0) return fc.constant({});
  const one = fc
    .constantFrom(...known)
    .chain(({ name, schema }) => madeOf(ARBITRARIES, schema, name).map((value) => [name, value]));
  return fc
    .array(one, { maxLength: 3 })
    .map((entries) => Object.fromEntries(entries))
    .map(({ contactType, after, ...query }) => ({
      ...query,
      ...(after && !query.before && { after }),
      ...(contactType && query.contact && { contactType }),
    }));
};

/** Changes to a body that its schema does not express, such as a timestamp that the service would set and no response has. */
const COMPLETED: Record<string, (body: Fields) => Fields> = {
  [`POST ${BELOW}/conversations/{conversationId}/messages`]: ({ data }) => ({
    data: data.map((message: Fields) => ({ createdAt: TIMESTAMPS[0], ...message })),
  }),
  [`PATCH ${BELOW}/catalog/products/{productId}`]: ({ variants, ...body }) => ({
    ...body,
    ...(variants && {
      variants: variants.map(({ id, ...variant }: Fields) => ({
        ...variant,
        ...(id && { id: { ...id, choose: 'variant' } }),
      })),
    }),
  }),
  [`POST ${BELOW}/quotes/{quoteId}/opens`]: (body) => ({ openedAt: TIMESTAMPS[1], ...body }),
};

function documentedAt(name: string) {
  const [method = '', path = ''] = name.split(' ');
  const documented = operations[path]?.[method.toLowerCase()];
  if (!documented) throw new Error(`No document has ${name}.`);
  const schema = documented.requestBody?.content['application/json']?.schema;
  return { path, parameters: documented.parameters ?? [], body: schema && resolved(schema) };
}

/** The values of each field of the operation's body. */
export const fieldArbitraries = (name: string): Record<string, fc.Arbitrary<unknown>> =>
  fieldsMadeOf(ARBITRARIES, documentedAt(name).body ?? {});

/** Fields that can be written only once are mostly rejected, so few requests have them. */
const withoutOnce = ({ createdAt: _, token: __, ...body }: Fields): Fields => body;

const requestOf = (name: string): fc.Arbitrary<RequestStep> => {
  const { path, parameters, body } = documentedAt(name);
  const { kind } = OPERATIONS[name] ?? {};
  const [, second] = [...path.matchAll(/\{(?!organizationId)(\w+)\}/g)];
  const inPath = [
    ...(kind ? [name.endsWith('/restore') ? archived(kind) : choose(kind)] : []),
    ...(second ? [choose(second[1]?.slice(0, -2) as Chosen['choose'])] : []),
  ];
  return fc.record({
    agency: fc.constantFrom(0 as const, 1 as const),
    name: fc.constant(name),
    ids: fc.tuple(...inPath) as fc.Arbitrary<Chosen[]>,
    query: queryOf(parameters),
    body: fc
      .tuple(body ? (madeOf(ARBITRARIES, body) as fc.Arbitrary<Fields>) : fc.constant({}), fc.nat({ max: 4 }))
      .map(([body, n]) => (n > 0 && /^(PUT|PATCH)/.test(name) ? withoutOnce(body) : body))
      .map(COMPLETED[name] ?? ((body) => body)),
  });
};

/** How often each operation is generated. Creates and reads are the most frequent. */
const weightOf = (name: string): number => {
  if (/^(POST \/v1|GET \/v1\/\w+$|GET \/v1\/catalog\/products$|PATCH \/v1)/.test(name)) return 6;
  if (/^(PUT|PATCH|GET .*(messages|products|conversations)$)/.test(name)) return 4;
  return 2;
};

const ARCHIVABLE = KINDS.filter((kind) => kind !== 'conversations');
/** SQL would restore a customer without its contacts, and a stage or a member although another one has its key or account. */
const RESTORABLE = ['products', 'opportunities', 'quotes'] as const;

const sql = fc
  .constantFrom(
    ...KINDS.map((kind) => ['change', choose(kind)] as const),
    ...ARCHIVABLE.map((kind) => ['archive', choose(kind)] as const),
    ...RESTORABLE.map((kind) => ['restore', archived(kind)] as const),
    ...(['products', 'customers'] as const).map((kind) => ['copy', choose(kind)] as const),
    ['age', archived('products')] as const,
    ['age', archived('products')] as const,
    ['delete', choose('products')] as const,
  )
  .chain(([sql, of]) =>
    fc.record({
      agency: fc.constantFrom(0 as const, 1 as const),
      sql: fc.constant(sql),
      of,
      text: fc.constantFrom(...WORDS),
    }),
  ) as fc.Arbitrary<Step>;

const job = fc.constant<Step>({ agency: 0, job: 'purge' });

const step = fc.oneof(
  ...Object.keys(OPERATIONS).map((name) => ({ weight: weightOf(name), arbitrary: requestOf(name) })),
  { weight: 12, arbitrary: sql },
  { weight: 1, arbitrary: job },
);

/** Operations that can be about one record at the same time. */
const ABOUT_ONE = [
  ['POST /v1/customers'],
  [
    'PATCH /v1/customers/{customerId}',
    'PATCH /v1/customers/{customerId}',
    'DELETE /v1/customers/{customerId}',
  ],
  [
    'PATCH /v1/catalog/products/{productId}',
    'DELETE /v1/catalog/products/{productId}',
    `PATCH ${BELOW}/catalog/products/{productId}`,
  ],
  ...['quotes/{quoteId}', 'opportunities/{opportunityId}', 'team-members/{teamMemberId}'].map((path) =>
    ['PUT', 'PATCH', 'DELETE'].map((method) => `${method} ${BELOW}/${path}`),
  ),
  [
    `PUT ${BELOW}/conversations/{conversationId}`,
    `PATCH ${BELOW}/conversations/{conversationId}`,
    `POST ${BELOW}/conversations/{conversationId}/messages`,
  ],
];

/** An erasure beside writes of the person, and of records that may be the person's. */
const ABOUT_ONE_PERSON = [
  `POST ${BELOW}/customers/{customerId}/erase`,
  'PATCH /v1/customers/{customerId}',
  'DELETE /v1/customers/{customerId}',
  `PATCH ${BELOW}/opportunities/{opportunityId}`,
  `PATCH ${BELOW}/quotes/{quoteId}`,
  `PATCH ${BELOW}/conversations/{conversationId}`,
  `POST ${BELOW}/conversations/{conversationId}/messages`,
];

/** A reference is looked up before the write, which may come after the erasure of what it refers to. */
const withoutReferences = ({ customerId, opportunityId, contact, channel, rotatedFrom, ...body }: Fields) =>
  body;

/** A merge or a restore beside writes of the person, and of records that name it or have its contact. */
const NAMING_ONE_PERSON = [
  `POST ${BELOW}/customers/{customerId}/merge`,
  `POST ${BELOW}/customers/{customerId}/merge`,
  `POST ${BELOW}/customers/{customerId}/restore`,
  'POST /v1/customers',
  'PATCH /v1/customers/{customerId}',
  'DELETE /v1/customers/{customerId}',
  ...['opportunities/{opportunityId}', 'conversations/{conversationId}', 'quotes/{quoteId}'].flatMap(
    (path) => [`PUT ${BELOW}/${path}`, `PATCH ${BELOW}/${path}`],
  ),
];

const naming = (n: number, body: Fields): Fields =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      const isReference = value && ['from', 'customerId'].includes(name);
      return [name, isReference ? { choose: 'customers', n } : value];
    }),
  );

/** Two or three requests about one record at the same time. */
const competing = fc
  .record({
    names: fc.constantFrom(
      ...ABOUT_ONE,
      ...[ABOUT_ONE_PERSON, NAMING_ONE_PERSON].flatMap((names) => [names, names]),
    ),
    agency: fc.constantFrom(0 as const, 1 as const),
    n: fc.nat({ max: 999 }),
  })
  .chain(({ names, agency, n }) =>
    fc
      .tuple(
        requestOf(names[0] as string),
        fc.array(fc.oneof(...names.map(requestOf)), { minLength: 1, maxLength: 2 }),
      )
      .map(([first, others]) => [first, ...others])
      .map(
        (requests): Step => ({
          agency,
          competing: requests.map((request) => ({
            ...request,
            agency,
            // A merge is of this person into another.
            ids: request.ids.map((id, index) =>
              index === 0 ? { ...id, n: request.body.from ? n + 1 : n } : id,
            ),
            body: names === ABOUT_ONE_PERSON ? withoutReferences(request.body) : naming(n, request.body),
          })),
        }),
      ),
  );

export const steps = (length: number): fc.Arbitrary<Step[]> =>
  fc.array(fc.oneof({ weight: 91, arbitrary: step }, { weight: 8, arbitrary: competing }), {
    minLength: length,
    maxLength: length,
    size: 'max',
  });

/** Replaces every `Chosen` by the value that it chooses. */
export function resolve<T>(value: T, own: Organization, other: Organization, id = ''): T {
  if (Array.isArray(value)) return value.map((entry) => resolve(entry, own, other, id)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const chosen = value as unknown as Chosen;
  if (chosen.choose === undefined)
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, resolve(inner, own, other, id)]),
    ) as T;
  const pool = poolOf(chosen, own, other, id);
  return pool[chosen.n % pool.length] as T;
}

const mostly = (children: Fields[] = []): string[] => {
  const ids = children.map((child) => child.id);
  return [...ids, ...ids, ...ids, UNKNOWN];
};

/** @param id the first id of the path */
type Pool = (own: Organization, other: Organization, id: string) => string[];

const POOLS: Record<Exclude<Chosen['choose'], Kind>, Pool> = {
  // A message has one id in one thread.
  message: (own, _other, id) =>
    id === ''
      ? [...Object.values(own.messages).map((message) => message.id), UNKNOWN]
      : SHARED.map((shared) => shared.replace('-0000-', `-000${1 + SHARED.indexOf(id)}-`)),
  contact: ({ customers }, _other, id) => mostly(customers[id]?.contacts),
  variant: ({ products }, _other, id) => mostly(products[id]?.variants),
  token: (own) => [...Object.values(own.quotes).map(({ token }) => token), 'aurora-1', 'aurora-2'],
  timestamp: (own) => KINDS.flatMap((kind) => Object.values(own[kind]).map(({ updatedAt }) => updatedAt)),
  ids: (own) => {
    const all = KINDS.flatMap((kind) => Object.keys(own[kind]));
    return all.map((id, index) => [id, ...all.slice(index + 1, index + 4), UNKNOWN].join(','));
  },
};

/** Mostly active records of the organization; sometimes an archived one, one of the other organization, or an unknown id. */
function poolOf(
  { choose, isArchived }: Chosen,
  own: Organization,
  other: Organization,
  id: string,
): string[] {
  if (choose in POOLS) return POOLS[choose as keyof typeof POOLS](own, other, id);
  const kind = choose as Kind;
  const all = Object.keys(own[kind]);
  const activeIds = active(own[kind]).map((row) => row.id);
  if (isArchived) {
    const archivedIds = all.filter((id) => !activeIds.includes(id));
    return [...archivedIds, ...archivedIds, ...all, UNKNOWN];
  }
  const others = [...all, ...Object.keys(other[kind]), UNKNOWN];
  const creatable = kind === 'products' || kind === 'customers' ? [] : SHARED;
  return [...Array.from({ length: 6 }, () => activeIds).flat(), ...others, ...creatable];
}
