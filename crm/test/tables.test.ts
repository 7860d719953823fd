import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { csvLine, toCell } from '../src/cells.ts';
import { CellError, FIELDS, listCell, NAMES, parseList, parseNumber, provenMark } from '../src/fields.ts';
import { inspect, openRows, type Row } from '../src/source.ts';
import { useFolder } from './command.ts';

const file = await useFolder();

const TABLE =
  'Nombre;Correo;Notas\r\nJosé Ñandú;jose@example.com;"dos\nlíneas; ""citadas"""\r\n\r\nEva;eva@example.com;\r\n';

async function rowsOf(name: string, bytes: Buffer | string): Promise<{ header: string[]; rows: Row[] }> {
  await writeFile(file(name), bytes);
  const { header, rows } = await openRows(await inspect(file(name)));
  return { header, rows: await Array.fromAsync(rows) };
}

const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

test.each([
  ['UTF-8', Buffer.from(TABLE)],
  ['UTF-8 behind a byte order mark', Buffer.from(`\ufeff${TABLE}`)],
  ['windows-1252', Buffer.from(TABLE, 'latin1')],
  ['UTF-16 with tabs, the Unicode text of Excel', utf16(TABLE.replaceAll(/;(?! )/g, '\t'))],
  ['UTF-16, big end first', utf16(TABLE).swap16()],
  ['plain line ends', Buffer.from(TABLE.replaceAll('\r\n', '\n'))],
  ['line ends of both kinds', Buffer.from(TABLE.replace('\r\n', '\n'))],
  ['line ends that were converted twice', Buffer.from(TABLE.replaceAll('\r\n', '\r\r\n'))],
])('a table is read in %s', async (_form, bytes) => {
  expect(await rowsOf('table.csv', bytes)).toEqual({
    header: ['Nombre', 'Correo', 'Notas'],
    rows: [
      { line: 2, cells: ['José Ñandú', 'jose@example.com', 'dos\nlíneas; "citadas"'] },
      { line: 5, cells: ['Eva', 'eva@example.com', ''] },
    ],
  });
});

test('a table is read with the delimiter that its first line names, rows of any length and stray quotes', async () => {
  const { header, rows } = await rowsOf('sep.csv', 'sep=;\r\na;b,c\r\n1\r\n2;a 5" pipe;3\r\n');
  expect(header).toEqual(['a', 'b,c']);
  expect(rows).toEqual([
    { line: 3, cells: ['1'] },
    { line: 4, cells: ['2', 'a 5" pipe', '3'] },
  ]);
});

test('a table is read completely, wherever the file is split into chunks', async () => {
  const long = Array.from({ length: 9_000 }, (_, index) => `${index},"ñ€😀\r\n${index}"\r\n`).join('');
  const { rows } = await rowsOf('long.csv', `number,text\r\n${long}`);
  expect(rows).toHaveLength(9_000);
  expect(rows.every(({ cells }, index) => cells[1] === `ñ€😀\r\n${index}`)).toBe(true);
  expect(rows.at(-1)?.line).toBe(2 * 9_000);
});

const HEAD = 'Nombre;whatsapp\n';
const stray = Buffer.concat([Buffer.from(`${HEAD}José Ñandú;1\nMar`), Buffer.from([0xed, 0x0a])]);
test.each<[string, string | Buffer, string]>([
  ['a stray byte', stray, ', line 3: a byte is not UTF-8, although the rest of the file is'],
  ['such a byte behind the mark of UTF-8', Buffer.concat([Buffer.from('\ufeff'), stray]), ', line 3: a byte'],
  ['bytes of no encoding', Buffer.from([0x4e, 0x81, 0x0a]), ' is not text in UTF-8'],
  ['UTF-16 without its mark', Buffer.from(HEAD, 'utf16le'), ' is not text in UTF-8'],
  ['an open quote', `a,b\n"${'x'.repeat(5_000_000)}`, 'begins in line 2 has a quote that is never closed'],
  ['one behind long rows', `a,b\r\n${'1,"a\r\nb"\r\n\r\n'.repeat(20)}2,"c\r\n3,d\r\n`, 'begins in line 62 '],
])('a table is read and rejected for %s', async (_what, text, message) => {
  await expect(rowsOf('bad.csv', text)).rejects.toThrow(message);
});

test.each([
  ['1,450.50', '.', 1450.5],
  ['1.450.000', ',', 1_450_000],
  ['1.450,50', ',', 1450.5],
  ["1'450.50", '.', 1450.5],
  ['1 450,5', ',', 1450.5],
  ['1450.125', '.', 1450.125],
  ['1e-7', undefined, 1e-7],
  ['1 450', undefined, 1450],
  ['-3', undefined, -3],
] as const)('%j proves the decimal mark %j, and is %j', (text, mark, number) => {
  expect(provenMark(text)).toBe(mark);
  expect(parseNumber(text)).toBe(number);
});

test('a cell with one mark and three digits behind it is two numbers, until the mark is known', () => {
  expect([parseNumber('1.450', ','), parseNumber('1.450', '.')]).toEqual([1450, 1.45]);
  expect([parseNumber('-1,450', ','), parseNumber('-1,450', '.')]).toEqual([-1.45, -1450]);
  expect(parseNumber('1.450', undefined, true)).toBe(1450);
  expect(() => parseNumber('1.450')).toThrow('can be 1450 or 1.45: "1.450"');
});

test.each(['1,45,000', '1e5', '1.450.50', '0x10', 'US$ 890', '120-180', '12 34', '1.450,5,0', '٣'])(
  '%j is no number',
  (text) => {
    expect(() => parseNumber(text)).toThrow(CellError);
  },
);

test('a cell of a list is read as the same list', () => {
  expect(listCell(['vip', 'luna de miel'])).toBe('vip | luna de miel');
  expect(parseList('"vip","luna de miel, 2027"', /[|\n,;]/)).toEqual(['vip', 'luna de miel, 2027']);
});

test('a cell that a spreadsheet would run as a formula gets an apostrophe; other text does not', () => {
  const formulas = ['=HYPERLINK("http://x")', '@ana', '+cmd', '-1+A1', '＝1', '＋a', '－a', '＠a', '- b'];
  expect(formulas.map(toCell)).toEqual(formulas.map((text) => `'${text}`));
  // A reader may assume any of these delimiters.
  for (const before of [',', ';', '\t', '|', '\n', '\r']) {
    expect(toCell(`a${before}=1`)).toBe(`a${before}'=1`);
    expect(csvLine([`a${before}b`], ',')).toBe(`"a${before}b"\r\n`);
  }
  const plain = ['-3', '-3,5', '123', 'Ana', "'s-Hertogenbosch", "'Ana", 'a=b', 'a, - b'];
  expect(plain.map(toCell)).toEqual(plain);
});

test('every name of a column, a code or an export is that of a field', () => {
  const { customers, products } = FIELDS;
  const { codes, exports, ...columns } = NAMES;
  for (const [field, names] of Object.entries(codes))
    expect(Object.keys({ ...customers, ...products }[field]?.codes ?? {})).toEqual(Object.keys(names));
  for (const { signs, name, ...names } of Object.values(exports))
    expect(Object.keys(customers)).toEqual(expect.arrayContaining(Object.keys(names)));
  for (const resource of ['customers', 'products'] as const)
    expect(Object.keys(FIELDS[resource])).toEqual(expect.arrayContaining(Object.keys(columns[resource])));
});
