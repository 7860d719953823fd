import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';

/** npm run verify: all checks, side by side, also when one fails. Needs no database. */

const node = (...args: string[]): string[] => [process.execPath, ...args];
const withRuntime = (script: string, ...args: string[]): string[] =>
  node('--import', './src/runtime.js', script, ...args);

/** The slowest first. */
const CHECKS: readonly [name: string, command: string[]][] = [
  ['types', ['tsc']],
  ['types of tools', ['tsc', '--project', 'tools']],
  ['format and lint', ['tools/node_modules/.bin/biome', 'check']],
  ['OpenAPI documents', node('tools/check-documents.ts')],
  ['names in documents', node('tools/lint-texts.ts')],
  ['generated documents', withRuntime('tools/documents.ts', '--check')],
  ['unused code and dependencies', ['tools/node_modules/.bin/knip']],
  ['migrations of the schema', withRuntime('tools/check-schema.ts')],
];

/** Prints the output of a check that fails. */
async function run(name: string, [command = '', ...args]: string[]): Promise<void> {
  const start = performance.now();
  const { stdout, stderr, code } = await promisify(execFile)(command, args).then(
    (output) => ({ ...output, code: 0 }),
    (error) => ({ stdout: '', stderr: error.message, code: 1, ...error }),
  );
  const seconds = ((performance.now() - start) / 1_000).toFixed(1);
  console.log(`${code === 0 ? 'good' : 'BAD '}  ${name} (${seconds} s)`);
  if (code === 0) return;
  console.log(`\n${[command, ...args].join(' ')}\n${stdout}${stderr}`);
  process.exitCode = 1;
}

const waiting = [...CHECKS];
async function work(): Promise<void> {
  for (let next = waiting.shift(); next; next = waiting.shift()) await run(...next);
}
await Promise.all(Array.from({ length: availableParallelism() }, work));
