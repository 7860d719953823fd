import { hash, randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueApiKey, rotateApiKey } from '../../src/api-keys/repository.ts';
import { type ErrorCode, errorCodes, statusOf } from '../../src/contract/errors.ts';
import type { Database } from '../../src/db/pool/client.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { closeOrganization } from '../../src/organizations/repository.ts';
import { eraseCustomer } from '../../src/privacy/erasure.repository.ts';
import { mergeCustomer } from '../../src/privacy/merge.repository.ts';
import {
  contractOf,
  declaredCodes,
  exampleOf,
  INTERNAL,
  type Operation,
  operationsOf,
  PUBLIC,
} from '../support/contract.ts';
import { buildDashboard, TOKEN } from '../support/dashboard.ts';
import { appOf } from '../support/instance.ts';
import { type Has, populate } from '../support/operations.ts';
import { customer, quote, stage } from '../support/records.ts';
import { type Agency, useService } from '../support/service.ts';

/**
 * What the documents declare is what the service answers: every code of every operation is provoked. A code that an
 * operation answers without declaring it is refused by the clients of all tests.
 */

const service = useService();
const documents = { public: PUBLIC, dashboard: INTERNAL };

type Api = keyof typeof documents;
type Send = {
  /** Ids in the path; the others are ids that nobody has. */
  ids?: Record<string, string>;
  /** The document's example of the body, without it. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Null sends none. */
  key?: string | null;
  /** Runs before the request, with the path that it will have. */
  prepare?: (path: string) => Promise<void>;
  /** How the database fails meanwhile. */
  fault?: Error;
};
type Answer = { status: number; code: ErrorCode; message: string };
type Provocation = (send: (change?: Send) => Promise<Answer>, agency: Agency) => Promise<Answer>;

const unknownRecord: Provocation = (send) => send();

/** The organization whose key it is; what belongs to none is kept under an id that none has. */
const ownerOf = (path: string): string =>
  path.startsWith('/v1')
    ? agency.id
    : (/\/organizations\/([^/]+)/.exec(path)?.[1] ?? '00000000-0000-0000-0000-000000000000');

/** What the service keeps of a key under a path, as src/http/idempotency.ts makes it. */
const fingerprintOf = (path: string, key: string): Buffer =>
  hash('sha256', `${ownerOf(path)} POST ${path}\n${key}`, 'buffer');

/** How each code is brought about, whatever the operation. Records that are missing have no entry: their ids are ids that nobody has. */
const PROVOCATIONS: Partial<Record<ErrorCode, Provocation>> = {
  VALIDATION_FAILED: (send) => send({ headers: { prefer: 'handling=strict' } }),
  UNAUTHORIZED: (send) => send({ key: null }),
  PAYLOAD_TOO_LARGE: (send) => send({ body: { text: 'x'.repeat(1024 * 1024) } }),
  RATE_LIMIT_EXCEEDED: async (send, { scope }) => {
    const { key } = parseJson(await issueApiKey(scope, { name: 'one a minute', requestsPerMinute: 1 }));
    await send({ key });
    return send({ key });
  },
  KEY_READ_ONLY: async (send, { scope }) =>
    send({ key: parseJson(await issueApiKey(scope, { name: 'reader', access: 'read' })).key }),
  KEY_CREATE_ONLY: async (send, { scope }) =>
    send({ key: parseJson(await issueApiKey(scope, { name: 'creator', access: 'create' })).key }),
  KEY_RESOURCE_NOT_ALLOWED: async (send, { scope }) => {
    const issue = async (resource: 'team' | 'catalog') =>
      parseJson(await issueApiKey(scope, { name: 'other', resources: [resource] })).key;
    const answer = await send({ key: await issue('team') });
    return answer.status === 403 ? answer : send({ key: await issue('catalog') });
  },
  INTERNAL_ERROR: (send) => send({ fault: new TypeError('a fault of our own') }),
  SERVICE_UNAVAILABLE: (send) =>
    send({ fault: Object.assign(new Error('refused'), { code: 'ECONNREFUSED', syscall: 'connect' }) }),
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
    const contacts = owner.contacts.map(({ identifierType, identifierValue }: Record<string, string>) => ({
      identifierType,
      identifierValue,
    }));
    const answer = await send({ ids: { customerId: other.id }, body: { contacts } });
    if (answer.status === 409 && answer.code !== 'CUSTOMER_NOT_ARCHIVED') return answer;
    // A restore: of a customer whose contact another one has by now.
    await agency.delete(`/v1/customers/${owner.id}`);
    await customer(agency, { contacts });
    return send({ ids: { customerId: owner.id } });
  },
  CUSTOMER_NOT_ARCHIVED: async (send, agency) => send({ ids: { customerId: (await customer(agency)).id } }),
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
  PIPELINE_STAGE_KEY_TAKEN: async (send, agency) => {
    const { key } = await stage(agency, { key: 'negotiation' });
    return send({ ids: { pipelineStageId: randomUUID() }, body: { key, name: 'Otra' } });
  },
  QUOTE_NOT_PUBLISHED: async (send, agency) => send({ ids: { quoteId: (await quote(agency)).id } }),
  CUSTOMER_CONTACT_NOT_FOUND: async (send, agency) =>
    send({ ids: { customerId: (await customer(agency)).id } }),
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
          `insert into idempotency_keys (organization_id, fingerprint, body_hash, status, headers, body)
            values ($1, $2, '\\x00', 200, '{}', '\\x7b7d')`,
          [ownerOf(path), fingerprintOf(path, 'used')],
        );
      },
    }),
  IDEMPOTENCY_IN_PROGRESS: async (send) => {
    const other = new pg.Client({ connectionString: service.url });
    await other.connect();
    try {
      return await send({
        headers: { 'idempotency-key': 'in use' },
        prepare: async (path) => {
          const lock = String(fingerprintOf(path, 'in use').readBigInt64BE());
          await other.query('select pg_advisory_lock($1::bigint)', [lock]);
        },
      });
    } finally {
      await other.end();
    }
  },
  PRECONDITION_FAILED: (send) => send({ ids: has, headers: { 'if-match': '"another"' } }),
  CATALOG_PRODUCT_NOT_ARCHIVED: async (send, agency) => {
    const { body } = await agency.post('/v1/catalog/products', { title: 'Oaxaca' });
    return send({ ids: { productId: body.id } });
  },
};

