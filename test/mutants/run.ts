import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';

/**
 * Seeds each mistake of this folder in a copy of the tree, and runs the model there, or the test that the patch names:
 * `npm run test:mutants`. It fails where a mistake is not seen, and where the model is red without one. Names of patches choose
 * some, and leave that out.
 */

const folder = import.meta.dirname;
const root = resolve(folder, '../..');
/** Each has a PostgreSQL of its own. */
const AT_ONCE = 2;

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter(Boolean);

/** What the test says of the tree with the patch: undefined where it is green, else the step or the test that is red. */
async function judge(patch?: string): Promise<string | undefined> {
  const copy = mkdtempSync(join(tmpdir(), 'crm-test-mutant-'));
  try {
    for (const file of files) cpSync(join(root, file), join(copy, file));
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    if (patch) execFileSync('git', ['apply', patch], { cwd: copy });
    const [, test = 'test/model/model.test.ts'] =
      /^(test\/\S+)\n/m.exec(patch ? readFileSync(patch, 'utf8') : '') ?? [];
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--silent=true', test];
    await promisify(execFile)(process.execPath, vitest, { cwd: copy, maxBuffer: 2 ** 26 });
    return undefined;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours of the report.
    const said = (stderr + stdout).replace(/\u001b\[\d+m/g, '');
    const [, place] =
      /(?:Caused by: Error|FAIL .*\.test\.ts >) *:? ?(.{0,140})/.exec(said.replace(/ FAIL .*model.*/, '')) ??
      [];
    if (place === undefined && !/Tests +1 failed/.test(said)) throw new Error(said.slice(-2_000));
    return place ?? 'an operation was always refused';
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const say = (line: string) => process.stdout.write(`${line}\n`);

const chosen = process.argv.slice(2);
const patches = readdirSync(folder)
  .filter((file) => file.endsWith('.patch'))
  .filter((file) => chosen.length === 0 || chosen.includes(basename(file, '.patch')));

if (chosen.length === 0) {
  const clean = await judge();
  if (clean !== undefined) throw new Error(`The model is red without a mistake: ${clean}`);
  say('green without a mistake');
}

const unseen: string[] = [];
const waiting = [...patches];
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let patch = waiting.shift(); patch !== undefined; patch = waiting.shift()) {
      const seen = await judge(join(folder, patch));
      if (seen === undefined) unseen.push(patch);
      say(`${seen === undefined ? 'NOT SEEN' : 'seen'}  ${basename(patch, '.patch')}  ${seen ?? ''}`);
    }
  }),
);
for (const patch of unseen)
  say(`not seen: ${patch}: ${readFileSync(join(folder, patch), 'utf8').split('\n', 1)[0]}`);
say(`${patches.length - unseen.length} of ${patches.length} mistakes were seen`);
process.exitCode = unseen.length > 0 ? 1 : 0;
