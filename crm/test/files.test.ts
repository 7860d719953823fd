import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { customer } from '../../test/support/records.ts';
import { crm, useCrm } from './command.ts';

/** Files as people have them, and what a clerk reads about them. The files of `fixtures/` are made up. */

const { service, file, at } = useCrm();

let count = 0;
/** Writes a file of its own and imports it; the reasons are those of its rejected rows, by line. */
async function importOf(text: string | Buffer, args: readonly string[] = [], resource = 'customers') {
  count += 1;
  const path = file(`file-${count}.csv`);
  await writeFile(path, text);
  return imported(path, ['import', resource, path, '--yes', '--concurrency', '1', ...args]);
}

async function imported(path: string, args: readonly string[]) {
  const agency = await service.agency();
  const ended = await crm(args, at(agency));
  const rejected = await readFile(path.replace('.csv', '.rejected.csv'), 'utf8').catch(() => '');
  const lines = [...rejected.matchAll(/^(\d+)[,;]([A-Z_]+)[,;]/gm)].map(
    ([, line, code]) => `${line} ${code}`,
  );
  const path1 = args.includes('products') ? '/v1/catalog/products' : '/v1/customers';
  const { data } = (await agency.get(`${path1}?limit=100`)).body;
  return { ...ended, agency, rejected, lines, data: data.reverse() };
}

/** Each contact as `channel value`. */
const contactsOf = (row: { contacts: { identifierType: string; identifierValue: string }[] }): string[] =>
  row.contacts.map(({ identifierType, identifierValue }) => `${identifierType} ${identifierValue}`);

