import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import fastify from 'fastify';
import { expect, onTestFinished, test, vi } from 'vitest';
import { LISTS } from '../../test/support/operations.ts';
import { product } from '../../test/support/records.ts';
import { listen } from '../../test/support/socket.ts';
import { exportable } from '../src/export.ts';
import { type Output, startProgress } from '../src/progress.ts';
import { inspect, openRows } from '../src/source.ts';
import { crm, useCrm } from './command.ts';

const { service, file, at, begin } = await useCrm();

test('crm export writes every list, each field in a column', async () => {
  const agency = await service.agency();
  for (const { make } of Object.values(LISTS)) await make(agency);
  await Promise.all(
    exportable.map(async (resource) => {
      const [asCsv, asJson] = await Promise.all([
        crm(['export', resource, '-o', file(`${resource}.csv`)], at(agency)),
        crm(['export', resource, '--format', 'ndjson'], at(agency)),
      ]);
      expect(asCsv.code).toBe(0);
      const { header, rows } = await openRows(await inspect(file(`${resource}.csv`)));
      const [row] = await Array.fromAsync(rows);
      expect(row?.cells).toHaveLength(header.length);
      const [first = ''] = asJson.stdout.split('\n');
      const columns = header.map((column) => column.replace(/^contacts\..*/, 'contacts'));
      expect([...new Set(columns)].sort()).toEqual(Object.keys(JSON.parse(first)).sort());
    }),
  );
});

test('crm export filters, and rejects an unknown filter before it writes anything', async () => {
  const agency = await service.agency();
  for (const status of ['active', 'draft']) await product(agency, { title: status, status });
  const drafts = ['--filter', 'status=draft', '--format', 'ndjson'];
  const { stdout } = await crm(['export', 'products', ...drafts], at(agency));
  expect(JSON.parse(stdout).title).toBe('draft');
  const rejected = await crm(['export', 'products', '--filter', 'stat=draft'], at(agency));
  expect(rejected).toMatchObject({ code: 1, stdout: '' });
  expect(rejected.stderr).toMatch(/^--filter stat: products have no such filter\. They have: .*type/);
  const twice = ['--filter', 'status=draft', '--filter', 'status=active'];
  expect(await crm(['export', 'products', ...twice], at(agency))).toMatchObject({ code: 1, stdout: '' });
});

test.skipIf(!existsSync('/dev/full'))('crm export fails on a full disk', async () => {
  const agency = await service.agency();
  const { code, stderr } = await crm(['export', 'team', '-o', '/dev/full'], at(agency));
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('ENOSPC') });
});

test('crm export that fails leaves the file of an earlier one', async () => {
  const path = file('kept.csv');
  await writeFile(path, 'of an earlier export');
  expect(await crm(['export', 'team', '-o', path], at({ key: 'tcrm_wrong' }))).toMatchObject({ code: 1 });
  expect(await readFile(path, 'utf8')).toBe('of an earlier export');
});

type Row = { id: string; createdAt: string };

test.each<[what: string, resource: string, change: (rows: Row[], next: Row) => void]>([
  // Whoever reads a page finds the last row in front.
  ['changes during every walk', 'customers', (rows) => rows.unshift(...rows.splice(-1))],
  ['loses its first row and gets a new last one', 'team', (rows, next) => rows.push(next) && rows.shift()],
])('an export has every row once, although the list %s', async (_what, resource, change) => {
  const isoAt = (n: number) => new Date(Date.UTC(2026, 0, 1) + n).toISOString();
  const row = (n: number): Row => ({ id: `${n}`, createdAt: isoAt(n) });
  const rows = Array.from({ length: 450 }, (_, index) => row(index));
  let made = rows.length;
  const app = fastify();
  app.get<{ Querystring: Record<string, string> }>(`/v1/${resource}`, ({ query }) => {
    const { offset = 0, createdSince = '', createdBefore = '9' } = query;
    change(rows, row(made++));
    const found = rows.filter(({ createdAt }) => createdAt >= createdSince && createdAt < createdBefore);
    const data = found.slice(Number(offset), Number(offset) + 100);
    return { data, pagination: { limit: 100, offset: Number(offset), total: found.length } };
  });
  const { origin } = await listen({ app });
  onTestFinished(() => app.close());
  const run = await crm(['export', resource, '--format', 'ndjson'], { url: origin, key: 'key' });
  expect(run.code).toBe(0);
  const ids = run.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).id);
  expect(new Set(ids).size).toBe(ids.length);
  const stayed = rows.map(({ id }) => id).filter((id) => Number(id) < 450);
  expect(ids).toEqual(expect.arrayContaining(stayed));
});

