import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, watch } from 'node:fs';
import { join } from 'node:path';

/**
 * npm run dev: the service, restarted when a file below src/, rules/, migrations/ or docs/guide/ changes. It watches folders,
 * because a watch of a file is lost when an editor or git replaces the file.
 */

const QUIET_MS = 100;

const start = (): ChildProcess => spawn(process.execPath, ['src/main.js'], { stdio: 'inherit' });

let service: ChildProcess;
const hasEnded = (): boolean => service.exitCode !== null || service.signalCode !== null;
let timer: NodeJS.Timeout | undefined;

function restart(): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const next = () => {
      service = start();
    };
    if (hasEnded()) return next();
    service.removeAllListeners('exit').on('exit', next);
    service.kill('SIGTERM');
  }, QUIET_MS);
}

const watched = new Set<string>();
function watchFolder(folder: string): void {
  if (watched.has(folder)) return;
  watched.add(folder);
  watch(folder, () => {
    watchBelow(folder);
    restart();
  }).on('error', () => watched.delete(folder));
}
/** Includes folders that were created since. */
function watchBelow(folder: string): void {
  watchFolder(folder);
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) watchBelow(join(folder, entry.name));
}
for (const folder of ['src', 'rules', 'migrations', 'docs/guide']) watchBelow(folder);
service = start();

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    clearTimeout(timer);
    service.removeAllListeners('exit').on('exit', (code) => process.exit(code ?? 1));
    if (hasEnded()) process.exit(1);
    service.kill(signal);
  });
