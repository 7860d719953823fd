import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import packageJson from '../package.json' with { type: 'json' };
import type { Job, Result } from './load.ts';

/** The processes of a run. Each server logs to a file, as it would for a log collector. */
export type Server = { port: number; pid: number; stop: () => Promise<void> };

type ServerOptions = {
  script: URL;
  environment: Record<string, string>;
  log: string;
  /** A path that returns 200 when the server is ready, and the key for that request. */
  probe: string;
  key: string;
};

const READY_WITHIN_MS = 60_000;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** The options of `npm start` for Node.js: `NODE_OPTIONS="--some=flag $NODE_OPTIONS"`. */
export const productionOptions = /NODE_OPTIONS="(\S+)/.exec(packageJson.scripts.start)?.[1] ?? '';

/** Starts a server and waits until it is ready. */
export async function startServer({ script, environment, log, probe, key }: ServerOptions): Promise<Server> {
  const port = await freePort();
  const output = openSync(log, 'a');
  const child = spawn(process.execPath, [script.pathname], {
    env: { PATH: process.env.PATH, ...environment, PORT: String(port), HOST: '127.0.0.1' },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  const headers = { authorization: `Bearer ${key}` };
  for (const deadline = Date.now() + READY_WITHIN_MS; ; await pause(5)) {
    const response = await fetch(`http://127.0.0.1:${port}${probe}`, { headers }).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.status === 200) break;
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop(child);
      throw new Error(`${script.pathname} did not start; see ${log}.`);
    }
  }
  return { port, pid: child.pid ?? 0, stop: () => stop(child) };
}

export type LoadProcess = { run: (job: Job) => Promise<Result>; stop: () => Promise<void> };

/** Starts the load generator, which does one job at a time. */
export function startLoad(): LoadProcess {
  const child = fork(new URL('load.ts', import.meta.url), { serialization: 'advanced' });
  const ended = once(child, 'exit').then(() => {
    throw new Error('The load process ended.');
  });
  ended.catch(() => undefined);
  return {
    run: async (job) => {
      const response = once(child, 'message');
      child.send(job);
      const [{ result, error }] = (await Promise.race([response, ended])) as [
        { result?: Result; error?: string },
      ];
      if (result) return result;
      throw new Error(error);
    },
    stop: () => stop(child),
  };
}