test('the progress of an export by periods is that of the whole list', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const write = vi.fn();
  const progress = startProgress({ write } as unknown as Output, 'rows');
  progress.update({ done: 100, total: 1_000, rows: 100, counts: {} });
  progress.update({ done: 150, total: 120, rows: 150, counts: {} });
  vi.advanceTimersByTime(10_000);
  progress.end('Done');
  expect(write.mock.calls[0]?.[0]).toMatch(/^15 %, 150 rows/);
});

const CATALOG = [
  'externalReferenceCode,title,fromPrice,currency,includes',
  'NEW-1,Nueva,100,USD,Hotel',
  'OLD-1,Vieja,250,USD,Hotel | Cena',
  'SAME-1,Igual,300,,',
  'OLD-1,Repetida,1,,',
  ',Sin código,1,,',
];

async function catalog(text = CATALOG.join('\n')) {
  const { agency, run, ...others } = await begin('sync products', 'catalog.csv', text);
  const create = (externalReferenceCode: string | null, title: string, fields: object = {}) =>
    product(agency, { externalReferenceCode, title, ...fields });
  const old = await create('OLD-1', 'Vieja', { fromPrice: 200, operator: 'Sur', currency: 'USD' });
  const same = await create('SAME-1', 'Igual', { fromPrice: 300 });
  const gone = await create('GONE-1', 'Retirada');
  await create(null, 'Sin código nuestro');
  await create('', 'Código vacío');
  const titles = async () =>
    (await agency.get('/v1/catalog/products')).body.data.map(({ title }: { title: string }) => title).sort();
  return { agency, run, ...others, old, same, gone, titles };
}

test('crm sync products creates and changes products, lists those that the file does not have, and archives them only with --yes', async () => {
  const { agency, old, same, gone, run, rejected, titles } = await catalog();
  const before = (await agency.get('/v1/catalog/products')).body;
  const trial = await run('--dry-run', '--archive-missing', '--yes');
  expect(trial.stdout.split('\n').slice(0, 7)).toEqual([
    'NEW-1\texternalReferenceCode\t\t"NEW-1"',
    'NEW-1\ttitle\t\t"Nueva"',
    'NEW-1\tfromPrice\t\t100',
    'NEW-1\tcurrency\t\t"USD"',
    'NEW-1\tincludes\t\t["Hotel"]',
    'OLD-1\tfromPrice\t200\t250',
    'OLD-1\tincludes\t[]\t["Hotel","Cena"]',
  ]);
  expect(trial.stderr).toMatch(/Dry run: .*1 created, 1 changed, 1 unchanged, 1 left alone, 1 rejected/);
  expect(trial.stdout).toContain(gone.id);
  expect((await agency.get('/v1/catalog/products')).body).toEqual(before);

  const { code, stdout, stderr } = await run('--archive-missing');
  expect(code).toBe(2);
  expect(stderr).toMatch(/\/s, 1 created, 1 changed, 1 unchanged, 1 left alone, 1 rejected\./);
  expect(stderr).toContain('1 rows without a code were left alone.');
  expect(stdout).toBe(`GONE-1\t${gone.id}\tRetirada\n`);
  expect(stderr).toContain('Nothing was archived');
  const kept = ['Código vacío', 'Igual', 'Nueva', 'Sin código nuestro', 'Vieja'];
  expect(await titles()).toEqual([...kept, 'Retirada'].sort());
  const changed = (await agency.get(`/v1/catalog/products/${old.id}`)).body;
  expect(changed).toMatchObject({ fromPrice: 250, includes: ['Hotel', 'Cena'], operator: 'Sur' });
  expect((await agency.get(`/v1/catalog/products/${same.id}`)).body).toEqual(same);
  expect(await rejected()).toContain('5,DUPLICATE_CODE,an earlier row has the same code OLD-1,,OLD-1');

  const again = await run('--archive-missing', '--yes');
  expect(again.stderr).toMatch(/Done: 5 rows in .*\/s, 3 unchanged, 1 left alone, 1 rejected\./);
  expect(again.stderr).toContain('1 products were archived');
  expect(await titles()).toEqual(kept);
});

