import { copyFile, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { contact, customer, product } from '../../test/support/records.ts';
import type { Body } from '../src/columns.ts';
import { crm, useCrm } from './command.ts';
import { contactsOf, readFileAs, textReader } from './reading.ts';

/** Files as people have them, and what a clerk reads about them. The files of `fixtures/` are made up. */

const { service, file, at, begin } = await useCrm();
const read = textReader(file);
const readCatalog = (text: string) => read(text, { resource: 'products' });

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}.csv`, import.meta.url));
const namesOf = (bodies: Body[]) => bodies.map(({ firstName }) => firstName);

/** Imports a copy of the fixture into a new agency; the reasons are those of its rejected rows, by line. */
async function importFixture(name: string, ...args: string[]) {
  const agency = await service.agency();
  await copyFile(fixture(name), file(`${name}.csv`));
  const ended = await crm(['import', ...args, file(`${name}.csv`), '--concurrency', '1'], at(agency));
  const rejected = await readFile(file(`${name}.rejected.csv`), 'utf8');
  const lines = [...rejected.matchAll(/^(\d+)[,;]([A-Z_]+)[,;]/gm)].map(([, ...found]) => found.join(' '));
  return { ...ended, agency, rejected, lines };
}

describe('an export of another product', () => {
  test.each([
    ['wa', 'a WhatsApp gateway', 12, '4 CUSTOMER, 5 VALIDATION, 7 VALIDATION, 8 VALIDATION, 18 VALIDATION'],
    ['google', 'Google Contacts', 4, '4 CONTACT, 6 VALIDATION, 8 VALIDATION'],
    ['hubspot', 'HubSpot contacts', 3, '3 CONTACT, 4 VALIDATION, 5 CONTACT, 6 CUSTOMER'],
    ['kommo', 'Kommo', 2, '4 VALIDATION, 5 CUSTOMER'],
  ])('%s is recognized, and its good rows are imported', async (name, product, good, lines) => {
    const run = await importFixture(name, 'customers');
    expect(run.stderr).toContain(`This is an export of ${product}.`);
    expect([run.code, run.lines.join(', ').replaceAll(/_[A-Z_]+/g, '')]).toEqual([2, lines]);
    expect((await run.agency.get('/v1/customers')).body.pagination.total).toBe(good);
  });

  test.each<[string, file: string, fields: object, contacts: string]>([
    [
      'Google Contacts',
      `Name,Given Name,Family Name,Yomi Name,Group Membership,E-mail 1 - Value,Phone 1 - Value
Ana Gil,Ana,Gil,,VIP ::: * myContacts,ana@example.com,+51 987 654 321`,
      { firstName: 'Ana', lastName: 'Gil', tags: ['VIP'] },
      'telefono +51987654321',
    ],
    [
      'Outlook',
      `First Name,Middle Name,Last Name,E-mail Address,E-mail 2 Address,Mobile Phone,Assistant's Phone,Home City,Categories
Ana,Eva,Gil,ana@example.com,,+51 987 654 321,+51 987 654 322,Lima,VIP;Playa`,
      { firstName: 'Ana Eva', lastName: 'Gil', tags: ['VIP', 'Playa'], city: 'Lima' },
      'whatsapp +51987654321',
    ],
    [
      'Pipedrive people',
      `Pessoa - Nome,Pessoa - Etiquetas,Pessoa - E-mail - Outros,Pessoa - Telefone - Celular,Pessoa - Proprietário
Ana Gil,"Quente, VIP",ana@example.com,+55 11 98888-7701,marta@agencia.example`,
      { firstName: 'Ana Gil', tags: ['Quente', 'VIP'] },
      'whatsapp +551188887701',
    ],
    [
      'HubSpot contacts',
      `ID de registro,Nombre,Apellidos,Correo,Número de WhatsApp,Propietario del contacto,País/región