describe('an export of another product', () => {
  const VALIDATION = 'VALIDATION_FAILED';
  const CONFLICT = 'CUSTOMER_CONTACT_CONFLICT';

  test.each([
    [
      'wa',
      'a WhatsApp gateway',
      12,
      13,
      'BR',
      [`4 ${CONFLICT}`, ...[5, 7, 8, 18].map((line) => `${line} ${VALIDATION}`)],
    ],
    ['google', 'Google Contacts', 4, 5, 'PE', ['4 CONTACT_SKIPPED', `6 ${VALIDATION}`, `8 ${VALIDATION}`]],
    [
      'hubspot',
      'HubSpot contacts',
      3,
      3,
      'PE',
      ['3 CONTACT_SKIPPED', `4 ${VALIDATION}`, '5 CONTACT_SKIPPED', `6 ${CONFLICT}`],
    ],
    ['kommo', 'Kommo', 2, 2, 'PE', [`4 ${VALIDATION}`, `5 ${CONFLICT}`]],
  ])(
    '%s is recognized, and its good rows are imported',
    async (name, product, good, withCountry, country, lines) => {
      const path = file(`${name}.csv`);
      await copyFile(fileURLToPath(new URL(`fixtures/${name}.csv`, import.meta.url)), path);
      const run = await imported(path, ['import', 'customers', path]);
      expect(run.stderr).toContain(`This is an export of ${product}.`);
      expect(run.lines).toEqual(lines);
      expect(run.data).toHaveLength(good);
      expect(run.code).toBe(2);
      const trial = await crm(['import', 'customers', path, '--dry-run', '--country', country]);
      expect(trial.stderr).toContain(`Dry run: ${withCountry} customers would be sent`);
    },
  );

  test('is mapped whole: several names, several contacts in a cell, own labels of a product left out', async () => {
    const path = file('google.csv');
    const { stdout } = await crm(['import', 'customers', path, '--dry-run', '--country', 'PE']);
    const [ana, luis] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(ana).toMatchObject({
      firstName: 'Ana María',
      lastName: 'de la Cruz Gómez',
      tags: ['Clientes VIP'],
      city: 'Lima',
      summary: 'Luna de miel,\nprefiere "ventanilla"',
    });
    expect(contactsOf(ana)).toEqual([
      'email ana.cruz@example.com',
      'email anita@example.com',
      'telefono +51 987 654 401',
    ]);
    expect(luis.contacts).toHaveLength(3);
    expect(luis.contacts[2].identifierValue).toBe('+5114445555');
  });

  const GOOGLE_BEFORE_2024 =
    'Name,Given Name,Additional Name,Family Name,Yomi Name,Given Name Yomi,Additional Name Yomi,Family Name Yomi,Name Prefix,Name Suffix,Initials,Nickname,Short Name,Maiden Name,Birthday,Gender,Location,Billing Information,Directory Server,Mileage,Occupation,Hobby,Sensitivity,Priority,Subject,Notes,Language,Photo,Group Membership,E-mail 1 - Type,E-mail 1 - Value,Phone 1 - Type,Phone 1 - Value,Organization 1 - Type,Organization 1 - Name';
  const OUTLOOK =
    "First Name,Middle Name,Last Name,Title,Suffix,Nickname,E-mail Address,E-mail 2 Address,E-mail 3 Address,Home Phone,Home Phone 2,Business Phone,Business Phone 2,Mobile Phone,Car Phone,Other Phone,Primary Phone,Pager,Business Fax,Home Fax,Company Main Phone,Assistant's Phone,Job Title,Company,Business City,Business Country/Region,Home City,Home Country/Region,Web Page,Birthday,Notes,Categories";
  const PIPEDRIVE =
    'Pessoa - Nome,Pessoa - Etiquetas,Pessoa - Organização,Pessoa - E-mail - Trabalho,Pessoa - E-mail - Residencial,Pessoa - E-mail - Outros,Pessoa - Telefone - Trabalho,Pessoa - Telefone - Residencial,Pessoa - Telefone - Celular,Pessoa - Telefone - Outros,Pessoa - Negócios fechados,Pessoa - Proprietário';
  const KOMMO =
    "ID,Lead título,Empresa lead 's,Contato principal,Empresa do contato,Lead usuário responsável,Etapa do lead,Funil de vendas,Venda,Data Criada,Lead tags,Posição (contato),Email comercial (contato),Email pessoal (contato),Outro email (contato),Telefone comercial (contato),Tel. direto com. (contato),Celular (contato),Faz (contato),Telefone residencial (contato),Outro telefone (contato),Nota 1,Nota 2";

  test.each<[string, string, Record<string, string>, object, string[]]>([
    [
      'Google Contacts',
      GOOGLE_BEFORE_2024,
      {
        Name: 'Ana Gil',
        'Given Name': 'Ana',
        'Family Name': 'Gil',
        'Group Membership': 'VIP ::: * myContacts',
        'E-mail 1 - Value': 'ana@example.com',
        'Phone 1 - Value': '+51 987 654 321',
      },
      { firstName: 'Ana', lastName: 'Gil', tags: ['VIP'] },
      ['email ana@example.com', 'telefono +51987654321'],
    ],
    [
      'Outlook',
      OUTLOOK,
      {
        'First Name': 'Ana',
        'Middle Name': 'Eva',
        'Last Name': 'Gil',
        'E-mail Address': 'ana@example.com',
        'Business Phone': '+51 1 444 5555',
        'Mobile Phone': '+51 987 654 321',
        "Assistant's Phone": '+51 987 654 322',
        'Home City': 'Lima',
        Categories: 'VIP;Playa',
      },
      { firstName: 'Ana Eva', lastName: 'Gil', tags: ['VIP', 'Playa'], city: 'Lima' },
      ['email ana@example.com', 'telefono +5114445555', 'whatsapp +51987654321'],
    ],
    [
      'Pipedrive people',
      PIPEDRIVE,
      {
        'Pessoa - Nome': 'Ana Gil',
        'Pessoa - Etiquetas': 'Quente, VIP',
        'Pessoa - E-mail - Outros': 'ana@example.com',
        'Pessoa - Telefone - Celular': '+55 11 98888-7701',
        'Pessoa - Telefone - Trabalho': '+55 11 3888-7701',
      },
      { firstName: 'Ana Gil', tags: ['Quente', 'VIP'] },
      ['email ana@example.com', 'telefono +551138887701', 'whatsapp +5511988887701'],
    ],
    [
      'Kommo',
      KOMMO,
      {
        'Lead título': 'Lead #7',
        'Contato principal': 'Ana',
        'Lead tags': 'vip',
        'Email pessoal (contato)': 'ana@example.com',
        'Celular (contato)': "'+5511988887701",
        'Telefone comercial (contato)': "'+551138887701",
        'Nota 1': 'um',
        'Nota 2': 'dois',
      },
      { firstName: 'Ana', tags: ['vip'], summary: 'um\ndois' },
      ['email ana@example.com', 'telefono +551138887701', 'whatsapp +5511988887701'],
    ],
    [
      'HubSpot contacts',
      'ID de registro,Nombre,Apellidos,Correo,Número de teléfono,Número de WhatsApp,Propietario del contacto,Estado del lead,Ciudad,País/región',
      {
        Nombre: 'Ana',
        Apellidos: 'Gil',
        Correo: 'ana@example.com',
        'Número de WhatsApp': '+51 987 654 321',
        'Propietario del contacto': 'marta@agencia.example',
        'País/región': 'Perú',
      },
      { firstName: 'Ana', lastName: 'Gil', country: 'Perú' },
      ['email ana@example.com', 'whatsapp +51987654321'],
    ],
    [
      'a WhatsApp gateway',
      'country_code,country_name,phone_number,is_my_contact,saved_name,public_name,is_business',
      { country_code: '+57', country_name: 'Colombia', phone_number: '+573248559947', public_name: 'Ana 🌴' },
      { firstName: 'Ana 🌴', country: null },
      ['whatsapp +573248559947'],
    ],
  ])('%s, with all of its columns', async (product, header, cells, fields, contacts) => {
    const row = header.split(',').map((name) => `"${cells[name] ?? ''}"`);
    const { stderr, data } = await importOf(`${header}\n${row.join()}\n`);
    expect(stderr).toContain(`This is an export of ${product}.`);
    expect(data).toMatchObject([fields]);
    expect(contactsOf(data[0]).sort()).toEqual(contacts);
  });

  test('imported as a catalog is rejected', async () => {
    const run = await importOf(
      'Record ID,First Name,Email,Lifecycle Stage\n1,Ana,ana@example.com,lead\n',
      [],
      'products',
    );
    expect(run).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('HubSpot contacts: use crm import customers'),
    });
  });
});

