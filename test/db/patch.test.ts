import { expect, test } from 'vitest';
import { newId } from '../../src/db/sql/ids.ts';
import { allStatements } from '../../src/db/sql/statement.ts';
import { type Agency, useService } from '../support/service.ts';

/** What a PATCH writes. */

const service = useService();

const STORED = { firstName: 'Ana', city: 'Lima', tags: ['vip'], summary: 'Likes the sea.' };

async function customer(agency: Agency): Promise<string> {
  const contacts = [{ identifierType: 'web', identifierValue: `visitor ${newId()}` }];
  return (await agency.post('/v1/customers', { ...STORED, contacts })).body.id;
}

const patch = (agency: Agency, id: string, body: object) => agency.patch(`/v1/customers/${id}`, body);

const stored = async (id: string) =>
  (await service.query('select xmin::text as version, updated_at from customers where id = $1', [id]))[0];

test('changes the fields that are sent, leaves the rest, and answers the record as it is then', async () => {
  const agency = await service.agency();
  const id = await customer(agency);
  const before = await stored(id);
  expect((await patch(agency, id, { city: 'Quito', tags: [] })).body).toMatchObject({
    ...STORED,
    city: 'Quito',
    tags: [],
  });
  expect((await patch(agency, id, { firstName: null })).body).toMatchObject({
    ...STORED,
    firstName: null,
    city: 'Quito',
    tags: [],
  });
  expect((await stored(id))?.updated_at.getTime()).toBeGreaterThan(before?.updated_at.getTime());
});

test('writes no row when nothing differs', async () => {
  const agency = await service.agency();
  const id = await customer(agency);
  const before = await stored(id);
  for (const body of [{}, { city: 'Lima', tags: ['vip'] }, STORED])
    expect((await patch(agency, id, body)).body).toMatchObject(STORED);
  expect(await stored(id)).toEqual(before);
});

test("writes nothing of an archived record, or of another organization's", async () => {
  const [agency, neighbour] = [await service.agency(), await service.agency()];
  const [theirs, archived] = [await customer(neighbour), await customer(agency)];
  await agency.delete(`/v1/customers/${archived}`);
  const before = [await stored(theirs), await stored(archived)];
  const contacts = [{ identifierType: 'web', identifierValue: newId() }];
  for (const id of [theirs, archived, newId()])
    for (const body of [{ city: 'Quito' }, { contacts }, {}])
      expect((await patch(agency, id, body)).status).toBe(404);
  expect([await stored(theirs), await stored(archived)]).toEqual(before);
});

test('each set of fields has a statement that names no other column', async () => {
  const agency = await service.agency();
  await patch(agency, await customer(agency), { city: 'Quito', country: 'EC' });
  const statement = allStatements().find(({ name }) => name === 'customers.update city country');
  expect(statement?.isPrepared).toBe(true);
  expect(statement?.text).not.toContain('summary');
});

test('more sets of fields than a connection prepares are all written, and no more are remembered', async () => {
  const agency = await service.agency();
  const id = await customer(agency);
  const fields = ['firstName', 'lastName', 'city', 'country', 'summary', 'preferredLanguage', 'tags'];
  for (let set = 1; set < 2 ** fields.length; set += 1) {
    const sent = Object.fromEntries(
      fields
        .filter((_, bit) => set & (1 << bit))
        .map((field) => [
          field,
          field === 'tags' ? [`${set}`] : field === 'preferredLanguage' ? ['es', 'pt'][set % 2] : `${set}`,
        ]),
    );
    expect((await patch(agency, id, sent)).body).toMatchObject(sent);
  }
  const names = allStatements().filter(({ name }) => name.startsWith('customers.update'));
  expect(names.length).toBeLessThanOrEqual(64);
});
