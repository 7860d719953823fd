import { expect, test } from 'vitest';
import { mergeCustomer } from '../src/person/merge.ts';
import { useDashboard } from './support/dashboard.ts';
import { withoutTriggers } from './support/databases.ts';
import { rejected } from './support/faults.ts';
import { contact, conversation, customer, message, opportunity, product, quote } from './support/records.ts';
import { type Agency, idsOf } from './support/service.ts';

/** Which values the parameters take that find one record, or changed records. */

const { service, dashboard } = await useDashboard();
const find = async ({ get }: Agency, list: string, query: string) => idsOf(await get(`/v1/${list}?${query}`));

test('a timestamp has any offset, even if its + arrives as a space, lower-case letters or no seconds, and compares milliseconds', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency);
  await withoutTriggers(service.ownerUrl, (client) =>
    client.query('update customers set updated_at = $1 where id = $2', ['2026-03-01T10:00:00.500Z', id]),
  );
  for (const [query, found] of [
    ['updatedSince=2026-03-01T11:00:00.500+01:00', [id]],
    ['updatedSince=2026-03-01T11:00:00.500%2B01:00', [id]],
    ['updatedSince=2026-03-01T04:00:00.500-06:00', [id]],
    ['updatedSince=2026-03-01T11:00:00.501+01:00', []],
    ['createdSince=2020-01-01t00:00z', [id]],
    ['createdSince=2020-01-01T00:00-0330', [id]],
  ] as const)
    expect(await find(agency, 'customers', query), query).toEqual(found);
  const { createdAt } = await conversation(agency, { createdAt: '2020-01-01T05:30:00+0530' });
  expect(createdAt).toBe('2020-01-01T00:00:00.000Z');
});

test('ids takes at most 100 ids, in upper or lower case', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency);
  for (const ids of [`%20${id},${agency.id}`, id.toUpperCase(), [...Array(99).fill(agency.id), id].join()])
    expect(await find(agency, 'customers', `ids=${ids}`)).toEqual([id]);
  const tooMany = rejected(['query.ids', 'must have at most 100 ids']);
  expect(await agency.get(`/v1/customers?ids=${Array(101).fill(id)}`)).toMatchObject(tooMany);
});

test('contact and query find an address whose plus has become a space, and a number as gateways report it', async () => {
  const agency = await service.agency();
  const address = await customer(agency, { contacts: [contact('email', 'ana+viajes@example.com')] });
  const number = await customer(agency, { contacts: [contact('whatsapp', '+51987654321')] });
  const chat = await conversation(agency, { channel: 'whatsapp', contact: 'whatsapp:+51 987 654 321' });
  const encodedPlus = 'contact=%E2%80%8BAna%2Bviajes@example.com';
  for (const sent of ['contact=ana+viajes@example.com', encodedPlus, 'query=ana+viajes@'])
    expect(await find(agency, 'customers', sent), sent).toEqual([address.id]);
  for (const sent of ['+51987654321', '51987654321:12@s.whatsapp.net', '%2B51%200987%20654%20321']) {
    expect(await find(agency, 'customers', `contact=${sent}`), sent).toEqual([number.id]);
    expect(await find(agency, 'conversations', `contact=${sent}`), sent).toEqual([chat.id]);
  }
  expect(await find(agency, 'customers', 'query=51987654321:3@c.us')).toEqual([number.id]);
  expect(chat.customerId).toBe(number.id);
});

test('query finds a conversation by any part and spelling of its contact', async () => {
  const agency = await service.agency();
  for (const contact of ['+52 1 (55) 1234-5678', '+525512345678', '5215512345678@c.us']) {
    const { id } = await conversation(agency, { contact });
    const queries = '+52 1 55 1234 5678|+525512345678|5512345678|52 55 1234|+52 1 55|0052 155';
    for (const query of queries.split('|')) {
      const found = await find(agency, 'conversations', `query=${encodeURIComponent(query)}`);
      expect(found, `${query} of ${contact}`).toContain(id);
    }
  }
  const { id } = await conversation(agency, { contact: '+55 (11) 98888 - 7701' });
  for (const query of ['988887701', '55 1198888', '1188887701'])
    expect(await find(agency, 'conversations', `query=${query}`), query).toEqual([id]);
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
      expect(await find(agency, list, `customerId=${sent}`), list).toEqual([id]);
});

