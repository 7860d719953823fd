import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** npm run dev: the service, restarted when a file below src/, rules/, migrations/ or docs/guide/ changes. */

/** Not a watch, which is lost when an editor or git replaces the file. */
const lastChange = (): number =>
  Math.max(
    ...globSync('{src,rules,migrations,docs/guide}/**').map(
      (path) => statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? 0,
    ),
  );

let service: ChildProcess;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    service.on('exit', (code) => process.exit(code ?? 1));
    if (!service.kill(signal)) process.exit(1);
  });

for (;;) {
  const before = lastChange();
  service = spawn(process.execPath, ['src/main.js'], { stdio: 'inherit' });
  const ended = once(service, 'exit');
  while (lastChange() === before) await pause(200);
  service.kill('SIGTERM');
  await ended;
}
