import { hash, randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueApiKey, rotateApiKey } from '../../src/api-keys/repository.ts';
import type { ApiKeyCreate } from '../../src/api-keys/schema.ts';
import { type ErrorCode, errorCodes, Rejection, statusOf } from '../../src/contract/errors.ts';
import { type Database, parseJson } from '../../src/db/index.ts';
import { closeOrganization } from '../../src/organizations/repository.ts';
import { eraseCustomer } from '../../src/person/erase.ts';
import { mergeCustomer } from '../../src/person/merge.ts';
import { pipelineStageRecord } from '../../src/pipeline-stages/repository.ts';
import { teamMemberRecord } from '../../src/team/repository.ts';
import {
  contractOf,
  declaredCodes,
  INTERNAL,
  type Operation,
  operationsOf,
  PUBLIC,
} from '../support/contract.ts';
import { buildDashboard, TOKEN } from '../support/dashboard.ts';
import { appOf } from '../support/instance.ts';
import { type Has, populate } from '../support/operations.ts';
import { conversation, customer, type Fields, type Make, member, quote, stage } from '../support/records.ts';
import { type Agency, ask, type Reply, useService } from '../support/service.ts';
import { exampleOf } from '../support/values.ts';

/**
 * Provokes every error code of every operation that the documents declare. The opposite, a code that is returned and not
 * declared, fails in the client of all tests.
 */

const service = useService();
const documents = { public: PUBLIC, dashboard: INTERNAL };

type Api = keyof typeof documents;
type Change = {
  /** Ids in the path; the others are random. */
  ids?: Record<string, string>;
  /** Instead of the document's example of the body. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Null sends none. */
  key?: string | null;
  /** Runs before the request, with the path that it will have. */
  prepare?: (path: string) => Promise<void>;
  /** What every statement of the request fails with. */
  databaseError?: Error;
};
type Provocation = (send: (change?: Change) => Promise<Reply>, agency: Agency) => Promise<Reply>;

const unknownRecord: Provocation = (send) => send();

const issue = async ({ scope }: Agency, settings: Omit<ApiKeyCreate, 'name'>): Promise<string> =>
  parseJson(await issueApiKey(scope, { name: 'narrow', ...settings })).key;

/** The organization under which an idempotency key is stored: of the API key or of the path, else the nil UUID. */
const ownerOf = (path: string): string =>
  path.startsWith('/v1')
    ? agency.id
    : (/\/organizations\/([^/]+)/.exec(path)?.[1] ?? '00000000-0000-0000-0000-000000000000');

/** As in src/http/idempotency.ts. */
const fingerprintOf = (path: string, key: string): Buffer =>
  hash('sha256', `${ownerOf(path)} POST ${path}\n${key}`, 'buffer');

/** A PUT, a PATCH or a restore of a record that would have the unique value of another one. */
const taken =
  (
    idName: string,
    make: Make,
    unique: Fields,
    { archive }: Pick<typeof teamMemberRecord, 'archive'>,
  ): Provocation =>
  async (send) => {
    const agency = await service.agency();
    const [other, owner] = [await make(agency), await make(agency, unique)];
    const sendTo = (id: string, body: Fields) =>
      send({ ids: { organizationId: agency.id, [idName]: id }, body });
    for (const [id, body] of [[randomUUID(), owner] as const, [other.id, unique] as const]) {
      const response = await sendTo(id, body);
      if (response.body.error?.code.endsWith('_TAKEN')) return response;
    }
    await archive(agency.scope, owner.id);
    await make(agency, unique);
    return sendTo(owner.id, {});
  };

/** All records that `populate` returns are active. */
const restoreActive: Provocation = (send) => send({ ids: has });

