import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { MAIN, startProcess } from '../support/process.ts';

const ROOT = '/sys/fs/cgroup';
/** The files differ between the two versions of control groups. */
const VERSION = existsSync(join(ROOT, 'memory'))
  ? { root: join(ROOT, 'memory'), limit: 'memory.limit_in_bytes', peak: 'memory.max_usage_in_bytes' }
  : { root: ROOT, limit: 'memory.max', peak: 'memory.peak' };

const INTO_GROUP = 'echo $$ >"$GROUP/cgroup.procs" && exec "$0" "$@"';

/** A control group with so much memory, for processes of the service: Linux, as root. It is removed with the test. */
export async function boundMemory(bytes: number) {
  const group = join(VERSION.root, `crm-${randomUUID()}`);
  await mkdir(group);
  // A process that was just killed leaves the group a little later.
  onTestFinished(() => vi.waitFor(() => rmdir(group), { timeout: 60_000 }));
  await writeFile(join(group, VERSION.limit), String(bytes));
  return {
    start: (environment: Record<string, string>) =>
      startProcess(
        { ...environment, GROUP: group, NODE_OPTIONS: '--max-semi-space-size=16' },
        ['-c', INTO_GROUP, process.execPath, MAIN],
        'sh',
      ),
    /** In MiB. */
    peak: async () => Math.round(Number(await readFile(join(group, VERSION.peak), 'utf8')) / 1024 / 1024),
  };
}
