import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { startCuttingProxy } from '../../test/support/cutting-proxy.ts';
import { statePath } from '../src/state.ts';
import { crm, leadNames, startCrm, storedNames, useCrm } from './command.ts';

const { service, file, origin, at } = useCrm();

const COUNT = 100;
const AT = 40;

test('a crashed import, resumed, creates no record twice and has each rejected row once', async () => {
  const agency = await service.agency();
  const path = file('crashed.csv');
  const isBad = (index: number) => index % 10 === 0;
  const rows = Array.from({ length: COUNT }, (_, index) =>
    isBad(index) ? `Bad ${index},` : `Lead ${index},lead${index}@example.com`,
  );
  await writeFile(path, ['name,email', ...rows].join('\n'));
  const proxy = await startCuttingProxy(origin(), Number.POSITIVE_INFINITY, (count) => {
    if (count === AT) first.child.kill('SIGKILL');
  });
  const first = startCrm(['import', 'customers', path], at(agency, proxy.origin));
  expect((await first.ended).code).toBeNull();
  const good = leadNames(COUNT).filter((name) => !isBad(Number(name.slice('Lead '.length))));
  expect((await storedNames(service, agency)).length).toBeLessThan(good.length);

  const second = await crm(['import', 'customers', path, '--resume'], at(agency, proxy.origin));
  // The sums are those of the whole import.
  const [all, created = 0, before = 0, bad] =
    /Done: (\d+) rows in .*?, (\d+) created(?:, (\d+) created before)?, (\d+) rejected\./
      .exec(second.stderr)
      ?.slice(1)
      .map((count) => Number(count ?? 0)) ?? [];
  expect([all, created + before, bad]).toEqual([COUNT, good.length, COUNT - good.length]);
  expect(second.code).toBe(2);
  expect(await storedNames(service, agency)).toEqual(good);
  const rejected = (await readFile(file('crashed.rejected.csv'), 'utf8')).trim().split('\r\n').slice(1);
  expect(rejected.map((line) => Number(line.split(',')[0]))).toEqual(
    rows.flatMap((_, index) => (isBad(index) ? [index + 2] : [])),
  );
  expect(existsSync(statePath(path))).toBe(false);
  await proxy.close();
});

describe('a sync of the catalog', () => {
  const codes = ['A', 'B', 'C', 'D', 'E', 'F'];

  async function catalog() {
    const agency = await service.agency();
    for (const code of codes)
      await agency.post('/v1/catalog/products', { title: `Trip ${code}`, externalReferenceCode: code });
    const path = file('catalog.csv');
    const titles = async (): Promise<string[]> =>
      (await agency.get('/v1/catalog/products')).body.data.map(({ title }: { title: string }) => title);
    return { agency, path, titles };
  }

  test('archives all that is gone, also when answers are lost', async () => {
    const { agency, path, titles } = await catalog();
    await writeFile(path, 'code,title\nA,Trip A\n');
    const proxy = await startCuttingProxy(origin(), 2);
    const { code, stderr } = await crm(
      ['sync', 'products', path, '--archive-missing', '--yes'],
      at(agency, proxy.origin),
    );
    expect(stderr).toContain('5 products were archived.');
    expect(code).toBe(0);
    expect(await titles()).toEqual(['Trip A']);
    await proxy.close();
  });

  test('that was ended by a dead network says so, and what to do', async () => {
    const { agency, path, titles } = await catalog();
    await writeFile(path, ['code,title', ...codes.map((code) => `${code},New ${code}`)].join('\n'));
    const proxy = await startCuttingProxy(origin(), Number.POSITIVE_INFINITY, (count) => {
      if (count === 3) proxy.lose(true);
    });
    const first = await crm(
      ['--retries', '1', 'sync', 'products', path, '--concurrency', '1'],
      at(agency, proxy.origin),
    );
    expect(first.code).toBe(1);
    expect(first.stderr).toMatch(
      /Stopped: [\s\S]*the connection failed: .*\nTo continue, run the same command again/,
    );
    expect(first.stderr).not.toContain('Done');
    proxy.lose(false);
    expect((await crm(['sync', 'products', path], at(agency, proxy.origin))).code).toBe(0);
    expect((await titles()).sort()).toEqual(codes.map((code) => `New ${code}`));
    await proxy.close();
  });
});
