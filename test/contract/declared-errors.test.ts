import { hash, randomUUID } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { rotateApiKey } from '../../src/api-keys/repository.ts';
import { type ErrorCode, errorCodes, Rejection, statusOf } from '../../src/contract/errors.ts';
import { createLogger } from '../../src/http/logging.ts';
import { closeOrganization } from '../../src/organizations/repository.ts';
import { eraseCustomer } from '../../src/person/erase.ts';
import { mergeCustomer } from '../../src/person/merge.ts';
import { pipelineStageRecord } from '../../src/pipeline-stages/repository.ts';
import { teamMemberRecord } from '../../src/team/repository.ts';
import { DOCUMENTED, declaredCodes, type Operation } from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import { hold } from '../support/databases.ts';
import { type Has, populate, requestOf, send } from '../support/operations.ts';
import { customer, type Make, member, quote, stage, web } from '../support/records.ts';
import type { Reply } from '../support/service.ts';

/**
 * Provokes every error code of every operation that the documents declare. The opposite, a code that is returned and not
 * declared, fails in the client of all tests.
 */

// Keys stay cached, so that a database that fails does so for the operation.
const { service, dashboard } = await useDashboard(
  { logger: createLogger('silent') },
  { keyClock: () => 0, logger: createLogger('silent') },
);
const agency = await service.agency();
const world = { service, dashboard, agency };
const has = await populate(world);

type Change = {
  /** Ids in the path; the others are random. */
  ids?: Partial<Has>;
  body?: object;
  /** In the texts of the body, if that is not sent. */
  word?: string;
  headers?: Record<string, string>;
  key?: string;
};
type Provocation = (send: (change?: Change) => Promise<Reply>, name: string) => Promise<Reply>;

const unknownRecord: Provocation = (send) => send();

/** A PUT or a restore of an archived record, or a PATCH of another one, that would have the unique value of a third. */
const taken =
  (
    idName: string,
    make: Make,
    field: string,
    { archive }: Pick<typeof teamMemberRecord, 'archive'>,
  ): Provocation =>
  async (send) => {
    const unique = { [field]: randomUUID() };
    const [archived, other] = [await make(agency, unique), await make(agency)];
    await archive(agency.scope, archived.id);
    const { createdAt, ...body } = await make(agency, unique);
    const response = await send({ ids: { [idName]: archived.id }, body });
    return response.status === 409 ? response : send({ ids: { [idName]: other.id }, body });
  };

const failing =
  (error: Error): Provocation =>
  async (send) => {
    for (const verb of ['read', 'write', 'transaction'] as const)
      vi.spyOn(service.db, verb).mockRejectedValue(error);
    vi.spyOn(service.db, 'for').mockReturnValue(service.db);
    return send().finally(() => vi.restoreAllMocks());
  };

/** All records that `populate` returns are active. */
const restoreActive: Provocation = (send) => send({ ids: has });

