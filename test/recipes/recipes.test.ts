import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Place, RECIPES } from '../support/recipes.ts';

/**
 * Each recipe of docs/changing-it.md is applied to a copy of the tree, where every test passes. Without any one of its steps,
 * something fails. RECIPE_TESTS selects the tests to run, by their paths.
 */

/** The most files of a recipe, and lines of code below src/ that it writes. */
const LIMITS: Record<string, { files: number; lines: number }> = {
  'A text field': { files: 2, lines: 3 },
  'A calendar date': { files: 2, lines: 5 },
  'A field that the dashboard writes': { files: 3, lines: 3 },
  'A filter': { files: 6, lines: 13 },
  'A filter by a date': { files: 5, lines: 9 },
  'A limit': { files: 1, lines: 1 },
  'An error code': { files: 6, lines: 8 },
  'A resource that `/v1` only reads': { files: 12, lines: 148 },
  'A resource that `/v1` writes': { files: 17, lines: 272 },
};

type Outcome = { isGood: boolean; output: string; command?: string };
const GOOD: Outcome = { isGood: true, output: '' };

async function run(cwd: string, command: string): Promise<Outcome> {
  const PATH = [join(process.cwd(), 'node_modules/.bin'), process.env.PATH].join(':');
  // A script of npm, without the installation of tools.
  const [, script = '', options = ''] = /^npm run ([\w:]+)(?: -- (.*))?$/.exec(command) ?? [];
  const { scripts } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'));
  const shell = script ? `${scripts[script].replace('sh tools/install.sh && ', '')} ${options}` : command;
  const settings = { cwd, env: { ...process.env, PATH }, maxBuffer: 2 ** 28 };
  try {
    const { stdout } = await promisify(execFile)('sh', ['-c', shell], settings);
    return { isGood: true, output: stdout };
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return { isGood: false, command, output: [stdout, stderr].join('\n') };
  }
}

/** Writes the code before, after or in place of the first line that has the anchor's text; without an anchor, a new file. */
function edit(copy: string, { path, how, anchor = '', code }: Place): void {
  // The number of a migration is not known in advance.
  const [file = join(copy, path)] = globSync(join(copy, path));
  if (how === undefined) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, code, { flag: 'wx' });
    return;
  }
  const lines = readFileSync(file, 'utf8').split('\n');
  const at = lines.findIndex((line) => line.includes(anchor));
  expect(at, `${path} has the line ${anchor}`).toBeGreaterThanOrEqual(0);
  const replaced = how === 'in place of' ? 1 : 0;
  lines.splice(how === 'after' ? at + 1 : at, replaced, code.replace(/\n$/, ''));
  writeFileSync(file, lines.join('\n'));
}

/** A copy of the tree, which is deleted with the test. */
function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'crm-test-recipe-'));
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  for (const file of files.split('\n').filter(Boolean)) cpSync(file, join(copy, file));
  for (const folder of ['tools', 'crm'])
    symlinkSync(join(process.cwd(), folder, 'node_modules'), join(copy, folder, 'node_modules'));
  // The links to workspaces are relative: they lead to the workspaces of the copy.
  mkdirSync(join(copy, 'node_modules'));
  for (const entry of readdirSync('node_modules', { withFileTypes: true })) {
    const present = join('node_modules', entry.name);
    symlinkSync(entry.isSymbolicLink() ? readlinkSync(present) : resolve(present), join(copy, present));
  }
  return copy;
}

const SOURCES = globSync('src/**/*.ts').map((file) => readFileSync(file, 'utf8'));

/** Whether a word is in a tenth of the sources, and therefore identifies nothing. */
const isCommon = (word: string): boolean =>
  SOURCES.filter((text) => new RegExp(`\\b${word}\\b`).test(text)).length > SOURCES.length / 10;

const commandsOf = ({ code }: Place): string[] => code.trim().split('\n');

/** Runs commands until one fails. */
async function runAll(copy: string, commands: readonly string[]): Promise<Outcome> {
  for (const command of commands) {
    const outcome = await run(copy, command);
    if (!outcome.isGood) return outcome;
  }
  return GOOD;
}

/** Applies the steps until a command fails. */
async function apply(copy: string, places: readonly Place[]): Promise<Outcome> {
  for (const place of places) {
    if (place.path !== '') edit(copy, place);
    const outcome = place.path === '' ? await runAll(copy, commandsOf(place)) : GOOD;
    if (!outcome.isGood) return outcome;
  }
  return GOOD;
}

