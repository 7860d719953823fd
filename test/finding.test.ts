import { getTableName } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { withoutTriggers } from './support/databases.ts';
import { filterValues, LISTS, pathOf } from './support/operations.ts';
import { conversation, customer, message } from './support/records.ts';
import { type Agency, useService } from './support/service.ts';

/** Finding the one record that is meant, and those that changed. */

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

  test('of several types the same text finds each customer that has it, in the order of the list', async () => {
    const agency = await service.agency();
    const of = (type: string) => customer(agency, { contacts: [contact(type, '+525512345678')] });
    const [phone, chat, visitor] = [await of('telefono'), await of('whatsapp'), await of('web')];
    expect(await find(agency, '+525512345678')).toEqual([visitor.id, chat.id, phone.id]);
    expect(await find(agency, '+525512345678', { contactType: 'telefono' })).toEqual([phone.id]);
    const { body } = await agency.get('/v1/customers?contact=%2B525512345678&limit=1&offset=1');
    expect([idsOf(body), body.pagination.total]).toEqual([[chat.id], 3]);
  });

  test('a + that was not encoded, and so arrives as a space, is a +', async () => {
    const agency = await service.agency();
    const { id } = await customer(agency, { contacts: [contact('whatsapp', '+13055550100')] });
    expect(idsOf((await agency.get('/v1/customers?contact=+13055550100')).body)).toEqual([id]);
  });

  test("a value that can be no contact is nobody's", async () => {
    const agency = await service.agency();
    await customer(agency, { contacts: [contact('email', 'ana@example.com')] });
    for (const [value, contactType] of [
      ['ana', 'email'],
      ['5512345678', 'whatsapp'],
      ['@', 'instagram'],
    ] as const)
      expect(await find(agency, value, { contactType })).toEqual([]);
  });

  test('is found with the other filters, while it is live, in its own organization', async () => {
    const [agency, neighbour] = [await service.agency(), await service.agency()];
    const mine = { contacts: [contact('email', 'ana@example.com')], tags: ['vip'], lastName: 'Peña' };
    const [{ id }] = [await customer(agency, mine), await customer(neighbour, mine)];
    expect(await find(agency, 'ana@example.com', { tag: 'vip', query: 'pena' })).toEqual([id]);
    expect(await find(agency, 'ana@example.com', { tag: 'otra' })).toEqual([]);
    await agency.delete(`/v1/customers/${id}`);
    expect(await find(agency, 'ana@example.com')).toEqual([]);
    expect(await find(neighbour, 'ana@example.com')).toHaveLength(1);
  });

  test('a channel without a contact is a fault', async () => {
    const { status, body } = await (await service.agency()).get('/v1/customers?contactType=email');
    expect([status, body.error.details]).toEqual([
      400,
      [{ path: 'query.contactType', message: 'goes with contact, which is missing' }],
    ]);
  });
});