/** The request that causes each code, whatever the operation. `…_NOT_FOUND` needs no entry: ids in a path are random. */
const PROVOCATIONS: Partial<Record<ErrorCode, Provocation>> = {
  VALIDATION_FAILED: (send) => send({ headers: { prefer: 'handling=strict' } }),
  UNAUTHORIZED: (send) => send({ headers: { authorization: '' } }),
  PAYLOAD_TOO_LARGE: (send) => send({ body: {}, headers: { 'content-length': `${4 * 1024 * 1024 + 1}` } }),
  RATE_LIMIT_EXCEEDED: async (send) => {
    const { key } = await agency.issueKey({ requestsPerMinute: 1 });
    await send({ key });
    return send({ key });
  },
  KEY_READ_ONLY: async (send) => send(await agency.issueKey({ access: 'read' })),
  KEY_CREATE_ONLY: async (send) => send(await agency.issueKey({ access: 'create' })),
  KEY_RESOURCE_NOT_ALLOWED: async (send, name) =>
    send(await agency.issueKey({ resources: [name.endsWith('/team') ? 'catalog' : 'team'] })),
  INTERNAL_ERROR: failing(new TypeError('a mistake in the service')),
  SERVICE_UNAVAILABLE: failing(new Rejection('full')),
  ORGANIZATION_NOT_FOUND: (send) => send({ ids: { organizationId: randomUUID() } }),
  ORGANIZATION_CLOSED: async (send) => {
    const { id, scope } = await service.agency();
    await closeOrganization(scope);
    return send({ ids: { organizationId: id } });
  },
  QUOTE_ATTACHMENT_NOT_FOUND: (send) => send({ ids: { quoteId: has.quoteId } }),
  CUSTOMER_CONTACT_CONFLICT: async (send) => {
    const contacts = [web(randomUUID())];
    const [archived, other] = [await customer(agency, { contacts }), await customer(agency)];
    await agency.delete(`/v1/customers/${archived.id}`);
    await customer(agency, { contacts });
    // A create, a PATCH, or a merge, which gets the contacts of the archived customer; or a restore of that one.
    const response = await send({ ids: { customerId: other.id }, body: { contacts, from: archived.id } });
    return response.body.error?.code === 'CUSTOMER_NOT_ARCHIVED'
      ? send({ ids: { customerId: archived.id } })
      : response;
  },
  CUSTOMER_ERASED: async (send) => {
    const { id } = await customer(agency);
    await eraseCustomer(agency.scope, id);
    return send({ ids: { customerId: id } });
  },
  CUSTOMER_MERGED: async (send) => {
    const [into, from] = [await customer(agency), await customer(agency)];
    await mergeCustomer(agency.scope, into.id, { from: from.id });
    return send({ ids: { customerId: from.id } });
  },
  PIPELINE_STAGE_KEY_TAKEN: taken('pipelineStageId', stage, 'key', pipelineStageRecord),
  TEAM_MEMBER_USER_TAKEN: taken('teamMemberId', member, 'userId', teamMemberRecord),
  MESSAGE_NOT_FOUND: (send) => send({ ids: { conversationId: has.conversationId } }),
  QUOTE_NOT_PUBLISHED: async (send) => send({ ids: { quoteId: (await quote(agency)).id } }),
  API_KEY_INACTIVE: async (send) => {
    const { id } = await agency.issueKey();
    await rotateApiKey(agency.scope, id, { overlapSeconds: 60 });
    return send({ ids: { apiKeyId: id }, body: { expiresAt: null } });
  },
  IDEMPOTENCY_KEY_REUSED: async (send) => {
    const headers = { 'idempotency-key': randomUUID() };
    await send({ ids: has, headers, word: 'one' });
    return send({ ids: has, headers, word: 'other' });
  },
  IDEMPOTENCY_IN_PROGRESS: async (send, name) => {
    const { method, path } = await requestOf(name, has);
    // As in src/http/idempotency.ts.
    const fingerprint = hash('sha256', `${agency.id} ${method} ${path}\nin use`, 'buffer');
    const lock = String(fingerprint.readBigInt64BE());
    await hold(service.url, 'select pg_advisory_xact_lock($1::bigint)', [lock]);
    return send({ ids: has, headers: { 'idempotency-key': 'in use' } });
  },
  PRECONDITION_FAILED: (send) => send({ ids: has, headers: { 'if-match': '"another"' } }),
};

/** Codes of requests that reach no operation, and of signed links. */
const WITHOUT_OPERATION: ErrorCode[] = ['FILE_LINK_INVALID', 'ROUTE_NOT_FOUND'];

const sender =
  (name: string) =>
  async ({ ids, word = 'word', key, body, headers }: Change = {}): Promise<Reply> => {
    const random = Object.keys(has).map((id) => [id, randomUUID()]);
    const unknown = { ...Object.fromEntries(random), organizationId: agency.id };
    const sent = await requestOf(name, { ...has, word, token: randomUUID() }, { ...unknown, ...ids });
    const unknownName = `${sent.path.includes('?') ? '&' : '?'}unknown=1`;
    const path = headers?.prefer === undefined ? sent.path : sent.path + unknownName;
    const request = { ...sent, path, ...(body && { body, headers: {} }) };
    return send(world, request, { ...headers, ...(key && { authorization: `Bearer ${key}` }) });
  };

const codesOf = (operation: Operation): ErrorCode[] =>
  Object.keys(operation.responses).flatMap((status) => declaredCodes(operation, status));

describe.each(DOCUMENTED)('$name returns', ({ name, operation }) => {
  test.each(codesOf(operation))('%s, with its status', async (code) => {
    const ofKind = code.endsWith('_NOT_ARCHIVED') ? restoreActive : undefined;
    const provoke = PROVOCATIONS[code] ?? (code.endsWith('_NOT_FOUND') ? unknownRecord : ofKind);
    if (!provoke) throw new Error(`Add the request that causes ${code} to PROVOCATIONS of this file.`);
    const { status, body } = await provoke(sender(name), name);
    expect({ status, body }).toMatchObject({ status: statusOf(code), body: { error: { code } } });
  });
});

test('every error code is declared by an operation, or belongs to none', () => {
  const declared = new Set(DOCUMENTED.flatMap(({ operation }) => codesOf(operation)));
  expect(
    errorCodes.filter((code) => !declared.has(code)).sort(),
    'Name each code in `config.errorCodes` of its routes',
  ).toEqual(WITHOUT_OPERATION);
});
