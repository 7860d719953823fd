import { describe, expect, test } from 'vitest';
import { createCustomer } from '../src/customers/repository.ts';
import { inTransaction, type OrganizationScope } from '../src/db/run/scope.ts';
import { emptyOf } from './support/contract.ts';
import { useDashboard } from './support/dashboard.ts';
import { findDrift } from './support/drift.ts';
import { conversation } from './support/records.ts';
import type { Agency, Reply } from './support/service.ts';

const { service, dashboard } = useDashboard();

const CUSTOMERS = '/v1/customers';
const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

type Contact = { identifierType: string; identifierValue: string };
const contact = (identifierType: string, identifierValue: string): Contact => ({
  identifierType,
  identifierValue,
});
const web = (value: string): Contact => contact('web', value);

const EMPTY_CUSTOMER = emptyOf('Customer');

const FULL = {
  firstName: 'Ana',
  lastName: 'Peña',
  city: 'Ciudad de México',
  country: 'México',
  preferredLanguage: 'es',
  summary: 'Viaja en familia.\nPrefiere playa.',
  tags: ['luna de miel', 'VIP', 'VIP'],
};

const create = async (agency: Agency, body: object) => (await agency.post(CUSTOMERS, body)).body;

const storedCustomer = async (id: string) =>
  (await service.query('select *, xmin::text as version from customers where id = $1', [id]))[0];

/** The keys of its contacts, as the primary key of their table has them: no two customers have one. */
const takenBy = (customerId: string) =>
  service.query<{ type: string; key: string; version: string }>(
    `select identifier_type as type, contact_key as key, xmin::text as version
      from customer_contact_keys where customer_id = $1 order by 1, 2`,
    [customerId],
  );

const values = (body: { contacts: Contact[] }): string[] =>
  body.contacts.map(({ identifierValue }) => identifierValue);

const statuses = (answers: Reply[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

const conflict = (taken: [path: string, customerId: string][]) => ({
  error: {
    code: 'CUSTOMER_CONTACT_CONFLICT',
    message: `A contact can belong to one customer only: ${taken
      .map(([path, customerId]) => `${path} belongs to customer ${customerId}`)
      .join('; ')}.`,
    details: taken.map(([path, customerId]) => ({ path, customerId })),
  },
});

describe('createCustomer', () => {
  test('an anonymous lead needs no more than a contact', async () => {
    const agency = await service.agency();
    const { status, body } = await agency.post(CUSTOMERS, { contacts: [web('visitor-1')] });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...EMPTY_CUSTOMER,
      id: expect.any(String),
      contacts: [{ ...web('visitor-1'), id: expect.any(String), displayName: null, phoneNumber: null }],
      createdAt: expect.any(String),
      updatedAt: body.createdAt,
    });
  });

  test('a contact of another customer is a conflict that names it, and creates nothing', async () => {
    const agency = await service.agency();
    const owner = await create(agency, { contacts: [web('free'), contact('whatsapp', '+5215512345678')] });
    const other = await create(agency, { contacts: [contact('email', 'ana@example.com')] });
    const { status, body } = await agency.post(CUSTOMERS, {
      contacts: [
        web('new'),
        contact('email', 'ANA@example.com'),
        contact('whatsapp', '52 55 1234 5678'),
        contact('telefono', '+525512345678'),
      ],
    });
    expect(status).toBe(409);
    expect(body).toEqual(
      conflict([
        ['body.contacts[1]', other.id],
        ['body.contacts[2]', owner.id],
      ]),
    );
    expect((await agency.get(CUSTOMERS)).body).toMatchObject({
      data: [other, owner],
      pagination: { total: 2 },
    });
  });

  test('the same contact twice in one body is a fault of the second, whatever it is written like', async () => {
    const agency = await service.agency();
    const { status, body } = await agency.post(CUSTOMERS, {
      contacts: [
        contact('whatsapp', '+5215512345678'),
        web('a'),
        contact('whatsapp', '52 55 1234 5678'),
        web('a'),
      ],
    });
    expect(status).toBe(400);
    expect(body.error.details).toEqual([
      { path: 'body.contacts[2]', message: 'is the same contact as contacts[0]' },
      { path: 'body.contacts[3]', message: 'is the same contact as contacts[1]' },
    ]);
    expect((await agency.get(CUSTOMERS)).body.pagination.total).toBe(0);
  });

  test('two values that are no contacts are not the same contact', async () => {
    const agency = await service.agency();
    const contacts = [contact('email', 'ana'), contact('email', 'eva'), contact('telefono', 'x')];
    const { body } = await agency.post(CUSTOMERS, { contacts });
    expect(body.error.details.map(({ path }: { path: string }) => path)).toEqual(
      [0, 1, 2].map((index) => `body.contacts[${index}].identifierValue`),
    );
  });

  test('of fifty simultaneous creates with one contact exactly one wins, and the others name it', async () => {
    const agency = await service.agency();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        agency.post(CUSTOMERS, {
          firstName: `${index}`,
          contacts: [
            web(`own-${index}`),
            contact('whatsapp', index % 2 === 0 ? '+5215512345678' : '52 55 1234 5678'),
          ],
        }),
      ),
    );
    expect(statuses(answers)).toEqual({ 201: 1, 409: 49 });
    const winner = answers.find(({ status }) => status === 201)?.body;
    for (const { status, body } of answers) {
      if (status === 409) expect(body).toEqual(conflict([['body.contacts[1]', winner.id]]));
    }
    expect((await agency.get(CUSTOMERS)).body).toEqual({
      data: [winner],
      pagination: { limit: 25, offset: 0, total: 1 },
    });
    expect(
      await service.query('select from customer_contact_keys where organization_id = $1', [agency.id]),
    ).toHaveLength(2);
  });

  test('bodies with the same contacts in opposite order do not lock each other out', async () => {
    const agency = await service.agency();
    for (let round = 0; round < 10; round += 1) {
      const contacts = Array.from({ length: 20 }, (_, index) => web(`${round}-${index}`));
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          agency.post(CUSTOMERS, { contacts: index % 2 === 0 ? contacts : contacts.toReversed() }),
        ),
      );
      expect(statuses(answers)).toEqual({ 201: 1, 409: 7 });
    }
    expect((await agency.get(CUSTOMERS)).body.pagination.total).toBe(10);
  });
});

