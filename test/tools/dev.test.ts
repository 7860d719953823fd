import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished, test } from 'vitest';
import { newFolder } from '../support/folder.ts';
import { startProcess } from '../support/process.ts';

const DEV = fileURLToPath(new URL('../../tools/dev.ts', import.meta.url));

test('npm run dev restarts after each change, also when a file is replaced or stands in a new folder', async () => {
  const root = await newFolder();
  mkdirSync(join(root, 'src'));
  const main = join(root, 'src/main.js');
  writeFileSync(main, 'console.log("one"); setInterval(() => undefined, 1_000);');
  const dev = startProcess({}, ['-c', `cd '${root}' && exec '${process.execPath}' '${DEV}'`], 'sh');
  onTestFinished(async () => {
    dev.child.kill('SIGTERM');
    await dev.ended;
  });
  await dev.until('one');
  for (const text of ['two', 'three']) {
    // Editors and git replace a file by another of its name.
    writeFileSync(join(root, 'new.js'), `console.log("${text}"); setInterval(() => undefined, 1_000);`);
    renameSync(join(root, 'new.js'), main);
    await dev.until(text);
  }
  writeFileSync(main, `import './added/later.js';`);
  mkdirSync(join(root, 'src/added'));
  for (const text of ['four', 'five']) {
    writeFileSync(join(root, 'src/added/later.js'), `console.log("${text}");`);
    await dev.until(text);
  }
});
