import fc from 'fast-check';
import { resolved, type Schema } from '../support/contract.ts';
import { BELOW, OPERATIONS } from './operations.ts';
import {
  type Fields,
  KINDS,
  type Kind,
  live,
  type Organization,
  operations,
  type Row,
} from './organization.ts';

/** Steps of any kind, drawn from the documents: a field or a filter that is new there is drawn too. */

/** A record, a moment or a message that stands in a request, chosen when the step is taken. */
export type Chosen = {
  choose: Kind | 'contact' | 'attachment' | 'message' | 'moment' | 'ids' | 'variant' | 'token';
  n: number;
  isArchived?: true;
};

export type Step = { agency: 0 | 1 } & (
  | {
      name: string;
      ids: Chosen[];
      query: Fields;
      body: Fields;
      precondition: 'none' | 'current' | 'stale' | 'weak' | 'any' | 'mustCreate';
      key: string | null;
      isKilled: boolean;
    }
  | { sql: 'change' | 'archive' | 'bringBack' | 'copy' | 'age' | 'delete'; of: Chosen; text: string }
  | { together: RequestStep[] }
  | { meeting: RequestStep[] }
  | { account: 'close' | 'reopen' }
  | { job: 'purge' | 'kill' | 'compare' }
);
export type RequestStep = Extract<Step, { name: string }>;
export type SqlStep = Extract<Step, { sql: string }>;

const choose = (choose: Chosen['choose']): fc.Arbitrary<Chosen> =>
  fc.record({ choose: fc.constant(choose), n: fc.nat({ max: 999 }) });

/** Ids that both agencies use for records of their own, so that each has records with ids of the other. */
export const SHARED = [1, 2, 3, 4].map((n) => `01936f5e-0000-7000-8000-00000000000${n}`);
const UNKNOWN = '01936f5e-0000-7000-8000-000000000009';

const archived = (kind: Kind) => choose(kind).map((chosen): Chosen => ({ ...chosen, isArchived: true }));

export const WORDS = ['Oaxaca', 'Oaxaca sur', 'Bogotá', 'Ñandú 100%', 'a_b\\c', 'Ana'];
const PARTS = 'oax|ana|BOGOTA|nandu|0%|_|\\|sur|ana oax|5512|@example|visi|zz'.split('|');
export const MOMENTS = ['2026-10-01T10:00:00.000Z', '2026-10-02T10:00:00.000Z', '2026-10-02T10:00:00.001Z'];

/** Accounts, some of them in two spellings, some with the value of another channel. */
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
const accountOf = ([type, value = '']: string[]): string =>
  `${type} ${value.replace(/\D/g, '').slice(-8) || value.toLowerCase()}`;

const contacts = fc
  .uniqueArray(fc.constantFrom(...CONTACTS), { selector: accountOf, minLength: 1, maxLength: 3 })
  .map((list) => list.map(([identifierType, identifierValue]) => ({ identifierType, identifierValue })));

/** The values of fields and parameters that the form alone does not tell. */
const NAMED: Record<string, fc.Arbitrary<unknown>> = {
  contacts,
  key: fc.constantFrom('new', 'won', 'lost'),
  email: fc.constantFrom('ana@example.com', 'eva@example.com'),
  channel: fc.constantFrom('whatsapp', 'whatsapp', 'instagram', 'web', 'sms'),
  contact: fc.constantFrom(...CONTACTS.map(([, value]) => value)),
  customerId: choose('customers'),
  from: choose('customers'),
  sellerMemberId: choose('members'),
  stageId: choose('stages'),
  opportunityId: choose('opportunities'),
  rotatedFrom: choose('conversations'),
  query: fc.constantFrom(...PARTS),
  limit: fc.constantFrom(1, 2, 3, 100),
  offset: fc.constantFrom(0, 1, 2, 5),
  ids: choose('ids'),
  token: choose('token'),
  createdSince: choose('moment'),
  createdBefore: choose('moment'),
  updatedSince: choose('moment'),
  updatedBefore: choose('moment'),
  before: fc.oneof(choose('message'), fc.constantFrom(...MOMENTS)),
  id: choose('message'),
  checkInDate: fc.constantFrom('2027-01-15', '2027-01-15, con Ana', 'enero'),
};

const some = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: value }, { weight: 1, arbitrary: fc.constant(null) });

function arbitraryOf(name: string, unresolved: Schema): fc.Arbitrary<unknown> {
  const schema = resolved(unresolved);
  const types = [schema.type].flat();
  const value = NAMED[name] ?? plainArbitraryOf(name, schema, types);
  return types.includes('null') ? some(value) : value;
}

