import { type ChildProcess, spawn } from 'node:child_process';
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

/** A port that was free a moment ago, and that nobody else got from here. */
export const freePort = async (): Promise<string> => {
  const port = await new Promise<string>((done, fail) => {
    const server = createServer().on('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => done(String(port)));
    });
  });
  if (given.has(port)) return freePort();
  given.add(port);
  return port;
};

export { MAIN };
