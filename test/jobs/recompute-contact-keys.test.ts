import { expect, test } from 'vitest';
import { newId } from '../../src/db/index.ts';
import { createLogger } from '../../src/http/logging.ts';
import { recomputeContactKeys } from '../../src/jobs/recompute-contact-keys.ts';
import { useDashboard } from '../support/dashboard.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { findDrift } from '../support/drift.ts';
import type { Agency } from '../support/service.ts';

const { service, dashboard } = useDashboard();

/** The contacts as an earlier release stored them: the number as it was sent, and a key without today's rules. */
async function stored(agency: Agency, numbers: string[], old: string[]): Promise<string> {
  const contacts = numbers.map((identifierValue) => ({ identifierType: 'whatsapp', identifierValue }));
  const { body } = await agency.post('/v1/customers', { contacts });
  await service.query(
    `update customers set contact_keys = $2::text[], contact_search = array_to_string($2::text[], chr(31)), contacts = (
       select json_agg(jsonb_set(jsonb_set(contact::jsonb, '{identifierValue}', to_jsonb(substr(($2::text[])[place], 10))),
         '{phoneNumber}', to_jsonb(substr(($2::text[])[place], 10))) order by place)
       from json_array_elements(contacts) with ordinality as one(contact, place)) where id = $1`,
    [body.id, old.map((number) => `whatsapp ${number}`)],
  );
  return body.id;
}

test('stored contacts get the keys and numbers of the rules; customers that become one are reported and left as they are', async () => {
  const [agency, neighbour] = [await service.agency(), await service.agency()];
  const alone = await stored(agency, ['+593987654321', '+51987654321'], ['+5930987654321', '+51987654321']);
  const twin = await stored(agency, ['+584125551234'], ['+5804125551234']);
  const first = await stored(agency, ['+584125551234'], ['+584125551234']);
  const twice = await stored(agency, ['+59894123456', '+59894123457'], ['+598094123456', '+59894123456']);
  const elsewhere = await stored(neighbour, ['+584125551234'], ['+5804125551234']);
  const short = await stored(agency, ['+51987654322'], ['+51987000']);
  const chat = newId();
  await dashboard.of(agency).put(`/conversations/${chat}`, {
    channel: 'whatsapp',
    contact: 'whatsapp:+593 09 8765 4321',
    contactName: 'Ana',
  });
  await service.query('update conversations set contact_key = null where id = $1', [chat]);
  const before = (await agency.get(`/v1/customers/${alone}`)).body;

  const lines: string[] = [];
  const logger = createLogger('info', { write: (line) => lines.push(line) });
  const done = { rekeyedConversations: 1, rekeyedCustomers: 3, sameContacts: 1 };
  expect(await recomputeContactKeys({ db: service.db, logger, batchSize: 2 })).toEqual(done);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { organizationId: agency.id, customerId: twin, sameContacts: [first] },
    { ...done, stopped: false },
  ]);
  const found = async (list: string, contact: string, { get } = agency) =>
    (await get(`/v1/${list}?contact=${encodeURIComponent(contact)}`)).body.data.map(
      ({ id }: { id: string }) => id,
    );
  expect(await found('customers', '+593 9 8765 4321')).toEqual([alone]);
  expect(await found('conversations', '+593 9 8765 4321')).toEqual([chat]);
  expect(await found('customers', '+58 412 555 1234')).toEqual([first]);
  expect(await found('customers', '+58 412 555 1234', neighbour)).toEqual([elsewhere]);
  const { contacts } = (await agency.get(`/v1/customers/${alone}`)).body;
  expect(contacts).toEqual([
    {
      ...before.contacts[0],
      identifierValue: '+593987654321',
      phoneNumber: '+593987654321',
      displayName: 'Ana',
    },
    before.contacts[1],
  ]);
  expect((await agency.get(`/v1/customers/${twice}`)).body.contacts).toHaveLength(1);
  expect((await agency.get(`/v1/customers/${short}`)).body.contacts[0].phoneNumber).toBe('+51987000');
  expect((await agency.get('/v1/customers?query=0412')).body.data).toMatchObject([{ id: twin }]);
  expect(await findDrift(service, agency, neighbour)).toEqual([]);

  const again = await recomputeContactKeys({ db: service.db, logger });
  expect(again).toEqual({ rekeyedConversations: 0, rekeyedCustomers: 0, sameContacts: 1 });
  const stopped = { db: service.db, logger, signal: AbortSignal.abort() };
  expect(await recomputeContactKeys(stopped)).toMatchObject({ sameContacts: 0 });
});

test.each([
  [
    'conversation',
    `update conversations set contact = '+51987654329', contact_key = '+51987654329' where id = $1`,
  ],
  [
    'customer',
    `update customers set contacts = '[]', contact_keys = '{}', contact_search = '' where id = $1`,
  ],
])('a %s whose contact changes after the look at it keeps the change', async (kind, change) => {
  const agency = await service.agency();
  const customerId = await stored(agency, ['+593987654321'], ['+5930987654321']);
  const chat = newId();
  await dashboard.of(agency).put(`/conversations/${chat}`, { channel: 'whatsapp', contact: '+51987654321' });
  await service.query('update conversations set contact_key = null where id = $1', [chat]);
  const release = await hold(service.ownerUrl, change, [kind === 'customer' ? customerId : chat]);
  const recomputed = recomputeContactKeys({ db: service.db, logger: createLogger('silent') });
  await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
  await release();
  const done = kind === 'customer' ? { rekeyedConversations: 1 } : { rekeyedCustomers: 1 };
  expect(await recomputed).toMatchObject(done);
  expect((await agency.get(`/v1/customers/${customerId}`)).body.contacts).toHaveLength(
    kind === 'customer' ? 0 : 1,
  );
  const { body } = await agency.get('/v1/conversations?contact=%2B51987654329');
  expect(body.pagination.total).toBe(kind === 'customer' ? 0 : 1);
});
