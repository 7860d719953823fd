import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../support/process.ts';

const run = promisify(execFile);

/** Debian's Redis, on a port that it keeps when it is started again. */
export type RedisServer = {
  url: string;
  start: () => Promise<void>;
  /** SIGSTOP freezes it with its connections open, SIGCONT ends that, SIGKILL ends it. */
  signal: (name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL') => Promise<void>;
  close: () => Promise<void>;
};

const MISSING = 'redis-server is missing: apt-get install redis-server.';

/** Where that is possible, the test brings what it needs. */
async function install(): Promise<void> {
  const version = () => run('redis-server', ['--version']);
  try {
    await version();
  } catch {
    const apt = (...args: string[]) => run('apt-get', ['--quiet', '--yes', ...args]);
    try {
      await apt('update');
      await apt('install', '--no-install-recommends', 'redis-server');
      await version();
    } catch (cause) {
      throw new Error(MISSING, { cause });
    }
  }
}

export async function openRedis(): Promise<RedisServer> {
  await install();
  const folder = await mkdtemp(join(tmpdir(), 'crm-redis-'));
  const port = await freePort();
  const options = { port, bind: '127.0.0.1', dir: folder, save: '', appendonly: 'no' };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  let child: ReturnType<typeof spawn> | undefined;
  let ended: Promise<unknown> = Promise.resolve();

  const signal: RedisServer['signal'] = async (name) => {
    child?.kill(name);
    if (name === 'SIGKILL') await ended;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    start: () =>
      new Promise((done, fail) => {
        const started = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'] });
        child = started;
        ended = new Promise((over) => started.on('close', over));
        let said = '';
        started.on('error', fail).on('close', () => fail(new Error(`Redis ended:\n${said}`)));
        started.stdout?.on('data', (chunk) => {
          said += chunk;
          if (said.includes('Ready to accept connections')) done();
        });
      }),
    signal,
    close: async () => {
      await signal('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}
