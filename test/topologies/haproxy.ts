import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { freePort } from '../support/process.ts';
import { type Instance, temporaryFolder } from './instance.ts';
import { startProgram } from './program.ts';

export type Balancer = {
  port: number;
  /** Whether each instance gets requests, in their order. */
  up: () => Promise<boolean[]>;
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

/** The haproxy that is shipped, before three instances; it ends with the test. */
export async function startBalancer(instances: readonly Instance[]): Promise<Balancer> {
  const folder = await temporaryFolder();
  const port = await freePort();
  const socket = join(folder, 'stats');
  const [shipped, added] = [join(folder, 'haproxy.cfg'), join(folder, 'stats.cfg')];
  await writeFile(shipped, await shippedFor(instances, port));
  await writeFile(added, `global\n  stats socket ${socket} level user\n`);
  const program = await startProgram('haproxy', ['-V', '-db', '-f', shipped, '-f', added], /Using \w+\(\)/);
  onTestFinished(program.kill);

  const statistics = (): Promise<string> => {
    const asked = connect(socket);
    asked.write('show stat\n');
    return text(asked);
  };
  return {
    port: Number(port),
    up: async () => {
      const shown = await statistics().catch(() => '');
      const lines = shown.split('\n').filter((line) => /^instances,api/.test(line));
      return lines.map((line) => line.split(',')[17] === 'UP');
    },
  };
}