function plainArbitraryOf(name: string, schema: Schema, types: unknown[]): fc.Arbitrary<unknown> {
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum.filter((entry) => entry !== null));
  if (schema.properties) return fieldsOf(schema);
  if (types.includes('array'))
    return fc.uniqueArray(arbitraryOf(`${name}[]`, schema.items as Schema), {
      maxLength: 2,
      minLength: Number(schema.minItems ?? 0),
      selector: (entry) =>
        (entry as Fields).id ? (entry as Fields).id.n % SHARED.length : JSON.stringify(entry),
    });
  if (types.includes('boolean')) return fc.boolean();
  if (types.includes('integer')) return fc.constantFrom(1, 2, 12);
  if (types.includes('number')) return fc.constantFrom(1, 2.5, 1200);
  if (schema.format === 'date-time') return fc.constantFrom(...MOMENTS);
  if (schema.format === 'date') return fc.constantFrom('2027-03-31', '2027-04-01');
  if (schema.maxLength === 3) return fc.constantFrom('USD', 'EUR');
  return fc.constantFrom(...WORDS, ...(schema.minLength === undefined ? [''] : []));
}

const valuesOf = ({ properties = {} }: Schema): Record<string, fc.Arbitrary<unknown>> =>
  Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, arbitraryOf(name, field)]));

/** Any subset of the fields, with all that are required. */
const fieldsOf = (schema: Schema): fc.Arbitrary<Fields> =>
  fc.record(valuesOf(schema), { requiredKeys: (schema.required ?? []) as string[] });

/** Few filters at once: many find nothing. */
const queryOf = (parameters: { name: string; in: string; schema: Schema }[]): fc.Arbitrary<Fields> => {
  const known = parameters.filter((parameter) => parameter.in === 'query');
  if (known.length === 0) return fc.constant({});
  const one = fc
    .constantFrom(...known)
    .chain(({ name, schema }) => arbitraryOf(name, schema).map((value) => [name, value]));
  return fc
    .array(one, { maxLength: 3 })
    .map((entries) => Object.fromEntries(entries))
    .map(({ contactType, ...query }) => ({
      ...query,
      ...(contactType && query.contact && { contactType }),
    }));
};

