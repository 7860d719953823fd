import { type SpawnOptions, spawn } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';

export type ServiceProcess = ReturnType<typeof startProcess>;

export const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/** The environment that every program needs: PATH (for setpriv), and the cache of compiled code. */
export const PROGRAM = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };

/** Starts a program, without a command the service, as a person does: with these environment variables only. */
export function startProcess(
  environment: Record<string, string>,
  args: string[] = [MAIN],
  command = process.execPath,
  options: SpawnOptions = {},
) {
  const child = spawn(command, args, {
    ...options,
    env: { ...PROGRAM, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  let more = Promise.withResolvers<void>();
  const collect = (chunk: Buffer | string) => {
    text += chunk;
    more.resolve();
    more = Promise.withResolvers();
  };
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  child.on('error', ({ message }) => collect(message));
  const ended = new Promise<number | null>((done) => {
    child.on('close', done);
  });
  /** Resolves with the output when it contains the text or matches; rejects if the process ends before. */
  async function until(expected: string | RegExp): Promise<string> {
    while (!(typeof expected === 'string' ? text.includes(expected) : expected.test(text))) {
      const code = await Promise.race([more.promise, ended]);
      if (code !== undefined) throw new Error(`Ended with ${code} before printing "${expected}":\n${text}`);
    }
    return text;
  }
  return { child, output: () => text, until, ended };
}

/**
 * Runs a program of the repository in this process, with these arguments and environment variables only: the start of a process
 * would take a second. One at a time.
 */
export async function runProgram(path: string, args: string[], environment: Record<string, string>) {
  const { argv, env } = process;
  const printed = { log: '', error: '' };
  const spies = (['log', 'error'] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation((text: string) => {
      printed[name] += `${text}\n`;
    }),
  );
  Object.assign(process, { argv: [process.execPath, path, ...args], env: { ...PROGRAM, ...environment } });
  try {
    // Another address each time: a module runs once.
    await import(`${new URL(`../../${path}`, import.meta.url)}?${randomUUID()}`);
    return { code: process.exitCode ?? 0, stdout: printed.log, stderr: printed.error };
  } finally {
    Object.assign(process, { argv, env, exitCode: undefined });
    for (const spy of spies) spy.mockRestore();
  }
}

const used = new Set<string>();

/** Linux gives outgoing connections the ports from here on: such a port could be taken when a server restarts. */
const FIRST_OUTGOING = 32_768;
const FIRST_FREE = 10_000;

/** A free port that this function has not returned before. */
export async function freePort(): Promise<string> {
  const port = String(randomInt(FIRST_FREE, FIRST_OUTGOING));
  const isFree = await new Promise<boolean>((done) => {
    const server = createServer().on('error', () => done(false));
    server.listen(Number(port), '127.0.0.1', () => server.close(() => done(true)));
  });
  if (!isFree || used.has(port)) return freePort();
  used.add(port);
  return port;
}
