import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import { contact, customer } from '../../test/support/records.ts';
import { exportable } from '../src/export.ts';
import { statePath } from '../src/state.ts';
import { crm, useCrm } from './command.ts';
import { textReader } from './reading.ts';

const { service, file, at, begin } = await useCrm();

describe('crm import customers', () => {
  const LEADS = [
    'Nombre;Apellidos;Teléfono;Correo;Etiquetas;Edad',
    'Ana;Peña;+52 55 1234 5678;ana@example.com;"vip, luna de miel";31',
    'Luis;;+52 55 8765 4321;;;',
    ';;;;;40',
    '"Eva ""la"" Ruiz";;+5491122334455;Ana@Example.com;;',
    'Mal;;123;;;',
    ';;;;;',
  ];

  test('creates a customer for each row, and writes rejected rows with their reasons into a file', async () => {
    const text = `\ufeff${LEADS.join('\r\n')}\r\n`;
    const { agency, path, run, ...leads } = await begin('import customers', 'leads.csv', text);
    const args = ['--yes', '--map', 'Teléfono=contacts.whatsapp', '--concurrency', '1'];
    const { code, stderr } = await run(...args);
    expect(stderr).toMatch(/Teléfono +→ +contacts\.whatsapp +\+52 55 1234 5678/);
    expect(stderr).toMatch(/Nombre +→ +firstName \? +Ana/);
    expect(stderr).toMatch(/Edad +→ +\(left out\) +31/);
    expect(stderr).toMatch(/Done: 5 rows in .*, 2 created, 3 rejected\./);
    expect(stderr).toContain('1 empty rows were skipped.');
    expect(code).toBe(2);

    const { data } = (await agency.get('/v1/customers')).body;
    const contacts = [contact('whatsapp', '+525512345678'), contact('email', 'ana@example.com')];
    expect(data).toMatchObject([
      { firstName: 'Luis', lastName: null, contacts: [{ identifierType: 'whatsapp' }], tags: [] },
      { firstName: 'Ana', lastName: 'Peña', tags: ['vip', 'luna de miel'], contacts },
    ]);
    const rejected = (await leads.rejected()).split('\r\n');
    expect(rejected[0]).toBe(`\ufeffline;code;message;customerId;${LEADS[0]}`);
    expect(rejected[1]).toMatch(/^4;VALIDATION_FAILED;the row has no contact[^;]*;;;;;;;40$/);
    expect(rejected[2]).toMatch(
      new RegExp(`^5;CUSTOMER_CONTACT_CONFLICT;[^;]*;${data[1].id};"Eva ""la"" Ruiz";;'\\+5491122334455;`),
    );
    expect(rejected[3]).toMatch(
      /^6;VALIDATION_FAILED;"column ""Teléfono"" must start with \+ and the country code: ""123""";;Mal;;123;;;$/,
    );
    expect(rejected).toHaveLength(5);
    expect(existsSync(statePath(path))).toBe(false);

    // The corrected file can be imported. A row that is rejected again has its new reason only.
    const again = file('leads.rejected.csv');
    await writeFile(again, (await readFile(again, 'utf8')).replaceAll('Ana@Example.com', 'eva@example.com'));
    const second = await crm(['import', 'customers', again, ...args], at(agency));
    expect(second.stderr).toMatch(/Done: 3 rows in .*, 1 created, 2 rejected\./);
    const twice = (await readFile(file('leads.rejected.rejected.csv'), 'utf8')).split('\r\n');
    expect([twice[0], twice.length]).toEqual([rejected[0], 4]);
  });

  test('reports a wrong map, file, key or resource in a message without a stack', async () => {
    await writeFile(file('mistake.csv'), 'Nombre,Edad\nAna,31\n');
    await writeFile(file('mistake.json'), '[{ "title": "Patagonia" }]');
    const { url, key } = at(await service.agency());
    const [path, json, folder] = [file('mistake.csv'), file('mistake.json'), file('.')];
    const begun = file('begun.csv');
    await writeFile(begun, 'Nombre,Edad\nAna,31\n');
    const web = ['import', 'customers', begun, '--yes', '--map', 'Edad=contacts.web'];
    const nowhere = { url: 'http://127.0.0.1:1', key };
    const mistakes: [string[], string | RegExp, { url: string; key?: string }?][] = [
      [['import', 'customers', path, '--map', 'X=city'], 'no column is named "X". Columns: Nombre, Edad.'],
      [['import', 'customers', path, '--map', 'Edad'], '--map Edad: write Column=field'],
      [['import', 'customers', path, '--map', 'Edad=toString'], 'there is no field "toString". Fields: '],
      [['import', 'products', path, '--map', 'Nombre='], 'such as --map "Column=title"'],
      [['import', 'customers', path], 'No column fills a contact. Name the column with --map'],
      [['import', 'customers', folder], 'is a folder'],
      [['sync', 'products', json], 'one object per line'],
      [['import', 'customers', file('none.csv')], /^File not found: \S+none\.csv\n$/],
      [['import', 'quotes', path], 'Allowed choices are customers, products'],
      [['import', 'customers', path, '--delimiter', 'x'], 'must be one of , ; | and tab'],
      [['export', '--all'], 'No folder was named. Use crm export --all -o FOLDER.'],
      [['export'], `No list was named. Use one of ${exportable.join(', ')}, or --all.`],
      [['--url', 'crm.example.com', 'export', 'team'], 'such as https://crm.example.com'],
      [['--key', '', 'export', 'team'], 'Set CRM_API_KEY'],
      [['import', 'customers', '-', '--dry-run'], 'Standard input cannot be imported'],
      [['export', 'team'], /:1 cannot be reached \(.*\)\. Set the address .* --url or CRM_URL/, nowhere],
      [web, 'Set CRM_API_KEY', { url }],
      [web, /API key.*--resume/s, { url, key: 'wrong' }],
    ];
    await Promise.all(
      mistakes.map(async ([args, message, access = { url, key }]) => {
        const { code, stderr } = await crm(args, access);
        expect(stderr).toMatch(message);
        expect(stderr, String(message)).not.toMatch(/^ +at /m);
        expect(code).toBe(1);
      }),
    );
  });
});

