import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { PROGRAM } from '../../test/support/process.ts';
import { useService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';
import { useFolder } from './command.ts';

const run = promisify(execFile);
const service = await useService();
const file = await useFolder();
const root = fileURLToPath(new URL('../../', import.meta.url));

test('the commands of the README work with the packed command, which has its own dependencies only', async () => {
  await run('npm', ['pack', '-w', 'crm', '--pack-destination', file('.')], { cwd: root });
  const tarball = (await readdir(file('.'))).find((name) => name.endsWith('.tgz'));
  const installed = file('node_modules/travel-agency-crm-cli');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', String(tarball), '-C', installed, '--strip-components=1'], { cwd: file('.') });
  const { bin, dependencies, version } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  // As npm would install them, without a registry.
  for (const name of Object.keys(dependencies)) {
    const own = join(root, 'crm/node_modules', name);
    await symlink(existsSync(own) ? own : join(root, 'node_modules', name), file(`node_modules/${name}`));
  }
  await writeFile(file('crm'), `#!/bin/sh\nexec ${process.execPath} ${join(installed, bin.crm)} "$@"\n`);
  await chmod(file('crm'), 0o755);

  const agency = await service.agency();
  const product = { title: 'Patagonia', externalReferenceCode: 'PAT-08', fromPrice: 1.5 };
  await agency.post('/v1/catalog/products', product);
  await writeFile(file('leads.csv'), 'Nombre;Teléfono\r\nAna;+52 55 1234 5678\r\n');
  const text = await readFile(join(root, 'crm/README.md'), 'utf8');
  const blocks = [...text.matchAll(/<!-- run -->\n```sh\n([\s\S]+?)```/g)].map(([, block]) => block);
  expect(blocks).toHaveLength(4);
  // Each block begins in the same folder.
  const script = ['crm --version; crm export --help\n', ...blocks].map((block) => `(${block})\n`).join('');
  const access = { CRM_URL: (await listen(service)).origin, CRM_API_KEY: agency.key };
  const env = { ...PROGRAM, ...access, PATH: `${file('.')}:${PROGRAM.PATH}` };
  const { stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: file('.'), env });
  expect(stdout.startsWith(`${version}\n`)).toBe(true);
  expect(stdout).toContain('"conversations"');
  expect(stderr).toContain('1 created');
  const customers = (await readFile(file('customers.csv'), 'utf8')).split('\r\n');
  expect(customers[1]).toContain("Ana,,Ana,'+525512345678");
  expect(await readFile(file('my-agency/SHA256SUMS'), 'utf8')).toMatch(/^[0-9a-f]{64} {2}manifest\.json$/m);
  // A sync and an update of what was just exported change nothing.
  expect(stderr.match(/1 unchanged/g)).toHaveLength(2);
});