/** Codes that no operation declares: of requests that reach none, and of signed links. */
const OF_NO_OPERATION: ErrorCode[] = ['FILE_LINK_INVALID', 'RANGE_NOT_SATISFIABLE', 'ROUTE_NOT_FOUND'];

/** How the database fails, whatever it is asked; undefined while it works. */
let fault: Error | undefined;
const failing = (db: Database): Database =>
  new Proxy(db, {
    get: (target, verb) => {
      if (verb === 'for') return (id: string) => failing(target.for(id) as Database);
      return fault && verb !== 'rejection' ? () => Promise.reject(fault) : Reflect.get(target, verb);
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

/** A body that is valid, of the examples that the document gives. */
function exampleBody({ requestBody }: Operation): { payload?: unknown; headers?: Record<string, string> } {
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (type === 'multipart/form-data')
    return { payload: MULTIPART, headers: { 'content-type': `${type}; boundary=x` } };
  return media ? { payload: exampleOf(media.schema) } : {};
}

const holds = { public: contractOf(documents.public), dashboard: contractOf(documents.dashboard) };

type Case = { api: Api; method: string; path: string; operation: Operation };

const sender =
  ({ api, method, path, operation }: Case) =>
  async ({ ids = {}, body, headers = {}, key, prepare, ...more }: Send = {}): Promise<Answer> => {
    const known: Record<string, string> = { organizationId: agency.id, ...ids };
    const needed = (operation.parameters ?? []).filter(
      ({ in: place, required }) => place === 'query' && required,
    );
    const query = new URLSearchParams({
      ...Object.fromEntries(needed.map(({ name, schema }) => [name, String((schema.enum as string[])[0])])),
      ...(headers.prefer && { nonsense: '1' }),
    });
    const url = `${path.replace(/\{(\w+)\}/g, (_, name) => known[name] ?? randomUUID())}?${query}`;
    await prepare?.(url.split('?')[0] ?? '');
    const sent = body === undefined ? exampleBody(operation) : { payload: body };
    const secret = key === undefined ? { public: agency.key, dashboard: TOKEN }[api] : key;
    fault = more.fault;
    const response = await apps[api].inject({
      method: method as 'GET',
      url,
      headers: { ...sent.headers, ...(secret !== null && { authorization: `Bearer ${secret}` }), ...headers },
      ...(sent.payload !== undefined && { payload: sent.payload as object }),
    });
    fault = undefined;
    const answered = response.headers as Record<string, string>;
    holds[api]({ method, url, status: response.statusCode, headers: answered, body: response.body });
    const { error = {} } = response.json();
    return { status: response.statusCode, code: error.code, message: error.message };
  };

const cases = (Object.keys(documents) as Api[]).flatMap((api) =>
  operationsOf(documents[api]).map((found) => ({ api, ...found })),
);

const codesOf = (operation: Operation): ErrorCode[] =>
  Object.keys(operation.responses).flatMap((status) => declaredCodes(operation, status));

/** Text without what differs from one answer to the next. */
const template = (message: string): string =>
  message
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replace(/\d+/g, 'N')
    // A restore has no body.
    .replace('body.contacts', 'contacts')
    .replace(/access to \w+, only to [\w, ]+\./, 'access to this, only to that.');

/** Their messages say what is wrong with the request, or whose credential is. */
const OWN_WORDS: ErrorCode[] = ['VALIDATION_FAILED', 'UNAUTHORIZED'];

describe.each(cases)('$operation.operationId answers', ({ api, method, path, operation }) => {
  test.each(codesOf(operation))('%s, as its document shows it', async (code) => {
    const provoke = PROVOCATIONS[code] ?? (code.endsWith('_NOT_FOUND') ? unknownRecord : undefined);
    if (!provoke) throw new Error(`Write how ${code} is brought about into PROVOCATIONS of this file.`);
    const answer = await provoke(sender({ api, method, path, operation }), agency);
    expect(answer).toMatchObject({ code, status: statusOf(code) });
    const shown = operation.responses[answer.status]?.content?.['application/json']?.examples?.[code]
      ?.value as { error: Answer };
    if (!OWN_WORDS.includes(code)) expect(template(answer.message)).toBe(template(shown.error.message));
  });
});

test('every code of the closed list is declared by an operation, or belongs to none', () => {
  const declared = new Set(cases.flatMap(({ operation }) => codesOf(operation)));
  expect(
    errorCodes.filter((code) => !declared.has(code)).sort(),
    'Name each code in `config.errorCodes` of its routes',
  ).toEqual(OF_NO_OPERATION);
  expect(Object.keys(PROVOCATIONS).filter((code) => !declared.has(code as ErrorCode))).toEqual([]);
});