test('customerId and contact find a conversation by any thread of its chain; contactType by that channel alone', async () => {
  const agency = await service.agency();
  const ana = await customer(agency);
  const older = await conversation(agency, { contact: '+13055550101', customerId: ana.id });
  const eva = await customer(agency);
  const next = { channel: 'sms', contact: '+13055550102', customerId: eva.id, rotatedFrom: older.id };
  const newer = await conversation(agency, next);
  const third = await conversation(agency, { channel: 'telefono', contact: '+13055550103' });
  for (const [query, found] of [
    [`customerId=${ana.id}`, [newer.id]],
    [`customerId=${eva.id}`, [newer.id]],
    ['contact=+13055550101', [newer.id]],
    ['contact=+13055550103&contactType=whatsapp', []],
    ['contact=+13055550103&contactType=telefono', [third.id]],
  ] as const)
    expect(await find(agency, 'conversations', query), query).toEqual(found);
  const alone = rejected(['query.contactType', 'can be used only together with contact']);
  for (const list of ['customers', 'conversations'])
    expect(await agency.get(`/v1/${list}?contactType=email`)).toMatchObject(alone);
});

test('before and after take a message id in any case, or a timestamp, exclusive: the last before it, the first behind it', async () => {
  const agency = await service.agency();
  const older = await conversation(agency, { channel: 'web' });
  const newer = await conversation(agency, { channel: 'whatsapp', rotatedFrom: older.id });
  const at = (minute: number) => `2026-01-01T00:0${minute}:00.000Z`;
  const ids: string[] = [];
  for (const [{ id }, minute] of [
    [older, 1],
    [newer, 2],
    [older, 2],
    [newer, 3],
  ] as const)
    ids.push((await message(agency, id, { createdAt: at(minute) })).id);
  const [first = '', second = '', , fourth = ''] = ids;
  const path = `/v1/conversations/${older.id}/messages`;
  for (const [query, ...range] of [
    [`before=${second.toUpperCase()}`, 0, 1],
    [`before=${fourth}&limit=2`, 1, 3],
    ['before=2026-01-01T20:02:00.001%2B20:00', 0, 3],
    [`after=${first}&limit=2`, 1, 3],
    [`after=${second.toUpperCase()}`, 2, 4],
    [`after=${at(2)}`, 3, 4],
    ['after=2026-01-01T01:00:59.999%2B01:00&limit=1', 0, 1],
    [`after=${fourth}`, 4, 4],
  ] as const) {
    const reply = await agency.get(`${path}?${query}`);
    expect([idsOf(reply), reply.body.total], query).toEqual([ids.slice(...range), 4]);
  }
  const both = rejected(['query.after', 'cannot be used together with before']);
  expect(await agency.get(`${path}?after=${at(1)}&before=${at(2)}`)).toMatchObject(both);
  const foreign = rejected(['query.after', 'is not the id of a message in this transcript']);
  const elsewhere = await message(agency, (await conversation(agency)).id);
  for (const { id } of [agency, elsewhere])
    expect(await agency.get(`${path}?after=${id}`)).toMatchObject(foreign);
  // Either message would repeat or skip a page.
  const third = await conversation(agency, { rotatedFrom: newer.id });
  await message(agency, third.id, { createdAt: at(6) }, first);
  for (const name of ['before', 'after'])
    expect(await agency.get(`${path}?${name}=${first}`)).toMatchObject(
      rejected([`query.${name}`, 'is the id of a message in two threads: send a date-time']),
    );
});

test('escapes that are not UTF-8 are rejected, naming the parameter; a percent sign alone is a character', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency, { firstName: '100% Pérez' });
  const error = rejected(['query.query', 'has an escape that is not UTF-8']);
  for (const query of ['P%E9rez', 'P%C3', '%ff%C3%A9'])
    expect(await agency.get(`/v1/customers?limit=1&query=${query}`)).toMatchObject(error);
  for (const query of ['P%C3%A9rez', '100%', '100%25'])
    expect(await find(agency, 'customers', `query=${query}`), query).toEqual([id]);
});

