import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { startCuttingProxy } from '../../test/support/cutting-proxy.ts';
import { product } from '../../test/support/records.ts';
import type { Agency } from '../../test/support/service.ts';
import { replaceFile, statePath } from '../src/state.ts';
import { crm, startCrm, useCrm } from './command.ts';

const { file, origin, at, begin } = await useCrm();

const namesOf = async (agency: Agency): Promise<string[]> =>
  (await agency.get('/v1/customers?limit=100')).body.data
    .map(({ firstName }: { firstName: string }) => firstName)
    .sort();

test.each([
  ['SIGKILL', null],
  ['SIGINT', 130],
] as const)(
  'an import that got %s, resumed, creates no record twice and has each rejected row once',
  async (signal, ended) => {
    // Every tenth row has no contact.
    const leads = Array.from({ length: 100 }, (_, at) => [`Lead ${at}`, at % 10 && `${at}@a.example`]);
    // Only --map says what these columns are.
    const text = [['1', '2'], ...leads].map((cells) => cells.join()).join('\n');
    const { agency, path } = await begin('import customers', `${signal}.csv`, text);
    const maps = ['--map', '1=firstName', '--map', '2=contacts.email'];
    const proxy = await startCuttingProxy(origin, Number.POSITIVE_INFINITY, (count) => {
      if (count === 40) first.child.kill(signal);
    });
    const run = (...args: string[]) => ['import', 'customers', path, ...args];
    const first = startCrm(run(...maps), at(agency, proxy.origin));
    const { code, stderr } = await first.ended;
    expect(code).toBe(ended);
    if (ended) expect(stderr).toContain(`To continue: crm ${run('--resume').join(' ')}`);
    expect((await namesOf(agency)).length).toBeLessThan(90);
    const unfinished = /is unfinished \(\d+ rows done\): use --resume to continue/;
    expect((await crm(run(), at(agency))).stderr).toMatch(unfinished);
    await crm(run('--dry-run', ...maps), at(agency));
    const second = await crm(run('--resume'), at(agency, proxy.origin));
    expect(second.code).toBe(2);
    // The counts are those of both runs.
    expect(second.stderr).toMatch(/Done: 100 rows in .*, 10 rejected\./);
    const created = [...second.stderr.matchAll(/ (\d+) created/g)].map(([, count]) => Number(count));
    expect(created.reduce((sum, count) => sum + count)).toBe(90);
    const good = leads.filter(([, email]) => email).map(([name]) => name);
    expect(await namesOf(agency)).toEqual(good.sort());
    const rejected = await readFile(file(`${signal}.rejected.csv`), 'utf8');
    expect(rejected.match(/^\d+/gm)).toEqual(['2', '12', '22', '32', '42', '52', '62', '72', '82', '92']);
    await replaceFile(statePath(path), '{"rows":1}');
    const restarted = await crm(run('--restart', ...maps), at(agency));
    expect(restarted.stderr).toContain(' 90 created before, 10 rejected.');
    expect(existsSync(statePath(path))).toBe(false);
    await proxy.close();
  },
);

test('a sync archives every product that the file does not have, although responses are lost', async () => {
  const { agency, path } = await begin('sync products', 'catalog.csv', 'code,title\nA,Trip A\n');
  for (const code of 'ABCDEF') await product(agency, { title: `Trip ${code}`, externalReferenceCode: code });
  const proxy = await startCuttingProxy(origin, 2);
  const sync = ['sync', 'products', path, '--archive-missing', '--yes'];
  const stderr = expect.stringContaining('5 products were archived.');
  expect(await crm(sync, at(agency, proxy.origin))).toMatchObject({ code: 0, stderr });
  expect((await agency.get('/v1/catalog/products')).body.data).toMatchObject([{ title: 'Trip A' }]);
  await proxy.close();
});

test('a sync archives no further products after Ctrl-C', async () => {
  const { agency, path } = await begin('sync products', 'one.csv', 'code,title\n0,Trip 0\n');
  for (let code = 0; code < 40; code += 1)
    await product(agency, { title: `Trip ${code}`, externalReferenceCode: `${code}` });
  // The first response is the catalog, the second one of the first product that is archived.
  const proxy = await startCuttingProxy(origin, Number.POSITIVE_INFINITY, (count) => {
    if (count === 2) sync.child.kill('SIGINT');
  });
  const args = ['sync', 'products', path, '--archive-missing', '--yes'];
  const sync = startCrm(args, at(agency, proxy.origin));
  expect((await sync.ended).code).toBe(130);
  expect((await agency.get('/v1/catalog/products')).body.pagination.total).toBeGreaterThan(1);
  await proxy.close();
});

test('a broken state is named without a stack; imports of one file at the same time can each save theirs', async () => {
  const { path, run } = await begin('import customers', 'broken.csv', 'contacts.email\nana@example.com\n');
  await Promise.all(Array.from({ length: 20 }, () => replaceFile(statePath(path), '{')));
  const stderr = `${statePath(path)} is broken: delete it, and start over.\n`;
  expect(await run()).toMatchObject({ code: 1, stderr });
});
