import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { newFolder } from '../../test/support/folder.ts';
import { PROGRAM } from '../../test/support/process.ts';
import { useService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const TSC = join(root, 'node_modules/typescript/bin/tsc');
const NAME = 'travel-agency-crm-client';

const service = await useService();
const folder = await newFolder();
const installed = join(folder, 'node_modules', NAME);

beforeAll(async () => {
  await mkdir(installed, { recursive: true });
  // The second package has what the first one has.
  for (let times = 0; times < 2; times += 1)
    await run('npm', ['pack', '-w', 'client', '--pack-destination', folder], { cwd: root });
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  await run('tar', ['-xzf', String(tarball), '-C', installed, '--strip-components=1'], { cwd: folder });
});

/** Mistakes that the types reject, and what they accept. */
const TYPED = `
  import { createClient } from '${NAME}';
  const crm = createClient({ apiKey: '', baseUrl: '' });
  // @ts-expect-error contacts are needed
  await crm.customers.create({ firstName: 'Ana' });
  // @ts-expect-error misspelt
  await crm.customers.list({ tags: 'vip' });
  // @ts-expect-error not one of the statuses
  await crm.products.update('1', { status: 'gone' });
  // @ts-expect-error opportunities are only read
  await crm.opportunities.create({});
  await crm.products.create({ title: 'The shortest' });
  await crm.customers.create({ contacts: [{ identifierType: 'email', identifierValue: 'ana@example.com' }] });
  const customer = await crm.customers.get('1');
  await crm.customers.update('1', customer);
  await crm.customers.update('1', { ...customer, city: 'Quito' });
`;

describe('the package', () => {
  test('has its license and no dependencies, at most 10 kB compressed, and uses only what browsers have', async () => {
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    expect([manifest.dependencies, manifest.license]).toEqual([undefined, 'MIT']);
    expect((await readdir(installed)).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
    const dist = join(installed, 'dist');
    const names = (await readdir(dist)).filter((name) => name.endsWith('.js'));
    const code = await Promise.all(names.map((name) => readFile(join(dist, name))));
    expect(gzipSync(Buffer.concat(code)).length).toBeLessThan(10_000);
    expect(Buffer.concat(code).toString()).not.toMatch(/node:|\brequire\(|\bprocess\.|\bBuffer\b/);
    // The types have the descriptions of the fields.
    const types = await readFile(join(dist, 'types.d.ts'), 'utf8');
    expect(types).toMatch(/@example USD\n\s+\*\/\n\s+currency\??: string \| null;/);
  });

  test('compiles and runs the examples of its README in a project without other packages, and its types reject mistakes', async () => {
    const text = await readFile(join(installed, 'README.md'), 'utf8');
    const blocks = [...text.matchAll(/(<!-- run -->\n)?```ts\n([\s\S]+?)```/g)];
    expect(blocks.length).toBeGreaterThan(2);
    for (const [index, [, , code = '']] of blocks.entries())
      await writeFile(join(folder, `example${index}.ts`), code);
    await writeFile(join(folder, 'typed.ts'), TYPED);
    const compilerOptions = {
      target: 'es2022',
      module: 'nodenext',
      lib: ['es2022', 'dom', 'dom.iterable'],
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    const compiled = await run(process.execPath, [TSC, '-p', folder]).catch((error) => error);
    expect(compiled.stdout).toBe('');

    const agency = await service.agency();
    await agency.post('/v1/catalog/products', { title: 'Patagonia Norte', fromPrice: 1450 });
    const env = { ...PROGRAM, CRM_API_KEY: agency.key, CRM_URL: (await listen(service)).origin };
    const example = join(folder, `example${blocks.findIndex(([, isRun]) => isRun)}.js`);
    const first = await run(process.execPath, [example], { env });
    expect(first.stdout).toBe('New customer Ana\nPatagonia Norte 1450\n');
    const second = await run(process.execPath, [example], { env });
    expect(second.stdout).toMatch(/^Known customer [\da-f-]{36}\nPatagonia/);
  });
});
