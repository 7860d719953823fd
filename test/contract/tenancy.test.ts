import { beforeAll, describe, expect, test } from 'vitest';
import { makeKey } from '../../src/api-keys/api-key.ts';
import { issueApiKey, revokeApiKey } from '../../src/api-keys/repository.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { useDashboard } from '../dashboard/dashboard.ts';
import { declaredCodes, operationsOf, readDocument } from '../support/contract.ts';
import {
  CONTACT,
  filterValues,
  type Has,
  LISTS,
  OPERATIONS,
  operationsBy,
  populate,
  requestOf,
  send,
} from '../support/operations.ts';
import type { Agency } from '../support/service.ts';
import { UNAUTHORIZED } from '../support/unauthorized.ts';

/** Every operation of /v1 is tried without a good key and with the ids of another organization. */

const { service, dashboard } = useDashboard();

const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

const operations = operationsOf(readDocument('openapi/openapi.json')).map(({ method, path, operation }) => ({
  name: `${method} ${path}`,
  method,
  path,
  /** The name of its record's id in the path. */
  idName: /\{(\w+)\}/.exec(path)?.[1] as keyof Has | undefined,
  missing: declaredCodes(operation, 404),
}));

const world = (agency: Agency) => ({ service, dashboard, agency });
const furnish = (agency: Agency, word?: string) => populate(world(agency), word);

let mine: Agency;
let theirs: Agency;
let theirIds: Has;
beforeAll(async () => {
  [mine, theirs] = [await service.agency('Mine'), await service.agency('Theirs')];
  theirIds = await furnish(theirs);
});

/** Runs the work and proves that it left every row of theirs as it was, and that there were some. */
async function leavingTheirsAlone(work: () => Promise<void>): Promise<void> {
  const before = await dashboard.stored(theirs);
  expect(Object.keys(before).length).toBeGreaterThan(10);
  for (const [table, rows] of Object.entries(before)) expect(rows, table).not.toEqual([]);
  await work();
  expect(await dashboard.stored(theirs)).toEqual(before);
}

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
      for (const { name } of operations) {
        const sent = await requestOf(name, theirIds);
        const forms: Record<string, string>[] =
          key === null ? [{}] : [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }];
        for (const headers of forms) {
          const answer = await mine.request(sent.method, sent.path, { ...sent, key: null, headers });
          expect(answer.status, name).toBe(401);
          expect(answer.text, name).toBe(JSON.stringify(expected));
          expect(answer.headers['www-authenticate'], name).toBe('Bearer');
        }
      }
    });
  });

  test('and a good one opens every operation, in either header', async () => {
    // What takes a record away comes last.
    const inOrder = operationsBy('GET', 'POST', 'PATCH', 'DELETE').filter((name) => / \/v1\//.test(name));
    expect(inOrder).toHaveLength(operations.length);
    for (const form of ['authorization', 'x-api-key']) {
      const agency = await service.agency();
      const has = await furnish(agency);
      for (const name of inOrder) {
        const sent = await requestOf(name, has);
        const headers = { [form]: form === 'authorization' ? `Bearer ${agency.key}` : agency.key };
        const { status } = await mine.request(sent.method, sent.path, { ...sent, key: null, headers });
        expect(status, `${name} with ${form}`).toBe(sent.method === 'POST' ? 201 : 200);
      }
    }
  });
});

describe("another organization's record is a record that does not exist", () => {
  test.each(operations.filter(({ idName }) => idName))('$name', async ({ name, idName, missing }) => {
    const theirId = theirIds[idName ?? 'productId'];
    const ask = async (id: string) =>
      send(world(mine), await requestOf(name, theirIds, { [idName ?? '']: id }));
    await leavingTheirsAlone(async () => {
      const [foreign, unknown] = [await ask(theirId), await ask(UNKNOWN)];
      expect(foreign.status).toBe(404);
      expect(missing).toEqual([foreign.body.error.code]);
      expect(foreign.text.replaceAll(theirId, UNKNOWN)).toBe(unknown.text);
      expect(Object.keys(foreign.headers).sort()).toEqual(Object.keys(unknown.headers).sort());
    });
  });
});

describe('a list shows nothing of another organization', () => {
  test.each(Object.entries(LISTS))('%s', async (name, list) => {
    const own = await service.agency();
    const [, path] = name.split(' ');
    const empty = (limit: number) => ({ data: [], pagination: { limit, offset: 0, total: 0 } });
    expect((await own.get(`${path}?limit=100`)).body).toEqual(empty(100));
    expect((await own.get(`${path}?query=oaxaca`)).body).toEqual(empty(25));
    for (const filter of await filterValues(theirs, list)) {
      await list.make(theirs, { [filter.field]: filter.written[0] });
      const query = new URLSearchParams({ [filter.name]: filter.sent });
      expect((await theirs.get(`${path}?${query}`)).body.pagination.total).toBeGreaterThan(0);
      expect((await own.get(`${path}?${query}`)).body).toEqual(empty(25));
    }
    const ids = await furnish(own);
    const before = (await own.get(`${path}?limit=100`)).body;
    expect(before.data.length).toBeGreaterThan(0);
    expect(before.pagination.total).toBe(before.data.length);
    await furnish(await service.agency());
    expect((await own.get(`${path}?limit=100`)).body).toEqual(before);
    const stored = await dashboard.stored(theirs);
    const text = JSON.stringify(before);
    for (const [idName, id] of Object.entries(theirIds))
      if (idName !== 'word') expect(text).not.toContain(id);
    expect(JSON.stringify(stored)).not.toContain(ids.productId);
  });
});

describe('no request names the organization', () => {
  test('not by a parameter, a field or a header: what is written is the key’s', async () => {
    const own = await service.agency();
    await leavingTheirsAlone(async () => {
      const naming = { organizationId: theirs.id, organization_id: theirs.id, organization: theirs.id };
      const query = new URLSearchParams(naming);
      const headers = { 'x-organization-id': theirs.id, 'organization-id': theirs.id };
      for (const { name, method, path } of operations.filter(({ method }) => method === 'POST')) {
        const { status, body } = await own.request(method, `${path}?${query}`, {
          headers,
          body: { ...OPERATIONS[name]?.body?.(theirIds), ...naming },
        });
        expect(status).toBe(201);
        expect((await own.get(`${path}/${body.id}`, { headers })).body).toEqual(body);
        expect((await theirs.get(`${path}/${body.id}`)).status).toBe(404);
      }
      for (const name of Object.keys(LISTS)) {
        const { body } = await own.get(`${name.split(' ')[1]}?${query}`, { headers });
        expect(JSON.stringify(body)).not.toContain(theirIds.customerId);
      }
    });
  });
});

test('a contact of another organization is no conflict, and no answer tells of it', async () => {
  const own = await service.agency();
  await leavingTheirsAlone(async () => {
    const { status, text } = await own.post('/v1/customers', { contacts: [CONTACT] });
    expect(status).toBe(201);
    expect(text).not.toContain(theirIds.customerId);
  });
});