const LONG = 'Patagonia '.repeat(25);

test.each<readonly [title: string, query: string, isFound: boolean]>([
  // Case and accents are ignored in the text and in the query.
  ['Bogotá', 'bogota', true],
  ['Bogota\u0301', 'bogotá', true],
  ['Bogotá', 'Bogota\u0301', true],
  ['Straße', 'STRASSE', true],
  ['Æthelred', 'aethelred', true],
  ['Ｔｏｋｙｏ', 'tokyo', true],
  ['Łódź', 'lodz', true],
  ['Москва', 'МОСКВА', true],
  ['Γιώργος', 'ΓΙΩΡΓΟΣ', true],
  ['東京', '京', true],
  ['🌋 Volcán', '🌋 volcan', true],
  ['Bogotá', 'bogoto', false],
  // No character is a wildcard.
  ['a_b', 'a_b', true],
  ['axb', 'a_b', false],
  ['a\\b', 'a\\b', true],
  ['ab', 'a\\b', false],
  ['100x', '100％', false],
  ['ab', 'a*', false],
  ['axb', 'a.', false],
  // Repeated spaces are one space; leading and trailing spaces are ignored.
  ['Mar y sol', 'mary', false],
  ['Mar y', ' mar   y ', true],
  ['Mar\u00a0 y', 'mar y', true],
  ['a\tb', 'a b', false],
  // Of any length.
  ...[1, 2, 3, 200].map((length) => [LONG, LONG.slice(3, 3 + length), true] as const),
])('the title %j is found by the query %j: %s', async (title, query, isFound) => {
  const agency = await service.agency();
  const { id } = await product(agency, { title });
  const { body } = await agency.get(`/v1/catalog/products?query=${encodeURIComponent(query)}`);
  expect([idsOf({ body }), body.pagination.total]).toEqual(isFound ? [[id], 1] : [[], 0]);
});

test('a customer, active or archived, is found by its name, a date in its summary, and any part of one contact in any spelling', async () => {
  const agency = await service.agency();
  const contacts = [
    contact('whatsapp', '+52 1 (55) 1234-5678'),
    contact('telefono', '+52 55 8888 7777'),
    contact('instagram', '@Ana.Viaja'),
    contact('instagram', 'ana.en.bici'),
    contact('email', ' Ñandú@Example.com '),
    contact('web', 'abc'),
    contact('web', 'def'),
    contact('telefono', '+57 300 123 4567'),
  ];
  const sent = { firstName: 'Ana ', lastName: ' Gil', summary: 'Vuelve el 2027-01-15.', contacts };
  const { body } = await agency.post('/v1/customers', sent);
  const totalOf = async (query: string): Promise<number> =>
    (await agency.get(`/v1/customers?query=${encodeURIComponent(query)}`)).body.pagination.total;
  const numbers =
    '+52 1 (55) 1234-5678|+52.1.55.1234.5678|0052 1551234|(55) 1234|+5215512345678|5215512345678|12345678|+5215588887777|521 55 8888 7777|00 123|0-0123-45';
  const others =
    '+52 55 1234 5678|525512345678|@ana.viaja|ana.viaja|@ana.en.bici|https://www.instagram.com/Ana.Viaja/?hl=es|nandu@ex|ABC|ana gil|2027-01-15';
  const queries = `${numbers}|${others}`.split('|');
  for (const query of queries) expect(await totalOf(query), query).toBe(1);
  for (const query of ['8765 4321', 'abcdef', 'cd']) expect(await totalOf(query), query).toBe(0);
  await agency.delete(`/v1/customers/${body.id}`);
  for (const query of queries) {
    const path = `/customers?archived=true&query=${encodeURIComponent(query)}`;
    expect((await dashboard.of(agency).get(path)).body.data, query).toHaveLength(1);
  }
});
