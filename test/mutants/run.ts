import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';

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
    execFileSync('git', ['apply', join(folder, patch)], { cwd: copy });
    const [, test = ''] = readFileSync(join(folder, patch), 'utf8').split('\n');
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--silent=true', '--retry=0', test];
    await promisify(execFile)(process.execPath, vitest, { cwd: copy, maxBuffer: 2 ** 26 });
    return undefined;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    const report = stripVTControlCharacters(stderr + stdout);
    const [, place] = /FAIL .*\.test\.ts > (.{0,140})/.exec(report) ?? [];
    if (place === undefined) throw new Error(report.slice(-2_000));
    return place;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const chosen = process.argv.slice(2);
const patches = readdirSync(folder).filter(
  (file) => file.endsWith('.patch') && (chosen.length === 0 || chosen.includes(basename(file, '.patch'))),
);
let undetected = 0;
const waiting = [...patches];
async function work(): Promise<void> {
  for (let patch = waiting.shift(); patch !== undefined; patch = waiting.shift()) {
    const failure = await failureWith(patch);
    if (failure === undefined) undetected += 1;
    process.stdout.write(
      `${failure === undefined ? 'NOT DETECTED' : 'detected'}  ${patch}  ${failure ?? ''}\n`,
    );
  }
}
await Promise.all(Array.from({ length: CONCURRENCY }, work));
process.stdout.write(`${patches.length - undetected} of ${patches.length} mistakes were detected\n`);
process.exitCode = undetected > 0 ? 1 : 0;
