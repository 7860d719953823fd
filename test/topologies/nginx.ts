import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { newFolder } from '../support/folder.ts';
import { freePort, startProcess } from '../support/process.ts';
import { end, type Instance } from './instance.ts';

const run = promisify(execFile);

type Address = Pick<Instance, 'port' | 'dashboardPort'>;

const SHIPPED = new URL('../../deploy/nginx.conf', import.meta.url);

type Places = { port: number; tlsPort: number; dashboardPort: number; tls: string; spool: string };

/** The configuration of deploy/, with addresses and folders of this machine. */
async function configurationFor(instances: readonly Address[], front: Places): Promise<string> {
  let text = await readFile(SHIPPED, 'utf8');
  const replace = (shipped: string, here: string): void => {
    if (!text.includes(shipped)) throw new Error(`deploy/nginx.conf has no "${shipped}".`);
    text = text.replaceAll(shipped, here);
  };
  const servers = (ports: number[]): string =>
    ports.map((port) => `server 127.0.0.1:${port} max_fails=1 fail_timeout=2s;`).join('\n');
  replace('resolver 127.0.0.11 valid=1s ipv6=off;', '');
  replace('server api:3000 resolve max_fails=1 fail_timeout=2s;', servers(instances.map(({ port }) => port)));
  replace(
    'server api:3001 resolve max_fails=1 fail_timeout=2s;',
    servers(instances.map(({ dashboardPort }) => dashboardPort)),
  );
  replace('listen 8080', `listen 127.0.0.1:${front.port}`);
  replace('listen 8443', `listen 127.0.0.1:${front.tlsPort}`);
  replace('listen 8081', `listen 127.0.0.1:${front.dashboardPort}`);
  replace('listen 127.0.0.1:8082', `listen 127.0.0.1:${await freePort()}`);
  replace('/etc/nginx/tls', front.tls);
  replace('/var/log/nginx/access.log', '/dev/null');
  const temporary = ['proxy', 'client_body', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${front.spool}/${kind};`,
  );
  replace('http {', `http {\n${temporary.join('\n')}`);
  return text;
}

async function countRequests({ dashboardPort }: Address): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${dashboardPort}/metrics`)).text();
  const counts = metrics.matchAll(/^http_requests_total\{.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/**
 * nginx with the configuration of deploy/, in front of instances on this machine; it ends with the test. `tls` is an empty folder
 * for certificates, `spool` that of its temporary files: what clients have not read yet.
 * @param spoolMiB gives the spool a disk of its own of this size: needs root
 */
export async function startFront(instances: readonly Address[], spoolMiB?: number) {
  const folder = await newFolder();
  const [tls, file] = [join(folder, 'tls'), join(folder, 'nginx.conf')];
  // On a disk: temporary folders can be in memory.
  const spool = await mkdtemp('/var/tmp/crm-spool-');
  onTestFinished(() => rm(spool, { recursive: true, force: true }));
  // As root, nginx runs its workers as another user.
  await chmod(folder, 0o755);
  await mkdir(tls);
  await chmod(spool, 0o755);
  if (spoolMiB !== undefined) {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${spoolMiB}m,mode=755`, 'tmpfs', spool]);
    onTestFinished(async () => {
      await run('umount', ['--lazy', spool]);
    });
  }
  const newPort = async () => Number(await freePort());
  const ports = { port: await newPort(), tlsPort: await newPort(), dashboardPort: await newPort() };
  const front = { ...ports, tls, spool };
  await writeFile(file, await configurationFor(instances, front));
  const settings = `daemon off; pid ${folder}/pid; error_log stderr notice;`;
  const start = async () => {
    const nginx = startProcess({}, ['-c', file, '-g', settings], 'nginx');
    await nginx.until(/start worker process \d+\n[\s\S]*start worker process/);
    return nginx;
  };
  let nginx = await start();
  onTestFinished(() => end(nginx, 'SIGQUIT'));

  return {
    ...front,
    /** Whether each instance gets requests, in their order. */
    up: async () => {
      const before = await Promise.all(instances.map(countRequests));
      for (let request = 0; request < 8 * instances.length; request += 1)
        await fetch(`http://127.0.0.1:${front.port}/openapi.json`).then((response) => response.arrayBuffer());
      const after = await Promise.all(instances.map(countRequests));
      return after.map((count, index) => count > (before[index] ?? 0));
    },
    restart: async () => {
      await end(nginx, 'SIGQUIT');
      nginx = await start();
    },
  };
}
