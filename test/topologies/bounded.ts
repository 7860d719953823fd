import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { MAIN, startProcess } from '../support/process.ts';

const ROOT = '/sys/fs/cgroup';
/** The files of both versions of control groups. */
const VERSION = existsSync(join(ROOT, 'memory'))
  ? { root: join(ROOT, 'memory'), limit: 'memory.limit_in_bytes', most: 'memory.max_usage_in_bytes' }
  : { root: ROOT, limit: 'memory.max', most: 'memory.peak' };

const INTO_GROUP = 'echo $$ >"$GROUP/cgroup.procs" && exec "$0" "$@"';

/** A control group with so much memory, for processes of the service: Linux, as root. It goes with the test. */
export async function boundMemory(bytes: number) {
  const group = join(VERSION.root, `crm-${randomUUID()}`);
  await mkdir(group);
  // Processes that were just killed leave it a moment later.
  onTestFinished(async () => {
    for (let isThere = true; isThere; )
      isThere = await rmdir(group).then(
        () => false,
        () => true,
      );
  });
  await writeFile(join(group, VERSION.limit), String(bytes));
  return {
    start: (environment: Record<string, string>) =>
      startProcess(
        { ...environment, GROUP: group, NODE_OPTIONS: '--max-semi-space-size=16' },
        ['-c', INTO_GROUP, process.execPath, MAIN],
        'sh',
      ),
    /** The most that it had, in MiB. */
    most: async () => Math.round(Number(await readFile(join(group, VERSION.most), 'utf8')) / 1024 / 1024),
  };
}
