import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { newFolder } from '../../test/support/folder.ts';
import { PROGRAM } from '../../test/support/process.ts';
import { type Agency, useService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

type Ended = { code: number | null; stdout: string; stderr: string };
type Access = { url?: string; key?: string };

/** Starts the command as a process of its own, without a terminal. */
export function startCrm(args: readonly string[], { url, key }: Access = {}) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: {
      ...PROGRAM,
      ...(url !== undefined && { CRM_URL: url }),
      ...(key !== undefined && { CRM_API_KEY: key }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
  const exit = once(child, 'close') as Promise<[number | null]>;
  const ended = Promise.all([exit, stdout, stderr]).then(
    ([[code], stdout, stderr]): Ended => ({ code, stdout, stderr }),
  );
  return { child, ended };
}

export const crm = (args: readonly string[], access?: Access): Promise<Ended> => startCrm(args, access).ended;
export async function useFolder(): Promise<(name: string) => string> {
  const folder = await newFolder();
  return (name) => join(folder, name);
}

/**
 * A service and a folder for the tests of one file. `at` is the command's access to an agency; `begin` makes a new agency and a file,
 * for which `run` runs a command such as `import customers`; `rejected` reads the rejected rows.
 */
export async function useCrm() {
  const service = await useService();
  const { origin } = await listen(service);
  const file = await useFolder();
  const at = ({ key }: Pick<Agency, 'key'>, url = origin) => ({ url, key });
  async function begin(command: string, name: string, text: string) {
    const [agency, path] = [await service.agency(), file(name)];
    await writeFile(path, text);
    const run = (...args: string[]) => crm([...command.split(' '), path, ...args], at(agency));
    const rejected = () => readFile(path.replace(/(?=\.\w+$)/, '.rejected'), 'utf8');
    return { agency, path, run, rejected };
  }
  return { service, file, origin, at, begin };
}
