import fc from 'fast-check';
import { expect, test } from 'vitest';
import { web } from '../../test/support/records.ts';
import type { Agency } from '../../test/support/service.ts';
import { crm, useCrm } from './command.ts';

const { service, file, at, begin } = await useCrm();

/** Text that PostgreSQL stores, mostly of characters with a meaning in tables, spreadsheets and terminals. */
const texts = fc.string({
  maxLength: 12,
  unit: fc.oneof(
    fc.constantFrom(
      '\r\n',
      'aÃ©',
      ...'\n\r\t,;|"\' =+-@＝[{\\',
      ...'añ10.\u00a0\ufeff\u2028\u0085\u001b😀\u202e\ufffd',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((text) => text !== '\0'),
  ),
});

let seed = Number(process.env.FUZZ_SEED ?? 18);

/** The same values in every run; FUZZ_SEED sets others. */
const sample = <Value>(values: fc.Arbitrary<Value>, count: number): Value[] => {
  seed += 1;
  return fc.sample(values, { numRuns: count, seed });
};

/** An object with any text, or null, in each of these fields. */
const textFields = (...names: string[]) =>
  fc.record(Object.fromEntries(names.map((name) => [name, fc.option(texts)])));

const joined = (...parts: fc.Arbitrary<object>[]) =>
  fc.tuple(...parts).map((all) => Object.assign({}, ...all));
const lists = (...names: string[]) =>
  fc.record(Object.fromEntries(names.map((one) => [one, fc.array(texts.filter(Boolean), { maxLength: 3 })])));

const product = joined(
  textFields('shortDescription', 'description', 'operator', 'priceBasis', 'validFrom'),
  lists('includes', 'excludes'),
  fc.record({
    title: texts.map((text) => `${text}xyz`),
    currency: fc.option(fc.constantFrom('USD', '=1;', ' a ', "'\n'")),
    fromPrice: fc.option(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map((one) => one + 0)),
    variants: fc.array(fc.record({ label: texts.map((text) => `${text}x`), includes: fc.array(texts) }), {
      maxLength: 2,
    }),
  }),
);

const customer = joined(
  textFields('firstName', 'lastName', 'city', 'country', 'summary'),
  lists('tags'),
  fc.record({ preferredLanguage: fc.constantFrom('es', 'pt', 'en', null) }),
);

const RECORDS = 30;
async function populatedAgency(): Promise<Agency> {
  const agency = await service.agency();
  for (const [index, fields] of sample(product, RECORDS).entries()) {
    const externalReferenceCode = `${sample(texts, 1)[0]}${index}`;
    const { status, text } = await agency.post('/v1/catalog/products', { ...fields, externalReferenceCode });
    expect(status, text).toBe(201);
  }
  for (const [index, fields] of sample(customer, RECORDS).entries()) {
    const values = sample(texts, 3).map((text, at) => `${text}${index} ${at}`);
    const { status, text } = await agency.post('/v1/customers', { ...fields, contacts: values.map(web) });
    expect(status, text).toBe(201);
  }
  return agency;
}

const GENERATED = ['id', 'createdAt', 'updatedAt', 'phoneNumber'];

/** The records without what the service generates, in no order. */
const written = (records: object[]): string[] =>
  records
    .map((record) => JSON.stringify(record, (name, value) => (GENERATED.includes(name) ? undefined : value)))
    .sort();

const PATHS = { products: '/v1/catalog/products?limit=100', customers: '/v1/customers?limit=100' };

const from = await populatedAgency();

test.each([
  ['CSV with commas', 'comma.csv', ','],
  ['CSV with semicolons', 'semicolon.csv', ';'],
  ['NDJSON', 'lines.ndjson', ','],
])('any text in any field survives an export as %s and its import', async (_format, name, delimiter) => {
  const to = await service.agency();
  for (const [resource, path] of Object.entries(PATHS)) {
    const table = file(`${resource}-${name}`);
    await crm(['export', resource, '--delimiter', delimiter, '-o', table], at(from));
    const { code, stderr } = await crm(['import', resource, table], at(to));
    expect(code, stderr).toBe(0);
    const [before, after] = [await from.get(path), await to.get(path)];
    expect(after.body.data).toHaveLength(RECORDS);
    expect(written(after.body.data)).toEqual(written(before.body.data));
  }
});

const HEAD = 'externalReferenceCode,title,description,operator';

test.each([
  ['cut.csv', `${HEAD}\r\nPAT-08,Patagonia,Day 1\nDay 2,Sur\r\nSUR-01,Sur,,,,\r\n`, 'the row has 3 cells'],
  ['code.ndjson', '{"externalReferenceCode":1,"title":"x"}\n{"externalReferenceCode":"SUR-01"}', ''],
])(
  'a sync of %s, which has broken rows, changes no product of such a row, and archives nothing',
  async (name, text, error) => {
    const { agency, run, rejected } = await begin('sync products', name, text);
    const fields = { externalReferenceCode: 'PAT-08', title: 'Patagonia', description: 'x', operator: 'Sur' };
    const { body: stored } = await agency.post('/v1/catalog/products', fields);
    const stderr = expect.stringMatching(/Nothing was archived: \d rows could not be read/);
    expect(await run('--archive-missing', '--yes')).toMatchObject({ code: 1, stderr });
    expect((await agency.get(`/v1/catalog/products/${stored.id}`)).body).toEqual(stored);
    expect(await rejected()).toContain(error);
  },
);

test('a code or title cannot send control characters to the terminal', async () => {
  const text = 'externalReferenceCode,title\nONE,Uno\n';
  const { agency, run } = await begin('sync products', 'other.csv', text);
  const evil = 'A\u001b[2J\u009b1mB\r\nC\u202e';
  const fields = { externalReferenceCode: evil, title: evil };
  const { id } = (await agency.post('/v1/catalog/products', fields)).body;
  expect((await run()).stdout).toBe(`A [2J 1mB C \t${id}\tA [2J 1mB C \n`);
});
