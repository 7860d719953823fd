import { beforeAll, describe, expect, test } from 'vitest';
import { parseJson } from '../../src/db/sql/json.ts';
import type { ErrorCode } from '../../src/errors.ts';
import { makeKey } from '../../src/keys/api-key.ts';
import { issueApiKey, revokeApiKey } from '../../src/keys/repository.ts';
import { operationsOf, readDocument } from '../support/contract.ts';
import {
  attachment,
  conversation,
  customer,
  member,
  message,
  opportunity,
  quote,
  stage,
} from '../support/records.ts';
import { routesOf } from '../support/router.ts';
import { type Agency, useService } from '../support/service.ts';
import { UNAUTHORIZED } from '../support/unauthorized.ts';

/**
 * Every operation that the router has is tried without a good key and with the ids of another organization. An
 * operation without an entry in the walk fails it.
 */

const service = useService();

const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';
const SHARED_CONTACT = { identifierType: 'whatsapp', identifierValue: '+525512345678' };

type Ids = Record<'product' | 'customer' | 'opportunity' | 'conversation' | 'quote' | 'stage', string>;

type Entry = {
  body?: object;
  /** Of an operation on one record: whose id its path holds, and how it says that there is none. */
  record?: [keyof Ids, ErrorCode];
  /** Of a list: its filters by the ids of other records. */
  filters?: [parameter: string, record: keyof Ids][];
};

const WALK: Record<string, Entry> = {
  'GET /v1/catalog/products': { filters: [] },
  'POST /v1/catalog/products': { body: { title: 'Oaxaca' } },
  'GET /v1/catalog/products/{productId}': { record: ['product', 'CATALOG_PRODUCT_NOT_FOUND'] },
  'PATCH /v1/catalog/products/{productId}': {
    record: ['product', 'CATALOG_PRODUCT_NOT_FOUND'],
    body: { title: 'Taken over', includes: ['x'] },
  },
  'DELETE /v1/catalog/products/{productId}': { record: ['product', 'CATALOG_PRODUCT_NOT_FOUND'] },
  'GET /v1/customers': { filters: [] },
  'POST /v1/customers': { body: { contacts: [SHARED_CONTACT] } },
  'GET /v1/customers/{customerId}': { record: ['customer', 'CUSTOMER_NOT_FOUND'] },
  'PATCH /v1/customers/{customerId}': {
    record: ['customer', 'CUSTOMER_NOT_FOUND'],
    body: { firstName: 'Taken over', contacts: [SHARED_CONTACT] },
  },
  'DELETE /v1/customers/{customerId}': { record: ['customer', 'CUSTOMER_NOT_FOUND'] },
  'GET /v1/opportunities': { filters: [['stageId', 'stage']] },
  'GET /v1/opportunities/{opportunityId}': { record: ['opportunity', 'OPPORTUNITY_NOT_FOUND'] },
  'GET /v1/conversations': { filters: [['customerId', 'customer']] },
  'GET /v1/conversations/{conversationId}/messages': { record: ['conversation', 'CONVERSATION_NOT_FOUND'] },
  'GET /v1/quotes': { filters: [['opportunityId', 'opportunity']] },
  'GET /v1/quotes/{quoteId}/attachments': { record: ['quote', 'QUOTE_NOT_FOUND'] },
  'GET /v1/team': { filters: [] },
};

const operations = Object.entries(WALK).map(([name, entry]) => {
  const [method = '', path = ''] = name.split(' ');
  return { name, method, path, entry };
});
const lists = operations.filter(({ entry }) => entry.filters);
const byId = operations.filter(({ entry }) => entry.record);

