import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
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

/** haproxy before the instances: it asks `/readyz`, and repeats no request that was sent. */
export async function startBalancer(instances: readonly Instance[]): Promise<Balancer> {
  const folder = await mkdtemp(join(tmpdir(), 'crm-haproxy-'));
  const port = await freePort();
  const socket = join(folder, 'stats');
  const servers = instances.map(
    (instance, index) => `  server s${index} 127.0.0.1:${instance.port} check port ${instance.dashboardPort}`,
  );
  const config = `
global
  stats socket ${socket} level user
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout check 5s
frontend clients
  bind 127.0.0.1:${port}
  default_backend instances
backend instances
  balance roundrobin
  option httpchk GET /readyz
  default-server inter 200ms fall 2 rise 1
${servers.join('\n')}
`;
  await writeFile(join(folder, 'haproxy.cfg'), config);
  const child = spawn('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], {
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
      const lines = shown.split('\n').filter((line) => /^instances,s\d/.test(line));
      return lines.map((line) => line.split(',')[17] === 'UP');
    },
    close: async () => {
      child.kill('SIGTERM');
      await ended.catch(() => undefined);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