describe('a table of people', () => {
  test('has its columns by their names and cells; contacts that no field takes are named, and stop even --yes', async () => {
    const rows = [
      'Nombre completo;Apellido;Tel. casa;Teléfono;WhatsApp;Dato;Otro',
      'Ana Pérez;Pérez;+51 1 444-5555;+51 987 654 321;sí;ana@example.com;+51 987 654 322',
      'Eva Gil Ruiz;Gil Ruiz;;+51 987 654 323 y +51 987 654 324;no;;',
    ].join('\n');
    const stopped = await importOf(rows);
    expect(stopped).toMatchObject({ code: 1, data: [] });
    expect(stopped.stderr).toContain('Column "Dato" has addresses (ana@example.com), and fills no field');
    expect(stopped.stderr).toContain('use --map "Otro=contacts.telefono", or --map "Otro=" to leave it out');
    const { data } = await importOf(rows, ['--map', 'Dato=contacts.email', '--map', 'Otro=']);
    expect(data.map(contactsOf)).toEqual([
      ['telefono +5114445555', 'telefono +51987654321', 'email ana@example.com'],
      ['telefono +51987654323', 'telefono +51987654324'],
    ]);
    expect(data).toMatchObject([
      { firstName: 'Ana', lastName: 'Pérez' },
      { firstName: 'Eva', lastName: 'Gil Ruiz' },
    ]);
  });

  test.each([
    'Prénom;Nom;Portable;Courriel;Ville;Pays',
    'Vorname;Nachname;Handy;E-Mail;Stadt;Land',
    'Nome;Cognome;Cellulare;Email;Città;Paese',
  ])('%s: all of its columns are imported', async (header) => {
    const { data } = await importOf(`${header}\nAna;Gil;+39 333 123 4567;ana@example.com;Roma;Italia\n`);
    expect(data).toMatchObject([{ firstName: 'Ana', lastName: 'Gil', city: 'Roma', country: 'Italia' }]);
    expect(data.map(contactsOf)).toEqual([['whatsapp +393331234567', 'email ana@example.com']]);
  });

  test('has second names and surnames behind the first ones', async () => {
    const { data } = await importOf(
      'Nombre,Segundo nombre,Apellido Paterno,Apellido Materno,Celular\nAna,María,Gil,Ruiz,+51 987 654 321\nLuis,,Paz,,+51 987 654 322\n',
    );
    expect(data).toMatchObject([
      { firstName: 'Ana María', lastName: 'Gil Ruiz' },
      { firstName: 'Luis', lastName: 'Paz' },
    ]);
  });

  test('whose column has a known name and other cells, or a name in another script, says which field fits', async () => {
    const named = await importOf('Телефон,email\n+51 987 654 321,ana@example.com\n');
    expect(named).toMatchObject({ code: 1, data: [] });
    expect(named.stderr).toContain('Column "Телефон" has telephone numbers');
    const { code, stderr } = await importOf('Contacto,Nombre\n+51 987 654 321,Ana\n');
    expect(stderr).toContain(
      'No column fills a contact. Column "Contacto" has telephone numbers (+51 987 654 321)',
    );
    expect(code).toBe(1);
  });

  test('with guessed columns stops where nobody is asked, and says how to confirm them', async () => {
    const agency = await service.agency();
    await writeFile(file('guessed.csv'), 'Nombre,Correo\nAna,ana@example.com\n');
    const run = (...args: string[]) => crm(['import', 'customers', file('guessed.csv'), ...args], at(agency));
    const stderr = expect.stringMatching(
      /"Nombre" as firstName, "Correo" as contacts\.email.*--yes, or --map/,
    );
    expect(await run()).toMatchObject({ code: 1, stderr });
    const maps = ['--map', 'Nombre=firstName', '--map', 'Correo=contacts.email'];
    expect((await run(...maps)).stderr).toContain('1 created');
    await writeFile(file('guessed.csv'), 'código,title\nA,Trip\n');
    const sync = await crm(['sync', 'products', file('guessed.csv')], at(agency));
    expect(sync).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('"código" as externalReferenceCode'),
    });
  });

  const SHEET =
    'firstName,whatsapp,email\nAna,987 654 321,ana@example.com\nEva,(01) 444-5555,\nLuz,0051 987 654 322,\nMía,123,mia@example.com\nPaz,+1 305 555 0131,';

  test('gets the country code of its numbers, where they are valid in the country', async () => {
    const { data, lines } = await importOf(SHEET, ['--country', 'pe']);
    expect(data.map((row: never) => contactsOf(row)[0])).toEqual([
      'whatsapp +51987654321',
      'whatsapp +5114445555',
      'whatsapp +51987654322',
      'email mia@example.com',
      'whatsapp +13055550131',
    ]);
    expect(lines).toEqual(['5 CONTACT_SKIPPED']);
    expect((await importOf(SHEET, ['--country', 'XX'])).stderr).toContain(
      'two letters of a country, such as PE',
    );
  });

  test('loses no contact silently: a bad one is skipped and named, or its row is rejected', async () => {
    const skipping = await importOf(SHEET);
    expect(skipping.lines).toEqual(['2 CONTACT_SKIPPED', '3 VALIDATION_FAILED', '5 CONTACT_SKIPPED']);
    expect(skipping.rejected).toContain(
      'imported without a contact: column ""whatsapp"" must start with + and the country code: ""987 654 321""',
    );
    expect(skipping).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/4 created, 1 rejected, 2 with a skipped/),
    });
    const { data, lines } = await importOf(SHEET, ['--on-bad-contact', 'reject']);
    expect(data).toHaveLength(2);
    expect(lines).toEqual([2, 3, 5].map((line) => `${line} VALIDATION_FAILED`));
  });

  test('can have several contacts in a cell, with labels, names and marks of spreadsheets', async () => {
    const cells = [
      '+51 987 654 331 ::: +51 987 654 332',
      "'+51987654333, '+51987654334",
      '+51987654335/+51987654336',
      '+51987654337 +51987654338',
      'Casa: +51 987 654 339; cel: +51987654340',
      '=""+51987654341""',
      '+51 987 654 342 (WhatsApp) | 51987654342',
    ];
    const rows = cells.map((cell) => `"${cell}",`);
    const mails = [
      'Ana <ana@example.com>, eva@example.com',
      'luz@example.com mia@example.com',
      "'paz@example.com y -",
      "'sol@example.com'",
    ];
    const { data, lines } = await importOf(
      ['telefono,email', ...rows, ...mails.map((cell) => `,"${cell}"`)].join('\n'),
    );
    expect(lines).toEqual([]);
    expect(data.flatMap(contactsOf)).toEqual([
      ...Array.from({ length: 12 }, (_, index) => `telefono +519876543${31 + index}`),
      ...['ana', 'eva', 'luz', 'mia', 'paz', 'sol'].map((name) => `email ${name}@example.com`),
    ]);
    const ofOther = await importOf('telefono,email\n+51 987 654 321 (esposa),ana@example.com\n');
    expect(ofOther.rejected).toMatch(/^2,CONTACT_SKIPPED,.*\(esposa\)/m);
  });

  test.each([
    '#N/A',
    '#N/D',
    '#¡VALOR!',
    '#¿NOMBRE?',
    '#NV',
    '#REF!',
    '#ЗНАЧ!',
    '######',
    'Err:508',
    '5.19877E+11',
    '5,2E+12',
  ])('that has %j of a spreadsheet in a field is rejected in this row', async (text) => {
    const { data, rejected } = await importOf(
      `firstName;email\n"${text}";ana@example.com\n"'${text}";eva@example.com\n`,
    );
    expect(data).toMatchObject([{ firstName: text }]);
    expect(rejected).toMatch(
      /^2;VALIDATION_FAILED;.*column ""firstName"" is (?:an error of|a number that) your/m,
    );
  });

  test('gives a contact of several rows to the first of them', async () => {
    const rows = Array.from({ length: 40 }, (_, index) => `Ana ${index},ana${index % 4}@example.com`);
    const { data, lines } = await importOf(`firstName,email\n${rows.join('\n')}\n`, ['--concurrency', '16']);
    expect(data.map(({ firstName }: { firstName: string }) => firstName).sort()).toEqual([
      'Ana 0',
      'Ana 1',
      'Ana 2',
      'Ana 3',
    ]);
    expect(lines).toHaveLength(36);
  });
});