/** The tests that most often detect a missing step, the fastest first. */
const WALKS = [
  'test/contract/openapi',
  'test/contract/operations test/contract/migrations test/contract/documents',
  'test/contract/declared-errors test/plans test/erasure test/db/triggers test/jobs/purge',
  'test/contract test/mcp test/model',
];
const PACKAGES = 'vitest run --project packages';

describe.each(RECIPES.map(({ name, places }) => [name, places] as const))('%s', (name, places) => {
  const paths = [...new Set(places.map(({ path }) => path).filter(Boolean))];

  test('writes no more files and lines than its limits', () => {
    const changed = paths.filter((path) => !path.startsWith('migrations/'));
    const code = places.filter(({ path }) => path.startsWith('src/')).map((place) => place.code);
    const lines = code.join('').trimEnd().split('\n').length;
    const limits = LIMITS[name] ?? { files: 0, lines: 0 };
    expect(changed.length, 'files').toBeLessThanOrEqual(limits.files);
    expect(lines, 'lines').toBeLessThanOrEqual(limits.lines);
  });

  test('is complete: types, format and every test are good', async () => {
    const copy = copyTree();
    const sources = paths.filter((file) => file.endsWith('.ts')).join(' ');
    const applied = await apply(copy, places);
    expect(applied.output.slice(-8_000)).toBe('');
    const { output } = await runAll(copy, [
      'tsc --noEmit',
      `tools/node_modules/.bin/biome check ${sources}`,
      `vitest run ${process.env.RECIPE_TESTS ?? ''}`,
      PACKAGES,
    ]);
    const failed = output.split('\n').filter((line) => line.includes(' FAIL '));
    expect([...failed, output.slice(-8_000)].join('\n')).toBe('');
  });

  // A step that is omitted: a file or a command, its text, the other steps, and the commands that should fail first.
  const files = paths.map((path) => ({
    what: path,
    first: ['tsc --noEmit'],
    code: places.map((place) => (place.path === path ? place.code : '')).join(''),
    others: places.filter((place) => place.path !== path),
  }));
  const commands = places
    .filter(({ path }) => path === '')
    .flatMap((place) =>
      commandsOf(place).map((command) => {
        const remaining = commandsOf(place).filter((one) => one !== command);
        const others = places.map((each) =>
          each === place ? { ...each, code: remaining.join('\n') || 'true' } : each,
        );
        // The name of a migration contains the names of what it changes.
        const code = command.replaceAll('_', ' ');
        return { what: command.replace(/ -- .*/, ''), first: [], code, others };
      }),
    );

  // Without its only file, a recipe does nothing.
  const steps = paths.length > 1 ? [...files, ...commands] : commands;
  test.for(steps.map((each) => [each.what, each] as const))(
    'without %s something fails, and names it',
    async ([what, { first, code, others }], { annotate }) => {
      const copy = copyTree();
      // A step throws if its anchor is in the omitted step.
      let outcome = await apply(copy, others).catch(
        (error): Outcome => ({ isGood: false, output: String(error) }),
      );
      const names = [what, ...(code.match(/\w{6,}/g) ?? []).filter((word) => !isCommon(word))];
      const linesThatNameIt = (): string[] =>
        stripVTControlCharacters(outcome.output)
          .split('\n')
          .filter(
            (line) =>
              !line.includes('✓') &&
              names.some((name) => new RegExp(`(?<![a-z])${name}(?![a-z])`, 'i').test(line)),
          );
      const walks = WALKS.map((paths) => `vitest run --bail 1 ${paths}`);
      if (outcome.isGood) outcome = await runAll(copy, [...first, ...walks, PACKAGES]);
      // The error of a command need not name the step, but the errors of types do.
      else if (linesThatNameIt().length === 0) outcome.output += (await runAll(copy, first)).output;
      expect(outcome.isGood).toBe(false);
      expect(linesThatNameIt()).not.toEqual([]);
      await annotate(`${outcome.command}\n${linesThatNameIt().slice(0, 3).join('\n')}`);
    },
  );
});

test('every recipe has its limits, in the order of the document', () => {
  expect(RECIPES.map(({ name }) => name)).toEqual(Object.keys(LIMITS));
});