1,Ana,Gil,ana@example.com,+51 987 654 321,marta@agencia.example,Perú`,
      { firstName: 'Ana', lastName: 'Gil', country: 'Perú' },
      'whatsapp +51987654321',
    ],
  ])('%s in another language or of another year', async (product, text, fields, contact) => {
    const { said, bodies } = await read(text);
    expect(said).toContain(`This is an export of ${product}.`);
    expect(bodies).toMatchObject([fields]);
    expect(bodies.flatMap(contactsOf).sort()).toEqual(['email ana@example.com', contact]);
  });

  test('imported as a catalog is rejected', async () => {
    const text = 'Record ID,First Name,Email,Lifecycle Stage\n1,Ana,ana@example.com,lead\n';
    await expect(readCatalog(text)).rejects.toThrow('HubSpot contacts: use crm import customers');
  });

  test.each([
    'Nombre,Apellido,Propietario del contacto,Correo,Ciudad,Estado',
    'Nombre,Dirección de correo electrónico,Teléfono,Ciudad,Etiquetas,Notas',
  ])('%s: common names are no export of another product', async (header) => {
    expect((await read(`${header}\nAna,,,,,\n`)).said).not.toContain('This is an export of');
  });
});

describe('a table of people', () => {
  test('has its columns by their names and cells; contacts that no field takes are named, and stop even --yes', async () => {
    const rows = [
      'Nombre completo;Apellido;Tel. casa;Teléfono;WhatsApp;Dato;Otro',
      'Ana Pérez;Pérez;+51 1 444-5555;+51 987 654 321;sí;ana@example.com;+51 987 654 322',
      'Eva Gil Ruiz;Gil Ruiz;;+51 987 654 323 y +51 987 654 324;no;;',
    ].join('\n');
    await expect(read(rows)).rejects.toThrow(
      /Column "Dato" has addresses \(ana@example.com\), and fills no field[\s\S]*use --map "Otro=contacts.telefono", or --map "Otro=" to leave it out/,
    );
    const { bodies } = await read(rows, { map: ['Dato=contacts.email', 'Otro='] });
    expect(bodies.map(contactsOf)).toEqual([
      ['telefono +5114445555', 'telefono +51987654321', 'email ana@example.com'],
      ['telefono +51987654323', 'telefono +51987654324'],
    ]);
    expect(bodies).toMatchObject([
      { firstName: 'Ana', lastName: 'Pérez' },
      { firstName: 'Eva', lastName: 'Gil Ruiz' },
    ]);
  });

  test.each([
    'Prénom;Nom;Portable;Courriel;Ville;Pays',
    'Vorname;Nachname;Handy;E-Mail;Stadt;Land',
    'Nome;Cognome;Cellulare;Email;Città;Paese',
  ])('%s: all of its columns are imported', async (header) => {
    const { bodies } = await read(`${header}\nAna;Gil;+39 333 123 4567;ana@example.com;Roma;Italia\n`);
    expect(bodies).toMatchObject([{ firstName: 'Ana', lastName: 'Gil', city: 'Roma', country: 'Italia' }]);
    expect(bodies.map(contactsOf)).toEqual([['whatsapp +393331234567', 'email ana@example.com']]);
  });

  test('has second names and surnames behind the first ones', async () => {
    const { bodies } = await read(
      'Nombre,Segundo nombre,Apellido Paterno,Apellido Materno,Celular\nAna,María,Gil,Ruiz,+51 987 654 321\n',
    );
    expect(bodies).toMatchObject([{ firstName: 'Ana María', lastName: 'Gil Ruiz' }]);
  });

  test.each([
    ['Телефон,email\n+51 987 654 321,ana@example.com\n', 'Column "Телефон" has telephone numbers'],
    ['Contacto,Nombre\n+51 987 654 321,Ana\n', 'No column fills a contact. Column "Contacto" has telephone'],
    ['Nombre,Correo cónyuge\nAna,luis@example.com\n', 'No column fills a contact.'],
  ])('whose contacts have a name that fits none says which field fits: %j', async (text, message) => {
    await expect(read(text)).rejects.toThrow(message);
  });

  test('with guessed columns stops where nobody is asked, and says how to confirm them', async () => {
    const { run } = await begin('import customers', 'guessed.csv', 'Nombre,Correo\nAna,ana@example.com\n');
    const stderr = expect.stringMatching(/"Nombre" as firstName, "Correo" as contacts\.email.*--yes.*--map/);
    expect(await run()).toMatchObject({ code: 1, stderr });
    const maps = ['--map', 'Nombre=firstName', '--map', 'Correo=contacts.email'];
    expect((await run(...maps)).stderr).toContain('1 created');
  });

  test('gets the country code of its numbers; loses no contact silently: a bad one is skipped and named, or its row is rejected', async () => {
    const sheet =
      'firstName,whatsapp,email\nAna,987 654 321,ana@example.com\nEva,(01) 444-5555,\nMía,123,mia@example.com\n';
    const inPeru = await read(sheet, { country: 'PE' });
    const firsts = ['whatsapp +51987654321', 'whatsapp +5114445555', 'email mia@example.com'];
    expect(inPeru.bodies.map((body) => contactsOf(body)[0])).toEqual(firsts);
    expect(inPeru.problems).toEqual([expect.stringMatching(/^4 without column "whatsapp"/)]);
    const skipping = await read(sheet);
    expect(namesOf(skipping.bodies)).toEqual(['Ana', 'Mía']);
    expect(skipping.problems.slice(0, 2)).toEqual([
      '2 without column "whatsapp" must start with + and the country code: "987 654 321"',
      expect.stringMatching(/^3 column "whatsapp"/),
    ]);
    const { bodies, problems } = await read(sheet, { skips: false });
    expect([bodies, problems.map((problem) => problem[0])]).toEqual([[], ['2', '3', '4']]);
  });

  test('can have several contacts in a cell, with labels, names and marks of spreadsheets', async () => {
    const { bodies, problems } = await read(`telefono,email