test('crm sync products rejects a row that changes a variant or the number of variants', async () => {
  const { agency, path, run, rejected } = await begin('sync products', 'variants.ndjson', '');
  const variants = [{ label: 'Alta', fromPrice: 1, includes: ['Hotel'] }];
  const fields = { externalReferenceCode: 'PAT-08', title: 'Patagonia', variants };
  const patagonia = await product(agency, fields);
  const changed = [[{ label: 'Alta', fromPrice: 2 }], [], [...variants, { label: 'Baja' }]];
  for (const [row, said] of [
    [patagonia, '1 unchanged.'],
    [fields, '1 unchanged.'],
    ...changed.map((variants) => [{ ...fields, title: 'Norte', variants }, '1 rejected'] as const),
  ] as const) {
    await writeFile(path, JSON.stringify(row));
    expect((await run()).stderr).toContain(said);
  }
  expect(await rejected()).toContain('"VARIANTS_DIFFER","message":"variants are changed in the dashboard"');
  expect((await agency.get(`/v1/catalog/products/${patagonia.id}`)).body).toEqual(patagonia);
});

test('crm sync products rejects the row of a product that was archived meanwhile, and of a code that several products have', async () => {
  const app = fastify();
  const row = (code: string, n: number) => ({ id: `id-${n}`, externalReferenceCode: code, variants: [] });
  const data = ['OLD-1', 'TWICE', 'TWICE'].map(row);
  app.get('*', async () => ({ data, pagination: { limit: 100, offset: 0, total: 3 } }));
  const error = { code: 'CATALOG_PRODUCT_NOT_FOUND', message: 'no' };
  app.patch('*', (_request, reply) => reply.code(404).send({ error }));
  const { origin } = await listen({ app });
  onTestFinished(() => app.close());
  await writeFile(file('catalog.csv'), 'externalReferenceCode,title\nOLD-1,Vieja\nTWICE,Dos\n');
  const { stderr } = await crm(['sync', 'products', file('catalog.csv')], { url: origin, key: 'key' });
  expect(stderr).toContain(', 2 rejected.');
  const rejected = await readFile(file('catalog.rejected.csv'), 'utf8');
  expect(rejected).toContain('"products id-1, id-2 have the code TWICE: archive all but one"');
});

test('crm sync products clears fields whose cells are empty, and archives nothing for a file without products, or with a row that cannot be read', async () => {
  const text = 'externalReferenceCode,title,fromPrice,includes,operator\nOLD-1,Vieja,,,\n';
  const { agency, path, old, run, titles } = await catalog(text);
  expect((await run()).stderr).toContain('1 changed');
  const cleared = (await agency.get(`/v1/catalog/products/${old.id}`)).body;
  expect(cleared).toMatchObject({ fromPrice: null, includes: [], operator: null, currency: 'USD' });
  expect((await run()).stderr).toContain('1 unchanged');

  const before = await titles();
  for (const [lines, said] of [
    ['', 'no row of the file has the code of a product'],
    ['OLD-1,Vieja\nGONE-1,Retirada,more\n', '1 rows could not be read, and may have the codes'],
  ]) {
    await writeFile(path, `externalReferenceCode,title\n${lines}`);
    const stderr = expect.stringContaining(`${said}`);
    expect(await run('--archive-missing', '--yes')).toMatchObject({ code: 1, stderr });
    expect(await titles()).toEqual(before);
  }
});
