import { readFile, writeFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import { expect, onTestFinished, test } from 'vitest';
import { contact, web } from '../../test/support/records.ts';
import { csvLine } from '../src/cells.ts';
import { crm, useCrm } from './command.ts';

/** `crm import customers --update` of an export that was edited by hand. */

const { service, file, at } = await useCrm();

type Cells = Record<string, string>;

/** An agency with customers, and their export as CSV: `edit` changes its rows, `run` imports it. */
async function exportOf(names: readonly string[]) {
  const agency = await service.agency();
  for (const [index, firstName] of names.entries())
    await agency.post('/v1/customers', {
      firstName,
      city: 'Lima',
      tags: ['vip', 'playa'],
      contacts: [
        contact('email', `${firstName.toLowerCase()}@example.com`),
        contact('whatsapp', `+5255${10_000_000 + index}`),
      ],
    });
  const path = file(`${agency.id}.csv`);
  await crm(['export', 'customers', '-o', path], at(agency));
  const rows = parse<Cells>(await readFile(path, 'utf8'), { bom: true, columns: true });
  const edit = (change: (row: Cells) => void, columns = Object.keys(rows[0] ?? {})) => {
    for (const row of rows) change(row);
    const lines = [columns, ...rows.map((row) => columns.map((name) => row[name] ?? ''))];
    return writeFile(path, lines.map((line) => csvLine(line, ',')).join(''));
  };
  const run = (...args: string[]) => crm(['import', 'customers', path, ...args], at(agency));
  const read = async (name: string) => (await agency.get(`/v1/customers?query=${name}`)).body.data[0];
  const rejected = () => readFile(file(`${agency.id}.rejected.csv`), 'utf8');
  return { agency, edit, run, read, rejected };
}

test('reads a hundred customers in one request, and sends a request for each row that differs', async () => {
  const names = Array.from({ length: 110 }, (_, index) => `Nombre${index}`);
  const { agency, edit, run } = await exportOf(names);
  await edit((row) => {
    if (Number(row.firstName?.slice(6)) % 10 === 0) row.city = 'Quito';
  });
  const methods: (string | undefined)[] = [];
  const count = ({ method, headers }: { method?: string; headers: object }) =>
    methods.push('if-match' in headers ? `${method} if-match` : method);
  service.app.server.on('request', count);
  onTestFinished(() => void service.app.server.off('request', count));
  const first = await run('--update');
  expect(first.stderr).toMatch(/Done: 110 rows in .*, 11 updated, 99 unchanged\./);
  expect(methods.sort()).toEqual([...Array(2).fill('GET'), ...Array(11).fill('PATCH if-match')]);
  expect((await agency.get('/v1/customers?query=quito')).body.data).toEqual([]);
  const cities = (await agency.get('/v1/customers?limit=11')).body.data.map(({ city }: Cells) => city);
  expect(new Set(cities)).toEqual(new Set(['Quito']));
  // In a second run nothing differs. That the timestamps of the export are older rejects no row.
  expect((await run('--update')).stderr).toMatch(/110 unchanged\./);
});

test('makes a customer equal to its row: empty cells clear fields, tags and contacts are replaced, ids stay', async () => {
  const { edit, run, read } = await exportOf(['Ana', 'Eva']);
  const [ana, eva] = [await read('Ana'), await read('Eva')];
  // Without --update a row is a new customer, whose contacts are taken.
  expect((await run()).stderr).toMatch(/2 rejected\./);
  expect(await read('Ana')).toEqual(ana);
  const contacts = { 'contacts.whatsapp': '', 'contacts.web': 'visitor' };
  const cells = { city: '', lastName: 'Peña', tags: 'playa', ...contacts };
  await edit((row) => row.firstName === 'Ana' && Object.assign(row, cells));
  expect((await run('--update')).stderr).toMatch(/1 updated, 1 unchanged\./);
  const fields = { id: ana.id, firstName: 'Ana', lastName: 'Peña', city: null, tags: ['playa'] };
  expect(await read('Ana')).toMatchObject({ ...fields, contacts: [ana.contacts[0], web('visitor')] });
  expect(await read('Eva')).toEqual(eva);
});

test('fields without a column stay as they are; the row of a customer that was changed since the export is rejected', async () => {
  const { agency, edit, run, read, rejected } = await exportOf(['Ana', 'Eva', 'Luz']);
  await agency.patch(`/v1/customers/${(await read('Luz')).id}`, { city: 'Bogotá' });
  await edit(
    (row) => Object.assign(row, { country: 'Perú' }, row.firstName === 'Eva' && { id: 'eva' }),
    ['id', 'updatedAt', 'city', 'country'],
  );
  expect((await run('--update')).stderr).toMatch(/1 updated, 2 rejected\./);
  expect(await read('Ana')).toMatchObject({ country: 'Perú', tags: ['vip', 'playa'], contacts: [{}, {}] });
  expect(await read('Luz')).toMatchObject({ city: 'Bogotá', country: null });
  expect(await rejected()).toContain('the row has no id of a customer, and no column has contacts');
  expect(await rejected()).toMatch(/PRECONDITION_FAILED,"the customer has changed since .* city, country /);
});

test('rejects the rows of archived and merged customers, and creates a customer for a row without an id', async () => {
  const { agency, edit, run, read, rejected } = await exportOf(['Ana', 'Eva', 'Luz', 'Mía']);
  await agency.delete(`/v1/customers/${(await read('Ana')).id}`);
  const [mia, eva] = [await read('Mía'), await read('Eva')];
  await agency.delete(`/v1/customers/${mia.id}`);
  await service.query('update customers set merged_into = $1 where id = $2', [eva.id, mia.id]);
  const sol = { id: '', firstName: 'Sol', 'contacts.email': 'sol@example.com', 'contacts.whatsapp': '' };
  await edit((row) => row.firstName === 'Luz' && Object.assign(row, sol));
  expect((await run('--update')).stderr).toMatch(/1 created, 1 unchanged, 2 rejected\./);
  expect(await rejected()).toContain(`was merged into customer ${eva.id}. Use that id.`);
  expect(await rejected()).toContain(
    'CUSTOMER_NOT_FOUND,"no customer of this organization has this id, or the customer is archived"',
  );
  expect(await read('Sol')).toMatchObject({ city: 'Lima' });
});

test('a dry run with a key shows each change', async () => {
  const { agency, edit, run, read } = await exportOf(['Ana', 'Eva', 'Luz', 'Sol']);
  const before = await read('Ana');
  await agency.patch(`/v1/customers/${(await read('Luz')).id}`, { country: 'Perú' });
  await edit((row) => {
    if (row.firstName === 'Ana') Object.assign(row, { city: '', 'contacts.whatsapp': '' });
    if (row.firstName === 'Luz') row.city = 'Quito';
    if (row.firstName === 'Sol') row.preferredLanguage = 'Klingon';
  });
  const email = JSON.stringify([contact('email', 'ana@example.com')]);
  expect(await run('--update', '--dry-run')).toEqual({
    code: 2,
    stdout: `${before.id}\tcity\t"Lima"\tnull\n${before.id}\tcontacts\t${JSON.stringify(before.contacts)}\t${email}\n`,
    stderr: expect.stringMatching(/Dry run: 4 rows in .*, 1 would be updated, 1 unchanged, 2 rejected\./),
  });
  expect(await read('Ana')).toEqual(before);
});
