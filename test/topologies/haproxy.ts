import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '../support/process.ts';
import type { Instance } from './instance.ts';

export type Balancer = {
  port: number;
  /** Whether each instance gets requests, in their order. */
  up: () => Promise<boolean[]>;
  close: () => Promise<void>;
};

const SHIPPED = new URL('../../deploy/haproxy.cfg', import.meta.url);

/** What is shipped, with addresses of this machine. It is for three instances. */
async function shippedFor(instances: readonly Instance[], port: string): Promise<string> {
  let text = await readFile(SHIPPED, 'utf8');
  const replace = (shipped: string, here: string): void => {
    if (text.split(shipped).length !== 2) throw new Error(`deploy/haproxy.cfg has not one "${shipped}".`);
    text = text.replace(shipped, here);
  };
  for (const [index, { port, dashboardPort }] of instances.entries()) {
    const name = index === 0 ? 'api' : `api-${index + 1}`;
    replace(` ${name}:3000 check port 3001`, ` 127.0.0.1:${port} check port ${dashboardPort}`);
    replace(` ${name}:3001 `, ` 127.0.0.1:${dashboardPort} `);
  }
  replace('bind :8080', `bind 127.0.0.1:${port}`);
  replace('bind :8081', `bind 127.0.0.1:${await freePort()}`);
  replace('bind 127.0.0.1:8082', `bind 127.0.0.1:${await freePort()}`);
  return text;
}

/** The haproxy that is shipped, before three instances. */
export async function startBalancer(instances: readonly Instance[]): Promise<Balancer> {
  const folder = await mkdtemp(join(tmpdir(), 'crm-haproxy-'));
  const port = await freePort();
  const socket = join(folder, 'stats');
  const [shipped, added] = [join(folder, 'haproxy.cfg'), join(folder, 'stats.cfg')];
  await writeFile(shipped, await shippedFor(instances, port));
  await writeFile(added, `global\n  stats socket ${socket} level user\n`);
  const child = spawn('haproxy', ['-db', '-f', shipped, '-f', added], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  await once(child, 'spawn').catch(() => {
    throw new Error('haproxy is missing: apt-get install haproxy.');
  });
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`haproxy ended: ${said}`)));
  ended.catch(() => undefined);

  const statistics = (): Promise<string> => {
    const asked = connect(socket);
    asked.write('show stat\n');
    return text(asked);
  };
  return {
    port: Number(port),
    up: async () => {
      const shown = await Promise.race([statistics().catch(() => ''), ended]);
      const lines = shown.split('\n').filter((line) => /^instances,api/.test(line));
      return lines.map((line) => line.split(',')[17] === 'UP');
    },
    close: async () => {
      child.kill('SIGTERM');
      await ended.catch(() => undefined);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
