import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { PROGRAM } from '../../test/support/process.ts';
import { useService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';
import { useFolder } from './command.ts';

const service = useService();
const file = useFolder();
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const README = fileURLToPath(new URL('../README.md', import.meta.url));

test('the commands of the README work', async () => {
  const agency = await service.agency();
  await agency.post('/v1/catalog/products', {
    title: 'Patagonia',
    externalReferenceCode: 'PAT-08',
    fromPrice: 1.5,
  });
  await writeFile(file('leads.csv'), 'Nombre;Teléfono\r\nAna;+52 55 1234 5678\r\n');
  await writeFile(file('crm'), `#!/bin/sh\nexec ${process.execPath} ${MAIN} "$@"\n`);
  await chmod(file('crm'), 0o755);

  const text = await readFile(README, 'utf8');
  const blocks = [...text.matchAll(/<!-- run -->\n```sh\n([\s\S]+?)```/g)].map(([, block]) => block);
  expect(blocks).toHaveLength(4);
  // Each block begins in the same folder.
  const script = blocks.map((block) => `(${block})\n`).join('');
  const { stderr } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: file('.'),
    env: {
      ...PROGRAM,
      PATH: `${file('.')}:${PROGRAM.PATH}`,
      CRM_URL: (await listen(service)).origin,
      CRM_API_KEY: agency.key,
    },
  });
  expect(stderr).toContain('1 created');
  const customers = (await readFile(file('customers.csv'), 'utf8')).split('\r\n');
  expect(customers[1]).toContain("Ana,,Ana,'+525512345678");
  expect(await readFile(file('my-agency/SHA256SUMS'), 'utf8')).toMatch(/^[0-9a-f]{64} {2}manifest\.json$/m);
  // A sync and an update of what was just exported change nothing.
  expect(stderr.match(/1 unchanged/g)).toHaveLength(2);
});
