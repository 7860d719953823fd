import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { PROGRAM } from './process.ts';
import { parseHead } from './socket.ts';

/**
 * The examples of a Markdown document: a block of shell marked `sh example`, and what it prints in the next block, marked
 * `json answer`, `jsonc answer` (the line `// …` stands for further fields) or `http answer` (some of the headers).
 * `varies=id,createdAt` after it names the fields and headers whose values differ from run to run.
 */
export type Example = { command: string; language?: string; varies?: string; response?: string };

const EXAMPLE =
  /^```sh example\n(?<command>[\s\S]*?)^```\n(?:(?!```).*\n)*(?:```(?<language>\w+) answer(?: varies=(?<varies>\S+))?\n(?<response>[\s\S]*?)^```$)?/gm;

export const examplesOf = (markdown: string): Example[] =>
  [...markdown.matchAll(EXAMPLE)].map(({ groups }) => groups as Example);

/** Values that the document shows, and the values that this service returned instead. */
export type Learned = Map<string, string>;

const REST = '…';

const fieldsOf = (value: unknown) => Object(value) as Record<string, unknown>;

/** The value that the document shows, with the parts that may differ taken from the actual value. */
function expected(
  documented: unknown,
  actual: unknown,
  varies: ReadonlySet<string>,
  learned: Learned,
): unknown {
  const part = (value: unknown, name: string | number) =>
    expected(value, fieldsOf(actual)[name], varies, learned);
  if (Array.isArray(documented)) return documented.map(part);
  if (typeof documented !== 'object' || documented === null) return documented;
  const present = fieldsOf(actual);
  const { [REST]: rest, ...fields } = fieldsOf(documented);
  // A value of an earlier response must not change.
  const isKnown = (value: unknown) => [...learned.values()].includes(String(value));
  const entries = Object.entries(fields).map(([name, value]) => {
    if (!varies.has(name) || isKnown(value) || typeof value !== typeof present[name])
      return [name, part(value, name)];
    // Ids, timestamps, links and entity tags, unlike counts, are long: later examples use them again.
    if (typeof value === 'string' && value.length > 10) learned.set(value, String(present[name]));
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
  { command, language, varies, response }: Example,
  base: string,
  environment: Record<string, string>,
  learned: Learned,
): Promise<void> {
  const script = replaceAll(command, learned).replaceAll('http://localhost:3000', base);
  const env = { ...PROGRAM, ...environment };
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { env });
  if (response === undefined) return expect(stdout, command).not.toContain('"error"');
  const read = language === 'http' ? parseHttp : parse;
  const documented = read(replaceAll(response, learned));
  // A document shows only some of the headers.
  if (language === 'http') Object.assign(fieldsOf(fieldsOf(documented).headers), { [REST]: true });
  const actual = read(stdout);
  expect(actual, command).toEqual(expected(documented, actual, new Set(varies?.split(',')), learned));
}
