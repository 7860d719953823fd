import { readdirSync, readFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';

/** What the kernel reports about the machine and its processes. On Linux only; elsewhere undefined. */

export function machine(): string {
  const [first] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${first?.model.trim()}, ${cpus().length} cores, ${memory} GiB, ${type()} ${release()}, Node ${process.versions.node}`;
}

const TICKS_PER_SECOND = 100;

function stat(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in brackets, can contain spaces.
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** Processor time of the process, in seconds. */
export function cpuSeconds(pid: number): number | undefined {
  const fields = stat(pid);
  return fields && (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** The same for the process and its children, including those that have ended, as PostgreSQL's do. */
export function cpuSecondsOfTree(pid: number): number | undefined {
  const fields = stat(pid);
  if (!fields) return undefined;
  const own = fields.slice(11, 15).reduce((ticks, field) => ticks + Number(field), 0) / TICKS_PER_SECOND;
  const children = readdirSync('/proc')
    .map(Number)
    .filter((child) => child > 0 && Number(stat(child)?.[1]) === pid);
  return children.reduce((total, child) => total + (cpuSeconds(child) ?? 0), own);
}

/** Resident memory in MiB. */
export function residentMemory(pid: number): number | undefined {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1024;
  } catch {
    return undefined;
  }
}