/** Moments that would otherwise be those of the service, and that no answer shows. */
const COMPLETED: Record<string, (body: Fields) => Fields> = {
  [`POST ${BELOW}/conversations/{conversationId}/messages`]: ({ data }) => ({
    data: data.map((message: Fields) => ({ createdAt: MOMENTS[0], ...message })),
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
  [`POST ${BELOW}/quotes/{quoteId}/opens`]: (body) => ({ openedAt: MOMENTS[1], ...body }),
  // A form, of which the document has no JSON.
  [`POST ${BELOW}/quotes/{quoteId}/attachments`]: () => ({
    fileName: 'día 1.txt',
    kind: 'itinerary',
    mimeType: 'text/plain',
    content: 'á las 9',
  }),
};

/** Most are none, and most others match. */
const PRECONDITIONS = ['current', 'current', 'any', 'stale', 'weak', 'mustCreate'] as const;

const isRare = fc.nat({ max: 20 }).map((n) => n === 0);

function documentedAt(name: string) {
  const [method = '', path = ''] = name.split(' ');
  const documented = operations[path]?.[method.toLowerCase()];
  if (!documented) throw new Error(`No document has ${name}.`);
  const schema = documented.requestBody?.content['application/json']?.schema;
  return { method, path, parameters: documented.parameters ?? [], body: schema && resolved(schema) };
}

/** The values of each field that the operation takes. */
export const fieldArbitraries = (name: string): Record<string, fc.Arbitrary<unknown>> =>
  valuesOf(documentedAt(name).body ?? {});

/** What is written once is mostly rejected: few requests have it. */
const withoutOnce = ({ createdAt: _, token: __, ...body }: Fields): Fields => body;

const requestOf = (name: string): fc.Arbitrary<RequestStep> => {
  const { method, path, parameters, body } = documentedAt(name);
  const { kinds, current, write } = OPERATIONS[name] ?? { kinds: [] };
  const [, second] = [...path.matchAll(/\{(?!organizationId)(\w+)\}/g)];
  const inPath = [
    ...kinds.map((kind) => (name.endsWith('/restore') ? archived(kind) : choose(kind))),
    ...(second ? [choose(second[1]?.slice(0, -2) as Chosen['choose'])] : []),
  ];
  const isTagged = current || method === 'GET';
  const usable = PRECONDITIONS.filter((kind) => kind !== 'mustCreate' || method === 'PUT');
  return fc
    .record({
      agency: fc.constantFrom(0 as const, 1 as const),
      name: fc.constant(name),
      ids: fc.tuple(...inPath) as fc.Arbitrary<Chosen[]>,
      query: queryOf(parameters),
      body: fc
        .tuple(body ? fieldsOf(body) : fc.constant({}), fc.nat({ max: 4 }))
        .map(([body, n]) => (n > 0 && current && write ? withoutOnce(body) : body))
        .map(COMPLETED[name] ?? ((body) => body)),
      precondition: isTagged
        ? fc.oneof(
            { weight: 12, arbitrary: fc.constant('none' as const) },
            { weight: 4, arbitrary: fc.constantFrom(...usable) },
          )
        : fc.constant('none' as const),
      key: method === 'POST' ? fc.constantFrom(null, null, 'a', 'b') : fc.constant(null),
      isKilled: write && method !== 'DELETE' ? isRare : fc.constant(false),
    })
    .map((step) => (method === 'POST' && step.key === null ? { ...step, isKilled: false } : step))
    .map((step) => (step.isKilled ? { ...step, precondition: 'none' as const } : step));
};

/** How often each is taken. Creates and reads are what the others rest on. */
const weightOf = (name: string): number => {
  if (/^(POST \/v1|GET \/v1\/\w+$|GET \/v1\/catalog\/products$|PATCH \/v1)/.test(name)) return 6;
  if (/^(PUT|PATCH|GET .*(messages|products|conversations)$)/.test(name)) return 4;
  return 2;
};

const ARCHIVABLE = KINDS.filter((kind) => kind !== 'conversations');
/** A customer would come back without its contacts, a stage beside another of its key. */
const RETURNING = ['products', 'members', 'opportunities', 'quotes'] as const;

const sql = fc
  .constantFrom(
    ...KINDS.map((kind) => ['change', choose(kind)] as const),
    ...ARCHIVABLE.map((kind) => ['archive', choose(kind)] as const),
    ...RETURNING.map((kind) => ['bringBack', archived(kind)] as const),
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

const job = fc.record({
  agency: fc.constantFrom(0 as const, 1 as const),
  job: fc.constantFrom('purge', 'kill', 'kill'),
}) as fc.Arbitrary<Step>;

const step = fc.oneof(
  ...Object.keys(OPERATIONS).map((name) => ({ weight: weightOf(name), arbitrary: requestOf(name) })),
  { weight: 12, arbitrary: sql },
  { weight: 2, arbitrary: job },
);

const OF_THEIR_OWN = ['quotes/{quoteId}', 'opportunities/{opportunityId}', 'team-members/{teamMemberId}'];

/** Changes of different records at once, of both organizations: none depends on another. */
const together = fc
  .constantFrom(...OF_THEIR_OWN)
  .chain((path) => {
    const names = ['PUT', 'PATCH', 'DELETE'].map((method) => `${method} ${BELOW}/${path}`);
    const drawn = ([0, 1] as const).flatMap((agency) =>
      SHARED.map((id) =>
        fc
          .oneof(...names.map(requestOf))
          .map((request) => ({ ...request, agency, ids: [id] as unknown as Chosen[] })),
      ),
    );
    return fc.tuple(...drawn);
  })
  .map((requests): Step => {
    // What is sent again may find what it has written itself.
    const isKilled = requests.some((request) => request.isKilled);
    return {
      agency: 0,
      together: requests.map((one) => (isKilled ? { ...one, precondition: 'none' } : one)),
    };
  });

/** Operations that can be about one record. */
const ABOUT_ONE = [
  ['POST /v1/customers'],
  [
    'PATCH /v1/customers/{customerId}',
    'PATCH /v1/customers/{customerId}',
    'DELETE /v1/customers/{customerId}',
  ],
  ...[['/v1/catalog/products/{productId}', `${BELOW}/catalog/products/{productId}`]].map(
    ([path, dashboardPath]) => [`PATCH ${path}`, `DELETE ${path}`, `PATCH ${dashboardPath}`],
  ),
  ...OF_THEIR_OWN.map((path) => ['PUT', 'PATCH', 'DELETE'].map((method) => `${method} ${BELOW}/${path}`)),
  ['PUT', 'PATCH', 'POST'].map(
    (method) => `${method} ${BELOW}/conversations/{conversationId}${method === 'POST' ? '/messages' : ''}`,
  ),
];

/** Two or three requests about one record at the same time, none of which is ended. */
const meeting = fc
  .record({
    names: fc.constantFrom(...ABOUT_ONE),
    agency: fc.constantFrom(0 as const, 1 as const),
    n: fc.nat({ max: 999 }),
    // Those who have read the same version.
    isConditional: fc.boolean(),
  })
  .chain(({ names, agency, n, isConditional }) =>
    fc.array(fc.oneof(...names.map(requestOf)), { minLength: 2, maxLength: 3 }).map(
      (requests): Step => ({
        agency,
        meeting: requests.map((request) => ({
          ...request,
          agency,
          ids: request.ids.map((id, index) => (index === 0 ? { ...id, n } : id)),
          isKilled: false,
          precondition: isConditional && OPERATIONS[request.name]?.current ? 'current' : request.precondition,
        })),
      }),
    ),
  );

/** Some, while one of both is closed. */
const closed = fc
  .tuple(fc.constantFrom(0 as const, 1 as const), fc.array(step, { minLength: 2, maxLength: 8 }))
  .map(([agency, between]): Step[] => [
    { agency, account: 'close' },
    ...between,
    { agency, account: 'reopen' },
  ]);

export const steps = (length: number): fc.Arbitrary<Step[]> =>
  fc
    .array(
      fc.oneof(
        { weight: 91, arbitrary: step.map((one) => [one]) },
        { weight: 2, arbitrary: together.map((one) => [one]) },
        { weight: 6, arbitrary: meeting.map((one) => [one]) },
        { weight: 1, arbitrary: closed },
      ),
      {
        minLength: length,
        maxLength: length,
        size: 'max',
      },
    )
    .map((parts) => parts.flat());

/** Puts what was chosen in the place of the choice. */
export function resolve<T>(
  value: T,
  own: Organization,
  other: Organization,
  path: readonly string[] = [],
): T {
  if (Array.isArray(value)) return value.map((entry) => resolve(entry, own, other, path)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const { choose, n, isArchived } = value as unknown as Chosen;
  if (choose === undefined)
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, resolve(inner, own, other, path)]),
    ) as T;
  const pool = poolOf({ choose, isArchived }, own, other, path);
  return pool[n % pool.length] as T;
}

/** Mostly live records of its own; now and then one that is archived, of the other organization, or of nobody. */
function poolOf(
  { choose, isArchived }: Pick<Chosen, 'choose'> & { isArchived: true | undefined },
  own: Organization,
  other: Organization,
  path: readonly string[],
): string[] {
  // A message has one id in one thread.
  if (choose === 'message')
    return path[0] === undefined
      ? [...Object.values(own.messages).map(({ id }) => id), UNKNOWN]
      : SHARED.map((id) => id.replace('-0000-', `-000${1 + SHARED.indexOf(path[0] ?? '')}-`));
  if (choose === 'contact') {
    const contacts = (own.customers[path[0] ?? '']?.contacts ?? []).map(({ id }: Fields) => id);
    return [...contacts, ...contacts, ...contacts, UNKNOWN];
  }
  if (choose === 'variant') {
    const variants = (own.products[path[0] ?? '']?.variants ?? []).map(({ id }: Fields) => id);
    return [...variants, ...variants, ...variants, UNKNOWN];
  }
  if (choose === 'attachment')
    return [...Object.keys(own.attachments), ...Object.keys(other.attachments), UNKNOWN];
  if (choose === 'token')
    return [...Object.values(own.quotes).map(({ token }) => token), 'aurora-1', 'aurora-2'];
  if (choose === 'moment')
    return KINDS.flatMap((kind) => Object.values(own[kind]).map(({ updatedAt }) => updatedAt));
  const idsOf = (rows: readonly Row[]) => rows.map(({ id }) => id);
  if (choose === 'ids') {
    const all = KINDS.flatMap((kind) => idsOf(Object.values(own[kind])));
    return all.map((id, index) => [id, ...all.slice(index + 1, index + 4), UNKNOWN].join(','));
  }
  if (isArchived) {
    const gone = Object.values(own[choose]).filter((row) => row.archivedAt !== null);
    return [...idsOf(gone), ...idsOf(gone), ...Object.keys(own[choose]), UNKNOWN];
  }
  const lively = idsOf(live(own[choose]));
  const others = [...Object.keys(own[choose]), ...Object.keys(other[choose]), UNKNOWN];
  const made = choose === 'products' || choose === 'customers' ? [] : SHARED;
  return [...Array.from({ length: 6 }, () => lively).flat(), ...others, ...made];
}