/** An organization with something in every table. */
async function populate(agency: Agency): Promise<Ids> {
  const product = (
    await agency.post(
      '/v1/catalog/products',
      { title: 'Patagonia', variants: [{ label: 'x' }] },
      { headers: { 'idempotency-key': 'of an organization' } },
    )
  ).body;
  const ana = await customer(agency, { firstName: 'Ana', contacts: [SHARED_CONTACT] });
  const column = await stage(agency);
  const { id: sellerMemberId } = await member(agency);
  const links = { customerId: ana.id, stageId: column.id, sellerMemberId };
  const deal = await opportunity(agency, { title: 'Patagonia', ...links });
  const thread = await conversation(agency, { customerId: ana.id });
  await message(agency, thread.id);
  const newest = await conversation(agency, { channel: 'web', rotatedFrom: thread.id, customerId: ana.id });
  await message(agency, newest.id);
  const offer = await quote(agency, { opportunityId: deal.id, title: 'Patagonia' });
  await attachment(agency, service.storage, offer.id);
  return {
    product: product.id,
    customer: ana.id,
    opportunity: deal.id,
    conversation: thread.id,
    quote: offer.id,
    stage: column.id,
  };
}

let mine: Agency;
let theirs: Agency;
let theirIds: Ids;
beforeAll(async () => {
  [mine, theirs] = [await service.agency('Mine'), await service.agency('Theirs')];
  theirIds = await populate(theirs);
});

