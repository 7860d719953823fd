import { globSync, readFileSync } from 'node:fs';
import { getTableName } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { errorCodes } from '../../src/contract/errors.ts';
import type { Database } from '../../src/db/index.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { JOBS } from '../../src/jobs/schedule.ts';
import { tables } from '../../tools/tables-diagram.ts';
import { operationsOf, PUBLIC } from '../support/contract.ts';
import { documentAt, documents, README } from '../support/documents.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

/** The first groups of all matches in a text. */
const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, group]) => String(group));

/** The rows of the table that begins with this head. */
function rowsBelow(head: string, document: string): string[] {
  const [, table = ''] = documentAt(document).split(head);
  expect(table, `${document} has no table ${head}`).not.toBe('');
  return table.slice(0, table.indexOf('\n\n')).split('\n').slice(2);
}

const firstColumn = (rows: string[]): string[] => rows.map((row) => row.split('|')[1] ?? '');

test('the limit of a list is 25 to 100, of a transcript 50 to 200, as the guide and the client say', () => {
  const limits = Object.entries(PUBLIC.paths).flatMap(([path, { get }]) => {
    const limit = get?.parameters?.find(({ name }) => name === 'limit');
    return limit ? [{ path, limit: [limit.schema.default, limit.schema.maximum] }] : [];
  });
  expect(limits.length).toBeGreaterThan(6);
  for (const { path, limit } of limits)
    expect(limit, path).toEqual(path.endsWith('/messages') ? [50, 200] : [25, 100]);
  const guide = documentAt('docs/guide/limits.md');
  expect(guide).toContain('| `limit` of a list | 1 to 100, 25 by default |');
  expect(guide).toContain('| `limit` of a transcript | 1 to 200, 50 by default |');
  expect(read('client/src/lists.ts')).toContain('const MAX_LIMIT = 100;');
});

