import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { getTableName } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import type { KeyCache } from '../../src/api-keys/cache.ts';
import { ApiError, type ErrorCode, errorCodes } from '../../src/contract/errors.ts';
import type { Database } from '../../src/db/pool/client.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { JOBS } from '../../src/jobs/schedule.ts';
import { tables } from '../../tools/tables-diagram.ts';
import { operationsOf, PUBLIC } from '../support/contract.ts';
import { documentAt, documents, README } from '../support/documents.ts';
import { RECIPES } from '../support/recipes.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const manifest = JSON.parse(read('package.json'));

/** The first groups of all matches in a text. */
const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, group]) => String(group));

/** A Markdown text without what its code blocks show. */
const prose = (text: string): string => text.replace(/^```[\s\S]*?^```$/gm, '');

/** Without the blocks of recipes: they name what comes to be by them. */
const present = (text: string): string =>
  text.replace(/^ *(?:Run|(?:In|New,) `.*):\n\n *```[\s\S]*?^ *```$/gm, '');

/** The anchors of a document's headings, made as GitHub makes them. */
const anchorsOf = (text: string): string[] =>
  all(prose(text), /^#+ (.+)$/gm).map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** A part of a document, from a text that it has up to the next empty line. */
const tableFrom = (text: string, head: string): string[] => {
  expect(text).toContain(head);
  const table = text.slice(text.indexOf(head));
  return table.slice(0, table.indexOf('\n\n')).split('\n').slice(2);
};

describe.each(documents)('$path', ({ path, text }) => {
  test('names only npm scripts that exist', () => {
    const named = all(text, /npm run ([\w:-]+)/g);
    expect(named.filter((script) => !(script in manifest.scripts))).toEqual([]);
  });

  test('leads only to files and headings that exist', () => {
    const here = new URL(path, root);
    const links = all(text, /\]\(([^)]+)\)/g).filter((link) => !/^https?:/.test(link));
    const broken = links.filter((link) => {
      const { pathname, hash } = new URL(link, here);
      if (!existsSync(pathname)) return true;
      return hash !== '' && !anchorsOf(readFileSync(pathname, 'utf8')).includes(hash.slice(1));
    });
    expect(broken).toEqual([]);
    const named = all(
      present(text),
      /`((?:src|rules|test|bench|client|crm|demo|deploy|docs|examples|openapi|migrations|tools)\/[\w./-]*)`/g,
    );
    expect(named.filter((file) => !existsSync(new URL(file, root)))).toEqual([]);
  });

  test('names only error codes that exist', () => {
    const named = all(
      present(text),
      /\b([A-Z]+(?:_[A-Z]+)*_(?:NOT_FOUND|FAILED|CONFLICT|TOO_LARGE|EXCEEDED|UNAVAILABLE|LINK_INVALID|INTERNAL_ERROR|NOT_ARCHIVED|KEY_INACTIVE))\b/g,
    );
    expect(named.filter((code) => !(errorCodes as readonly string[]).includes(code))).toEqual([]);
  });
});

describe('comments', () => {
  const FOLDERS = 'src rules test tools bench client crm demo deploy examples migrations'.split(' ');
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|js|sql|py|sh|ya?ml|cfg|ini)$/.test(file) && !file.includes('node_modules'))
      .map((file) => `${folder}/${file}`),
  );
  /** Lines of comments, joined where a sentence goes on in the next line. */
  const commentsOf = (text: string): string => all(text, /^\s*(?:\/\*\*?|\*|\/\/|#|--|;)\s(.*)$/gm).join(' ');
  /** `docs/operating.md`, or with a heading of it: `docs/operating.md, "Backups"`. */
  const CITATION = /(?<![\w/.`])((?:[\w-]+\/)*[\w-]+\.md)\b(?:, "([^"]+)")?/g;

  const commented = [...files, 'docker-compose.yml'].map((file) => ({
    file,
    text: commentsOf(read(file)),
  }));

  test('name only npm scripts that exist', () => {
    const named = commented.flatMap(({ file, text }) =>
      all(text, /`npm run ([\w:-]+)/g).map((script) => ({ file, script })),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter(({ script }) => !(script in manifest.scripts))).toEqual([]);
  });

  const cited = commented.flatMap(({ file, text }) =>
    [...text.matchAll(CITATION)].map(([, path = '', heading]) => ({ file, path, heading })),
  );

  test('cite only documents that exist, by their path from the root, and headings that they have', () => {
    expect(cited.length).toBeGreaterThan(10);
    const broken = cited.filter(({ path, heading }) => {
      if (!existsSync(new URL(path, root))) return true;
      const headings = all(prose(read(path)), /^#+ (.+)$/gm);
      return heading !== undefined && !headings.includes(heading);
    });
    expect(broken).toEqual([]);
  });
});

test('every list has one limit, and a transcript its own: those that the guide and the client say', () => {
  const limits = Object.entries(PUBLIC.paths).flatMap(([path, { get }]) => {
    const limit = get?.parameters?.find(({ name }) => name === 'limit');
    return limit ? [[path, limit.schema.maximum, limit.schema.default]] : [];
  });
  expect(limits.length).toBeGreaterThan(6);
  for (const [path, ...limit] of limits)
    expect(limit, String(path)).toEqual(/messages$/.test(String(path)) ? [200, 50] : [100, 25]);
  const guide = documentAt('docs/guide/limits.md');
  expect(guide).toContain('| `limit` of a list | 1 to 100, 25 by default |');
  expect(guide).toContain('| `limit` of a transcript | 1 to 200, 50 by default |');
  expect(read('client/src/lists.ts')).toContain('const MAX_LIMIT = 100;');
});

test('docs/guide/searching.md has every filter, and no other', () => {
  const parameters = operationsOf(PUBLIC).flatMap(({ operation: { parameters = [] } }) =>
    parameters.some(({ name }) => name === 'offset') ? parameters : [],
  );
  const filters = parameters.filter(
    (each) => each.in === 'query' && !['limit', 'offset'].includes(each.name),
  );
  const rows = tableFrom(documentAt('docs/guide/searching.md'), '| list | filters |');
  const named = rows.flatMap((row) => all(row, /`(\w+)`/g));
  expect(new Set(named)).toEqual(new Set(filters.map(({ name }) => name)));
});

test('README.md leads to every document of docs/', () => {
  const linked = all(README, /\]\((docs\/[^)#]+)\)/g);
  const others = documents.map(({ path }) => path).filter((path) => path.startsWith('docs/'));
  expect(others.length).toBeGreaterThan(10);
  expect(others.filter((path) => !linked.includes(path))).toEqual([]);
});

describe('the guide', () => {
  const chapters = documents.filter(({ path }) => path.startsWith('docs/guide/'));

  test('shows no curl that the tests do not run, and neither does any other document', () => {
    const shells = documents.flatMap(({ text }) => [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)]);
    const curls = shells.filter(([, , code]) => code?.includes('curl'));
    expect(curls.length).toBeGreaterThan(20);
    expect(curls.filter(([, info]) => info !== 'sh example').map(([block]) => block)).toEqual([]);
  });

  test('leads only to itself: the reference page shows it alone', () => {
    const links = chapters.flatMap(({ text }) => all(text, /\]\(([^)]+)\)/g));
    const names = chapters.map(({ path }) => path.replace('docs/guide/', ''));
    const outside = links.filter((link) => !/^#/.test(link) && !names.includes(link.replace(/#.*/, '')));
    expect(outside).toEqual([]);
  });

  test('explains every error code under a heading of its own, except those of the dashboard API', () => {
    const guide = documentAt('docs/guide/errors.md');
    const statusOf = (code: string) => new ApiError(code as ErrorCode, '').status;
    const explained = all(guide, /^### ([A-Z_]+)$/gm);
    const rows = tableFrom(documentAt('docs/dashboard.md'), '| code | status |');
    const ofDashboard = rows.map((row) => all(row, /`([A-Z_]+)`/g)[0] ?? '');
    expect(
      [...explained, ...ofDashboard].sort(),
      'Explain a code of /v1 in docs/guide/errors.md, another one in the table of docs/dashboard.md',
    ).toEqual([...errorCodes].sort());

    for (const code of explained) expect(guide).toContain(`### ${code}\n\nStatus ${statusOf(code)}. `);
    for (const [index, code] of ofDashboard.entries()) expect(rows[index]).toContain(`| ${statusOf(code)} |`);
    const document = read('openapi/openapi.json');
    const answered = all(document, /"code": "([A-Z_]+)"/g);
    expect(answered.length).toBeGreaterThan(15);
    expect(answered.filter((code) => !explained.includes(code))).toEqual([]);
  });
});

