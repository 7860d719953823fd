import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { PROGRAM } from './process.ts';
import { parseHead } from './socket.ts';

/**
 * The examples of a Markdown document: a block of shell marked `sh example`, and what it prints in a block marked
 * `json answer`, `jsonc answer` (the line `// …` stands for further fields) or `http answer` (some of the headers).
 * `varies=id,createdAt` after it names the fields and headers whose values differ from run to run.
 */
export type Example = {
  /** The heading that it stands under. */
  title: string;
  command: string;
  response: { language: string; varies: ReadonlySet<string>; text: string } | undefined;
};

const BLOCK_OR_HEADING = /^```(?<info>[^\n]*)\n(?<code>[\s\S]*?)^```$|^#+ (?<heading>.+)$/gm;

/** @throws for a response that follows no example */
export function examplesOf(markdown: string): Example[] {
  const examples: Example[] = [];
  let title = '';
  for (const { groups = {} } of markdown.matchAll(BLOCK_OR_HEADING)) {
    const { info = '', code = '', heading } = groups;
    const [language = '', kind, ...options] = info.split(' ');
    if (heading !== undefined) title = heading;
    if (kind === 'example') examples.push({ title, command: code, response: undefined });
    if (kind !== 'answer') continue;
    const example = examples.at(-1);
    if (!example || example.response) throw new Error(`Under "${title}" a response follows no example.`);
    const varies = options.find((option) => option.startsWith('varies='))?.slice('varies='.length);
    example.response = { language, varies: new Set(varies?.split(',')), text: code };
  }
  return examples;
}

/** Values that the document shows, and the values that this service returned instead. */
export type Learned = Map<string, string>;

/** Both are text, or both of another type and null or not. */
const isAlike = (documented: unknown, actual: unknown): boolean =>
  typeof documented === typeof actual && (documented === null) === (actual === null);

/** Ids, timestamps, links and entity tags, unlike counts, are long: later examples use them again. */
const isReused = (value: unknown): value is string => typeof value === 'string' && value.length > 10;

const REST = '…';

/** The value that the document shows, with the parts that may differ taken from the actual value. */
function expected(
  documented: unknown,
  actual: unknown,
  varies: ReadonlySet<string>,
  learned: Learned,
): unknown {
  if (Array.isArray(documented)) {
    return documented.map((entry, index) =>
      expected(entry, Array.isArray(actual) ? actual[index] : undefined, varies, learned),
    );
  }
  if (typeof documented !== 'object' || documented === null) return documented;
  const present = (typeof actual === 'object' && actual !== null ? actual : {}) as Record<string, unknown>;
  // A value of an earlier response must not change.
  const isKnown = (value: unknown) => [...learned.values()].includes(value as string);
  const { [REST]: rest, ...fields } = documented as Record<string, unknown>;
  const entries = Object.entries(fields).map(([name, value]) => {
    if (!varies.has(name) || isKnown(value) || !isAlike(value, present[name])) {
      return [name, expected(value, present[name], varies, learned)];
    }
    if (isReused(value)) learned.set(value, String(present[name]));
    return [name, present[name]];
  });
  // A document need not show fields that are null.
  const added = Object.entries(present).filter(([, value]) => rest !== undefined || value === null);
  return Object.fromEntries([...added, ...entries]);
}

const parse = (text: string): unknown =>
  JSON.parse(text.replace(new RegExp(`^ *// ${REST}$`, 'gm'), `"${REST}": true`));

/** Status, headers in lower case, and the body as JSON; `{}` for none. */
function parseHttp(text: string): { status: string; headers: Record<string, string>; body: unknown } {
  const [head = '', body = ''] = text.trim().split(/\r?\n\r?\n/);
  return { ...parseHead(head), body: body === '' ? {} : parse(body) };
}

const replaceAll = (text: string, learned: Learned): string =>
  [...learned].reduce((replaced, [documented, actual]) => replaced.replaceAll(documented, actual), text);

/**
 * Runs an example in a shell, as its reader would, and expects the output that the document shows.
 * @param base replaces http://localhost:3000
 * @param learned the values of earlier examples of the document; this one adds its own
 */
export async function runExample(
  { title, command, response }: Example,
  base: string,
  environment: Record<string, string>,
  learned: Learned,
): Promise<void> {
  const script = replaceAll(command, learned).replaceAll('http://localhost:3000', base);
  const env = { ...PROGRAM, ...environment };
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { env });
  if (!response) {
    expect(stdout, `${title}:\n${command}`).not.toContain('"error"');
    return;
  }
  const read = response.language === 'http' ? parseHttp : parse;
  const documented = read(replaceAll(response.text, learned));
  const actual = read(stdout);
  if (response.language === 'http') {
    // A document shows only some of the headers.
    Object.assign((documented as { headers: object }).headers, { [REST]: true });
  }
  expect(actual, `${title}:\n${command}`).toEqual(expected(documented, actual, response.varies, learned));
}
