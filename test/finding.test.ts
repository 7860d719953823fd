import { describe, expect, test } from 'vitest';
import { withoutTriggers } from './support/databases.ts';
import { conversation, customer, message } from './support/records.ts';
import { type Agency, useService } from './support/service.ts';

/** Finding the one record that is meant, and those that changed: what the values of these parameters may be. */

const service = useService();

const contact = (identifierType: string, identifierValue: string) => ({ identifierType, identifierValue });
const idsOf = (body: { data: { id: string }[] }): string[] => body.data.map(({ id }) => id);

describe('the customer with a contact', () => {
  const find = async (agency: Agency, value: string, more: Record<string, string> = {}) => {
    const { status, body } = await agency.get(
      `/v1/customers?${new URLSearchParams({ contact: value, ...more })}`,
    );
    expect(status).toBe(200);
    expect(body.pagination.total).toBe(body.data.length);
    return idsOf(body);
  };

  test.each([
    ['whatsapp', '+52 1 (55) 1234-5678', ['+525512345678', '5215512345678', '0052 55 1234 5678']],
    ['telefono', '+5491123456789', ['+54 11 2345-6789', '+5491123456789']],
    ['telefono', '+13055550100', ['+1 (305) 555-0100']],
    ['whatsapp', 'MX.13491208655302741918', ['MX.13491208655302741918']],
    ['email', 'Ana@Example.com', ['ana@example.com', ' ANA@EXAMPLE.COM ']],
    ['instagram', '@Ana.Viaja', ['ana.viaja', '@ANA.VIAJA']],
    ['messenger', '100 ', ['100 ']],
    ['web', ' Visitor', [' Visitor']],
  ])(
    '%s %j is found by whatever is the same contact, and by nothing that is like it',
    async (type, stored, same) => {
      const agency = await service.agency();
      const { id } = await customer(agency, { contacts: [contact('web', 'first'), contact(type, stored)] });
      await customer(agency, {
        contacts: [contact('web', `x${stored}`), contact('email', `ju${same[0]}@x.y`)],
      });
      for (const value of same) {
        expect(await find(agency, value)).toEqual([id]);
        expect(await find(agency, value, { contactType: type })).toEqual([id]);
      }
      expect(await find(agency, `${stored}1`)).toEqual([]);
      expect(
        await find(agency, same[0] ?? '', { contactType: type === 'email' ? 'telefono' : 'email' }),
      ).toEqual([]);
    },
  );

  test('a + that was not encoded, and so arrives as a space, is a +', async () => {
    const agency = await service.agency();
    const { id } = await customer(agency, { contacts: [contact('whatsapp', '+13055550100')] });
    expect(idsOf((await agency.get('/v1/customers?contact=+13055550100')).body)).toEqual([id]);
  });

  test('a channel without a contact is a fault', async () => {
    const { status, body } = await (await service.agency()).get('/v1/customers?contactType=email');
    expect([status, body.error.details]).toEqual([
      400,
      [{ path: 'query.contactType', message: 'goes with contact, which is missing' }],
    ]);
  });
});

test('a moment takes any offset, also with a + that was not encoded, and is compared to the millisecond', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency);
  await withoutTriggers(service.ownerUrl, (client) =>
    client.query('update customers set updated_at = $1 where id = $2', ['2026-03-01T10:00:00.500Z', id]),
  );
  const totalOf = async (moment: string): Promise<number> =>
    (await agency.get(`/v1/customers?updatedSince=${moment}`)).body.pagination.total;
  for (const moment of [
    '2026-03-01T11:00:00.500+01:00',
    '2026-03-01T11:00:00.500%2B01:00',
    '2026-03-01T04:00:00.500-06:00',
  ])
    expect(await totalOf(moment), moment).toBe(1);
  expect(await totalOf('2026-03-01T11:00:00.501+01:00')).toBe(0);
});