"+51 987 654 331 ::: +51 987 654 332",
"'+51987654333, '+51987654334",
"+51987654335/+51987654336",
"+51987654337 +51987654338",
"Casa: +51 987 654 339; cel: +51987654340",
"=""+51987654341""",
"+51 987 654 342 (WhatsApp) | 51987654342",
https://wa.me/51987654343?text=hola,
51987654344.00,
Sin teléfono,max@example.com
,"Ana <ana@example.com>, eva@example.com"
,"luz@example.com mia@example.com"
,"'paz@example.com y -"
,"'sol@example.com'"
+51 987 654 345 (esposa),ida@example.com`);
    expect(bodies.flatMap(contactsOf)).toEqual([
      ...Array.from({ length: 14 }, (_, index) => `telefono +519876543${31 + index}`),
      ...['max', 'ana', 'eva', 'luz', 'mia', 'paz', 'sol', 'ida'].map((name) => `email ${name}@example.com`),
    ]);
    expect(problems).toEqual([expect.stringMatching(/^16 without .*\(esposa\)/)]);
  });

  test('rejects a row with an error or a rounded number of a spreadsheet, but for such a text behind an apostrophe', async () => {
    const damages =
      '#N/A|#N/D|#¡VALOR!|#¿NOMBRE?|#NV|#REF!|#ЗНАЧ!|######|Err:508|5.19877E+11|5,2E+12|JosÃ©|Jos\ufffd|=SUMA(A1)'.split(
        '|',
      );
    const rows = damages.map((text, at) => `"${text}";a${at}@example.com\n"'${text}";b${at}@example.com`);
    const { bodies, problems } = await read(`firstName;email\n${rows.join('\n')}`);
    expect(namesOf(bodies)).toEqual(damages);
    expect(problems).toHaveLength(damages.length);
    for (const problem of problems)
      expect(problem).toMatch(/column "firstName" (?:is (?:an error|a number|a formula)|has letters)/);
  });

  test('gives a contact of several rows to the first of them', async () => {
    const rows = Array.from({ length: 40 }, (_, index) => `Ana ${index},ana${index % 4}@example.com\n`);
    const text = `firstName,email\n${rows.join('')}`;
    const { agency, run } = await begin('import customers', 'same.csv', text);
    expect((await run('--concurrency', '16')).stderr).toMatch(/4 created, 36 rejected/);
    const { data } = (await agency.get('/v1/customers')).body;
    expect(namesOf(data).sort()).toEqual(['Ana 0', 'Ana 1', 'Ana 2', 'Ana 3']);
  });

  test('has a value that a closed list does not have: it is skipped and named, and its row is imported', async () => {
    const people = await read('Nombre,Correo,Idioma\nAna,ana@example.com,es\nEva,eva@example.com,Quechua\n');
    expect(people.problems).toEqual([expect.stringMatching(/^3 without .* none of es, pt, en: "Quechua"/)]);
    expect(people.bodies).toMatchObject([{ preferredLanguage: 'es' }, { firstName: 'Eva' }]);
    const catalog = await readCatalog('Producto,Gama,Estado\nA,premium,Activo\nB,lujo,Consultar\n');
    expect(catalog.problems).toHaveLength(2);
    expect(catalog.bodies).toMatchObject([
      { title: 'A', status: 'active' },
      { title: 'B', status: 'draft' },
    ]);
  });
});

describe('a catalog', () => {
  const PRICES = 'title,fromPrice\nUno,"1.450"\nDos,';

  test('of Excel in Spanish is imported with the numbers that it means', async () => {
    const run = await importFixture('catalogo', 'products', '--yes');
    expect(run.stderr).toMatch(/windows-1252[\s\S]*Duración +→ +\(left out\)[\s\S]*Días +→ +durationDays/);
    expect((await run.agency.get('/v1/catalog/products')).body.data).toMatchObject([
      { title: 'Sin código', fromPrice: 100 },
      { externalReferenceCode: 'PE-01', fromPrice: 1450, priceMax: 1900.5, durationDays: 4, capacityMax: 16 },
    ]);
    const invalid = [3, 4, 5, 6, 7].map((line) => `${line} VALIDATION_FAILED`);
    expect(run.lines).toEqual([...invalid, '8 DUPLICATE_CODE', '10 VALIDATION_FAILED']);
    for (const cell of ['Vigencia desde"" is a day number', 'US$ 890,00', '120-180', 'Soles', 'S/ 2.300'])
      expect(run.rejected).toContain(cell);
  });

  test.each(['title\tfromPrice\nUno\t1,450', 'title,fromPrice\nUno,"1.450"'])(
    'of which no cell proves whether a number is a thousand is rejected as a whole: %j',
    async (text) => {
      await expect(readCatalog(text)).rejects.toThrow(/line 2: can be (1450 or 1\.45|1\.45 or 1450)/);
    },
  );

  test.each([
    ['1.450,00', 1450],
    ['1,450.00', 1.45],
  ])('that has %s reads 1.450 as %j', async (other, price) => {
    const { bodies } = await readCatalog(`${PRICES}"${other}"\n`);
    expect(bodies[0]).toMatchObject({ title: 'Uno', fromPrice: price });
  });

  test('comes back from its own export with every price, code and number', async () => {
    const from = await service.agency();
    const codes = { '007': 19.999, '03-04': 2.125, '123456789012': undefined };
    for (const [externalReferenceCode, fromPrice] of Object.entries(codes)) {
      const fields = { title: 'Trip', externalReferenceCode, fromPrice, validFrom: '2027-03-01' };
      await from.post('/v1/catalog/products', fields);
    }
    await customer(from, { contacts: [contact('whatsapp', '+51987654321')] });
    for (const delimiter of [',', ';']) {
      const [products, people] = [file('own.csv'), file('people.csv')];
      await crm(['export', 'products', '--delimiter', delimiter, '-o', products], at(from));
      await crm(['export', 'customers', '-o', people], at(from));
      // As Excel keeps text and rewrites the rest.
      expect(await readFile(products, 'utf8')).toMatch(/'007[\s\S]*'2027-03-01/);
      expect(await readFile(people, 'utf8')).toContain(",'+51987654321,");
      const { bodies } = await readFileAs(products, { resource: 'products' });
      const found = bodies.map(({ externalReferenceCode, fromPrice }) => [externalReferenceCode, fromPrice]);
      expect(Object.fromEntries(found)).toEqual(codes);
    }
  });

  test('creates no code twice, whether an earlier row or another product has it, and equal rows without a code once each', async () => {
    const rows = "externalReferenceCode,title\nA,New\nA,Newer\nB,Changed\nB,Old\n,Same\n',Same\n',Same\n";
    const { agency, run, rejected } = await begin('import products', 'codes.csv', rows);
    const { id } = await product(agency, { title: 'Old', externalReferenceCode: 'B' });
    expect((await run()).stderr).toMatch(/4 created, 3 rejected\.\n3 rows have no code: another import can/);
    expect(await rejected()).toMatch(/^3,DUPLICATE_CODE,.*is also in line 2: ""A""/m);
    expect(await rejected()).toContain(`is the code of product ${id}, which crm sync products updates`);
    expect((await run()).stderr).toMatch(/4 created before, 3 rejected\./);
    expect((await agency.get('/v1/catalog/products')).body.pagination.total).toBe(5);
  });

  test.each([
    ['Precio (US$)', 'USD'],
    ['Preço (R$)', 'BRL'],
    ['Precio S/', 'PEN'],
    ['Precio (usd/persona)', 'USD'],
  ])('the currency in the name %s of a column is %s', async (header, currency) => {
    const { bodies } = await readCatalog(`Producto;${header}\nA;1450\n`);
    expect(bodies).toMatchObject([{ fromPrice: 1450, currency }]);
  });

  test('a sign is no code of a currency', async () => {
    const { bodies, problems } = await readCatalog('title;Moneda\nA;AR$\nB;R$\nC;$\nD;USD\nE;Sol\n');
    expect(bodies).toMatchObject([{ currency: 'ARS' }, { currency: 'BRL' }, { currency: 'USD' }]);
    expect(problems.join()).toMatch(/"\$"\. Write three letters, such as USD.*: "Sol"/);
    const mixed = await readCatalog('Producto;Precio desde (USD);Precio hasta (MXN);Peso (kg)\nA;1;2;3\n');
    expect(mixed.problems).toEqual([expect.stringContaining('says USD, and another column MXN')]);
  });

  test.each([
    ['Producto;Precio USD;Precio PEN\nA;100;380\n', 'prices in 2 currencies: use --map "Precio USD=from'],
    ['Producto;Precio ($)\nA;100\n', 'does not say which currency'],
    ['Producto;Adulto USD\nA;100\n', 'has prices, and fills no field'],
    ['Producto;Precio USD;Agotado\nA;100;sí\n', 'add a column "status", or use --map "Agotado="'],
    ['Producto;Precio venta final\nA;100\n', 'has prices, and fills no field'],
    ['Producto;Precio USD;Visible en web\nA;100;a veces\n', 'may say what is on sale, and fills no field'],
  ])('is not imported without a question: %j', async (text, message) => {
    await expect(readCatalog(text)).rejects.toThrow(message);
  });

  test.each(['Published', 'Activo', 'Estado', 'Disponible'])(
    'column %s says what is on sale',
    async (header) => {
      const { bodies } = await readCatalog(`Producto,${header}\nA,1\nB,0\nC,-1\n`);
      expect(bodies.map(({ status }) => status)).toEqual(['active', 'paused', 'draft']);
    },
  );
});

describe('a file that is no table is rejected in words:', () => {
  const latin1 = (text: string) => Buffer.from(`nombre,email\n${text},jose@example.com\n`, 'latin1');
  const HEAD = 'Nombre,whatsapp,Notas';
  const GROUPS = ';Contacto;;Viaje\nNombre;Correo;Celular;Destino\nAna;ana@example.com;;\n';
  const TITLES = 'Clientes 2026;;\n;;\nNombre;Correo;Ciudad\nAna;ana@example.com;Lima\n';
  const OPEN = 'the row that begins in line 2 has a quote that is never closed';

  test.each<[string, string | Buffer, string]>([
    ['a vCard', 'BEGIN:VCARD\nFN:Ana\nEND:VCARD\n', 'is a vCard'],
    ['a workbook', Buffer.from('PK\x03\x04\x14\0'), 'is a workbook. Save its sheet as CSV UTF-8.'],
    ['a web page', '<html><table>', 'is a web page'],
    ['lines in quotes', '"Nombre,Correo"\n"Ana,ana@example.com"\n', 'Line 1 has several names in one cell'],
    ['groups of columns above the header', GROUPS, 'are in line 2: delete what is above it ("Contacto")'],
    ['titles above the header', TITLES, 'are in line 3: delete what is above it ("Clientes 2026")'],
    ['no header', 'Ana;ana@example.com\nEva;eva@example.com\n', 'Line 1 has data (ana@example.com), not'],
    ['letters of Mac Roman', latin1('Jos\x8e'), 'may be of a Mac or of DOS'],
    ['letters of DOS', latin1('Mar\xa1a Jos\x82'), 'may be of a Mac or of DOS'],
    ['a quote in the last column', `${HEAD}\nAna,+5191,"Cusco\nEva,+5192,\nLuz,+5193,5" TV\n`, OPEN],
    ['quotes beside semicolons', 'Nombre;Notas\n"Ana;+5191;x\nEva;+5192;"y\nLuz;+5193;z"\n', OPEN],
  ])('%s', async (_what, text, message) => {
    await expect(read(text)).rejects.toThrow(message);
  });

  test('but texts of several lines, and quotes that are text, are imported as they are', async () => {
    const { bodies } = await read(`${HEAD}
Ana,+51987654301,"Hola,\nsomos dos, y queremos ir"
Eva,+51987654302,"""Cusco""\nen julio, 999 soles"
Luz,+51987654303,TV de 5" y más
`);
    expect(bodies.map(({ summary }) => summary)).toEqual([
      'Hola,\nsomos dos, y queremos ir',
      '"Cusco"\nen julio, 999 soles',
      'TV de 5" y más',
    ]);
  });
});