describe('a catalog', () => {
  const PRICES = 'title,fromPrice\nUno,"1.450"\nDos,';

  test('of Excel in Spanish is imported with the numbers that it means', async () => {
    const path = file('catalogo.csv');
    await copyFile(fileURLToPath(new URL('fixtures/catalogo.csv', import.meta.url)), path);
    const { data, lines, rejected, stderr } = await imported(path, [
      'import',
      'products',
      path,
      '--yes',
      '--concurrency',
      '1',
    ]);
    expect(stderr).toMatch(/windows-1252[\s\S]*Duración +→ +\(left out\)[\s\S]*Días +→ +durationDays/);
    expect(data).toMatchObject([
      { externalReferenceCode: 'PE-01', fromPrice: 1450, priceMax: 1900.5, durationDays: 4, capacityMax: 16 },
      { title: 'Sin código', fromPrice: 100 },
    ]);
    expect(lines).toEqual([
      ...[3, 4, 5, 6, 7].map((line) => `${line} VALIDATION_FAILED`),
      '8 DUPLICATE_CODE',
      '10 VALIDATION_FAILED',
    ]);
    for (const cell of [
      'Vigencia desde"" is a day number',
      'US$ 890,00',
      '120-180',
      'Soles',
      'S/ 2.300',
      'PE-01',
      'Producto',
    ])
      expect(rejected).toContain(cell);
  });

  test.each([
    ['1,450', ';'],
    ['1.450', ';'],
    ['1,450', '\t'],
    ['1.450', ','],
  ])(
    'of which no cell proves whether %j is a thousand is rejected as a whole (%j)',
    async (price, delimiter) => {
      const rows = [
        ['title', 'fromPrice'],
        ['Uno', `"${price}"`],
        ['Dos', '100'],
      ].map((row) => row.join(delimiter));
      const run = await importOf(rows.join('\n'), [], 'products');
      expect(run).toMatchObject({ code: 1, data: [] });
      expect(run.stderr).toMatch(/Column "fromPrice", line 2: can be (1450 or 1\.45|1\.45 or 1450)/);
    },
  );

  test.each([
    ['1.450,00', 1450],
    ['12,5', 1450],
    ['1.450.000', 1450],
    ['0.5', 1.45],
    ['1,450.00', 1.45],
  ])('that has %s reads 1.450 as %j', async (other, price) => {
    const { data } = await importOf(`${PRICES}"${other}"\n`, [], 'products');
    expect(data[0]).toMatchObject({ title: 'Uno', fromPrice: price });
  });

  test('comes back from its own export with every price, code and number', async () => {
    const from = await service.agency();
    for (const [code, fromPrice] of [
      ['007', 19.999],
      ['03-04', 2.125],
      ['123456789012', null],
    ])
      await from.post('/v1/catalog/products', {
        title: 'Trip',
        externalReferenceCode: code,
        fromPrice,
        validFrom: '2027-03-01',
      });
    await customer(from, { contacts: [{ identifierType: 'whatsapp', identifierValue: '+51987654321' }] });
    for (const delimiter of [',', ';']) {
      const [products, people] = [file('own.csv'), file('people.csv')];
      await crm(['export', 'products', '--delimiter', delimiter, '-o', products], at(from));
      await crm(['export', 'customers', '-o', people], at(from));
      // As Excel keeps text and rewrites the rest.
      expect(await readFile(products, 'utf8')).toMatch(/'007[\s\S]*'2027-03-01/);
      expect(await readFile(people, 'utf8')).toContain(",'+51987654321,");
      const { data } = await imported(products, ['import', 'products', products]);
      expect(
        data
          .map(({ externalReferenceCode: code, fromPrice }: Record<string, unknown>) => [code, fromPrice])
          .sort(),
      ).toEqual([
        ['007', 19.999],
        ['03-04', 2.125],
        ['123456789012', null],
      ]);
    }
  });

  test('creates no code twice, whether an earlier row or another product has it, and equal rows without a code once each', async () => {
    const agency = await service.agency();
    const { id } = (await agency.post('/v1/catalog/products', { title: 'Old', externalReferenceCode: 'B' }))
      .body;
    const path = file('codes.csv');
    await writeFile(path, 'externalReferenceCode,title\nA,New\nA,Newer\nB,Changed\nB,Old\n,Same\n,Same\n');
    const run = () => crm(['import', 'products', path], at(agency));
    expect((await run()).stderr).toMatch(/3 created, 3 rejected\.\n2 rows have no code: another import can/);
    const rejected = await readFile(file('codes.rejected.csv'), 'utf8');
    expect(rejected).toMatch(/^3,DUPLICATE_CODE,.*is also in line 2: ""A""/m);
    expect(rejected).toMatch(
      new RegExp(
        `^4,EXISTING_CODE,.*is the code of product ${id}, which crm sync products updates: ""B""`,
        'm',
      ),
    );
    expect((await run()).stderr).toMatch(/3 created before, 3 rejected\./);
    expect((await agency.get('/v1/catalog/products')).body.pagination.total).toBe(4);
  });
});