test.each(RECIPES)(
  'each place that the recipe "$name" names is in the tree, or in what it wrote before',
  ({ places }) => {
    const written = new Map<string, string>();
    // A command writes the migration.
    for (const { path, how, anchor = '', code } of places.filter((place) =>
      /^(?!migrations)./.test(place.path),
    )) {
      const text = written.get(path) ?? (existsSync(new URL(path, root)) ? read(path) : '');
      written.set(path, `${text}\n${code}`);
      // In a copy of the tree that has followed the recipe.
      if (text.includes(code)) continue;
      if (how === undefined) expect(text, path).toBe('');
      else expect(text.split('\n'), path).toContainEqual(expect.stringContaining(anchor));
    }
  },
);

test('docs/tables.md says what a row is of every table, and of no other', () => {
  const rows = tableFrom(documentAt('docs/tables.md'), '| table | its rows |');
  const named = rows.flatMap((row) => all(row.split('|')[1] ?? '', /`(\w+)`/g));
  expect(named.sort()).toEqual(tables.map((table) => getTableName(table)).sort());
});

test.each([
  ['| package | reason |', 'package.json'],
  ['| program | reason |', 'tools/package.json'],
])(
  'docs/decisions/dependencies.md gives a reason for every dependency, and for nothing else: %s',
  (head, path) => {
    const rows = tableFrom(documentAt('docs/decisions/dependencies.md'), head);
    const named = rows.flatMap((row) =>
      (row.split('|')[1] ?? '').split(',').map((name) => name.trim().replace(/ \(.*\)$/, '')),
    );
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read(path));
    const present = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies });
    expect(named.sort()).toEqual(present.filter((name) => !name.startsWith('@types/')).sort());
  },
);

