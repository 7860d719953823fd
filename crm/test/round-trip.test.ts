import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import fc from 'fast-check';
import papaparse from 'papaparse';
import { beforeAll, describe, expect, test } from 'vitest';
import { PROGRAM } from '../../test/support/process.ts';
import type { Agency } from '../../test/support/service.ts';
import { csvLine, DELIMITERS, fromCell, toCell } from '../src/cells.ts';
import { inspect, openRows } from '../src/source.ts';
import { crm, useCrm } from './command.ts';

const { service, file, at } = useCrm();

const NAMES: Record<string, string> = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'bar' };

/** Text that PostgreSQL stores, mostly of what tables, spreadsheets and terminals give a meaning. */
const texts = fc.string({
  maxLength: 12,
  unit: fc.oneof(
    fc.constantFrom('\r\n', ...'\n\r\t,;|"\' =+-@＝[{\\', ...'añ10.\u00a0\ufeff\u2028\u0085\u001b😀\u202e'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((text) => text !== '\0'),
  ),
});

let seed = Number(process.env.FUZZ_SEED ?? 18);

/** The same values every time; FUZZ_SEED gives others. */
const sample = <Value>(values: fc.Arbitrary<Value>, count: number): Value[] => {
  seed += 1;
  return fc.sample(values, { numRuns: count, seed });
};

const PYTHON = `
import csv, json, sys
csv.field_size_limit(2**31 - 1)
with open(sys.argv[1], newline="", encoding="utf-8-sig") as table:
    print(json.dumps(list(csv.reader(table, delimiter=sys.argv[2]))))
`;
const hasPython = spawnSync('python3', ['--version'], { env: PROGRAM }).status === 0;

/** The rows of a table as other programs read them: each by its name. */
async function readByOthers(path: string, delimiter: string): Promise<Record<string, string[][]>> {
  const text = (await readFile(path, 'utf8')).replace(/^\ufeff/, '');
  const { data } = papaparse.parse<string[]>(text, { delimiter, skipEmptyLines: true });
  if (!hasPython) return { 'Papa Parse': data };
  const { stdout } = spawnSync('python3', ['-c', PYTHON, path, delimiter], {
    env: { ...PROGRAM, PYTHONIOENCODING: 'utf-8' },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  return { 'Papa Parse': data, Python: JSON.parse(stdout) };
}

test.skipIf(hasPython)('without python3 on this machine, Papa Parse alone reads tables back', () => {});

test.each(DELIMITERS)('any texts are one row to every reader, between %j', async (delimiter) => {
  const rows = sample(fc.tuple(fc.constant('id'), texts, texts, texts), 500);
  const path = file(`rows-${NAMES[delimiter]}.csv`);
  const table = [['id', 'a', 'b', 'c'], ...rows.map((row) => row.map(toCell))];
  await writeFile(path, `\ufeff${table.map((cells) => csvLine(cells, delimiter)).join('')}`);
  const own = await openRows(await inspect(path));
  const ours = (await Array.fromAsync(own.rows)).map(({ cells }) => cells);
  for (const [reader, [header, ...read]] of Object.entries(await readByOthers(path, delimiter))) {
    expect(header, reader).toEqual(['id', 'a', 'b', 'c']);
    expect(read, reader).toEqual(ours);
  }
  expect(ours.map((cells) => cells.map(fromCell))).toEqual(rows);
});

/** Each of these fields is a text of its own, of at least so many characters. */
const filled = (names: readonly string[], length = 0) =>
  fc.record(
    Object.fromEntries(names.map((name) => [name, length > 0 ? texts.map((text) => `${text}xyz`) : texts])),
  );

const some = (names: readonly string[]) =>
  fc.record(Object.fromEntries(names.map((name) => [name, fc.option(texts)])));

const product = fc
  .tuple(
    filled(['title'], 1),
    some([
      'shortDescription',
      'description',
      'specialConditions',
      'operator',
      'priceBasis',
      'validFrom',
      'validUntil',
    ]),
    fc.record({
      currency: fc.option(fc.constantFrom('USD', '=1;', ' a ', "'\n'")),
      fromPrice: fc.option(
        fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map((price) => price + 0),
      ),
      includes: fc.array(texts, { maxLength: 3 }),
      excludes: fc.array(texts, { maxLength: 3 }),
      variants: fc.array(
        fc.record({ label: texts.map((text) => `${text}x`), description: texts, includes: fc.array(texts) }),
        { maxLength: 2 },
      ),
    }),
  )
  .map((parts) => Object.assign({}, ...parts));

const customer = fc
  .tuple(
    some(['firstName', 'lastName', 'city', 'country', 'summary']),
    fc.record({
      preferredLanguage: fc.constantFrom('es', 'pt', 'en', null),
      tags: fc.array(texts, { maxLength: 3 }),
    }),
  )
  .map((parts) => Object.assign({}, ...parts));

const RECORDS = 30;

/** Records full of hostile texts, in an agency of their own. */
async function writeAll(): Promise<Agency> {
  const agency = await service.agency();
  for (const [index, fields] of sample(product, RECORDS).entries()) {
    const code = `${sample(texts, 1)[0]}${index}`;
    const made = await agency.post('/v1/catalog/products', { ...fields, externalReferenceCode: code });
    expect(made.status, made.text).toBe(201);
  }
  for (const [index, fields] of sample(customer, RECORDS).entries()) {
    const values = sample(texts, 3).map((text, at) => `${text}${index} ${at}`);
    const contacts = values.map((identifierValue) => ({ identifierType: 'web', identifierValue }));
    const made = await agency.post('/v1/customers', { ...fields, contacts });
    expect(made.status, made.text).toBe(201);
  }
  return agency;
}

const ANSWERED = ['id', 'createdAt', 'updatedAt', 'phoneNumber'];

/** What was written of these records, in no order. */
const written = (records: object[]): string[] =>
  records
    .map((record) => JSON.stringify(record, (name, value) => (ANSWERED.includes(name) ? undefined : value)))
    .sort();

describe.each([',', ';'])('any text in any field survives, between %j', (delimiter) => {
  let from: Agency;
  const table = (resource: string) => file(`${resource}-${NAMES[delimiter]}.csv`);

  beforeAll(async () => {
    from = await writeAll();
    for (const resource of ['products', 'customers']) {
      const { code, stderr } = await crm(
        ['export', resource, '--delimiter', delimiter, '-o', table(resource)],
        at(from),
      );
      expect(code, stderr).toBe(0);
    }
  });

  test.each(['the table', 'NDJSON'])('export and import of %s', async (form) => {
    const to = await service.agency();
    for (const [resource, path] of [
      ['products', '/v1/catalog/products'],
      ['customers', '/v1/customers'],
    ] as const) {
      const lines = file(`${resource}.ndjson`);
      const isTable = form === 'the table';
      if (!isTable) await crm(['export', resource, '--format', 'ndjson', '-o', lines], at(from));
      const { code, stderr } = await crm(['import', resource, isTable ? table(resource) : lines], at(to));
      expect(code, stderr).toBe(0);
      const [before, after] = await Promise.all([from, to].map(({ get }) => get(`${path}?limit=100`)));
      expect(after?.body.data).toHaveLength(RECORDS);
      expect(written(after?.body.data)).toEqual(written(before?.body.data));
    }
  });

  test('export and sync, which finds nothing to change', async () => {
    const before = (await from.get('/v1/catalog/products?limit=100')).body;
    const { code, stdout, stderr } = await crm(
      ['sync', 'products', table('products'), '--archive-missing', '--yes'],
      at(from),
    );
    expect(stderr).toMatch(new RegExp(`/s, ${RECORDS} unchanged\\.`));
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect((await from.get('/v1/catalog/products?limit=100')).body).toEqual(before);
  });
});

describe('a table whose rows are cut', () => {
  const CUT =
    'externalReferenceCode,title,description,operator\r\nPAT-08,Patagonia,Day 1\nDay 2,Sur\r\nSUR-01,Sur,,,,\r\n';

  test('changes, clears and archives nothing', async () => {
    const agency = await service.agency();
    const fields = { externalReferenceCode: 'PAT-08', title: 'Patagonia', description: 'x', operator: 'Sur' };
    const made = (await agency.post('/v1/catalog/products', fields)).body;
    await writeFile(file('cut.csv'), CUT);
    const { code, stderr } = await crm(
      ['sync', 'products', file('cut.csv'), '--archive-missing', '--yes'],
      at(agency),
    );
    expect(code).toBe(1);
    expect(stderr).toContain('2 rows could not be read');
    expect((await agency.get(`/v1/catalog/products/${made.id}`)).body).toEqual(made);
    expect(await readFile(file('cut.rejected.csv'), 'utf8')).toContain(
      '2,VALIDATION_FAILED,"the row has 3 cells, but the header has 4"',
    );
  });

  test('imports none of them, nor a row with a delimiter too many', async () => {
    const agency = await service.agency();
    await writeFile(file('long.csv'), `${CUT}NOR-01,Norte,Salta, Jujuy,Sur\r\n`);
    const { code, stderr } = await crm(['import', 'products', file('long.csv')], at(agency));
    expect(code).toBe(2);
    expect(stderr).toMatch(/1 created, 3 rejected/);
    expect((await agency.get('/v1/catalog/products')).body.data).toMatchObject([{ title: 'Sur' }]);
  });
});

test('a code or title cannot write to the terminal of whoever syncs', async () => {
  const agency = await service.agency();
  const evil = 'A\u001b[2J\u009b1mB\r\nC\u202e';
  const fields = { externalReferenceCode: evil, title: evil };
  const { id } = (await agency.post('/v1/catalog/products', fields)).body;
  await writeFile(file('other.csv'), 'externalReferenceCode,title\nONE,Uno\n');
  const { stdout } = await crm(['sync', 'products', file('other.csv')], at(agency));
  expect(stdout).toBe(`A [2J 1mB C \t${id}\tA [2J 1mB C \n`);
});