/** The request that causes each code, whatever the operation. `…_NOT_FOUND` needs no entry: ids in a path are random. */
const PROVOCATIONS: Partial<Record<ErrorCode, Provocation>> = {
  VALIDATION_FAILED: (send) => send({ headers: { prefer: 'handling=strict' } }),
  UNAUTHORIZED: (send) => send({ key: null }),
  PAYLOAD_TOO_LARGE: (send) => send({ body: { text: 'x'.repeat(4 * 1024 * 1024) } }),
  RATE_LIMIT_EXCEEDED: async (send, agency) => {
    const key = await issue(agency, { requestsPerMinute: 1 });
    await send({ key });
    return send({ key });
  },
  KEY_READ_ONLY: async (send, agency) => send({ key: await issue(agency, { access: 'read' }) }),
  KEY_CREATE_ONLY: async (send, agency) => send({ key: await issue(agency, { access: 'create' }) }),
  KEY_RESOURCE_NOT_ALLOWED: async (send, agency) => {
    const response = await send({ key: await issue(agency, { resources: ['team'] }) });
    return response.status === 403
      ? response
      : send({ key: await issue(agency, { resources: ['catalog'] }) });
  },
  INTERNAL_ERROR: (send) => send({ databaseError: new TypeError('a mistake in the service') }),
  SERVICE_UNAVAILABLE: (send) => send({ databaseError: new Rejection('full') }),
  ORGANIZATION_NOT_FOUND: (send) => send({ ids: { organizationId: randomUUID() } }),
  ORGANIZATION_CLOSED: async (send) => {
    const { id, scope } = await service.agency();
    await closeOrganization(scope);
    return send({ ids: { organizationId: id } });
  },
  QUOTE_ATTACHMENT_NOT_FOUND: async (send, agency) => send({ ids: { quoteId: (await quote(agency)).id } }),
  CUSTOMER_CONTACT_CONFLICT: async (send, agency) => {
    const owner = await customer(agency);
    const other = await customer(agency);
    const [{ identifierType, identifierValue }] = owner.contacts;
    const contacts = [{ identifierType, identifierValue }];
    const response = await send({ ids: { customerId: other.id }, body: { contacts } });
    if (response.status === 409 && response.body.error.code !== 'CUSTOMER_NOT_ARCHIVED') return response;
    // The operation is a restore: another customer has got the contact since.
    await agency.delete(`/v1/customers/${owner.id}`);
    await customer(agency, { contacts });
    const restored = await send({ ids: { customerId: owner.id } });
    if (restored.status === 409) return restored;
    // The operation is a merge: a third customer has the contact of the archived twin.
    return send({ ids: { customerId: other.id }, body: { from: owner.id } });
  },
  CUSTOMER_ERASED: async (send, agency) => {
    const { id } = await customer(agency);
    await eraseCustomer(agency.scope, id);
    return send({ ids: { customerId: id } });
  },
  CUSTOMER_MERGED: async (send, agency) => {
    const [into, from] = [await customer(agency), await customer(agency)];
    await mergeCustomer(agency.scope, into.id, { from: from.id });
    return send({ ids: { customerId: from.id } });
  },
  PIPELINE_STAGE_KEY_TAKEN: taken('pipelineStageId', stage, { key: 'negotiation' }, pipelineStageRecord),
  TEAM_MEMBER_USER_TAKEN: taken('teamMemberId', member, { userId: 'user_81' }, teamMemberRecord),
  MESSAGE_NOT_FOUND: async (send, agency) =>
    send({ ids: { conversationId: (await conversation(agency)).id } }),
  QUOTE_NOT_PUBLISHED: async (send, agency) => send({ ids: { quoteId: (await quote(agency)).id } }),
  API_KEY_INACTIVE: async (send, { scope }) => {
    const { id } = parseJson(await issueApiKey(scope, { name: 'rotated' }));
    await rotateApiKey(scope, id, { overlapSeconds: 60 });
    return send({ ids: { apiKeyId: id }, body: { expiresAt: null } });
  },
  IDEMPOTENCY_KEY_REUSED: (send) =>
    send({
      headers: { 'idempotency-key': 'used' },
      prepare: async (path) => {
        await service.query(
          "insert into idempotency_keys (organization_id, fingerprint, body_hash, record_id) values ($1, $2, '\\x00', $1)",
          [ownerOf(path), fingerprintOf(path, 'used')],
        );
      },
    }),
  IDEMPOTENCY_IN_PROGRESS: async (send, agency) => {
    const other = new pg.Client({ connectionString: service.url });
    await other.connect();
    const prepare = async (path: string) => {
      const lock = String(fingerprintOf(path, 'in use').readBigInt64BE());
      await other.query('select pg_advisory_lock($1::bigint)', [lock]);
    };
    const ids = { quoteId: (await quote(agency)).id };
    return send({ ids, headers: { 'idempotency-key': 'in use' }, prepare }).finally(() => other.end());
  },
  PRECONDITION_FAILED: (send) => send({ ids: has, headers: { 'if-match': '"another"' } }),
};

/** Codes of requests that reach no operation, and of signed links. */
const WITHOUT_OPERATION: ErrorCode[] = ['FILE_LINK_INVALID', 'RANGE_NOT_SATISFIABLE', 'ROUTE_NOT_FOUND'];

