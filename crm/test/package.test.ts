import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { PROGRAM } from '../../test/support/process.ts';
import { useService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';
import { useFolder } from './command.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const service = useService();
const file = useFolder();

test('the packed command works with its own dependencies only, and contains the client', async () => {
  await run('npm', ['pack', '-w', 'crm', '--pack-destination', file('.')], { cwd: root });
  const tarball = (await readdir(file('.'))).find((name) => name.endsWith('.tgz'));
  const installed = file('node_modules/travel-agency-crm-cli');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', String(tarball), '-C', installed, '--strip-components=1'], { cwd: file('.') });
  const { bin, dependencies, version } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  // As npm would install them, without a registry.
  for (const name of Object.keys(dependencies)) {
    const [own, shared] = ['crm/node_modules', 'node_modules'].map((folder) => join(root, folder, name));
    await symlink(existsSync(String(own)) ? String(own) : String(shared), file(`node_modules/${name}`));
  }

  const agency = await service.agency();
  await agency.post('/v1/catalog/products', { title: 'Patagonia' });
  const env = { ...PROGRAM, CRM_URL: (await listen(service)).origin, CRM_API_KEY: agency.key };
  const crm = (...args: string[]) => run(process.execPath, [join(installed, bin.crm), ...args], { env });
  expect((await crm('--version')).stdout).toBe(`${version}\n`);
  const { stdout } = await crm('export', 'products', '--format', 'ndjson');
  expect(JSON.parse(stdout).title).toBe('Patagonia');
  await crm('export', 'products', '-o', file('products.csv'));
  expect((await crm('import', 'products', file('products.csv'), '--dry-run')).stderr).toContain(
    '1 products would be sent',
  );
});