describe('a file that is no table', () => {
  const MAC = Buffer.from('nombre,email\nJos\x8e,jose@example.com\n', 'latin1');
  const DOS = Buffer.from('nombre,email\nMar\xa1a Jos\x82,jose@example.com\n', 'latin1');

  test.each<[string, string | Buffer, string]>([
    ['a vCard', 'BEGIN:VCARD\nFN:Ana\nEND:VCARD\n', 'is a vCard'],
    ['a workbook', Buffer.from('PK\x03\x04\x14\0'), 'is a workbook. Save its sheet as CSV UTF-8.'],
    ['a web page', '<html><table>', 'is a web page'],
    [
      'titles above the header',
      'Clientes 2026;;\n;;\nNombre;Correo;Ciudad\nAna;ana@example.com;Lima\n',
      'are in line 3: delete what is above it ("Clientes 2026")',
    ],
    [
      'no header',
      'Ana;ana@example.com\nEva;eva@example.com\n',
      'Line 1 has data (ana@example.com), not the names',
    ],
    ['letters of Mac Roman', MAC, 'may be of a Mac or of DOS'],
    ['letters of DOS', DOS, 'may be of a Mac or of DOS'],
    [
      'a mark of UTF-8 and bytes that are not',
      Buffer.concat([Buffer.from('\ufeffnombre,email\n'), Buffer.from([0xed, 0xf1])]),
      'line 2: a byte is not UTF-8',
    ],
  ])('such as %s is rejected in words', async (_what, text, message) => {
    expect(await importOf(text)).toMatchObject({
      code: 1,
      data: [],
      stderr: expect.stringContaining(message),
    });
  });

  test('or standard input is rejected in words', async () => {
    const stderr = expect.stringContaining('Standard input cannot be imported');
    expect(await crm(['import', 'customers', '-', '--dry-run'])).toMatchObject({ code: 1, stderr });
  });
});

