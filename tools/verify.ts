import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

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
  ['names in documents and comments', node('tools/lint-texts.ts')],
  ['generated documents', withRuntime('tools/documents.ts', '--check')],
  ['unused code and dependencies', ['tools/node_modules/.bin/knip']],
  ['migrations of the schema', withRuntime('tools/check-schema.ts')],
];

type Result = { name: string; isGood: boolean; seconds: number };

function run(name: string, [command = '', ...args]: string[]): Promise<Result> {
  const start = performance.now();
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  return new Promise((done) => {
    const end = (isGood: boolean) => {
      if (!isGood)
        console.log(`\n${name}: ${args.length > 0 ? [command, ...args].join(' ') : command}\n${output}`);
      done({ name, isGood, seconds: (performance.now() - start) / 1_000 });
    };
    child.on('error', (error) => {
      output += error.message;
      end(false);
    });
    child.on('close', (code) => end(code === 0));
  });
}

const waiting = [...CHECKS];
const results: Result[] = [];
async function work(): Promise<void> {
  for (let next = waiting.shift(); next; next = waiting.shift()) results.push(await run(...next));
}
await Promise.all(Array.from({ length: availableParallelism() }, work));
for (const { name, isGood, seconds } of results)
  console.log(`${isGood ? 'good' : 'BAD '}  ${name} (${seconds.toFixed(1)} s)`);
process.exitCode = results.every(({ isGood }) => isGood) ? 0 : 1;
