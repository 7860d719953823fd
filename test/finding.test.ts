import { expect, test } from 'vitest';
import { withoutTriggers } from './support/databases.ts';
import { conversation, customer, message } from './support/records.ts';
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

test('ids takes at most 100 ids, in upper or lower case; a repeated id and a text that is not an id find nothing', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency);
  const find = (ids: string[]) => agency.get(`/v1/customers?ids=${ids.join()}`);
  for (const ids of [
    [`%20${id}`, id],
    ['x', id.toUpperCase(), ''],
    [...Array(99).fill(agency.id), id],
  ])
    expect(idsOf((await find(ids)).body)).toEqual([id]);
  for (const ids of [['x'], ['', '']])
    expect((await find(ids)).body).toMatchObject({ data: [], pagination: { total: 0 } });
  const { status, body } = await find(Array(101).fill(id));
  expect([status, body.error.details]).toEqual([
    400,
    [{ path: 'query.ids', message: 'must have at most 100 ids' }],
  ]);
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