/** Every row that the organization has, in every table. */
async function rowsOf({ id }: Agency): Promise<Record<string, unknown[]>> {
  const tables = await service.query<{ name: string }>(
    `select table_name as name from information_schema.columns
      where table_schema = 'public' and column_name = 'organization_id' order by 1`,
  );
  expect(tables.length).toBeGreaterThan(10);
  const entries = tables.map(async ({ name }) => {
    const rows = await service.query<{ row: unknown }>(
      `select to_jsonb(t) as row from ${name} t where organization_id = $1 order by to_jsonb(t)::text`,
      [id],
    );
    return [name, rows.map(({ row }) => row)] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Runs the work and proves that it left every row of theirs as it was, and that there were some. */
async function leavingTheirsAlone(work: () => Promise<void>): Promise<void> {
  const before = await rowsOf(theirs);
  for (const [table, rows] of Object.entries(before)) expect(rows, table).not.toEqual([]);
  await work();
  expect(await rowsOf(theirs)).toEqual(before);
}

test('the walk has every operation of the router and of the document, and no other', () => {
  const routes = routesOf(service.app).filter(
    (route) => route.includes(' /v1') && !route.startsWith('HEAD '),
  );
  expect(routes.sort()).toEqual(Object.keys(WALK).sort());
  const documented = operationsOf(readDocument('openapi/openapi.json'));
  expect(documented.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(Object.keys(WALK).sort());
});

describe('without a good key every operation gives the same answer', () => {
  const keys: [string, () => Promise<string | null>, object][] = [
    ['no key', async () => null, UNAUTHORIZED.noKey],
    ['a malformed key', async () => 'nonsense', UNAUTHORIZED.notWhole],
    ['an unknown key', async () => makeKey(), UNAUTHORIZED.notLive],
    [
      'a revoked key',
      async () => {
        const { id, key } = parseJson(await issueApiKey(theirs.scope, { name: 'revoked' }));
        await revokeApiKey(theirs.scope, id);
        return key;
      },
      UNAUTHORIZED.notLive,
    ],
    [
      'an expired key',
      async () => {
        const { id, key } = parseJson(await issueApiKey(theirs.scope, { name: 'expired' }));
        await service.query(`update api_keys set expires_at = now() - interval '1 second' where id = $1`, [
          id,
        ]);
        return key;
      },
      UNAUTHORIZED.notLive,
    ],
  ];

  test.each(keys)('%s', async (_name, keyOf, expected) => {
    const key = await keyOf();
    await leavingTheirsAlone(async () => {
      for (const { name, method, path, entry } of operations) {
        const url = path.replace(/\{\w+\}/, entry.record ? theirIds[entry.record[0]] : '');
        const forms: Record<string, string>[] =
          key === null ? [{}] : [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }];
        for (const headers of forms) {
          const answer = await mine.request(method, url, { key: null, headers, ...entry });
          expect(answer.status, name).toBe(401);
          expect(answer.text, name).toBe(JSON.stringify(expected));
          expect(answer.headers['www-authenticate'], name).toBe('Bearer');
        }
      }
    });
  });

  test('and a good one opens every operation, in either header', async () => {
    for (const { name, method, path, entry } of operations) {
      for (const form of ['authorization', 'x-api-key']) {
        const agency = await service.agency();
        const ids = await populate(agency);
        const url = path.replace(/\{\w+\}/, entry.record ? ids[entry.record[0]] : '');
        const headers = { [form]: form === 'authorization' ? `Bearer ${agency.key}` : agency.key };
        const body =
          name === 'POST /v1/customers'
            ? { contacts: [{ identifierType: 'web', identifierValue: 'x' }] }
            : entry.body;
        const { status } = await mine.request(method, url, { key: null, headers, body });
        expect(status, `${name} with ${form}`).toBe(method === 'POST' ? 201 : 200);
      }
    }
  });
});

describe("another organization's record is a record that does not exist", () => {
  test.each(byId)('$name', async ({ method, path, entry }) => {
    const [record, code] = entry.record ?? ['product', 'ROUTE_NOT_FOUND'];
    const ask = (id: string) =>
      mine.request(method, path.replace(/\{\w+\}/, id), entry.body ? { body: entry.body } : {});
    await leavingTheirsAlone(async () => {
      const [foreign, missing] = [await ask(theirIds[record]), await ask(UNKNOWN)];
      expect(foreign.status).toBe(404);
      expect(foreign.body.error.code).toBe(code);
      expect(foreign.text.replaceAll(theirIds[record], UNKNOWN)).toBe(missing.text);
      expect(Object.keys(foreign.headers).sort()).toEqual(Object.keys(missing.headers).sort());
    });
  });
});

describe('a list shows nothing of another organization', () => {
  test.each(lists)('$name', async ({ path, entry }) => {
    const own = await service.agency();
    const empty = (limit: number) => ({ data: [], pagination: { limit, offset: 0, total: 0 } });
    expect((await own.get(`${path}?limit=100`)).body).toEqual(empty(100));
    expect((await own.get(`${path}?query=patagonia`)).body).toEqual(empty(25));
    for (const [parameter, record] of entry.filters ?? []) {
      expect((await own.get(`${path}?${parameter}=${theirIds[record]}`)).body).toEqual(empty(25));
    }
    const ids = await populate(own);
    const before = (await own.get(`${path}?limit=100`)).body;
    expect(before.data.length).toBeGreaterThan(0);
    expect(before.pagination.total).toBe(before.data.length);
    await populate(await service.agency());
    expect((await own.get(`${path}?limit=100`)).body).toEqual(before);
    const stored = await rowsOf(theirs);
    const text = JSON.stringify(before);
    for (const id of Object.values(theirIds)) expect(text).not.toContain(id);
    expect(JSON.stringify(stored)).not.toContain(ids.product);
  });
});

describe('no request names the organization', () => {
  test('not by a parameter, a field or a header: what is written is the key’s', async () => {
    const own = await service.agency();
    await leavingTheirsAlone(async () => {
      const naming = { organizationId: theirs.id, organization_id: theirs.id, organization: theirs.id };
      const query = new URLSearchParams(naming);
      const headers = { 'x-organization-id': theirs.id, 'organization-id': theirs.id };
      for (const { method, path, entry } of operations.filter(({ method }) => method === 'POST')) {
        const { status, body } = await own.request(method, `${path}?${query}`, {
          headers,
          body: { ...entry.body, ...naming },
        });
        expect(status).toBe(201);
        expect((await own.get(`${path}/${body.id}`, { headers })).body).toEqual(body);
        expect((await theirs.get(`${path}/${body.id}`)).status).toBe(404);
      }
      for (const { path } of lists) {
        const { body } = await own.get(`${path}?${query}`, { headers });
        expect(JSON.stringify(body)).not.toContain(theirIds.customer);
      }
    });
  });
});

test('a contact of another organization is no conflict, and no answer tells of it', async () => {
  const own = await service.agency();
  await leavingTheirsAlone(async () => {
    const { status, text } = await own.post('/v1/customers', { contacts: [SHARED_CONTACT] });
    expect(status).toBe(201);
    expect(text).not.toContain(theirIds.customer);
  });
});
