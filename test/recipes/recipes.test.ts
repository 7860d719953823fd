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
import { describe, expect, test } from 'vitest';
import { type Place, RECIPES } from '../support/recipes.ts';

/**
 * What the recipes of docs/changing-it.md say is done to a copy of the tree: every test passes there. With any one place left
 * out, something is red. RECIPE_TESTS runs fewer tests, by their paths.
 */

/** The files of a recipe, and the lines of code below src/ that it writes. */
const AIMS: Record<string, { files: number; lines: number }> = {
  'A text field': { files: 2, lines: 3 },
  'A calendar date': { files: 2, lines: 5 },
  'A field that the dashboard writes': { files: 3, lines: 3 },
  'A filter': { files: 6, lines: 13 },
  'A filter by a date': { files: 5, lines: 9 },
  'A limit': { files: 1, lines: 1 },
  'An error code': { files: 6, lines: 8 },
  'A resource that `/v1` only reads': { files: 12, lines: 148 },
  'A resource that `/v1` writes': { files: 17, lines: 248 },
};

type Outcome = { isGood: boolean; output: string; command?: string };

async function run(cwd: string, command: string): Promise<Outcome> {
  const PATH = [join(process.cwd(), 'node_modules/.bin'), process.env.PATH].join(':');
  // The script of npm, without what it installs first.
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
  // The number of a migration is not known before.
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

function copyOfTheTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'crm-test-recipe-'));
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  for (const file of files.split('\n').filter(Boolean)) cpSync(file, join(copy, file));
  for (const folder of ['tools', 'crm'])
    symlinkSync(join(process.cwd(), folder, 'node_modules'), join(copy, folder, 'node_modules'));
  // The workspaces, which are links, are those of the copy.
  mkdirSync(join(copy, 'node_modules'));
  for (const entry of readdirSync('node_modules', { withFileTypes: true })) {
    const present = join('node_modules', entry.name);
    symlinkSync(entry.isSymbolicLink() ? readlinkSync(present) : resolve(present), join(copy, present));
  }
  return copy;
}

const SOURCES = globSync('src/**/*.ts').map((file) => readFileSync(file, 'utf8'));

/** A word that names nothing: a tenth of the sources have it. */
const isCommon = (word: string): boolean =>
  SOURCES.filter((text) => new RegExp(`\\b${word}\\b`).test(text)).length > SOURCES.length / 10;

const commandsOf = ({ code }: Place): string[] => code.trim().split('\n');

/** Does what the places say; stops where a command fails. */
async function follow(copy: string, places: readonly Place[]): Promise<Outcome> {
  for (const place of places) {
    if (place.path !== '') edit(copy, place);
    else
      for (const command of commandsOf(place)) {
        const outcome = await run(copy, command);
        if (!outcome.isGood) return outcome;
      }
  }
  return { isGood: true, output: '' };
}

/** The first that is red. */
async function check(copy: string, commands: readonly string[]): Promise<Outcome> {
  for (const command of commands) {
    const outcome = await run(copy, command);
    if (!outcome.isGood) return outcome;
  }
  return { isGood: true, output: '' };
}

/** What sees most, the cheapest first. */
const WALKS = [
  'test/contract/openapi',
  'test/contract/operations test/contract/migrations test/contract/documents',
  'test/contract/declared-errors test/plans test/erasure test/db/triggers test/jobs/purge',
  'test/contract test/mcp test/model',
];
const PACKAGES = 'vitest run --project packages';

describe.each(RECIPES.map(({ name, places }) => [name, places] as const))('%s', (name, places) => {
  const paths = [...new Set(places.map(({ path }) => path).filter(Boolean))];

  test('is as short as it was', () => {
    const written = paths.filter((path) => !path.startsWith('migrations/'));
    const code = places.filter(({ path }) => path.startsWith('src/')).map((place) => place.code);
    const lines = code.join('').trimEnd().split('\n').length;
    const { files = 0, lines: most = 0 } = AIMS[name] ?? {};
    expect([written.length, lines], `files and lines of ${name}`).toEqual([
      Math.min(files, written.length),
      Math.min(most, lines),
    ]);
  });

  test('is all: types, format and every test are good', async () => {
    const copy = copyOfTheTree();
    try {
      const sources = paths.filter((file) => file.endsWith('.ts')).join(' ');
      const followed = await follow(copy, places);
      expect(followed.output.slice(-8_000)).toBe('');
      const { output } = await check(copy, [
        'tsc --noEmit',
        `tools/node_modules/.bin/biome check ${sources}`,
        `vitest run ${process.env.RECIPE_TESTS ?? ''}`,
        PACKAGES,
      ]);
      const failed = output.split('\n').filter((line) => line.includes(' FAIL '));
      expect([...failed, output.slice(-8_000)].join('\n')).toBe('');
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });

  /** A file or a command that is left out, its text, what is done without it, and what says first that it is missing. */
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
        const left = commandsOf(place).filter((one) => one !== command);
        const others = places.map((each) =>
          each === place ? { ...each, code: left.join('\n') || 'true' } : each,
        );
        // The name of a migration has words of what it changes.
        const code = command.replaceAll('_', ' ');
        return { what: command.replace(/ -- .*/, ''), first: [], code, others };
      }),
    );

  // A recipe of one file does nothing without it.
  const left = paths.length > 1 ? [...files, ...commands] : commands;
  test.for(left.map((each) => [each.what, each] as const))(
    'without %s something is red, and names it',
    async ([what, { first, code, others }], { annotate }) => {
      const copy = copyOfTheTree();
      try {
        let outcome: Outcome;
        try {
          outcome = await follow(copy, others);
        } catch (error) {
          // A place that stands on the one that was left out.
          outcome = { isGood: false, output: String(error) };
        }
        const names = [what, ...(code.match(/\w{6,}/g) ?? []).filter((word) => !isCommon(word))];
        const naming = (): string[] =>
          stripVTControlCharacters(outcome.output)
            .split('\n')
            .filter(
              (line) =>
                !line.includes('✓') &&
                names.some((name) => new RegExp(`(?<![a-z])${name}(?![a-z])`, 'i').test(line)),
            );
        const walks = WALKS.map((paths) => `vitest run --bail 1 ${paths}`);
        if (outcome.isGood) outcome = await check(copy, [...first, ...walks, PACKAGES]);
        // What stops a command need not name the place; the types do.
        else if (naming().length === 0) outcome.output += (await check(copy, first)).output;
        expect(outcome.isGood).toBe(false);
        expect(naming()).not.toEqual([]);
        await annotate(`${outcome.command}\n${naming().slice(0, 3).join('\n')}`);
      } finally {
        rmSync(copy, { recursive: true, force: true });
      }
    },
  );
});

test('there is a recipe for each of them', () => {
  expect(RECIPES.map(({ name }) => name)).toEqual(Object.keys(AIMS));
});
