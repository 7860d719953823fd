import { expect, test } from 'vitest';
import { allStatements } from '../../src/db/sql/statement.ts';
import { customer } from '../support/records.ts';
import { type Agency, useService } from '../support/service.ts';

/** The statements of a PATCH. */

const service = useService();

const patch = (agency: Agency, id: string, body: object) => agency.patch(`/v1/customers/${id}`, body);

test('each set of fields has a statement that names no other column', async () => {
  const agency = await service.agency();
  await patch(agency, (await customer(agency)).id, { city: 'Quito', country: 'EC' });
  const statement = allStatements().find(({ name }) => name === 'customers.update city country');
  expect(statement?.isPrepared).toBe(true);
  const [assigned = ''] = statement?.text.split(' where ') ?? [];
  expect(assigned).toContain('set "city" = $1, "country" = $2');
  expect(assigned).not.toContain('summary');
});

test('more sets of fields than a connection prepares are all written, and no more are remembered', async () => {
  const agency = await service.agency();
  const id = (await customer(agency)).id;
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
