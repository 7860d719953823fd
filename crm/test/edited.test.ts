import { readFile, writeFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import { expect, onTestFinished, test } from 'vitest';
import { csvLine } from '../src/cells.ts';
import { crm, useCrm } from './command.ts';

/** `crm import customers --update` of an export that a person has edited. */

const { service, file, at } = useCrm();

type Cells = Record<string, string>;

/** An agency with customers, and its export: `edit` changes the rows of the file. */
async function exported(names: readonly string[]) {
  const agency = await service.agency();
  for (const firstName of names)
    await agency.post('/v1/customers', {
      firstName,
      city: 'Lima',
      tags: ['vip', 'playa'],
      contacts: [
        { identifierType: 'email', identifierValue: `${firstName.toLowerCase()}@example.com` },
        {
          identifierType: 'whatsapp',
          identifierValue: `+5255${String(10_000_000 + names.indexOf(firstName))}`,
        },
      ],
    });
  const path = file(`${agency.id}.csv`);
  await crm(['export', 'customers', '-o', path], at(agency));
  const [header = [], ...rows] = parse(await readFile(path, 'utf8'), { bom: true }) as string[][];
  const objects = rows.map((row) =>
    Object.fromEntries(header.map((name, index) => [name, row[index] ?? ''])),
  );
  const edit = (change: (row: Cells) => void, columns = header) => {
    for (const row of objects) change(row);
    const lines = [columns, ...objects.map((row) => columns.map((name) => row[name] ?? ''))];
    return writeFile(path, lines.map((line) => csvLine(line, ',')).join(''));
  };
  const run = (...args: string[]) => crm(['import', 'customers', path, ...args], at(agency));
  const read = async (firstName: string) =>
    (await agency.get(`/v1/customers?query=${firstName}`)).body.data[0];
  return { agency, path, edit, run, read };
}

/** The requests that the service gets until the test ends, by method. */
function counted(): Record<string, number> {
  const counts: Record<string, number> = {};
  const count = ({ method = '' }: { method?: string }) => {
    counts[method] = (counts[method] ?? 0) + 1;
  };
  service.app.server.on('request', count);
  onTestFinished(() => void service.app.server.off('request', count));
  return counts;
}

test('changes what differs, a request for each such row and one for a hundred rows', async () => {
  const names = Array.from({ length: 230 }, (_, index) => `Nombre${index}`);
  const { agency, edit, run } = await exported(names);
  await edit((row) => {
    if (Number(row.firstName?.slice(6)) % 20 === 0) row.city = 'Quito';
  });
  const counts = counted();
  const first = await run('--update');
  expect(first.stderr).toMatch(/Done: 230 rows in .*, 12 updated, 218 unchanged\./);
  expect(counts).toEqual({ GET: 3, PATCH: 12 });
  expect((await agency.get('/v1/customers?query=quito')).body.data).toEqual([]);
  const cities = (await agency.get('/v1/customers?limit=12')).body.data.map(({ city }: Cells) => city);
  expect(new Set(cities)).toEqual(new Set(['Quito']));
  // Done again, nothing differs: the moments of the export are older, and nothing is set back.
  expect((await run('--update')).stderr).toMatch(/230 unchanged\./);
});

test('a row is what its customer is to be: empty cells clear, tags and contacts that are gone go, ids stay', async () => {
  const { edit, run, read } = await exported(['Ana', 'Eva']);
  const before = await read('Ana');
  // Without --update, because its contacts are taken.
  expect((await run()).stderr).toMatch(/2 rejected\./);
  expect(await read('Ana')).toEqual(before);
  const eva = await read('Eva');
  await edit((row) => {
    if (row.firstName !== 'Ana') return;
    Object.assign(row, {
      city: '',
      lastName: 'Peña',
      tags: 'playa',
      'contacts.whatsapp': '',
      'contacts.web': 'visitor',
    });
  });
  expect((await run('--update')).stderr).toMatch(/1 updated, 1 unchanged\./);
  const after = await read('Ana');
  expect(after).toMatchObject({
    id: before.id,
    firstName: 'Ana',
    lastName: 'Peña',
    city: null,
    tags: ['playa'],
  });
  expect(after.contacts).toMatchObject([
    before.contacts[0],
    { identifierType: 'web', identifierValue: 'visitor' },
  ]);
  expect(await read('Eva')).toEqual(eva);
});

test('columns that the file no longer has stay as they are', async () => {
  const { edit, run, read } = await exported(['Ana']);
  await edit((row) => Object.assign(row, { city: 'Cusco' }), ['id', 'updatedAt', 'city']);
  expect((await run('--update')).stderr).toMatch(/1 updated\./);
  expect(await read('Ana')).toMatchObject({ city: 'Cusco', tags: ['vip', 'playa'], contacts: [{}, {}] });
});

test('what somebody else changed since the export is not set back; the row says so', async () => {
  const { agency, path, edit, run, read } = await exported(['Ana', 'Eva']);
  const { id } = await read('Ana');
  await agency.patch(`/v1/customers/${id}`, { city: 'Bogotá' });
  await edit((row) => Object.assign(row, { country: 'Perú' }));
  const { code, stderr } = await run('--update');
  expect([code, stderr]).toEqual([2, expect.stringMatching(/1 updated, 1 rejected\./)]);
  expect(await read('Ana')).toMatchObject({ city: 'Bogotá', country: null });
  const rejected = await readFile(path.replace('.csv', '.rejected.csv'), 'utf8');
  expect(rejected).toContain(
    'PRECONDITION_FAILED,"the customer has changed since the export, and city, country would get their old values back: export it again"',
  );
});

test('a customer that is gone is rejected, and a row without an id is a new customer', async () => {
  const { agency, path, edit, run, read } = await exported(['Ana', 'Eva', 'Luz']);
  await agency.delete(`/v1/customers/${(await read('Ana')).id}`);
  await edit((row) => {
    if (row.firstName === 'Luz')
      Object.assign(row, {
        id: '',
        firstName: 'Sol',
        'contacts.email': 'sol@example.com',
        'contacts.whatsapp': '',
      });
  });
  const { stderr } = await run('--update');
  expect(stderr).toMatch(/1 created, 1 unchanged, 1 rejected\./);
  expect(await readFile(path.replace('.csv', '.rejected.csv'), 'utf8')).toContain(
    'CUSTOMER_NOT_FOUND,"no customer of this organization has this id, or the customer is archived"',
  );
  expect(await read('Sol')).toMatchObject({ city: 'Lima' });
});

test('NDJSON says the order of contacts, too', async () => {
  const { agency, read } = await exported(['Ana']);
  const before = await read('Ana');
  const path = file('edited.ndjson');
  await writeFile(
    path,
    `${JSON.stringify({ ...before, summary: 'x', contacts: before.contacts.toReversed() })}\n`,
  );
  const { stderr } = await crm(['import', 'customers', path, '--update'], at(agency));
  expect(stderr).toMatch(/1 updated\./);
  const after = await read('Ana');
  expect(after).toMatchObject({ summary: 'x', contacts: before.contacts.toReversed() });
  expect((await crm(['import', 'customers', path, '--update'], at(agency))).stderr).toMatch(/1 unchanged\./);
});

test('a rejected row names the column and the value that are wrong, whatever order its contacts are sent in', async () => {
  const { agency, path, edit, run } = await exported(['Ana']);
  const taken = { identifierType: 'telefono', identifierValue: '+525599999999' };
  const { id } = (await agency.post('/v1/customers', { contacts: [taken] })).body;
  // The service gets the stored contacts first; the column of the new one is between theirs.
  await edit((row) => Object.assign(row, { 'contacts.telefono': '+525599999999' }));
  expect((await run('--update')).stderr).toMatch(/1 rejected\./);
  expect(await readFile(path.replace('.csv', '.rejected.csv'), 'utf8')).toContain(
    `"column ""contacts.telefono"" belongs to customer ${id}: ""+525599999999""",${id},`,
  );
});

test('a dry run compares with the customers and shows each change; without a key it says that nobody compared', async () => {
  const { agency, path, edit, run, read } = await exported(['Ana', 'Eva', 'Luz', 'Sol']);
  const before = await read('Ana');
  await agency.patch(`/v1/customers/${(await read('Luz')).id}`, { country: 'Perú' });
  await edit((row) => {
    if (row.firstName === 'Ana') Object.assign(row, { city: '', 'contacts.whatsapp': '' });
    if (row.firstName === 'Luz') row.city = 'Quito';
    if (row.firstName === 'Sol') row.preferredLanguage = 'Klingon';
  });
  const trial = await run('--update', '--dry-run');
  expect(trial.stdout).toBe(
    [
      `${before.id}\tcity\t"Lima"\tnull\n`,
      `${before.id}\tcontacts\t${JSON.stringify(before.contacts)}\t[{"identifierType":"email","identifierValue":"ana@example.com"}]\n`,
    ].join(''),
  );
  expect([trial.code, trial.stderr]).toEqual([
    2,
    expect.stringContaining('Dry run: 1 would be updated, 1 unchanged, 2 rejected.'),
  ]);
  expect(await read('Ana')).toEqual(before);

  const { stdout, stderr } = await crm(['import', 'customers', path, '--update', '--dry-run']);
  expect(stdout).toBe('');
  expect(stderr).toContain('Dry run: 3 not compared, 1 rejected.');
  expect(stderr).toContain('Without a key (CRM_API_KEY)');
});
