import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { declaredCodes, operationOf } from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import { withoutTriggers } from '../support/databases.ts';
import { TENANT_COLUMNS } from '../support/dataset.ts';
import {
  BELOW,
  below,
  CONTACT,
  type Has,
  LISTS,
  OPERATIONS,
  operationsBy,
  pathOf,
  populate,
  requestOf,
  run,
  send,
  type World,
} from '../support/operations.ts';
import { conversation, customer, type Fields, opportunity, web } from '../support/records.ts';
import type { Agency } from '../support/service.ts';

/** Every operation with ids of another organization and of archived records. */

const { service, dashboard } = await useDashboard();

const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

const newWorld = async (name?: string): Promise<World> => ({
  service,
  dashboard,
  agency: await service.agency(name),
});
/** Twins creates records with the ids of theirs. */
const [mine, theirs, twins] = [await newWorld(), await newWorld(), await newWorld()];
const ids = { mine: await populate(mine), theirs: await populate(theirs), twins: await populate(twins) };
const archivedIds = await populate(mine, 'Oaxaca', 1);
/** One for each kind of record: both APIs archive products and customers. */
const ARCHIVES = [
  ...new Map(
    operationsBy('DELETE')
      .filter((name) => !/\{(organization|apiKey|attachment)Id\}$/.test(name))
      .map((name) => [name.replace(/.*\//, ''), name]),
  ).values(),
];
for (const name of ARCHIVES) await run(mine, name, archivedIds);
/** Every row of two organizations, some in each table. No test may change one. */
const stored = () => Promise.all([mine, theirs].map(({ agency }) => dashboard.stored(agency)));
const before = await stored();
afterEach(async () => {
  expect(await stored()).toEqual(before);
});

/** Every id in the path of an operation, except that of the organization. */
const IDS = Object.keys(OPERATIONS).flatMap((name) =>
  [...pathOf(name).matchAll(/\{(\w+)\}/g)]
    .map(([, idName]) => ({ name, idName: idName as keyof Has }))
    .filter(({ idName }) => idName !== 'organizationId'),
);
const STRANGE = ['0', '-1', 'null', "'", '%00', '%F0%9F%8C%8B', 'x'.repeat(7_000)];

/** Operations that accept the id of an archived record. */
const OF_ARCHIVED = /^PUT |\/(restore|export|erase)$|^GET \/dashboard.*Id\}$/;

describe("another organization's record, or an archived one, is not found, as if it did not exist", () => {
  test.each(IDS)('$idName of $name', async ({ name, idName }) => {
    const theirId = { ...ids.theirs, ...OPERATIONS[name]?.ids?.(ids.theirs) }[idName];
    const isArchived = ARCHIVES.some((each) => each.endsWith(`{${idName}}`)) && !OF_ARCHIVED.test(name);
    // A PUT may create a record with the id of another organization's record.
    const isCreated = name.startsWith('PUT') && name.endsWith(`{${idName}}`);
    const own = isCreated ? { ...ids.twins, stageKey: randomUUID() } : ids.mine;
    const request = async (id: string, more: object = {}) =>
      send(isCreated ? twins : mine, { ...(await requestOf(name, own, { [idName]: id })), ...more });
    const operation = operationOf(name);
    const { schema } = operation.parameters?.find((parameter) => parameter.name === idName) ?? {};
    const unknown = isCreated ? undefined : await request(UNKNOWN);
    if (unknown) expect(declaredCodes(operation, 404)).toContain(unknown.body.error.code);
    else expect((await request(theirId)).status).toBe(201);
    for (const id of unknown ? [theirId, ...(isArchived ? [archivedIds[idName]] : [])] : [])
      for (const more of name.startsWith('PATCH') ? [{}, { body: {} }] : [{}]) {
        const { status, text, headers } = await request(id, more);
        expect([status, text.replaceAll(id, UNKNOWN)]).toEqual([404, unknown?.text]);
        expect(Object.keys(headers).sort()).toEqual(Object.keys(unknown?.headers ?? {}).sort());
      }
    for (const id of isCreated ? STRANGE : [UNKNOWN.toUpperCase(), ...STRANGE]) {
      const { status, body } = await request(id);
      const invalidId = [400, [{ path: `params.${idName}`, message: 'must be a UUID' }]];
      if (schema?.format === 'uuid' && id !== UNKNOWN.toUpperCase())
        expect([status, body.error.details], id).toEqual(invalidId);
      else expect([status, body.error.code], id).toEqual([404, unknown?.body.error.code]);
    }
  });
});

const ERASE = `POST ${BELOW}/customers/{customerId}/erase`;

/** Gives records the ids of records of another organization, as only a restored dump of another installation could. */
const changeIds = (agency: Agency, ids: readonly (readonly [from: string, to: string])[]) =>
  withoutTriggers(service.ownerUrl, async (client) => {
    for (const { table, column } of TENANT_COLUMNS.filter(({ type }) => type === 'uuid'))
      for (const [from, to] of ids)
        await client.query(
          `update ${table} set ${column} = $3 where organization_id = $1 and ${column} = $2`,
          [agency.id, from, to],
        );
  });

test('no operation returns or changes anything of another organization whose records have the same ids', async () => {
  const [other, own] = [await newWorld('twinb9'), await newWorld()];
  const has = await populate(other, 'twinb9', 1);
  const made = await populate(own, 'twina9');
  const { word: _, organizationId, stageKey, contactId, token, providerMessageId, ...ids } = has;
  const names = Object.keys(ids) as (keyof typeof ids)[];
  const isOfRecords = (name: string) => !/(organizations|\{organizationId\}|reopen)$/.test(name);
  const reads = operationsBy('GET').filter(isOfRecords);
  async function readAll(ids: Has) {
    const responses = await Promise.all(reads.map((name) => run(own, name, ids)));
    return responses.map(({ text }) => text.replace(/"(url|lastUsedAt|exportedAt)":("[^"]*"|null)/g, ''));
  }
  const alone = (await readAll(made)).map((text) =>
    names.reduce((changed, name) => changed.replaceAll(made[name], has[name]), text),
  );
  await changeIds(
    own.agency,
    names.map((name) => [made[name], has[name]]),
  );
  const same = { ...made, ...ids, providerMessageId };
  expect(await readAll(same)).toEqual(alone);
  for (const path of Object.keys(LISTS).map(pathOf)) {
    const { status, text } = await own.agency.get(`${path}?createdSince=2020-01-01T00:00:00Z`);
    expect([status, text.includes('twina9'), text.includes('twinb9')], path).toEqual([200, true, false]);
  }
  // The documents name a record before its parts, which have to be deleted first.
  const writes = [...operationsBy('POST', 'PATCH', 'PUT'), ...operationsBy('DELETE').reverse()].filter(
    (name) => isOfRecords(name) && !name.endsWith('/restore'),
  );
  const { customerId, twinCustomerId: twin } = has;
  const [ofPerson, unlinked, found] = [randomUUID(), randomUUID(), randomUUID()];
  const thread = ({ agency }: World, id: string, fields: Fields) =>
    conversation(agency, { channel: 'web', contact: 'nobody', customerId: null, ...fields }, id);
  for (const each of [other, own]) {
    await opportunity(each.agency, { customerId: twin });
    await thread(each, randomUUID(), { customerId: twin });
  }
  // The twin is merged and erased there. Its threads, and customers with other ids, have the contacts of the person here.
  const contacts = [web('twina9')];
  const [into, archived] = [await customer(other.agency), await customer(other.agency, { contacts })];
  await other.agency.delete(`/v1/customers/${archived.id}`);
  await customer(other.agency, { contacts });
  await dashboard.of(other.agency).post(`/customers/${into.id}/merge`, { from: twin });
  expect((await run(other, ERASE, has, { customerId: twin })).status).toBe(200);
  await thread(other, ofPerson, { customerId });
  await thread(other, unlinked, { channel: 'whatsapp', contact: CONTACT.identifierValue });
  const others = await dashboard.stored(other.agency);
  async function check(name: string, idsOfIt: Partial<Has> = {}) {
    const { status, text } = await run(own, name, same, idsOfIt);
    if (!reads.includes(name)) expect(status, name).toBeLessThan(300);
    expect(text, name).not.toContain('twinb9');
  }
  for (const name of [...reads, ...writes, ...reads]) {
    await check(name);
    const restore = `POST ${below(pathOf(name))}/restore`;
    if (name.startsWith('DELETE') && restore in OPERATIONS) await check(restore, same);
  }
  const { agency } = own;
  expect((await agency.get('/v1/customers?contact=twina9')).body.data).toMatchObject([{ id: customerId }]);
  expect((await agency.get(`/v1/quotes?customerId=${twin}`)).status).toBe(200);
  expect((await agency.get(`/v1/customers/${twin}`)).text).toContain(customerId);
  const next = await conversation(agency, { rotatedFrom: same.conversationId });
  expect(JSON.stringify(next)).not.toContain('twinb9');
  const details = [{ path: 'body.contacts[0]', customerId }];
  expect((await agency.post('/v1/customers', { contacts })).body.error.details).toEqual(details);
  for (const id of [ofPerson, unlinked]) await thread(own, id, {});
  for (const query of [`customerId=${customerId}`, `contact=${CONTACT.identifierValue}`, 'query=12345670']) {
    const { text } = await agency.get(`/v1/conversations?${query}`);
    for (const id of [ofPerson, unlinked]) expect(text, query).not.toContain(id);
  }
  await thread(own, found, { contact: 'twina9' });
  const erased = { contacts: 3 };
  expect((await run(own, ERASE, same, { customerId: twin })).body).toMatchObject({
    erased,
    sameContacts: [],
  });
  const rows = (await dashboard.stored(agency)).conversations as Fields[];
  expect([ofPerson, unlinked, found].map((id) => rows.find((row) => row.id === id)?.contact)).toEqual([
    'nobody',
    'nobody',
    '',
  ]);
  expect(await dashboard.stored(other.agency)).toEqual(others);
});