test('a server that cannot be reached ends the command at once, naming --url and CRM_URL', async () => {
  await writeFile(file('reach.csv'), 'email\nana@example.com\n');
  for (const args of [
    ['import', 'customers', file('reach.csv')],
    ['export', 'team'],
  ]) {
    const { code, stderr } = await crm(args, { url: 'http://127.0.0.1:1', key: 'key' });
    expect(stderr).toMatch(
      /http:\/\/127\.0\.0\.1:1 cannot be reached \(.*\)\. Set the address .* --url or CRM_URL/,
    );
    expect(code).toBe(1);
  }
});

test('an import rejects rows whose records were archived since, and ends with 2', async () => {
  const agency = await service.agency();
  const path = file('archived.csv');
  await writeFile(path, 'firstName,email\nAna,ana@example.com\nEva,eva@example.com\n');
  await crm(['import', 'customers', path], at(agency));
  const { data } = (await agency.get('/v1/customers?query=eva')).body;
  await agency.delete(`/v1/customers/${data[0].id}`);
  const { code, stderr } = await crm(['import', 'customers', path], at(agency));
  expect(stderr).toMatch(/1 created before, 1 rejected/);
  expect(code).toBe(2);
});

describe('what a file would lose in silence', () => {
  const HEAD = 'Nombre,whatsapp,Notas';
  test.each([
    [
      'in the last column',
      `${HEAD}\nAna,+51987654301,"quiere Cusco\nEva,+51987654302,\nLuz,+51987654303,5" de TV\n`,
      2,
    ],
    ['in the first column', `${HEAD}\nAna,+51987654301,\n"Eva,+51987654302,\nLuz",+51987654303,\n`, 3],
    [
      'before a quote in a later cell',
      `${HEAD}\nAna,+51987654301,"a\nEva,+51987654302,"b"\nLuz,+51987654303,\n`,
      2,
    ],
    [
      'in a file with semicolons',
      `Nombre;whatsapp;Notas\n"Ana;+51987654301;x\nEva;+51987654302;"y\nLuz;+51987654303;z"\n`,
      2,
    ],
  ])(
    'a quote that is opened and not closed, %s: the file is rejected with its line',
    async (_where, text, line) => {
      const run = await importOf(text);
      expect(run).toMatchObject({ code: 1, data: [] });
      expect(run.stderr).toContain(`the row that begins in line ${line} has a quote that is never closed`);
    },
  );

  test('texts of several lines and quotes that are text are imported as they are', async () => {
    const { data, code } = await importOf(
      `${HEAD}\nAna,+51987654301,"Hola,\nsomos dos, y queremos ir"\nEva,+51987654302,"""Cusco""\nen julio, 999 soles"\nLuz,+51987654303,TV de 5" y más\n`,
    );
    expect(code).toBe(0);
    expect(data.map(({ summary }: { summary: string }) => summary)).toEqual([
      'Hola,\nsomos dos, y queremos ir',
      '"Cusco"\nen julio, 999 soles',
      'TV de 5" y más',
    ]);
  });

  test.each([
    'Record Id,First Name,Last Name,Email,Contact Owner,Mailing City',
    'Nombre,Apellido,Propietario del contacto,Correo,Ciudad,Estado',
    'First Name,Last Name,Email Address,Mobile Phone,City,Tags',
    'Nombre,Número,Correo,Ciudad,Etiquetas,Notas',
    'Nombre,Dirección de correo electrónico,Teléfono,Ciudad,Etiquetas,Notas',
  ])('%s: common names are no export of another product', async (header) => {
    const { stderr } = await importOf(`${header}\nAna,,,,,\n`);
    expect(stderr).not.toContain('This is an export of');
  });

  test('a column of a recognized export that its product does not have is a guess like in any other file', async () => {
    const { stderr, data } = await importOf(
      'nome;pushname;jid;Ciudad;Idioma\nAna;ana;51987654321@s.whatsapp.net;Lima;Español\n',
    );
    expect(stderr).toMatch(/Idioma\s+→\s+preferredLanguage \?/);
    expect(data).toMatchObject([{ firstName: 'Ana', city: 'Lima', preferredLanguage: 'es' }]);
  });

  test('the address of an owner is nobody else’s, and no advice says to map it', async () => {
    const { stderr, data } = await importOf(
      'Nombre,Correo,Propietario,E-mail del vendedor,Dono\nAna,ana@example.com,marta@agency.example,marta@agency.example,marta@agency.example\n',
    );
    expect(stderr).not.toContain('has addresses');
    expect(data.map(contactsOf)).toEqual([['email ana@example.com']]);
  });

  test('a value that a closed list does not have is skipped and named; its row is imported', async () => {
    const people = await importOf(
      'Nombre,Correo,Idioma\nAna,ana@example.com,es\nEva,eva@example.com,Quechua\n',
    );
    expect(people).toMatchObject({ code: 2, lines: ['3 CELL_SKIPPED'] });
    expect(people.rejected).toContain('is none of es, pt, en: ""Quechua""');
    expect(people.data).toMatchObject([{ firstName: 'Ana' }, { firstName: 'Eva', preferredLanguage: null }]);
    const catalog = await importOf(
      'Producto,Gama,Estado\nA,premium,Activo\nB,lujo,Consultar\n',
      [],
      'products',
    );
    expect(catalog.lines).toEqual(['3 CELL_SKIPPED']);
    expect(catalog.data).toMatchObject([
      { title: 'A', status: 'active' },
      { title: 'B', budgetTier: null, status: 'draft' },
    ]);
  });

  test.each([
    ['Precio (US$)', 'USD'],
    ['Precio en dólares', 'USD'],
    ['Preço (R$)', 'BRL'],
    ['Precio AR$', 'ARS'],
    ['Precio S/', 'PEN'],
    ['Price CHF', 'CHF'],
  ])('the currency in the name %s of a column is %s', async (header, currency) => {
    const { data } = await importOf(`Producto;${header}\nA;1450\n`, [], 'products');
    expect(data).toMatchObject([{ fromPrice: 1450, currency }]);
  });

  test('a sign is no code of a currency', async () => {
    const { data, rejected } = await importOf(
      'title;fromPrice;Moneda\nA;1;AR$\nB;2;R$\nC;3;$\nD;4;USD\n',
      [],
      'products',
    );
    expect(data).toMatchObject([{ currency: 'ARS' }, { currency: 'BRL' }, { currency: 'USD' }]);
    expect(rejected).toContain('is not the code of a currency: ""$"". Write three letters, such as USD');
  });

  test.each([
    [
      'Producto;Precio USD;Precio PEN\nA;100;380\n',
      'have prices in 2 currencies: use --map "Precio USD=fromPrice"',
    ],
    ['Producto;Precio ($)\nA;100\n', 'does not say which currency'],
    ['Producto;Precio venta final\nA;100\n', 'has prices, and fills no field'],
    ['Producto;Precio USD;Visible en web\nA;100;a veces\n', 'may say what is on sale, and fills no field'],
  ])('a catalog is not imported without a question: %j', async (text, message) => {
    const run = await importOf(text, [], 'products');
    expect(run).toMatchObject({ code: 1, data: [] });
    expect(run.stderr).toContain(message);
  });

  test.each(['Published', 'Activo', 'Estado', 'Disponible'])(
    'column %s says what is on sale',
    async (header) => {
      const { data } = await importOf(`Producto,${header}\nA,1\nB,0\nC,-1\n`, [], 'products');
      expect(data).toMatchObject([{ status: 'active' }, { status: 'paused' }, { status: 'draft' }]);
    },
  );
});
