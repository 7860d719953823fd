import { expect, test } from 'vitest';
import { mergeCustomer } from '../src/person/merge.ts';
import { withoutTriggers } from './support/databases.ts';
import { conversation, customer, message, opportunity, quote } from './support/records.ts';
import { useService } from './support/service.ts';

/** Which values the parameters take that find one record, or changed records. */

const service = useService();

const contact = (identifierType: string, identifierValue: string) => ({ identifierType, identifierValue });
const idsOf = (body: { data: { id: string }[] }): string[] => body.data.map(({ id }) => id);

test('contact finds a number whose + arrives as a space; contactType without contact is rejected', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency, { contacts: [contact('whatsapp', '+13055550100')] });
  expect(idsOf((await agency.get('/v1/customers?contact=+13055550100')).body)).toEqual([id]);
  for (const list of ['customers', 'conversations']) {
    const { status, body } = await agency.get(`/v1/${list}?contactType=email`);
    const details = [{ path: 'query.contactType', message: 'can be used only together with contact' }];
    expect([status, body.error.details], list).toEqual([400, details]);
  }
});

test('updatedSince takes any offset, even if its + arrives as a space, and compares milliseconds', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency);
  await withoutTriggers(service.ownerUrl, (client) =>
    client.query('update customers set updated_at = $1 where id = $2', ['2026-03-01T10:00:00.500Z', id]),
  );
  const totalOf = async (timestamp: string): Promise<number> =>
    (await agency.get(`/v1/customers?updatedSince=${timestamp}`)).body.pagination.total;
  for (const timestamp of [
    '2026-03-01T11:00:00.500+01:00',
    '2026-03-01T11:00:00.500%2B01:00',
    '2026-03-01T04:00:00.500-06:00',
  ])
    expect(await totalOf(timestamp), timestamp).toBe(1);
  expect(await totalOf('2026-03-01T11:00:00.501+01:00')).toBe(0);
});

test('ids takes at most 100 ids, in upper or lower case, and nothing that is not an id', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency);
  const find = (ids: string) => agency.get(`/v1/customers?ids=${ids}`);
  for (const ids of [`%20${id},${id}`, id.toUpperCase(), [...Array(99).fill(agency.id), id].join()])
    expect(idsOf((await find(ids)).body)).toEqual([id]);
  for (const [ids, message] of [
    [`${id};${agency.id}`, 'must be ids, separated by commas'],
    [`${id},x`, 'must be ids, separated by commas'],
    [`["${id}"]`, 'must be ids, separated by commas'],
    [`${id},`, 'must be ids, separated by commas'],
    ['null', 'must be ids, separated by commas'],
    [Array(101).fill(id).join(), 'must have at most 100 ids'],
  ]) {
    const { status, body } = await find(encodeURIComponent(String(ids)));
    expect([status, body.error.details]).toEqual([400, [{ path: 'query.ids', message }]]);
  }
});

test('contact and query find an address whose plus has become a space, and a number as gateways report it', async () => {
  const agency = await service.agency();
  const address = await customer(agency, { contacts: [contact('email', 'ana+viajes@example.com')] });
  const number = await customer(agency, { contacts: [contact('whatsapp', '+51987654321')] });
  const chat = await conversation(agency, { channel: 'whatsapp', contact: 'whatsapp:+51 987 654 321' });
  for (const sent of [
    'contact=ana+viajes@example.com',
    'contact=%E2%80%8BAna%2Bviajes@example.com',
    'query=ana+viajes@',
  ])
    expect(idsOf((await agency.get(`/v1/customers?${sent}`)).body), sent).toEqual([address.id]);
  for (const sent of [
    'whatsapp:+51987654321',
    'tel:+51-987-654-321',
    '51987654321:12@s.whatsapp.net',
    ' 51987654321@c.us',
    '+51 0987 654 321',
  ]) {
    const encoded = encodeURIComponent(sent);
    expect(idsOf((await agency.get(`/v1/customers?contact=${encoded}`)).body), sent).toEqual([number.id]);
    expect(idsOf((await agency.get(`/v1/conversations?contact=${encoded}`)).body), sent).toEqual([chat.id]);
  }
  expect(idsOf((await agency.get('/v1/customers?query=51987654321:3@c.us')).body)).toEqual([number.id]);
  expect(chat.customerId).toBe(number.id);
});

test('customerId of a merged customer finds what its survivor has, alone and in a list', async () => {
  const agency = await service.agency();
  const [survivor, merged, other] = [await customer(agency), await customer(agency), await customer(agency)];
  await mergeCustomer(agency.scope, survivor.id, { from: merged.id });
  const { id: trip } = await opportunity(agency, { customerId: survivor.id });
  const { id: offer } = await quote(agency, { opportunityId: trip });
  const { id: chat } = await conversation(agency, { customerId: survivor.id });
  for (const [list, id] of Object.entries({ opportunities: trip, quotes: offer, conversations: chat }))
    for (const sent of [merged.id, `${other.id},${merged.id}`])
      expect(idsOf((await agency.get(`/v1/${list}?customerId=${sent}`)).body), list).toEqual([id]);
});