describe('docs/operating.md', () => {
  const text = documentAt('docs/operating.md');

  test('names only lines of the log that the service writes', () => {
    const source = readdirSync(new URL('src/', root), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => read(`src/${file}`))
      .join('\n');
    const faults = text.slice(text.indexOf('\n## Failures'), text.indexOf('\n### Overload'));
    const lines = all(faults, /^\| `(?:… )?([^`]+)` \|/gm);
    expect(lines.length).toBeGreaterThan(4);
    expect(lines.filter((line) => !source.includes(line))).toEqual([]);
  });

  test('has every job', () => {
    const named = all(text, /^\|.*`npm run job -- ([\w-]+)` \|$/gm);
    expect(named.sort()).toEqual(Object.keys(JOBS).sort());
  });

  test('names no metric that does not exist', async () => {
    const series = await seriesOfService();
    const named = all(
      text,
      /\b([a-z0-9]+(?:_[a-z0-9]+)*_(?:total|seconds|bytes|waiting|idle|in_use)(?:_bucket)?)\b/g,
    );
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((name) => !series.includes(name) && !series.includes(`${name}_bucket`))).toEqual([]);
  });
});

/** Every metric that the service has, with its type. */
async function metricsOfService(): Promise<{ name: string; type: string }[]> {
  const db = { stats: () => ({ total: 0, idle: 0, waiting: 0 }) } as Database;
  const keys = { stats: () => ({ hits: 0, misses: 0 }) } as KeyCache;
  const text = await createMetrics({ db, keys }).text();
  return Array.from(text.matchAll(/^# TYPE (\w+) (\w+)/gm), ([, name = '', type = '']) => ({ name, type }));
}

/** The names of all series that Prometheus gets. */
const seriesOfService = async (): Promise<string[]> =>
  (await metricsOfService()).flatMap(({ name, type }) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );

/** The metrics that an expression of Prometheus names: they alone have an underscore, and no bracket after them. */
const metricsIn = (expression: string): string[] =>
  [...expression.matchAll(/(?<![$\w])[a-z]+(?:_[a-z0-9]+)+(?![\w(])/g)].map(([name]) => name);

test('deploy/alerts.yml names only metrics that exist, and docs/operating.md says of each rule what to look at and what to do', async () => {
  const metrics = await seriesOfService();
  const rules = read('deploy/alerts.yml').split('- alert: ').slice(1);
  expect(rules.length).toBeGreaterThan(5);
  const chapter = documentAt('docs/operating.md')
    .split('\n## ')
    .find((text) => text.startsWith('Alerts\n'));
  const explained = [...(chapter ?? '').matchAll(/^\| `(\w+)` \| (\w+) \| \S.* \| \S.* \|$/gm)];
  const named = rules.map((rule) => {
    const [, expression = ''] = /expr: (.+)/.exec(rule) ?? [];
    expect(metricsIn(expression).length, rule).toBeGreaterThan(0);
    expect(metricsIn(expression).filter((metric) => !metrics.includes(metric))).toEqual([]);
    return [/^\w+/.exec(rule)?.[0], /severity: (\w+)/.exec(rule)?.[1]];
  });
  expect(explained.map(([, name, severity]) => [name, severity]).sort()).toEqual(named.sort());
});

test('deploy/grafana-dashboard.json names only metrics that exist, and every one that is the service’s own', async () => {
  const metrics = await seriesOfService();
  const named = all(read('deploy/grafana-dashboard.json'), /"(?:expr|query)": ?("(?:[^"\\]|\\.)*")/g).flatMap(
    (query) => metricsIn(JSON.parse(query)),
  );
  expect(named.filter((metric) => !metrics.includes(metric))).toEqual([]);
  const own = metrics.filter((name) => !/^(process|nodejs)_|_(sum|count)$/.test(name));
  expect(own.length).toBeGreaterThan(8);
  expect(own.filter((name) => !named.includes(name))).toEqual([]);
});
