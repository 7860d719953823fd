import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { errorCodes } from '../../src/contract/errors.ts';
import type { Database } from '../../src/db/index.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { JOBS } from '../../src/jobs/schedule.ts';
import { operationsOf, PUBLIC } from '../support/contract.ts';
import { documentAt, documents } from '../support/documents.ts';

/** What a document names, the service has: whoever follows it would notice a name that is gone. */

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** The first groups of all matches in a text. */
const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, group]) => String(group));

/** The rows of the table that begins with this head. */
function rowsBelow(head: string, document: string): string[] {
  const [, table = ''] = documentAt(document).split(head);
  expect(table, `${document} has no table ${head}`).not.toBe('');
  return table.slice(0, table.indexOf('\n\n')).split('\n').slice(2);
}

test('the limit of a list is 25 to 100, of a transcript 50 to 200, as the guide and the client say', () => {
  for (const { path, operation } of operationsOf(PUBLIC)) {
    const limit = operation.parameters?.find(({ name }) => name === 'limit');
    const expected = path.endsWith('/messages') ? [50, 200] : [25, 100];
    if (limit) expect([limit.schema.default, limit.schema.maximum], path).toEqual(expected);
  }
  const guide = documentAt('docs/guide/limits.md');
  expect(guide).toContain('| `limit` of a list | 1 to 100, 25 by default |');
  expect(guide).toContain('| `limit` of a transcript | 1 to 200, 50 by default |');
  expect(read('client/src/lists.ts')).toContain('const MAX_LIMIT = 100;');
});

test('documents have only curl commands that the tests run', () => {
  const blocks = documents.flatMap(({ text }) => [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)]);
  const curls = blocks.filter(([, , code]) => code?.includes('curl'));
  expect(curls.length).toBeGreaterThan(20);
  expect(curls.filter(([, language]) => language !== 'sh example').map(([block]) => block)).toEqual([]);
});

test('the guide has every filter of the lists, and sections on error codes that exist', () => {
  const lists = operationsOf(PUBLIC)
    .map(({ operation: { parameters = [] } }) => parameters.filter((parameter) => parameter.in === 'query'))
    .filter((parameters) => parameters.some(({ name }) => name === 'offset'));
  const rows = rowsBelow('| list | filters |', 'docs/guide/searching.md');
  const documented = ['limit', 'offset', ...rows.flatMap((row) => all(row, /`(\w+)`/g))];
  expect(new Set(documented)).toEqual(new Set(lists.flat().map(({ name }) => name)));
  const sections = all(documentAt('docs/guide/errors.md'), /^### ([A-Z_]+)$/gm);
  expect(errorCodes).toEqual(expect.arrayContaining(sections));
});

const OPERATING = documentAt('docs/operating.md');

test('docs/operating.md has every job, and only lines of the log that the service writes', () => {
  const jobs = all(OPERATING, /^\|.*`npm run job -- ([\w-]+)` \|$/gm);
  expect(jobs.sort()).toEqual(Object.keys(JOBS).sort());
  const source = globSync('src/**/*.ts').map(read).join('\n');
  const failures = OPERATING.slice(OPERATING.indexOf('\n## Failures'), OPERATING.indexOf('\n### Overload'));
  const lines = all(failures, /^\| `(?:… )?([^`]+)` \|/gm);
  expect(lines.length).toBeGreaterThan(2);
  expect(lines.filter((line) => !source.includes(line))).toEqual([]);
});

/** The metrics in an expression of Prometheus: only they have an underscore and no bracket after them. */
const metricsIn = (expression: string): string[] =>
  all(expression, /(?<![$\w])([a-z]+(?:_[a-z0-9]+)+)(?![\w(])/g);

test('alerts, the guide for operators and the Grafana dashboard name only metrics that exist', async () => {
  const db = { stats: () => ({ total: 0, idle: 0, waiting: 0 }) } as Database;
  const types = (await createMetrics(db).text()).matchAll(/^# TYPE (\w+) (\w+)/gm);
  const series = [...types].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
  const named = all(
    OPERATING,
    /\b([a-z0-9]+(?:_[a-z0-9]+)*_(?:total|seconds|bytes|waiting|idle|in_use)(?:_bucket)?)\b/g,
  );
  const queries = all(read('deploy/grafana-dashboard.json'), /"(?:expr|query)": ?("(?:[^"\\]|\\.)*")/g);
  const shown = queries.flatMap((query) => metricsIn(JSON.parse(query)));
  const alerted = all(read('deploy/alerts.yml'), /^ +expr: (.+)$/gm).flatMap(metricsIn);
  expect([named.length > 5, alerted.length > 5]).toEqual([true, true]);
  expect(series).toEqual(expect.arrayContaining([...named, ...alerted, ...shown]));
});
