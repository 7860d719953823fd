import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import packageJson from '../package.json' with { type: 'json' };
import { freePort, startProcess } from '../test/support/process.ts';

/** The servers of a run, each a process that logs to a file, as it would for a log collector. What they use is read from /proc. */

/** The options of `npm start` for Node.js: `NODE_OPTIONS="--some=flag $NODE_OPTIONS"`. */
export const NODE_OPTIONS = /NODE_OPTIONS="(\S+)/.exec(packageJson.scripts.start)?.[1] ?? '';

/** Starts a server, and waits for its first list. */
export async function startServer(script: string, folder: string, key: string, more: Record<string, string>) {
  const [PORT, start] = [await freePort(), performance.now()];
  const log = join(folder, `${PORT}.log`);
  const command = `exec "${process.execPath}" "${new URL(script, import.meta.url).pathname}" >"${log}" 2>&1`;
  const { child, ended } = startProcess({ PORT, HOST: '127.0.0.1', ...more }, ['-c', command], 'sh');
  const [url, headers] = [`http://127.0.0.1:${PORT}/v1/customers`, { authorization: `Bearer ${key}` }];
  while (!(await fetch(url, { headers }).catch(() => undefined))?.ok) {
    if (child.exitCode !== null) throw new Error(`${script} did not start: ${readFileSync(log, 'utf8')}`);
    await pause(5);
  }
  const startMs = performance.now() - start;
  const stop = async (): Promise<void> => void (child.kill() && (await ended));
  return { port: Number(PORT), pid: child.pid ?? 0, startMs, stop };
}

/** The fields of /proc/PID/stat behind the name, which can contain spaces; none if the process has ended. */
function stat(pid: number): number[] {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) /s, '');
    return fields.split(' ').map(Number);
  } catch {
    return [];
  }
}

/** Processor time in seconds of a process, or with its children, including those that have ended, as PostgreSQL's do. */
export function cpuSeconds(pid: number, isTree = false): number {
  const own = stat(pid).slice(11, isTree ? 15 : 13);
  const pids = isTree ? readdirSync('/proc').map(Number) : [];
  const children = pids
    .filter((child) => child > 0 && stat(child)[1] === pid)
    .map((child) => cpuSeconds(child) * 100);
  return [...own, ...children].reduce((sum, ticks) => sum + ticks / 100, 0);
}

export const mebibytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1_024;