describe('updateCustomer', () => {
  test.each([
    ['an empty body', {}],
    ['the stored values', FULL],
    [
      'the stored contacts, spelled otherwise',
      { contacts: [web('a'), contact('whatsapp', '00521 55 1234 5678')] },
    ],
    ['stored values and contacts', { ...FULL, contacts: [web('a'), contact('whatsapp', '+5215512345678')] }],
    ['only names that have no effect', { displayName: 'Otra', id: UNKNOWN, archived: true }],
  ])('%s changes nothing, updatedAt included', async (_name, patch) => {
    const agency = await service.agency();
    const before = await create(agency, {
      ...FULL,
      contacts: [web('a'), contact('whatsapp', '+5215512345678')],
    });
    const stored = [await storedCustomer(before.id), await takenBy(before.id)];
    const { status, body } = await agency.patch(`${CUSTOMERS}/${before.id}`, patch);
    expect(status).toBe(200);
    expect(body).toEqual(before);
    expect([await storedCustomer(before.id), await takenBy(before.id)]).toEqual(stored);
  });

  test('replaces the whole list of contacts; one that stays keeps its id, however it is written now', async () => {
    const agency = await service.agency();
    const before = await create(agency, {
      ...FULL,
      contacts: [web('gone'), contact('whatsapp', '+5215512345678'), contact('email', 'ana@example.com')],
    });
    const named = before.contacts.map((known: object) => ({ ...known, displayName: 'Anita' }));
    await service.query('update customers set contacts = $2 where id = $1', [
      before.id,
      JSON.stringify(named),
    ]);
    const contacts = [
      contact('email', 'Ana@Example.com'),
      contact('instagram', '@ana'),
      contact('whatsapp', '+52 55 1234 5678'),
    ];
    const { status, body } = await agency.patch(`${CUSTOMERS}/${before.id}`, { contacts });
    expect(status).toBe(200);
    expect(body).toEqual({
      ...before,
      contacts: [
        { ...contacts[0], id: before.contacts[2].id, displayName: 'Anita', phoneNumber: null },
        { ...contacts[1], id: expect.any(String), displayName: null, phoneNumber: null },
        {
          ...contacts[2],
          id: before.contacts[1].id,
          identifierValue: '+525512345678',
          displayName: 'Anita',
          phoneNumber: '+525512345678',
        },
      ],
      updatedAt: body.updatedAt,
    });
    expect(body.updatedAt > before.updatedAt).toBe(true);
    expect((await agency.get(`${CUSTOMERS}/${before.id}`)).body).toEqual(body);
    expect((await takenBy(before.id)).map(({ key }) => key)).toEqual([
      'ana@example.com',
      'ana',
      '+525512345678',
    ]);
  });

  test('of a contact whose type alone changes answers and reads back the new type, which then is what is taken', async () => {
    const agency = await service.agency();
    const number = '+525512345678';
    const before = await create(agency, { contacts: [contact('whatsapp', number), web('a')] });
    const path = `${CUSTOMERS}/${before.id}`;
    const { status, body, headers } = await agency.patch(path, {
      contacts: [contact('telefono', number), web('a')],
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      ...before,
      contacts: [
        {
          ...contact('telefono', number),
          id: expect.any(String),
          displayName: null,
          phoneNumber: number,
        },
        before.contacts[1],
      ],
      updatedAt: expect.any(String),
    });
    expect(body.contacts[0].id).not.toBe(before.contacts[0].id);
    expect(body.updatedAt > before.updatedAt).toBe(true);
    const read = await agency.get(path);
    expect([read.body, read.headers.etag]).toEqual([body, headers.etag]);
    for (const query of ['', '?query=5512345678'])
      expect((await agency.get(`${CUSTOMERS}${query}`)).body.data, query).toEqual([body]);

    const taken = await agency.post(CUSTOMERS, { contacts: [contact('telefono', number)] });
    expect([taken.status, taken.body]).toEqual([409, conflict([['body.contacts[0]', before.id]])]);
    const other = await agency.post(CUSTOMERS, { contacts: [contact('whatsapp', number)] });
    expect(other.status).toBe(201);
    const back = await agency.patch(path, { contacts: [contact('whatsapp', number), web('a')] });
    expect([back.status, back.body]).toEqual([409, conflict([['body.contacts[0]', other.body.id]])]);
    expect((await agency.get(path)).body).toEqual(body);
  });

  test('that waited behind a change of the contacts answers what the next GET answers, tag included', async () => {
    const agency = await service.agency();
    const { id } = await create(agency, { contacts: [web('start')] });
    for (let round = 0; round < 10; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          agency.patch(
            `${CUSTOMERS}/${id}`,
            n % 2 ? { city: `${round} ${n}` } : { contacts: [web(`${round} ${n}`)] },
          ),
        ),
      );
      expect(statuses(answers)).toEqual({ 200: 8 });
      // Whoever wrote last has the record as it stays, and no two answers of one version differ.
      const last = answers.toSorted((a, b) => (a.body.updatedAt < b.body.updatedAt ? 1 : -1))[0];
      const read = await agency.get(`${CUSTOMERS}/${id}`);
      expect(read.text).toBe(last?.text);
      expect(read.headers.etag).toBe(last?.headers.etag);
      expect(new Set(answers.map(({ body }) => body.updatedAt)).size).toBe(8);
    }
  });

  test('a contact of another customer is a conflict, and changes nothing of either', async () => {
    const agency = await service.agency();
    const before = await create(agency, { ...FULL, contacts: [web('a')] });
    const owner = await create(agency, { contacts: [web('b'), web('c')] });
    const { status, body } = await agency.patch(`${CUSTOMERS}/${before.id}`, {
      firstName: 'Eva',
      contacts: [web('new'), web('c'), web('a'), web('b')],
    });
    expect(status).toBe(409);
    expect(body).toEqual(
      conflict([
        ['body.contacts[1]', owner.id],
        ['body.contacts[3]', owner.id],
      ]),
    );
    expect((await agency.get(`${CUSTOMERS}/${before.id}`)).body).toEqual(before);
    expect((await agency.get(`${CUSTOMERS}/${owner.id}`)).body).toEqual(owner);
  });

  test('simultaneous lists of contacts end in one whole list, never a mixture', async () => {
    const agency = await service.agency();
    const { id } = await create(agency, { contacts: [web('start')] });
    const lists = Array.from({ length: 8 }, (_, list) =>
      Array.from({ length: 12 }, (_, index) => web(index % 3 === 0 ? `common-${index}` : `${list}-${index}`)),
    );
    const answers = await Promise.all(
      lists.map((contacts, index) =>
        agency.patch(`${CUSTOMERS}/${id}`, {
          firstName: `${index}`,
          contacts: index % 2 ? contacts.toReversed() : contacts,
        }),
      ),
    );
    expect(statuses(answers)).toEqual({ 200: 8 });
    const { body } = await agency.get(`${CUSTOMERS}/${id}`);
    const last = Number(body.firstName);
    const expected = values({ contacts: lists[last] ?? [] });
    expect(values(body)).toEqual(last % 2 ? expected.toReversed() : expected);
    expect((await agency.get(`${CUSTOMERS}?query=start`)).body.data).toEqual([]);
  });

  test('customers that swap their contacts at once never share one, and none is answered with an error of ours', async () => {
    const agency = await service.agency();
    for (let round = 0; round < 5; round += 1) {
      const [a, b] = [`a${round}`, `b${round}`];
      const one = await create(agency, { contacts: [web(a), web(`one${round}`)] });
      const other = await create(agency, { contacts: [web(b), web(`other${round}`)] });
      const answers = await Promise.all([
        agency.patch(`${CUSTOMERS}/${one.id}`, { contacts: [web(b), web(`one${round}`)] }),
        agency.patch(`${CUSTOMERS}/${other.id}`, { contacts: [web(`other${round}`), web(a)] }),
      ]);
      for (const { status } of answers) expect([200, 409]).toContain(status);
      const { body } = await agency.get(CUSTOMERS);
      const all = body.data.flatMap(values);
      expect(new Set(all).size).toBe(all.length);
    }
    expect(await findDrift(service, agency)).toEqual([]);
  });
});

