import { getTableName } from 'drizzle-orm';
import { format } from 'sql-formatter';
import { allStatements, type Statement } from '../src/db/sql/statement.ts';
import { tables } from './tables-diagram.ts';

type Section = { name: string; head: string[]; lines: string[] };

/** Removes the quotes that a name does not need, for easier reading. Text constants stay as they are. */
const withoutNeedlessQuotes = (text: string): string =>
  text
    .split(/('(?:[^']|'')*')/)
    .map((part) => (part.startsWith("'") ? part : part.replace(/"([a-z_]+[a-z0-9_]*)"/g, '$1')))
    .join('');

/** The statement, formatted, with the names of its values in their places. */
function section({ name, text, parameters, isPrepared }: Statement<unknown, never>): Section {
  const list = parameters.map((parameter, index) => `$${index + 1} ${parameter}`).join(', ');
  const sql = format(withoutNeedlessQuotes(text), {
    language: 'postgresql',
    keywordCase: 'lower',
    expressionWidth: 100,
  });
  const named = `${sql};`.replaceAll(/\$(\d+)/g, (_, number) => `$${parameters[Number(number) - 1]}`);
  return {
    name,
    head: [...(list === '' ? [] : [`-- ${list}`]), ...(isPrepared ? [] : ['-- a custom plan at each run'])],
    lines: named.split('\n'),
  };
}

/** The length of the longest common subsequence of what is left of both, at each pair of lines. */
function commonLengths(before: readonly string[], after: readonly string[]): number[][] {
  const lengths = Array.from({ length: before.length + 1 }, () => Array<number>(after.length + 1).fill(0));
  const at = (row: number, column: number): number => lengths[row]?.[column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1)
    for (let column = after.length - 1; column >= 0; column -= 1)
      (lengths[row] as number[])[column] =
        before[row] === after[column]
          ? 1 + at(row + 1, column + 1)
          : Math.max(at(row + 1, column), at(row, column + 1));
  return lengths;
}

/** What differs, line by line: `-` is of the one before, `+` of the one after; before each change the line above it. */
function difference(before: readonly string[], after: readonly string[]): string[] {
  const lengths = commonLengths(before, after);
  const lines: string[] = [];
  let [row, column] = [0, 0];
  let above: string | undefined;
  const say = (line: string): void => {
    if (above !== undefined) lines.push(`  ${above}`);
    above = undefined;
    lines.push(line);
  };
  while (row < before.length || column < after.length) {
    const [old, fresh] = [before[row], after[column]];
    if (old !== undefined && old === fresh) {
      above = old;
      row += 1;
      column += 1;
    } else if (
      fresh === undefined ||
      (old !== undefined && (lengths[row + 1]?.[column] ?? 0) >= (lengths[row]?.[column + 1] ?? 0))
    ) {
      say(`- ${old}`);
      row += 1;
    } else {
      say(`+ ${fresh}`);
      column += 1;
    }
  }
  return lines;
}

/** Lines that are shorter than so many are said again: they are read faster than a reference is followed. */
const WORTH_LEAVING_OUT = 10;

/** Leaves out the longest run of lines that `whole` has too, however far it is indented. */
function withoutRun(lines: readonly string[], whole: Section): string[] {
  const plain = whole.lines.map((line) => line.trim());
  let best = { start: 0, length: 0 };
  for (let start = 0; start < lines.length; start += 1)
    for (let from = 0; from < plain.length; from += 1) {
      let length = 0;
      while (lines[start + length] !== undefined && lines[start + length]?.trim() === plain[from + length])
        length += 1;
      if (length > best.length) best = { start, length };
    }
  if (best.length < WORTH_LEAVING_OUT) return [...lines];
  const indent = /^ */.exec(lines[best.start] ?? '')?.[0] ?? '';
  return [
    ...lines.slice(0, best.start),
    `${indent}-- … ${best.length} lines as in ${whole.name}`,
    ...lines.slice(best.start + best.length),
  ];
}

const indentOf = (line: string): number => line.search(/\S/);

/** One whole statement for each operation; of its others (filters, later pages) what differs from one that is shown. */
function textOf(sections: readonly Section[]): string {
  const operationOf = ({ name }: Section): string => name.replace(/ .*/, '');
  // The statement that renders a record, where there is one: its fields stand there, and in no other.
  const rendering =
    sections.find(({ name }) => name.endsWith('.render')) ??
    sections.find(({ name }) => name.endsWith('.get'));
  const shown: Section[] = [];
  return sections
    .map((one) => {
      const [closest] = shown
        .filter((other) => operationOf(other) === operationOf(one))
        .map((other) => ({ name: other.name, lines: difference(other.lines, one.lines) }))
        .sort((a, b) => a.lines.length - b.lines.length);
      if (closest && closest.lines.length < one.lines.length / 2) {
        const margin = Math.min(...closest.lines.map((line) => indentOf(line.slice(2))));
        const lines = closest.lines.map((line) => `-- ${line.slice(0, 2)}${line.slice(2 + margin)}`);
        return [`-- ${one.name}`, ...one.head, `-- as ${closest.name}, but`, ...lines].join('\n');
      }
      shown.push(one);
      const lines = rendering && rendering !== one ? withoutRun(one.lines, rendering) : one.lines;
      return [`-- ${one.name}`, ...one.head, ...lines].join('\n');
    })
    .join('\n\n');
}

/**
 * The file of each resource (`products.sql`) with its formatted statements. Load the modules that compose them first.
 * Of a list it has the first page, a later page and each filter alone. Sets of filters join the same conditions.
 */
export function sqlDocuments(): Map<string, string> {
  const names = new Set(tables.map((table) => getTableName(table)));
  const resourceOf = (name: string): string => name.slice(0, name.indexOf('.'));
  const statements = allStatements()
    .filter(({ name, isVariant }) => names.has(resourceOf(name)) && !isVariant)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const byResource = Map.groupBy(statements, ({ name }) => resourceOf(name));
  return new Map(
    [...byResource].map(([resource, group]) => [
      `${resource}.sql`,
      `-- Made by npm run docs from the repositories; see docs/changing-it.md, "From a URL to SQL".\n\n${textOf(group.map(section))}\n`,
    ]),
  );
}