test('customerId and contact find a conversation by any thread of its chain; contactType by that channel alone', async () => {
  const agency = await service.agency();
  const ana = await customer(agency);
  const older = await conversation(agency, { contact: '+13055550101', customerId: ana.id });
  const eva = await customer(agency);
  const next = { channel: 'sms', contact: '+13055550102', customerId: eva.id, rotatedFrom: older.id };
  const newer = await conversation(agency, next);
  await conversation(agency, { channel: 'telefono', contact: '+13055550103' });
  const find = async (query: string) => idsOf((await agency.get(`/v1/conversations?${query}`)).body);
  for (const { id } of [ana, eva]) expect(await find(`customerId=${id}`)).toEqual([newer.id]);
  expect(await find('contact=%2B13055550101')).toEqual([newer.id]);
  expect(await find('contact=%2B13055550103&contactType=whatsapp')).toEqual([]);
  expect(await find('contact=%2B13055550103&contactType=telefono')).toHaveLength(1);
});

test('before takes a message id in upper or lower case, or a timestamp; if two threads have the id, the later message counts', async () => {
  const agency = await service.agency();
  const older = await conversation(agency, { channel: 'web' });
  const newer = await conversation(agency, { channel: 'whatsapp', rotatedFrom: older.id });
  const ids: string[] = [];
  for (const [thread, minute] of [
    [older, 1],
    [newer, 2],
  ] as const)
    ids.push((await message(agency, thread.id, { createdAt: `2026-01-01T00:0${minute}:00.000Z` })).id);
  const idsBefore = async (before = '') =>
    idsOf((await agency.get(`/v1/conversations/${newer.id}/messages?before=${before}`)).body);
  expect(await idsBefore(ids[1]?.toUpperCase())).toEqual(ids.slice(0, 1));
  expect(await idsBefore('2026-01-01T01:02:00.001+01:00')).toEqual(ids);
  const third = await conversation(agency, { rotatedFrom: newer.id });
  await message(agency, third.id, { createdAt: '2026-01-01T00:06:00.000Z' }, ids[0]);
  expect(await idsBefore(ids[0])).toEqual(ids);
});

test('after takes what before takes: the first messages behind it, oldest first; both together are rejected', async () => {
  const agency = await service.agency();
  const older = await conversation(agency, { channel: 'web' });
  const newer = await conversation(agency, { channel: 'whatsapp', rotatedFrom: older.id });
  const at = (minute: number) => `2026-01-01T00:0${minute}:00.000Z`;
  const ids: string[] = [];
  for (const [thread, minute] of [
    [older, 1],
    [newer, 2],
    [older, 2],
    [newer, 3],
  ] as const)
    ids.push((await message(agency, thread.id, { createdAt: at(minute) })).id);
  const find = async (query: string) => {
    const { body } = await agency.get(`/v1/conversations/${older.id}/messages?${query}`);
    return [idsOf(body), body.total];
  };
  expect(await find(`after=${ids[0]}&limit=2`)).toEqual([ids.slice(1, 3), 4]);
  expect(await find(`after=${ids[1]?.toUpperCase()}`)).toEqual([ids.slice(2), 4]);
  expect(await find(`after=${at(2)}`)).toEqual([ids.slice(3), 4]);
  expect(await find('after=2026-01-01T01:00:59.999+01:00&limit=1')).toEqual([ids.slice(0, 1), 4]);
  expect(await find(`after=${ids[3]}`)).toEqual([[], 4]);
  const rejected = async (query: string) =>
    (await agency.get(`/v1/conversations/${older.id}/messages?${query}`)).body.error.details;
  expect(await rejected(`after=${at(1)}&before=${at(2)}`)).toEqual([
    { path: 'query.after', message: 'cannot be used together with before' },
  ]);
  expect(await rejected(`after=${agency.id}`)).toEqual([
    { path: 'query.after', message: 'is not the id of a message in this transcript' },
  ]);
});

test('escapes that are not UTF-8 are rejected, naming the parameter; a percent sign alone is a character', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency, { firstName: '100% Pérez' });
  const message = 'has an escape that is not UTF-8';
  for (const query of ['P%E9rez', 'P%C3', '%ff%C3%A9'])
    expect(await agency.get(`/v1/customers?limit=1&query=${query}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'VALIDATION_FAILED', details: [{ path: 'query.query', message }] } },
    });
  for (const query of ['P%C3%A9rez', '100%', '100%25'])
    expect(idsOf((await agency.get(`/v1/customers?query=${query}`)).body), query).toEqual([id]);
});

test('a timestamp may have lower-case letters, no seconds, and an offset without a colon', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency);
  for (const sent of ['2020-01-01t00:00z', '2020-01-01T00:00:00+0000', '2020-01-01T00:00-0330']) {
    const { status, body } = await agency.get(`/v1/customers?createdSince=${sent}`);
    expect([status, idsOf(body)], sent).toEqual([200, [id]]);
  }
  expect((await conversation(agency, { createdAt: '2020-01-01T05:30+0530' })).createdAt).toBe(
    '2020-01-01T00:00:00.000Z',
  );
});
