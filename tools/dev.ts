import { type ChildProcess, spawn } from 'node:child_process';
import { watch } from 'node:fs';

/** npm run dev: the service, restarted when a file below src/, rules/, migrations/ or docs/guide/ changes. */

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

for (const folder of ['src', 'rules', 'migrations', 'docs/guide']) watch(folder, { recursive: true }, restart);
service = start();

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    clearTimeout(timer);
    service.removeAllListeners('exit').on('exit', (code) => process.exit(code ?? 1));
    if (hasEnded()) process.exit(1);
    service.kill(signal);
  });
