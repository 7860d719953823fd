import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { Environment } from '../../src/config.ts';
import { errorCodes } from '../../src/contract/errors.ts';
import type { Database } from '../../src/db/index.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { JOBS } from '../../src/jobs/schedule.ts';
import { operationsOf, PUBLIC } from '../support/contract.ts';
import { documentAt, documents, groupsOf } from '../support/documents.ts';

/** What a document names, the service has, and what the service imports and reads is deployed. */

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

test('the limit of a list is 25 to 100, of a transcript 50 to 200', () => {
  for (const { path, operation } of operationsOf(PUBLIC)) {
    const limit = operation.parameters?.find(({ name }) => name === 'limit');
    const expected = path.endsWith('/messages') ? [50, 200] : [25, 100];
    if (limit) expect([limit.schema.default, limit.schema.maximum], path).toEqual(expected);
  }
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
  const [, table = ''] =
    /\| list \| filters \|\n([\s\S]*?)\n\n/.exec(documentAt('docs/guide/searching.md')) ?? [];
  const documented = ['limit', 'offset', ...groupsOf(table, /`(\w+)`/g)];
  expect(new Set(documented)).toEqual(new Set(lists.flat().map(({ name }) => name)));
  const sections = groupsOf(documentAt('docs/guide/errors.md'), /^### ([A-Z_]+)$/gm);
  expect(errorCodes).toEqual(expect.arrayContaining(sections));
});

const OPERATING = documentAt('docs/operating.md');

test('docs/operating.md has every job, and only lines of the log that the service writes', () => {
  const jobs = groupsOf(OPERATING, /^\|.*`npm run job -- ([\w-]+)` \|$/gm);
  expect(jobs.sort()).toEqual(Object.keys(JOBS).sort());
  const source = globSync('src/**/*.ts').map(read).join('\n');
  const failures = OPERATING.slice(OPERATING.indexOf('\n## Failures'), OPERATING.indexOf('\n### Overload'));
  const lines = groupsOf(failures, /^\| `(?:… )?([^`]+)` \|/gm);
  expect(lines.length).toBeGreaterThan(1);
  expect(lines.filter((line) => !source.includes(line))).toEqual([]);
});

/** The metrics in an expression of Prometheus: only they have an underscore and no bracket after them. */
const metricsIn = (expression: string): string[] =>
  groupsOf(expression, /(?<![$\w])([a-z]+(?:_[a-z0-9]+)+)(?![\w(])/g);

test('alerts, the guide for operators and the Grafana dashboard name only metrics that exist', async () => {
  const db = { stats: () => ({ total: 9, idle: 2, running: 4, waiting: 3 }) } as Database;
  const text = await createMetrics(db).text();
  const gauges = text.match(/^database_\w+(in_use|idle|waiting) .+/gm) ?? [];
  expect(gauges.map((line) => line.slice(-1))).toEqual(['7', '2', '3']);
  const types = text.matchAll(/^# TYPE (\w+) (\w+)/gm);
  const series = [...types].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
  const named = groupsOf(
    OPERATING,
    /\b([a-z0-9]+(?:_[a-z0-9]+)*_(?:total|seconds|bytes|waiting|idle|in_use)(?:_bucket)?)\b/g,
  );
  const queries = groupsOf(read('deploy/grafana-dashboard.json'), /"(?:expr|query)": ?("(?:[^"\\]|\\.)*")/g);
  const shown = queries.flatMap((query) => metricsIn(JSON.parse(query)));
  const alerted = groupsOf(read('deploy/alerts.yml'), /^ +expr: (.+)$/gm).flatMap(metricsIn);
  expect([named.length > 5, alerted.length > 5]).toEqual([true, true]);
  expect(series).toEqual(expect.arrayContaining([...named, ...alerted, ...shown]));
});

test('the Prometheus of deploy/ scrapes at least four times within the range of each alert', () => {
  const [interval = 'none'] = groupsOf(read('deploy/prometheus.yml'), /scrape_interval: (\d+)s/g);
  const ranges = groupsOf(read('deploy/alerts.yml'), /\[(\d+)m\]/g).map((minutes) => Number(minutes) * 60);
  expect(Number(interval) * 4).toBeLessThanOrEqual(Math.min(...ranges));
});

/** What the programs of a folder import: the name as it is written, and as a path from the root. */
const importsIn = (folder: string, pattern: RegExp) =>
  globSync(`${folder}/**/*.{js,ts}`, { cwd: root }).flatMap((file) =>
    Array.from(read(file).matchAll(pattern), ([, from, lazily]) => {
      const name = String(from ?? lazily);
      return { by: file, name, path: join(dirname(file), name) };
    }),
  );

test('what is deployed has everything that the service imports: files of src/ and rules/, and dependencies', () => {
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
  const packageOf = (name: string) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name;
  const values = /^(?:import|export) (?!type )(?:[^;'=(]+ from )?'([^']+)';$|import\('([^']+)'\)/gm;
  const absent = ['src', 'rules', 'demo']
    .flatMap((folder) => importsIn(folder, values))
    .filter(({ name, path }) =>
      name.startsWith('.')
        ? !/^(src|rules|demo)\//.test(path)
        : !name.startsWith('node:') && !(packageOf(name) in dependencies),
    )
    .map(({ by, name }) => `${by} imports ${name}`);
  expect(absent).toEqual([]);
});

test('what is deployed gets every variable of the service by docker-compose.yml, and is checked at /livez', () => {
  const [, api = ''] = /^ {2}api:\n([\s\S]*?)(?=^ {2}\w)/m.exec(read('docker-compose.yml')) ?? [];
  const variables = Array.from(api.matchAll(/^ {6}([A-Z_\d]+): /gm), ([, name]) => name);
  const absentVariables = Object.keys(Environment.shape).filter((name) => !variables.includes(name));
  expect(absentVariables).toEqual([]);
  // The migrations run as the owner of the database, in a container that ends.
  expect(api).not.toContain('POSTGRES_PASSWORD');
  expect(read('Dockerfile')).toMatch(/^HEALTHCHECK .*\\\n.*\/livez`/m);
});

const copied = groupsOf(read('Dockerfile'), /^COPY (.+) \S+$/gm).flatMap((from) => from.split(' '));

test('what is deployed has every command that docs/operating.md names, and every file that the service reads', () => {
  const isCopied = (file: string) => copied.some((path) => `${file}/`.startsWith(`${path}/`));
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const programs = groupsOf(OPERATING, /npm run ([\w:]+)\b(?! -->)/g).map(
    (name) => scripts[name]?.split(' ').at(-1) ?? name,
  );
  expect(new Set(programs).size).toBeGreaterThan(2);
  expect(programs.filter((file) => !isCopied(file))).toEqual([]);
  const allowed = [...read('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path]) => path);
  expect(copied.sort()).toEqual(allowed.sort());
  const files = importsIn('src', /new URL\([`'](?:\.\.\/)*(?!node_modules)(\w[\w./-]*)/g);
  const names = files.map(({ name }) => name);
  expect(names.sort()).toEqual(['docs/guide/', 'migrations/', 'openapi/', 'package.json']);
  expect(names.filter((name) => !isCopied(name))).toEqual([]);
});

test('nothing makes PostgreSQL forget what it has confirmed', () => {
  const files = globSync('{docker-compose.yml,{src,demo,migrations,deploy,crm/src}/**/*.*}', { cwd: root });
  expect(files).toContain('docker-compose.yml');
  for (const path of files)
    expect(read(path), path).not.toMatch(/synchronous_commit|fsync|full_page_writes|\bunlogged\b/i);
});