describe('archiveCustomer', () => {
  test('answers archived, takes the customer out of the book and keeps its history', async () => {
    const agency = await service.agency();
    const gone = await create(agency, { ...FULL, contacts: [web('a')] });
    const stays = await create(agency, { ...FULL, contacts: [web('b')] });
    const { status, body } = await agency.delete(`${CUSTOMERS}/${gone.id}`);
    expect(status).toBe(200);
    expect(body).toEqual({ id: gone.id, archived: true });
    expect(await storedCustomer(gone.id)).toMatchObject({ first_name: 'Ana', archived_at: expect.any(Date) });
    expect((await agency.get(CUSTOMERS)).body).toEqual({
      data: [stays],
      pagination: { limit: 25, offset: 0, total: 1 },
    });
  });

  test('while contacts are being added, it releases all of them', async () => {
    const agency = await service.agency();
    for (let round = 0; round < 10; round += 1) {
      const { id } = await create(agency, { contacts: [web(`first-${round}`)] });
      const added = Array.from({ length: 5 }, (_, index) => [
        web(`${round}-${index}`),
        web(`first-${round}`),
      ]);
      const [archived, ...patched] = await Promise.all([
        agency.delete(`${CUSTOMERS}/${id}`),
        ...added.map((contacts) => agency.patch(`${CUSTOMERS}/${id}`, { contacts })),
      ]);
      expect(archived.status).toBe(200);
      for (const { status } of patched) expect([200, 404]).toContain(status);
      const { status } = await agency.post(CUSTOMERS, {
        contacts: [...added.flat(), web(`first-${round}`)].filter(
          ({ identifierValue }, index, all) =>
            all.findIndex((other) => other.identifierValue === identifierValue) === index,
        ),
      });
      expect(status).toBe(201);
    }
    expect((await agency.get(CUSTOMERS)).body.pagination.total).toBe(10);
    expect(await findDrift(service, agency)).toEqual([]);
  });
});