let databaseError: Error | undefined;
/** The database, which fails while there is a `databaseError`. */
const failing = (db: Database): Database =>
  new Proxy(db, {
    get: (target, verb) => {
      if (verb === 'for') return (id: string) => failing(target.for(id) as Database);
      const fails = databaseError !== undefined;
      return fails ? () => Promise.reject(databaseError) : Reflect.get(target, verb);
    },
  });

let agency: Agency;
let has: Has;
let apps: Record<Api, FastifyInstance>;
beforeAll(async () => {
  agency = await service.agency();
  has = await populate({ service, agency });
  const db = failing(service.db);
  apps = { public: await appOf(service, { db }), dashboard: (await buildDashboard(service, { db })).app };
});
afterAll(() => Promise.all(Object.values(apps).map((app) => app.close())));

const MULTIPART = [
  '--x\r\nContent-Disposition: form-data; name="kind"\r\n\r\nitinerary',
  '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nbytes',
  '--x--\r\n',
].join('\r\n');

/** The document's example of the body; of an upload, which is not JSON, one from here. */
function exampleBody({ requestBody }: Operation): { body?: unknown; headers?: Record<string, string> } {
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (type === 'multipart/form-data')
    return { body: MULTIPART, headers: { 'content-type': `${type}; boundary=x` } };
  return media ? { body: exampleOf(media.schema) } : {};
}

const contracts = { public: contractOf(documents.public), dashboard: contractOf(documents.dashboard) };

type Case = { api: Api; method: string; path: string; operation: Operation };

const sender =
  ({ api, method, path, operation }: Case) =>
  async ({ ids, headers = {}, key, prepare, ...change }: Change = {}): Promise<Reply> => {
    const known: Record<string, string> = { organizationId: agency.id, ...ids };
    const to = path.replace(/\{(\w+)\}/g, (_, name) => known[name] ?? randomUUID());
    const query = new URLSearchParams(headers.prefer && { unknown: '1' });
    for (const { name, in: place, required, schema } of operation.parameters ?? [])
      if (place === 'query' && required)
        query.set(name, (schema.enum as string[] | undefined)?.[0] ?? randomUUID());
    await prepare?.(to);
    const example = change.body === undefined ? exampleBody(operation) : { body: change.body };
    const secret = key === undefined ? { public: agency.key, dashboard: TOKEN }[api] : key;
    databaseError = change.databaseError;
    const response = await ask(apps[api], contracts[api], {
      method,
      url: `${to}?${query}`,
      secret,
      ...example,
      headers: { ...example.headers, ...headers },
    });
    databaseError = undefined;
    return response;
  };

const cases = (Object.keys(documents) as Api[]).flatMap((api) =>
  operationsOf(documents[api]).map((found) => ({ api, ...found })),
);

const codesOf = (operation: Operation): ErrorCode[] =>
  Object.keys(operation.responses).flatMap((status) => declaredCodes(operation, status));

/** A message without what differs from one request to the next. */
const template = (message: string): string =>
  message
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replace(/\d+/g, 'N')
    // A restore has no body; a merge names the contacts of the other customer.
    .replace(/(body|from)\.contacts/, 'contacts')
    .replace(/access to \w+, only to [\w, ]+\./, 'access to this, only to that.');

/** Their messages name the field or the credential. */
const OWN_MESSAGES: ErrorCode[] = ['VALIDATION_FAILED', 'UNAUTHORIZED'];

describe.each(cases)('$operation.operationId returns', ({ api, method, path, operation }) => {
  test.each(codesOf(operation))('%s, with the status and the message of the document', async (code) => {
    const ofKind = code.endsWith('_NOT_ARCHIVED') ? restoreActive : undefined;
    const provoke = PROVOCATIONS[code] ?? (code.endsWith('_NOT_FOUND') ? unknownRecord : ofKind);
    if (!provoke) throw new Error(`Add the request that causes ${code} to PROVOCATIONS of this file.`);
    const { status, body } = await provoke(sender({ api, method, path, operation }), agency);
    expect({ status, body }).toMatchObject({ status: statusOf(code), body: { error: { code } } });
    const example = operation.responses[status]?.content?.['application/json']?.examples?.[code]
      ?.value as Reply['body'];
    if (!OWN_MESSAGES.includes(code))
      expect(template(body.error.message)).toBe(template(example.error.message));
  });
});

test('every error code is declared by an operation, or belongs to none', () => {
  const declared = new Set(cases.flatMap(({ operation }) => codesOf(operation)));
  expect(
    errorCodes.filter((code) => !declared.has(code)).sort(),
    'Name each code in `config.errorCodes` of its routes',
  ).toEqual(WITHOUT_OPERATION);
});
