import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { documentAt } from '../support/documents.ts';

/** What the chapters of docs/changing-it.md show is done to a copy of the tree, and the copy passes the checks. */

const text = documentAt('docs/changing-it.md');

type Block = { path: string; how?: string; anchor?: string; code: string };

/** `In \`src/a.ts\`, after \`text\`:`, before a block that goes there; `New, \`src/a.ts\`:`; `Run:`, before commands. */
const PLACED =
  /^( *)(?:Run|New, `([^`\n]+)`|In `([^`\n]+)`, (after|before|in place of) `([^\n]+)`):\n\n\1```\w+\n([\s\S]*?)^\1```$/gm;

/** What a chapter says to do, in its order. Commands have no path. */
function blocksOf(chapter: string): Block[] {
  const [, section] = new RegExp(`^## ${chapter}\n([\\s\\S]*?)(?=^## )`, 'm').exec(text) ?? [];
  expect(section, `docs/changing-it.md has a chapter "${chapter}"`).toBeDefined();
  return Array.from(
    section?.matchAll(PLACED) ?? [],
    ([, indent, added, changed, how, anchor, code = '']) => ({
      path: added ?? changed ?? '',
      ...(how && { how }),
      ...(anchor && { anchor }),
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  );
}

const run = async (cwd: string, command: string): Promise<string> => {
  const PATH = [join(process.cwd(), 'node_modules/.bin'), process.env.PATH].join(':');
  // The script of npm, without what it installs first.
  const [, script = '', options = ''] = /^npm run ([\w:]+)(?: -- (.*))?$/.exec(command) ?? [];
  const { scripts } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'));
  const shell = script ? `${scripts[script].replace('sh tools/install.sh && ', '')} ${options}` : command;
  try {
    return (await promisify(execFile)('sh', ['-c', shell], { cwd, env: { ...process.env, PATH } })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    const failed = stderr.split('\n').filter((line) => line.includes(' FAIL '));
    throw new Error([command, ...failed, stdout.slice(-6_000), stderr.slice(-4_000)].join('\n'));
  }
};

/** Writes the code before, after or in place of the first line that has the anchor's text; without an anchor, a new file. */
function edit(copy: string, { path, how, anchor = '', code }: Block): void {
  const file = join(copy, path);
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
  for (const folder of ['.', 'tools', 'crm'])
    symlinkSync(join(process.cwd(), folder, 'node_modules'), join(copy, folder, 'node_modules'));
  return copy;
}

/** Each with the files that it may take, and the tests that must then pass. */
const CHAPTERS: [chapter: string, files: number, tests: string[]][] = [
  [
    'Adding a field',
    4,
    [
      'contract/fields',
      'contract/operations',
      'openapi',
      'requests',
      'documents',
      'migrations',
      'test/customers',
      'test/mcp',
    ],
  ],
  [
    'Adding a filter',
    5,
    ['contract/operations', 'openapi', 'requests', 'documents', 'migrations', 'test/plans', 'test/drift'],
  ],
  ['Adding a resource', 23, ['test/contract', 'test/plans', 'test/drift', 'test/mcp']],
];

describe.each(CHAPTERS)('%s', (chapter, files, tests) => {
  let copy: string;
  beforeAll(() => {
    copy = copyOfTheTree();
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  const named = new Set(blocksOf(chapter).flatMap(({ path }) => (path === '' ? [] : [path])));

  test('is done in as many files as it says', () => {
    expect(named.size).toBeLessThanOrEqual(files);
  });

  test('is complete: types, documents, migrations and the walks are good', async () => {
    for (const block of blocksOf(chapter)) {
      if (block.path !== '') edit(copy, block);
      else for (const line of block.code.trim().split('\n')) await run(copy, line);
    }
    const sources = [...named].filter((file) => file.endsWith('.ts'));
    await run(copy, `tools/node_modules/.bin/biome check ${sources.join(' ')}`);
    await run(copy, 'tsc --noEmit');
    await run(copy, `vitest run ${tests.join(' ')}`);
    await run(copy, 'vitest run --config vitest.packages.config.ts client/test crm/test/export');
  });
});