describe.each(Object.entries(LISTS))('%s', (name, list) => {
  const path = pathOf(name);
  const table = getTableName(list.resource.table);

  const ask = async (agency: Agency, query: Record<string, string>) => {
    const { status, body } = await agency.get(`${path}?${new URLSearchParams(query)}`);
    expect(status, JSON.stringify(query)).toBe(200);
    return { ids: idsOf(body), total: body.pagination.total as number };
  };

  const MOMENT = Date.parse('2026-03-01T10:00:00.500Z');
  const at = (milliseconds: number): string => new Date(MOMENT + milliseconds).toISOString();
  /** As no writer can: the triggers would set the moment of the change. */
  const setMoment = (column: string, id: string, moment: string) =>
    withoutTriggers(service.ownerUrl, (client) =>
      client.query(`update ${table} set ${column} = $1 where id = $2`, [moment, id]),
    );

  const sinces = {
    createdSince: 'created_at',
    ...(table !== 'team_members' && { updatedSince: 'updated_at' }),
  };

  test.each(Object.entries(sinces))(
    '%s finds what is of this moment or later, to the millisecond, in the order of the list',
    async (since, column) => {
      const [agency, neighbour] = [await service.agency(), await service.agency()];
      const [filter] = await filterValues(agency, list);
      const made: Record<number, string> = {};
      for (const difference of [-1, 0, 1, 60_000]) {
        const fields = filter && { [filter.field]: filter.written[difference === 1 ? 1 : 0] };
        const { id } = await list.make(agency, fields);
        made[difference] = id;
        await setMoment(column, id, at(difference));
      }
      await list.make(neighbour);
      const order = (await ask(agency, {})).ids;
      const from = (...differences: number[]) => {
        const ids = differences.map((difference) => made[difference] ?? '');
        return { ids: order.filter((id) => ids.includes(id)), total: ids.length };
      };
      expect(await ask(agency, { [since]: at(0) })).toEqual(from(0, 1, 60_000));
      expect(await ask(agency, { [since]: at(-1) })).toEqual(from(-1, 0, 1, 60_000));
      expect(await ask(agency, { [since]: at(1) })).toEqual(from(1, 60_000));
      expect(await ask(agency, { [since]: at(60_001) })).toEqual(from());
      const two = from(0, 1, 60_000);
      expect(await ask(agency, { [since]: at(0), limit: '1' })).toEqual({
        ids: two.ids.slice(0, 1),
        total: 3,
      });
      expect(await ask(agency, { [since]: at(0), limit: '1', offset: '1' })).toEqual({
        ids: two.ids.slice(1, 2),
        total: 3,
      });
      if (filter)
        expect(await ask(agency, { [since]: at(0), [filter.name]: filter.sent })).toEqual(from(0, 60_000));
      const text = Object.keys(list.searched)[0];
      if (text) {
        await list.make(agency, { [text]: text === 'contacts' ? [] : 'Zanahoria' }, made[0]);
        await setMoment(column, made[0] ?? '', at(0));
        expect(await ask(agency, { [since]: at(0), query: 'zanahoria' })).toEqual(from(0));
        expect(await ask(agency, { [since]: at(1), query: 'zanahoria' })).toEqual(from());
      }
    },
  );

  test.each(Object.keys(sinces))('%s takes any offset, also with a + that was not encoded', async (since) => {
    const agency = await service.agency();
    const { id } = await list.make(agency);
    const totalOf = async (moment: string) =>
      (await agency.get(`${path}?${since}=${moment}`)).body.pagination.total;
    for (const [column, moment] of Object.entries(sinces))
      if (column === since) await setMoment(moment, id, at(0));
    for (const moment of [
      '2026-03-01T11:00:00.500+01:00',
      '2026-03-01T11:00:00.500%2B01:00',
      '2026-03-01T04:00:00.500-06:00',
    ])
      expect(await totalOf(moment), moment).toBe(1);
    expect(await totalOf('2026-03-01T11:00:00.501+01:00')).toBe(0);
  });

  test("ids finds these records and counts them; other organizations' ids, and text that is no id, find nothing", async () => {
    const [agency, neighbour] = [await service.agency(), await service.agency()];
    const [filter] = await filterValues(agency, list);
    const make = async (index: number) =>
      (await list.make(agency, filter && { [filter.field]: filter.written[index] })).id as string;
    const [one, two, three] = [await make(0), await make(0), await make(1)];
    const theirs = (await list.make(neighbour)).id;
    const order = (await ask(agency, {})).ids;
    const inOrder = (...ids: string[]) => ({
      ids: order.filter((id) => ids.includes(id)),
      total: ids.length,
    });
    expect(await ask(agency, { ids: one })).toEqual(inOrder(one));
    expect(await ask(agency, { ids: [three, theirs, 'x', one.toUpperCase(), one, ''].join() })).toEqual(
      inOrder(one, three),
    );
    expect(await ask(agency, { ids: `${two}, ${one}`, limit: '1' })).toEqual({
      ids: inOrder(one, two).ids.slice(0, 1),
      total: 2,
    });
    expect(await ask(agency, { ids: `${two},${one}`, offset: '1' })).toEqual({
      ids: inOrder(one, two).ids.slice(1),
      total: 2,
    });
    expect(await ask(agency, { ids: 'x' })).toEqual({ ids: [], total: 0 });
    expect(await ask(agency, { ids: ',' })).toEqual({ ids: [], total: 0 });
    if (filter)
      expect(await ask(agency, { ids: [one, two, three].join(), [filter.name]: filter.sent })).toEqual(
        inOrder(one, two),
      );
  });

  test('ids takes a hundred of them, and no more', async () => {
    const agency = await service.agency();
    const { id } = await list.make(agency);
    const many = (count: number) => Array.from({ length: count }, () => id).join();
    expect(await ask(agency, { ids: many(100) })).toEqual({ ids: [id], total: 1 });
    const { status, body } = await agency.get(`${path}?ids=${many(101)}`);
    expect([status, body.error.details]).toEqual([
      400,
      [{ path: 'query.ids', message: 'must have at most 100 ids' }],
    ]);
  });
});

