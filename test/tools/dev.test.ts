import { mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished, test } from 'vitest';
import { startProcess } from '../support/process.ts';

const DEV = fileURLToPath(new URL('../../tools/dev.ts', import.meta.url));

test('npm run dev restarts after each change, also when a file is replaced or stands in a new folder', async () => {
  const root = mkdtempSync(join(tmpdir(), 'crm-dev-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const folder of ['src/http', 'rules', 'migrations', 'docs/guide'])
    mkdirSync(join(root, folder), { recursive: true });
  const program = (text: string) =>
    `console.log(${JSON.stringify(text)}); setInterval(() => undefined, 1_000);`;
  writeFileSync(join(root, 'src/main.js'), program('one'));
  const dev = startProcess({}, ['-c', `cd '${root}' && exec '${process.execPath}' '${DEV}'`], 'sh');
  onTestFinished(async () => {
    dev.child.kill('SIGTERM');
    await dev.ended;
  });
  await dev.until('one');
  for (const text of ['two', 'three']) {
    // Editors and git replace a file by another of its name.
    writeFileSync(join(root, 'new.js'), program(text));
    renameSync(join(root, 'new.js'), join(root, 'src/main.js'));
    await dev.until(text);
  }
  writeFileSync(join(root, 'src/main.js'), `import './added/later.js';`);
  mkdirSync(join(root, 'src/added'));
  writeFileSync(join(root, 'src/added/later.js'), program('four'));
  await dev.until('four');
  writeFileSync(join(root, 'src/added/later.js'), program('five'));
  await dev.until('five');
});
