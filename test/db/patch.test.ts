import { expect, test } from 'vitest';
import { z } from 'zod';
import { fieldsOf } from '../../src/db/fields.ts';
import { newId } from '../../src/db/ids.ts';
import { patchStatement } from '../../src/db/patch.ts';
import { toRecord } from '../../src/db/record.ts';
import { customerBodies, customers, liveCustomers } from '../../src/db/schema/index.ts';
import { type Agency, useService } from '../support/service.ts';

const service = useService();

const Shown = z.object({
  firstName: z.string().nullable(),
  city: z.string().nullable(),
  tags: z.array(z.string()),
  summary: z.string().nullable(),
});
const columns = { firstName: customers.firstName, city: customers.city, tags: customers.tags };
const statement = patchStatement(
  { ...liveCustomers, bodies: customerBodies, fields: fieldsOf(Shown, customers) },
  columns,
  'patch_test.update',
);

const STORED = { firstName: 'Ana', city: 'Lima', tags: ['vip'], summary: 'Likes the sea.' };

async function customer(agency: Agency): Promise<string> {
  const contacts = [{ identifierType: 'web', identifierValue: `visitor ${newId()}` }];
  return (await agency.post('/v1/customers', { ...STORED, contacts })).body.id;
}

/** What the statement returns for this JSON of columns. */
async function patch(agency: Agency, id: string, record: object, relatedChanged = false): Promise<unknown> {
  const values = { organizationId: agency.id, id, patch: JSON.stringify(record), relatedChanged };
  const rows = await service.db.write(statement, values);
  return rows.map(({ body }) => JSON.parse(String(body)));
}

const stored = async (id: string) =>
  (await service.query('select xmin::text as version, updated_at from customers where id = $1', [id]))[0];

test('has one name and four values, whatever the fields', () => {
  expect(statement).toMatchObject({ name: 'patch_test.update', kind: 'body', isPrepared: true });
  expect([...statement.parameters].sort()).toEqual(['id', 'organizationId', 'patch', 'relatedChanged']);
});

test('changes what the patch has, leaves the rest, and renders the record as it is then', async () => {
  const agency = await service.agency();
  const id = await customer(agency);
  const before = await stored(id);
  expect(await patch(agency, id, toRecord(columns, { city: 'Quito', tags: [] }))).toEqual([
    { ...STORED, city: 'Quito', tags: [] },
  ]);
  expect(await patch(agency, id, toRecord(columns, { firstName: null }))).toEqual([
    { ...STORED, firstName: null, city: 'Quito', tags: [] },
  ]);
  expect((await stored(id))?.updated_at.getTime()).toBeGreaterThan(before?.updated_at.getTime());
});

test('writes no column that it does not list', async () => {
  const agency = await service.agency();
  const id = await customer(agency);
  const before = await stored(id);
  const sent = { summary: 'changed', organization_id: newId(), archived_at: '2026-11-21T00:00:00Z' };
  expect(await patch(agency, id, sent)).toEqual([STORED]);
  expect(await stored(id)).toEqual(before);
});

test('writes no row when nothing differs, unless it is told that something else did', async () => {
  const agency = await service.agency();
  const id = await customer(agency);
  const before = await stored(id);
  expect(await patch(agency, id, {})).toEqual([STORED]);
  expect(await patch(agency, id, toRecord(columns, { city: 'Lima', tags: ['vip'] }))).toEqual([STORED]);
  expect(await stored(id)).toEqual(before);
  expect(await patch(agency, id, {}, true)).toEqual([STORED]);
  expect((await stored(id))?.updated_at.getTime()).toBeGreaterThan(before?.updated_at.getTime());
});

test("returns no row for an archived record, another organization's, or one that never was", async () => {
  const [agency, neighbour] = [await service.agency(), await service.agency()];
  const [theirs, archived] = [await customer(neighbour), await customer(agency)];
  await agency.delete(`/v1/customers/${archived}`);
  const before = await stored(theirs);
  for (const id of [theirs, archived, newId()])
    expect(await patch(agency, id, { city: 'Quito' }, true)).toEqual([]);
  expect(await stored(theirs)).toEqual(before);
});