test.each([
  ['activityState', 'closed'],
  ['controlledBy', 'agent'],
  ['contactName', 'Ana'],
  ['language', 'pt'],
])(
  'a conversation whose %s changes is found by updatedSince, and its place in the list stays',
  async (field, value) => {
    const agency = await service.agency();
    const [older, newer] = [await conversation(agency), await conversation(agency)];
    await message(agency, older.id, { createdAt: '2026-01-01T00:00:00Z' });
    await message(agency, newer.id, { createdAt: '2026-01-02T00:00:00Z' });
    await service.query('select pg_sleep(0.01)');
    const now = new Date().toISOString();
    expect(idsOf((await agency.get(`/v1/conversations?updatedSince=${now}`)).body)).toEqual([]);
    await conversation(agency, { [field]: value }, older.id);
    expect(idsOf((await agency.get(`/v1/conversations?updatedSince=${now}`)).body)).toEqual([older.id]);
    expect(idsOf((await agency.get('/v1/conversations')).body)).toEqual([newer.id, older.id]);
    await conversation(agency, { [field]: value }, older.id);
    expect((await agency.get(`/v1/conversations?updatedSince=${now}`)).body.pagination.total).toBe(1);
  },
);

test('a message is a change of its conversation', async () => {
  const agency = await service.agency();
  const { id } = await conversation(agency);
  await service.query('select pg_sleep(0.01)');
  const now = new Date().toISOString();
  await message(agency, id);
  expect(idsOf((await agency.get(`/v1/conversations?updatedSince=${now}`)).body)).toEqual([id]);
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
      [newer, 4],
      [older, 5],
    ] as const)
      ids.push((await message(agency, thread.id, { createdAt: `2026-01-01T00:0${minute}:00.000Z` })).id);
    return {
      path: `/v1/conversations/${newer.id}/messages`,
      other: `/v1/conversations/${older.id}/messages`,
      ids,
    };
  }
  const read = async (agency: Agency, path: string, query: string) => {
    const { status, body } = await agency.get(`${path}?${query}`);
    expect(status).toBe(200);
    return [idsOf(body), body.total];
  };

  test('a message: the newest of them, oldest first; the total stays that of all', async () => {
    const agency = await service.agency();
    const { path, other, ids } = await transcript(agency);
    for (const at of [path, other])
      for (const [index, id] of ids.entries()) {
        expect(await read(agency, at, `before=${id}`)).toEqual([ids.slice(0, index), 6]);
        expect(await read(agency, at, `before=${id.toUpperCase()}&limit=2`)).toEqual([
          ids.slice(Math.max(0, index - 2), index),
          6,
        ]);
      }
  });

  test('walks through all of them, each once', async () => {
    const agency = await service.agency();
    const { path, ids } = await transcript(agency);
    const seen: string[] = [];
    for (let before = ''; ; ) {
      const { body } = await agency.get(`${path}?limit=1${before}`);
      if (body.data.length === 0) break;
      seen.unshift(...idsOf(body));
      before = `&before=${body.data[0].id}`;
    }
    expect(seen).toEqual(ids);
  });

  test('an id that messages of two threads have: before the later of them', async () => {
    const agency = await service.agency();
    const { path, ids } = await transcript(agency);
    const { id } = await conversation(agency, { rotatedFrom: path.split('/')[3] });
    await message(agency, id, { createdAt: '2026-01-01T00:06:00.000Z' }, ids[0]);
    expect(await read(agency, `/v1/conversations/${id}/messages`, `before=${ids[0]}`)).toEqual([ids, 7]);
  });

  test('a moment, which is not among them', async () => {
    const agency = await service.agency();
    const { path, ids } = await transcript(agency);
    expect(await read(agency, path, 'before=2026-01-01T00:03:00Z')).toEqual([ids.slice(0, 2), 6]);
    expect(await read(agency, path, 'before=2026-01-01T01:03:00.001+01:00')).toEqual([ids.slice(0, 4), 6]);
    expect(await read(agency, path, 'before=2026-01-01T00:01:00.000Z')).toEqual([[], 6]);
    expect(await read(agency, path, 'before=2027-01-01T00:00:00Z&limit=1')).toEqual([[ids[5]], 6]);
  });

  test('what is no message of it is a fault, whatever other transcripts have', async () => {
    const [agency, neighbour] = [await service.agency(), await service.agency()];
    const [{ path }, another, theirs] = [
      await transcript(agency),
      await transcript(agency),
      await transcript(neighbour),
    ];
    const fault = async (before: string) => {
      const { status, body } = await agency.get(`${path}?before=${before}`);
      return [status, body.error.details];
    };
    for (const before of [another.ids[0], theirs.ids[0], '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17'])
      expect(await fault(String(before))).toEqual([
        400,
        [{ path: 'query.before', message: 'is the id of no message of this transcript' }],
      ]);
    for (const before of ['', 'x', '2026-01-01', '0'])
      expect(await fault(before)).toEqual([
        400,
        [
          {
            path: 'query.before',
            message: expect.stringMatching(/^must be the id of a message of this transcript, or/),
          },
        ],
      ]);
    const { status, body } = await agency.get(`${theirs.path}?before=${theirs.ids[0]}`);
    expect([status, body.error.code]).toEqual([404, 'CONVERSATION_NOT_FOUND']);
  });
});
