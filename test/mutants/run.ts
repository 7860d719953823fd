import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { MISTAKES, type Mistake } from './mistakes.ts';

/**
 * Makes each mistake in a copy of the tree, and runs the test there that must detect it: `npm run test:mutants`.
 * It fails if a mistake is not detected. With names as arguments, it makes only these mistakes.
 */

const root = resolve(import.meta.dirname, '../..');
/** Each run starts its own PostgreSQL. */
const CONCURRENCY = 2;

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter(Boolean);

/** Runs the test on the tree with the mistake, and returns the test that fails, or undefined. */
async function failureWith({ test, changes }: Mistake): Promise<string | undefined> {
  const copy = mkdtempSync(join(tmpdir(), 'crm-test-mutant-'));
  try {
    for (const file of files) cpSync(join(root, file), join(copy, file));
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    for (const { path, text, mistake } of changes) {
      const source = readFileSync(join(copy, path), 'utf8');
      writeFileSync(
        join(copy, path),
        source.replace(text, () => mistake),
      );
    }
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

const names = process.argv.slice(2);
const chosen = MISTAKES.filter(({ name }) => names.length === 0 || names.includes(name));
let undetected = 0;
const waiting = [...chosen];
async function work(): Promise<void> {
  for (let mistake = waiting.shift(); mistake !== undefined; mistake = waiting.shift()) {
    const failure = await failureWith(mistake);
    if (failure === undefined) undetected += 1;
    process.stdout.write(
      `${failure === undefined ? 'NOT DETECTED' : 'detected'}  ${mistake.name}  ${failure ?? ''}\n`,
    );
  }
}
await Promise.all(Array.from({ length: CONCURRENCY }, work));
process.stdout.write(`${chosen.length - undetected} of ${chosen.length} mistakes were detected\n`);
process.exitCode = undetected > 0 ? 1 : 0;