describe('the displayName of a contact', () => {
  const NUMBER = '+525512345678';
  const WAITING = `select from pg_locks join pg_database on pg_database.oid = database
    where datname = current_database() and locktype = 'advisory' and not granted`;
  /** Other ways to write that number. */
  const [SPELLED, MOBILE] = ['+52 55 1234-5678', '+5215512345678'];
  const person = (agency: Agency, ...contacts: Contact[]) => create(agency, { contacts });
  const names = async (agency: Agency, id: string): Promise<(string | null)[]> =>
    (await agency.get(`${CUSTOMERS}/${id}`)).body.contacts.map(
      ({ displayName }: { displayName: string | null }) => displayName,
    );
  const say = (agency: Agency, contactName: string | null, fields: object = {}, id?: string) =>
    conversation(agency, { channel: 'whatsapp', contact: NUMBER, contactName, ...fields }, id);

  test.each(['customer', 'conversation'])(
    'is that of a conversation that is written at the same moment, the %s first',
    async (name) => {
      const agency = await service.agency();
      const writes: ((scope: OrganizationScope) => Promise<unknown>)[] = [
        (scope) =>
          createCustomer(scope, {
            tags: [],
            contacts: [{ identifierType: 'whatsapp', identifierValue: NUMBER }],
          }),
        (scope) => say({ ...agency, scope }, 'Ana'),
      ];
      const [first, second] = name === 'customer' ? writes : writes.toReversed();
      let isDone = false;
      const both = inTransaction(agency.scope, async (within) => {
        await first?.(within);
        const other = second?.(agency.scope).then(() => {
          isDone = true;
        });
        const isWaiting = async () => (await service.query(WAITING)).length > 0;
        await expect.poll(async () => isDone || isWaiting()).toBe(true);
        return { other };
      });
      await (await both).other;
      const { body } = await agency.get(CUSTOMERS);
      expect(body.data[0].contacts[0].displayName).toBe('Ana');
    },
  );

  test('is the contactName of a conversation with it, of the same type and however either is written', async () => {
    const agency = await service.agency();
    const neighbour = await service.agency();
    const contacts = [
      contact('whatsapp', SPELLED),
      contact('telefono', NUMBER),
      contact('instagram', '@Ana.Viaja'),
    ];
    const { id, updatedAt } = await person(agency, ...contacts);
    const theirs = await person(neighbour, ...contacts);
    expect(await names(agency, id)).toEqual([null, null, null]);
    await say(agency, 'Anita', { contact: MOBILE });
    expect(await names(agency, id)).toEqual(['Anita', null, null]);
    await say(agency, 'ana', { channel: 'instagram', contact: 'ana.viaja' });
    expect(await names(agency, id)).toEqual(['Anita', null, 'ana']);
    await say(agency, 'Nadie', { channel: 'sms' });
    await say(agency, 'Nadie', { contact: '+525500000000' });
    const { body } = await agency.get(`${CUSTOMERS}/${id}`);
    expect(body.contacts.map((each: { displayName: string }) => each.displayName)).toEqual([
      'Anita',
      null,
      'ana',
    ]);
    expect(body.updatedAt > updatedAt).toBe(true);
    expect(await names(neighbour, theirs.id)).toEqual([null, null, null]);
  });

  test('is there from the beginning when the conversation came first', async () => {
    const agency = await service.agency();
    await say(agency, 'Anita');
    const created = await person(agency, contact('whatsapp', SPELLED));
    expect(created.contacts[0].displayName).toBe('Anita');
    const other = await person(agency, web('visitor'));
    await say(agency, 'eva', { channel: 'instagram', contact: '@Eva' });
    const { body } = await agency.patch(`${CUSTOMERS}/${other.id}`, {
      contacts: [web('visitor'), contact('instagram', 'EVA')],
    });
    expect(body.contacts.map((each: { displayName: string }) => each.displayName)).toEqual([null, 'eva']);
    await agency.delete(`${CUSTOMERS}/${created.id}`);
    const again = await person(agency, contact('whatsapp', NUMBER));
    expect(again.contacts[0].displayName).toBe('Anita');
  });

  test('is that of the latest conversation, and stays when it says none', async () => {
    const agency = await service.agency();
    const { id } = await person(agency, contact('whatsapp', NUMBER));
    const first = await say(agency, 'Ana');
    const second = await say(agency, 'Anita');
    expect(await names(agency, id)).toEqual(['Anita']);
    await say(agency, 'Ana Peña', {}, first.id);
    expect(await names(agency, id)).toEqual(['Anita']);
    await say(agency, null);
    await say(agency, null, {}, second.id);
    expect(await names(agency, id)).toEqual(['Anita']);
    await dashboard.of(agency).patch(`/conversations/${second.id}`, { contactName: 'Ani' });
    expect(await names(agency, id)).toEqual(['Ani']);
  });

  test('is what the dashboard PATCHed, until a later conversation says another', async () => {
    const agency = await service.agency();
    const { id, contacts } = await person(agency, contact('whatsapp', NUMBER), web('visitor'));
    const { id: said } = await say(agency, 'Anita');
    const call = dashboard.of(agency);
    const path = `/customers/${id}/contacts/${contacts[0].id}`;
    const before = await call.get(`/customers/${id}`);
    const { status, body, headers } = await call.patch(path, { displayName: 'Ana P.' });
    expect(status).toBe(200);
    expect(body).toEqual({
      ...before.body,
      contacts: [{ ...before.body.contacts[0], displayName: 'Ana P.' }, before.body.contacts[1]],
      updatedAt: expect.any(String),
    });
    const read = await call.get(`/customers/${id}`);
    expect([read.body, read.headers.etag]).toEqual([body, headers.etag]);
    // The same conversation again changes nothing.
    await say(agency, 'Anita', {}, said);
    expect(await names(agency, id)).toEqual(['Ana P.', null]);
    await say(agency, 'Anita', { language: 'es' });
    expect(await names(agency, id)).toEqual(['Anita', null]);
    const late = await call.patch(
      path,
      { displayName: 'x' },
      { headers: { 'if-match': headers.etag ?? '' } },
    );
    expect([late.status, late.body.error.code]).toEqual([412, 'PRECONDITION_FAILED']);
    await call.patch(path, { displayName: null });
    await call.patch(path, {});
    expect(await names(agency, id)).toEqual([null, null]);
  });

  test('stays with a contact that stays, and is found by nobody’s search', async () => {
    const agency = await service.agency();
    const { id } = await person(agency, contact('whatsapp', NUMBER));
    await say(agency, 'Zanahoria');
    const { body } = await agency.patch(`${CUSTOMERS}/${id}`, {
      contacts: [web('visitor'), contact('whatsapp', SPELLED)],
    });
    expect(body.contacts.map((each: { displayName: string }) => each.displayName)).toEqual([
      null,
      'Zanahoria',
    ]);
    expect((await agency.get(`${CUSTOMERS}?query=zanahoria`)).body.data).toEqual([]);
  });
});