test('README.md links to every document of docs/', () => {
  const inDocs = documents.map(({ path }) => path).filter((path) => path.startsWith('docs/'));
  expect(inDocs.length).toBeGreaterThan(10);
  expect(all(README, /\]\((docs\/[^)#]+)\)/g)).toEqual(expect.arrayContaining(inDocs));
});

describe('the guide', () => {
  const chapters = documents.filter(({ path }) => path.startsWith('docs/guide/'));

  test('has only curl commands that the tests run, like every other document', () => {
    const blocks = documents.flatMap(({ text }) => [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)]);
    const curls = blocks.filter(([, , code]) => code?.includes('curl'));
    expect(curls.length).toBeGreaterThan(20);
    expect(curls.filter(([, language]) => language !== 'sh example').map(([block]) => block)).toEqual([]);
  });

  test('links only to itself: the reference page contains it without the other documents', () => {
    const links = chapters.flatMap(({ text }) => all(text, /\]\(([^)]+)\)/g));
    const names = chapters.map(({ path }) => path.replace('docs/guide/', ''));
    const outside = links.filter((link) => !link.startsWith('#') && !names.includes(link.replace(/#.*/, '')));
    expect(outside).toEqual([]);
  });

  test('has every filter of the lists', () => {
    const lists = operationsOf(PUBLIC)
      .map(({ operation: { parameters = [] } }) => parameters.filter((parameter) => parameter.in === 'query'))
      .filter((parameters) => parameters.some(({ name }) => name === 'offset'));
    const filters = lists.flat().map(({ name }) => name);
    const rows = rowsBelow('| list | filters |', 'docs/guide/searching.md');
    const documented = ['limit', 'offset', ...rows.flatMap((row) => all(row, /`(\w+)`/g))];
    expect(new Set(documented)).toEqual(new Set(filters));
  });

  test('begins its list of changes with the version of the API', () => {
    const [latest = ''] = firstColumn(
      rowsBelow('| version | date | what changed |', 'docs/guide/changes.md'),
    );
    expect(latest.trim()).toBe(JSON.parse(read('package.json')).version);
  });

  test('has sections on error codes that exist', () => {
    const sections = all(documentAt('docs/guide/errors.md'), /^### ([A-Z_]+)$/gm);
    expect(sections.length).toBeGreaterThan(2);
    expect(errorCodes).toEqual(expect.arrayContaining(sections));
  });
});

test('docs/tables.md has every table', () => {
  const rows = firstColumn(rowsBelow('| table | its rows |', 'docs/tables.md'));
  const documented = rows.flatMap((cell) => all(cell, /`(\w+)`/g));
  expect(documented.sort()).toEqual(tables.map((table) => getTableName(table)).sort());
});

test.each([
  ['package.json', '| package | reason |'],
  ['tools/package.json', '| program | reason |'],
  ['tools/importers/package.json', '| importer | reason |'],
])('docs/decisions/dependencies.md gives a reason for every dependency of %s', (path, head) => {
  const cells = firstColumn(rowsBelow(head, 'docs/decisions/dependencies.md'));
  const documented = cells.flatMap((cell) =>
    cell.split(',').map((name) => name.trim().replace(/ \(.*\)$/, '')),
  );
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read(path));
  const installed = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies });
  expect(documented.sort()).toEqual(installed.filter((name) => !name.startsWith('@types/')).sort());
});

describe('docs/operating.md', () => {
  const text = documentAt('docs/operating.md');

  test('names only lines of the log that the service writes', () => {
    const source = globSync('src/**/*.ts').map(read).join('\n');
    const failures = text.slice(text.indexOf('\n## Failures'), text.indexOf('\n### Overload'));
    const lines = all(failures, /^\| `(?:… )?([^`]+)` \|/gm);
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.filter((line) => !source.includes(line))).toEqual([]);
  });

  test('has every job', () => {
    const documented = all(text, /^\|.*`npm run job -- ([\w-]+)` \|$/gm);
    expect(documented.sort()).toEqual(Object.keys(JOBS).sort());
  });

  test('names only metrics that exist', async () => {
    const names = all(
      text,
      /\b([a-z0-9]+(?:_[a-z0-9]+)*_(?:total|seconds|bytes|waiting|idle|in_use)(?:_bucket)?)\b/g,
    );
    expect(names.length).toBeGreaterThan(5);
    const series = await seriesOfService();
    expect(names.filter((name) => !series.includes(name) && !series.includes(`${name}_bucket`))).toEqual([]);
  });

  test('explains each rule of deploy/alerts.yml, with its severity; the rules name only metrics that exist', async () => {
    const rules = [
      ...read('deploy/alerts.yml').matchAll(/- alert: (\w+)\n +expr: (.+)\n[\s\S]*?severity: (\w+)/g),
    ];
    expect(rules.length).toBeGreaterThan(5);
    const rows = rowsBelow('| alert | severity |', 'docs/operating.md').join('\n');
    const explained = [...rows.matchAll(/^\| `(\w+)` \| (\w+) \| \S.* \| \S.* \|$/gm)];
    expect(explained.map(([, name, severity]) => [name, severity]).sort()).toEqual(
      rules.map(([, name, , severity]) => [name, severity]).sort(),
    );
    const series = await seriesOfService();
    for (const [rule, , expression = ''] of rules) {
      const metrics = metricsIn(expression);
      expect(metrics.length, rule).toBeGreaterThan(0);
      expect(series, rule).toEqual(expect.arrayContaining(metrics));
    }
  });
});

/** The names of all series that Prometheus gets. */
async function seriesOfService(): Promise<string[]> {
  const db = { stats: () => ({ total: 0, idle: 0, waiting: 0 }) } as Database;
  const text = await createMetrics(db).text();
  return [...text.matchAll(/^# TYPE (\w+) (\w+)/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
}

/** The metrics in an expression of Prometheus: only they have an underscore and no bracket after them. */
const metricsIn = (expression: string): string[] =>
  [...expression.matchAll(/(?<![$\w])[a-z]+(?:_[a-z0-9]+)+(?![\w(])/g)].map(([name]) => name);

test('deploy/grafana-dashboard.json names only metrics that exist, and all metrics of the service itself', async () => {
  const series = await seriesOfService();
  const queries = all(read('deploy/grafana-dashboard.json'), /"(?:expr|query)": ?("(?:[^"\\]|\\.)*")/g);
  const named = queries.flatMap((query) => metricsIn(JSON.parse(query)));
  expect(series).toEqual(expect.arrayContaining(named));
  const own = series.filter((name) => !/^(process|nodejs)_|_(sum|count)$/.test(name));
  expect(own.length).toBeGreaterThan(8);
  expect(named).toEqual(expect.arrayContaining(own));
});
