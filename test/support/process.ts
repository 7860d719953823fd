import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

/** The service as a person starts it: a process, with its output and its end. */
export type ServiceProcess = {
  child: ChildProcess;
  output: () => string;
  /** Resolves with the output when it contains the text; rejects with it when the process ends before. */
  until: (text: string) => Promise<string>;
  /** Exit code. */
  ended: Promise<number | null>;
};

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/** What every program needs: PATH (for setpriv), and the compiled code of those started before it. */
export const PROGRAM = {
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
};

/** Starts the service with nothing but these variables. */
export function startProcess(
  environment: Record<string, string>,
  args: string[] = [MAIN],
  command = process.execPath,
): ServiceProcess {
  const child = spawn(command, args, {
    env: { ...PROGRAM, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  const watchers = new Set<() => void>();
  const collect = (chunk: Buffer) => {
    text += chunk;
    for (const watch of watchers) watch();
  };
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  const ended = new Promise<number | null>((done) => {
    child.on('close', done);
  });
  const until = (wanted: string): Promise<string> =>
    new Promise((done, fail) => {
      const watch = () => {
        if (text.includes(wanted)) done(text);
      };
      watchers.add(watch);
      watch();
      ended.then((code) => fail(new Error(`Ended with ${code} before printing "${wanted}":\n${text}`)));
    });
  return { child, output: () => text, until, ended };
}

const given = new Set<string>();

/** Outgoing connections take ports from here on (Linux's default): a server that is started again would not get its own back. */
const FIRST_OUTGOING = 32_768;
const FIRST_FREE = 10_000;

/** A port that is free, and that nobody else got from here. */
export async function freePort(): Promise<string> {
  const port = String(randomInt(FIRST_FREE, FIRST_OUTGOING));
  const isFree = await new Promise<boolean>((done) => {
    const server = createServer().on('error', () => done(false));
    server.listen(Number(port), '127.0.0.1', () => server.close(() => done(true)));
  });
  if (!isFree || given.has(port)) return freePort();
  given.add(port);
  return port;
}

export { MAIN };
