import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { KeyCache } from '../../src/api-keys/cache.ts';
import type { Database } from '../../src/db/run/client.ts';
import { createMetrics } from '../../src/http/metrics.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

const RULE =
  /- alert: (?<name>\w+)\n +expr: (?<expression>.+)\n(?: +for: (?<lasting>\w+)\n)? +labels: { severity: (?<severity>critical|warning|info) }\n +annotations:\n +summary: (?<summary>.+)/g;
const rules = [...read('deploy/alerts.yml').matchAll(RULE)].map(({ groups = {} }) => ({
  name: groups.name,
  expression: groups.expression,
  lasting: groups.lasting,
  severity: groups.severity,
  summary: groups.summary?.replace(/^'(.*)'$/, '$1'),
}));

/** Every metric that the service has, with the series of histograms. */
async function metricsOfService(): Promise<Set<string>> {
  const db = { stats: () => ({ total: 0, idle: 0, waiting: 0 }) } as Database;
  const keys = { stats: () => ({ hits: 0, misses: 0 }) } as KeyCache;
  const text = await createMetrics({ db, keys }).text();
  const types = [...text.matchAll(/^# TYPE (\w+) (\w+)/gm)];
  return new Set(
    types.flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
}

/** The metrics that an expression of Prometheus names: they alone have an underscore, and no bracket after them. */
const metricsIn = (expression: string): string[] =>
  [...expression.matchAll(/(?<![$\w])[a-z]+(?:_[a-z0-9]+)+(?![\w(])/g)].map(([name]) => name);

describe('deploy/alerts.yml', () => {
  test('names only metrics that exist, and docs/operating.md says of each rule what to look at and what to do', async () => {
    const metrics = await metricsOfService();
    expect(rules.length).toBe(read('deploy/alerts.yml').match(/- alert: /g)?.length);
    for (const { expression = '' } of rules) {
      expect(metricsIn(expression).length).toBeGreaterThan(0);
      expect(metricsIn(expression).filter((metric) => !metrics.has(metric))).toEqual([]);
    }
    const chapter = read('docs/operating.md')
      .split('\n## ')
      .find((text) => text.startsWith('Alerts\n'));
    const rows = [...(chapter ?? '').matchAll(/^\| `(\w+)` \| (\w+) \| \S.* \| \S.* \|$/gm)];
    expect(rows.map(([, name, severity]) => ({ name, severity }))).toEqual(
      expect.arrayContaining(rules.map(({ name, severity }) => ({ name, severity }))),
    );
    expect(rows).toHaveLength(rules.length);
  });
});

describe('deploy/grafana-dashboard.json', () => {
  type Dashboard = {
    templating: { list: { query: string }[] };
    panels: { id: number; title: string; targets: { expr: string }[] }[];
  };
  const { panels, templating }: Dashboard = JSON.parse(read('deploy/grafana-dashboard.json'));

  test('names only metrics that exist, and every one that is the service’s own', async () => {
    const metrics = await metricsOfService();
    const queries = [
      ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
      ...templating.list.map(({ query }) => query),
    ];
    const named = queries.flatMap(metricsIn);
    expect(named.filter((metric) => !metrics.has(metric))).toEqual([]);
    const own = [...metrics].filter((name) => !/^(process|nodejs)_|_(sum|count)$/.test(name));
    expect(own.length).toBeGreaterThan(8);
    expect(own.filter((name) => !named.includes(name))).toEqual([]);
  });
});