describe('identifierValue of whatsapp and telefono is E.164', () => {
  test.each([
    ['+52 1 (55) 1234-5678', '+5215512345678'],
    ['0052.55.1234.5678', '+525512345678'],
    ['5491123456789', '+5491123456789'],
    ['+55 11 91234 5678', '+5511912345678'],
  ])('%s is %s in answers, and found as it was sent', async (sent, shown) => {
    const agency = await service.agency();
    for (const type of ['whatsapp', 'telefono']) {
      const { id, contacts } = await create(agency, { contacts: [contact(type, sent)] });
      expect(contacts[0]).toMatchObject({ identifierValue: shown, phoneNumber: shown });
      for (const query of [sent, shown, shown.slice(1)]) {
        const { body } = await agency.get(`${CUSTOMERS}?query=${encodeURIComponent(query)}`);
        expect(body.data.map((each: { id: string }) => each.id)).toContain(id);
      }
    }
  });
});

test('the dashboard reads a customer by id also when it is archived, and lists those of the book', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const [ana, eva] = [
    await create(agency, { contacts: [web('1')] }),
    await create(agency, { contacts: [web('2')] }),
  ];
  const unerased = { erasedAt: null, erasurePending: false };
  expect((await call.get(`/customers/${ana.id}`)).body).toEqual({ ...ana, ...unerased, archivedAt: null });
  await agency.delete(`${CUSTOMERS}/${ana.id}`);
  expect((await call.get(`/customers/${ana.id}`)).body).toEqual({
    ...ana,
    ...unerased,
    archivedAt: expect.any(String),
    updatedAt: expect.any(String),
  });
  expect((await call.get('/customers?query=2')).body).toEqual(
    (await agency.get(`${CUSTOMERS}?query=2`)).body,
  );
  expect((await call.get('/customers')).body.data).toEqual([eva]);
});