test('a row whose record was archived since is rejected, with what to do; a changed row is imported again', async () => {
  const text = 'firstName,contacts.email\nAna,ana@example.com\n';
  const { agency, path, run, rejected } = await begin('import customers', 'again.csv', text);
  expect((await run()).stderr).toContain('1 created');
  const [{ id }] = (await agency.get('/v1/customers')).body.data;
  await agency.delete(`/v1/customers/${id}`);
  expect((await run()).stderr).toContain('1 rejected');
  expect(await rejected()).toMatch(/,"the row was imported in the last 24 hours, .*: change the row/);
  await writeFile(path, text.replace('ana@', 'Ana@'));
  expect((await run()).stderr).toContain('1 created');
});

test('a line of NDJSON that is no object is named before any row is sent', async () => {
  const ana = JSON.stringify({ contacts: [contact('email', 'ana@example.com')] });
  const { agency, path, run } = await begin('import customers', 'broken.ndjson', `${ana}\n\n[]\n`);
  const stderr = `${path}, line 3: not a JSON object.\n`;
  expect(await run()).toMatchObject({ code: 1, stderr });
  await writeFile(path, `${ana}\n{broken\n`);
  expect((await run()).stderr).toContain('line 2: not a JSON object.');
  expect((await agency.get('/v1/customers')).body.data).toEqual([]);
  await writeFile(path, `${ana}\n`);
  expect((await run()).stderr).toContain('1 created');
});

test('a file of the wrong kind is not imported without a question', async () => {
  const people = 'Nombre,Teléfono,Correo,Ciudad\nAna,+525512345678,ana@example.com,Puebla\n';
  const read = (map: string[]) => textReader(file)(people, { resource: 'products', map });
  await expect(read([])).rejects.toThrow(
    'Is this a file of products? Of its 4 columns, only "Nombre" as title would be imported, and this is a guess.',
  );
  expect((await read(['Nombre=title'])).bodies).toEqual([{ title: 'Ana' }]);
});

describe('crm import customers --dry-run', () => {
  const ROWS = `Nombre,whatsapp,telefono,Email,Idioma,Etiquetas,Notas
Ana,+52 55 1234 5678,,ana@example.com,Español,vip,
Dan,,,dan@example.com,Klingon,,
Eva,55 1234 5678,,,es,,
Fay,,,fay at example,es,,
${'x'.repeat(256)},,,gus@example.com,,,
Hal,+52 55 8765 4321 | 52 55,,hal@example.com,,,
Ida,,123,,,,
Jon,,,jon@example.com,,${'y'.repeat(101)},
Kim,,,kim@example.com,,,one,more
Lea,,,lea@example.com
Max,,,ANA@example.com,,,`;

  test('rejects exactly the rows and contacts that the import rejects', async () => {
    const { agency, path, run, rejected } = await begin('import customers', 'messy.csv', ROWS);
    const trial = await crm(['import', 'customers', path, '--dry-run']);
    const done = await run('--yes', '--concurrency', '1');
    const lines = (await rejected()).match(/^\d+/gm);
    expect(lines).toEqual(['3', '4', '5', '6', '7', '8', '9', '10', '11', '12']);
    const counts = '8 rejected, 1 with a skipped contact, 1 with a skipped value';
    expect(trial.stderr).toMatch(new RegExp(`Dry run: 11 rows in .*, 3 would be sent, ${counts}`));
    expect(done.stderr).toContain(`3 created, ${counts}`);
    expect(existsSync(statePath(path))).toBe(false);
    expect((await agency.get('/v1/customers')).body.data).toMatchObject([
      { firstName: 'Hal', contacts: [{ identifierType: 'whatsapp' }, { identifierType: 'email' }] },
      { firstName: 'Dan', preferredLanguage: null },
      { firstName: 'Ana', preferredLanguage: 'es', tags: ['vip'] },
    ]);
  });

  test.each([
    ['catalog/products', 'externalReferenceCode,title,status\nPE-01,Uno,', 'Consultar', 'active'],
    ['customers', 'contacts.web,firstName,preferredLanguage\nuno,Ana,', 'Quechua', 'es'],
  ])('of %s names the command that corrects a skipped value', async (list, row, wrong, right) => {
    const { agency, run } = await begin(`import ${basename(list)}`, 'skips (1).csv', `${row}${wrong}\n`);
    const { stderr } = await run('--yes');
    const rejected = file('skips (1).rejected.csv');
    await writeFile(rejected, (await readFile(rejected, 'utf8')).replace(/\w+\s*$/, right));
    const words = /, then: crm (.*)/.exec(stderr)?.[1]?.match(/"[^"]+"|\S+/g) ?? [];
    await crm([...words.map((word) => word.replaceAll('"', '')), '--yes'], at(agency));
    expect(Object.values((await agency.get(`/v1/${list}`)).body.data[0])).toContain(right);
  });

  test('rejects exactly the rows of a catalog that the import rejects, variants included', async () => {
    const bodies = [
      { title: 'Good', type: 'experience', variants: [{ label: 'Alta', fromPrice: 1 }] },
      { title: '' },
      { title: 'Kind', type: 'cruise' },
      { title: 'Price', fromPrice: -1 },
      { title: 'Hours', durationHours: 0 },
      { title: 'Days', durationDays: 1.5 },
      { title: 'Currency', currency: 'US' },
      { title: 'List', includes: [1] },
      { title: 'Variant', variants: [{ label: 'Alta' }, { name: 'Baja' }] },
      { title: 'Name', prize: 1 },
      { title: 'Half \ud800' },
      { title: 'Marks', includes: [`a${'\u0301'.repeat(31)}`] },
      { title: 'Long', variants: Array(6).fill({ label: 'x', description: 'x'.repeat(50_000) }) },
      { description: 'No title' },
    ];
    const text = bodies.map((body) => JSON.stringify(body)).join('\n');
    const { path, run } = await begin('import products', 'messy.ndjson', text);
    const trial = await crm(['import', 'products', path, '--dry-run']);
    expect((await run()).stderr).toMatch(/1 created, 13 rejected/);
    expect(trial.stderr).toMatch(/Dry run: 14 rows in .*, 1 would be sent, 13 rejected/);
  });
});

describe('crm import customers --update', () => {
  const NUMBER = '+52 55 1234 5678';
  const ROWS = [
    'Nombre,Ciudad,Etiquetas,whatsapp,Email',
    'Anita,Puebla,feria,5215512345678,ana@example.com',
    'Luis,Lima,,+52 55 8765 4321,',
    'Dos,Quito,,+52 55 1234 5678,bea@example.com',
  ];

  test('fills empty fields, adds tags and contacts, and removes nothing; with overwrite, fields that differ too', async () => {
    const { agency, run } = await begin('import customers', 'lists.csv', ROWS.join('\n'));
    const contacts = [contact('whatsapp', NUMBER)];
    const ana = await customer(agency, { firstName: 'Ana', tags: ['vip'], contacts });
    const bea = await customer(agency, { contacts: [contact('email', 'bea@example.com')] });
    const read = async (id: string) => (await agency.get(`/v1/customers/${id}`)).body;

    const { code, stderr } = await run('--yes', '--update');
    expect(stderr).toMatch(/Done: 3 rows in .*, 1 created, 1 updated, 1 rejected\./);
    expect(code).toBe(2);
    const after = await read(ana.id);
    expect(after).toMatchObject({ firstName: 'Ana', city: 'Puebla', tags: ['vip', 'feria'] });
    expect(after.contacts).toMatchObject([ana.contacts[0], contact('email', 'ana@example.com')]);
    // The contacts of the rejected row belong to two customers.
    expect(await read(bea.id)).toEqual(bea);

    // Also of a customer that an earlier run created for the same row.
    const [luis] = (await agency.get('/v1/customers?query=luis')).body.data;
    await agency.patch(`/v1/customers/${luis.id}`, { city: 'Cusco', country: 'Perú', tags: ['vip'] });
    const again = await run('--yes', '--update', 'fill');
    expect(again.stderr).toMatch(/1 created before, 1 unchanged, 1 rejected\./);
    expect(await read(ana.id)).toEqual(after);
    expect((await run('--yes', '--update', 'overwrite')).stderr).toMatch(/2 updated, 1 rejected/);
    expect(await read(ana.id)).toMatchObject({ firstName: 'Anita', city: 'Puebla', tags: ['vip', 'feria'] });
    const now = await read(luis.id);
    expect(now).toEqual({ ...luis, country: 'Perú', tags: ['vip'], updatedAt: now.updatedAt });
  });

  test('loses no concurrent change of the same customer', async () => {
    const tags = Array.from({ length: 40 }, (_, index) => `tag ${index}`);
    // Rows with one contact wait for each other, and these have two.
    const cells = tags.map((tag, index) => `${index % 2 ? `${NUMBER},` : ',ana@example.com'},${tag}`);
    const text = ['whatsapp,email,tags', ...cells].join('\n');
    const { agency, run } = await begin('import customers', 'same.csv', text);
    const contacts = [contact('whatsapp', NUMBER), contact('email', 'ana@example.com')];
    const { id } = await customer(agency, { contacts });
    expect((await run('--yes', '--update', '--concurrency', '4')).stderr).toContain('40 updated');
    expect((await agency.get(`/v1/customers/${id}`)).body.tags.sort()).toEqual(tags.sort());
  });
});

test('an interrupted import continues only with the same file, list and options', async () => {
  const leads = 'firstName,email\nAna,ana@example.com\nEva,eva@example.com\n';
  const { agency, path, run } = await begin('import customers', 'changed.csv', leads);
  await crm(['import', 'customers', path], at(agency, 'http://127.0.0.1:1'));
  for (const options of [
    '--map email=lastName',
    '--update fill',
    '--country PE',
    '--on-bad-contact reject',
  ]) {
    const [option = '', value = ''] = options.split(' ');
    expect((await run('--resume', option, value)).stderr).toContain(`began with another ${option}`);
  }
  const asProducts = await crm(['import', 'products', path, '--resume'], at(agency));
  expect(asProducts.stderr).toContain('The import began with customers');
  await writeFile(path, `${leads}Luz,luz@example.com\n`);
  expect((await run('--resume')).stderr).toContain('has changed since its import began');
  expect((await run('--restart', '--yes')).stderr).toContain('3 created');
  expect((await run('--resume')).stderr).toContain('no unfinished import');
});
