import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';

/** npm run verify: all checks, side by side, also when one fails. Needs no database. */

const NODE = [process.execPath, '--import', './src/runtime.js'];

/** Not in tsconfig.json: `npm pack` would build a package with nothing but what has changed since the last time. */
const INCREMENTAL = ['--incremental', '--tsBuildInfoFile'];

/** The slowest first. */
const CHECKS: readonly [name: string, command: string[]][] = [
  ['types', ['tsc', ...INCREMENTAL, 'node_modules/.cache/tsc.tsbuildinfo']],
  ['types of tools', ['tsc', '--project', 'tools', ...INCREMENTAL, 'node_modules/.cache/tools.tsbuildinfo']],
  ['format and lint', ['tools/node_modules/.bin/biome', 'check']],
  ['OpenAPI documents', [...NODE, 'tools/check-documents.ts']],
  ['names in documents', [...NODE, 'tools/lint-texts.ts']],
  ['generated documents', [...NODE, 'tools/documents.ts', '--check']],
  ['unused code and dependencies', ['tools/node_modules/.bin/knip']],
  ['migrations of the schema', [...NODE, 'tools/check-schema.ts']],
];

const waiting = [...CHECKS];
async function work(): Promise<void> {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const [name, [program = '', ...args]] = next;
    const start = performance.now();
    const failure = await promisify(execFile)(program, args).then(
      () => undefined,
      ({ message, stdout, stderr }) => `\n${message}\n${stdout}${stderr}`,
    );
    const seconds = ((performance.now() - start) / 1_000).toFixed(1);
    console.log(`${failure === undefined ? 'good' : 'BAD '}  ${name} (${seconds} s)${failure ?? ''}`);
    if (failure !== undefined) process.exitCode = 1;
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, work));