test('ids are a hundred at most; an id again, in upper case or none at all finds nothing more', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency);
  const find = (ids: string[]) => agency.get(`/v1/customers?ids=${ids.join()}`);
  for (const ids of [[`%20${id}`, id], ['x', id.toUpperCase(), ''], Array(100).fill(id)])
    expect(idsOf((await find(ids)).body)).toEqual([id]);
  for (const ids of [['x'], ['', '']])
    expect((await find(ids)).body).toMatchObject({ data: [], pagination: { total: 0 } });
  const { status, body } = await find(Array(101).fill(id));
  expect([status, body.error.details]).toEqual([
    400,
    [{ path: 'query.ids', message: 'must have at most 100 ids' }],
  ]);
});

test('a conversation is found by updatedSince when it was changed or has a message, and a change keeps its place', async () => {
  const agency = await service.agency();
  const [older, newer] = [await conversation(agency), await conversation(agency)];
  await message(agency, older.id, { createdAt: '2026-01-01T00:00:00Z' });
  await message(agency, newer.id, { createdAt: '2026-01-02T00:00:00Z' });
  const changed = async (change: () => Promise<unknown>): Promise<string[]> => {
    await service.query('select pg_sleep(0.01)');
    const now = new Date().toISOString();
    await change();
    return idsOf((await agency.get(`/v1/conversations?updatedSince=${now}`)).body);
  };
  expect(await changed(async () => undefined)).toEqual([]);
  for (const field of ['activityState', 'controlledBy', 'contactName', 'language'])
    expect(await changed(() => conversation(agency, { [field]: 'x' }, older.id)), field).toEqual([older.id]);
  expect(idsOf((await agency.get('/v1/conversations')).body)).toEqual([newer.id, older.id]);
  expect(await changed(() => message(agency, newer.id))).toEqual([newer.id]);
});

describe('the messages of a transcript before', () => {
  /** Of two threads and both stores, two of them at the same moment. */
  async function transcript(agency: Agency) {
    const older = await conversation(agency, { channel: 'web' });
    const newer = await conversation(agency, { channel: 'whatsapp', rotatedFrom: older.id });
    const ids: string[] = [];
    for (const [thread, minute] of [
      [older, 1],
      [newer, 2],
      [older, 3],
      [newer, 3],
    ] as const)
      ids.push((await message(agency, thread.id, { createdAt: `2026-01-01T00:0${minute}:00.000Z` })).id);
    return { id: newer.id as string, path: `/v1/conversations/${newer.id}/messages`, ids };
  }

  test('a message, or a moment that is not among them, in any spelling; an id of two threads is the later one', async () => {
    const agency = await service.agency();
    const { id, path, ids } = await transcript(agency);
    const read = async (before: string) => {
      const { body } = await agency.get(`${path}?before=${before}`);
      return [idsOf(body), body.total];
    };
    for (const [index, each] of ids.entries())
      expect(await read(each.toUpperCase())).toEqual([ids.slice(0, index), 4]);
    expect(await read('2026-01-01T00:03:00Z')).toEqual([ids.slice(0, 2), 4]);
    expect(await read('2026-01-01T01:03:00.001+01:00')).toEqual([ids, 4]);
    const third = await conversation(agency, { rotatedFrom: id });
    await message(agency, third.id, { createdAt: '2026-01-01T00:06:00.000Z' }, ids[0]);
    expect(await read(String(ids[0]))).toEqual([ids, 5]);
  });

  test('what is no message of it is a fault, whatever other transcripts have', async () => {
    const [agency, neighbour] = [await service.agency(), await service.agency()];
    const { path } = await transcript(agency);
    const [another, theirs] = [await transcript(agency), await transcript(neighbour)];
    const unknown = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';
    for (const [before, message] of [
      ...[another.ids[0], theirs.ids[0], unknown].map((id) => [
        id,
        /^is the id of no message of this transcript$/,
      ]),
      ...['', 'x', '2026-01-01', '0'].map((text) => [
        text,
        /^must be the id of a message of this transcript, or/,
      ]),
    ]) {
      const { status, body } = await agency.get(`${path}?before=${before}`);
      expect([status, body.error.details]).toEqual([
        400,
        [{ path: 'query.before', message: expect.stringMatching(message as RegExp) }],
      ]);
    }
    const { status, body } = await agency.get(`${theirs.path}?before=${theirs.ids[0]}`);
    expect([status, body.error.code]).toEqual([404, 'CONVERSATION_NOT_FOUND']);
  });
});
