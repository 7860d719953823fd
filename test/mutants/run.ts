import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';

/**
 * Applies each patch of this folder to a copy of the tree, and runs the test there that the patch names: `npm run test:mutants`.
 * It fails if a mistake is not detected. With names of patches as arguments, it applies only these.
 */

const folder = import.meta.dirname;
const root = resolve(folder, '../..');
/** Each run starts its own PostgreSQL. */
const CONCURRENCY = 2;

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter(Boolean);

/** Runs the test on the tree with the patch, and returns the test that fails, or undefined. */
async function failureWith(patch: string): Promise<string | undefined> {
  const copy = mkdtempSync(join(tmpdir(), 'crm-test-mutant-'));
  try {
    for (const file of files) cpSync(join(root, file), join(copy, file));
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    execFileSync('git', ['apply', patch], { cwd: copy });
    const [, test = ''] = readFileSync(patch, 'utf8').split('\n');
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--silent=true', '--retry=0', test];
    await promisify(execFile)(process.execPath, vitest, { cwd: copy, maxBuffer: 2 ** 26 });
    return undefined;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the colors of the report.
    const report = (stderr + stdout).replace(/\u001b\[\d+m/g, '');
    const [, place] = /FAIL .*\.test\.ts > (.{0,140})/.exec(report) ?? [];
    if (place === undefined) throw new Error(report.slice(-2_000));
    return place;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const say = (line: string) => process.stdout.write(`${line}\n`);

const chosen = process.argv.slice(2);
const patches = readdirSync(folder)
  .filter((file) => file.endsWith('.patch'))
  .filter((file) => chosen.length === 0 || chosen.includes(basename(file, '.patch')));

const undetected: string[] = [];
const waiting = [...patches];
await Promise.all(
  Array.from({ length: CONCURRENCY }, async () => {
    for (let patch = waiting.shift(); patch !== undefined; patch = waiting.shift()) {
      const failure = await failureWith(join(folder, patch));
      if (failure === undefined) undetected.push(patch);
      say(
        `${failure === undefined ? 'NOT DETECTED' : 'detected'}  ${basename(patch, '.patch')}  ${failure ?? ''}`,
      );
    }
  }),
);
for (const patch of undetected)
  say(`not detected: ${patch}: ${readFileSync(join(folder, patch), 'utf8').split('\n', 1)[0]}`);
say(`${patches.length - undetected.length} of ${patches.length} mistakes were detected`);
process.exitCode = undetected.length > 0 ? 1 : 0;
