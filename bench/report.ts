import type { Figure } from './figures.ts';
import type { Measured } from './measure.ts';

/** What is printed and written at the end. */

const thousands = (value: number): string => Math.round(value).toLocaleString('en-US');
const ratio = (value: number): string => value.toFixed(2);
const micros = (value: number | undefined): string => (value === undefined ? '' : thousands(value));

/** A table in Markdown, its columns as wide as they need. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

export function printed(machine: string, measured: readonly Measured[], figures: readonly Figure[]): string {
  const workloads = table(
    [
      'requests per second',
      'ours',
      'limit',
      'conventional',
      'ours / limit',
      'ours / conventional',
      'Node µs',
      'PostgreSQL µs',
    ],
    measured.map(({ name, rates, cost, loadBound }) => [
      loadBound ? `${name} *` : name,
      thousands(rates.ours),
      thousands(rates.limit),
      thousands(rates.conventional),
      ratio(rates.ours / rates.limit),
      ratio(rates.ours / rates.conventional),
      micros(cost.server),
      micros(cost.postgres),
    ]),
  );
  const reached = table(
    ['figure', 'value', 'goal', 'met'],
    figures.map(({ name, value, goal, met, note }) => [
      note === undefined ? name : `${name} (${note})`,
      ratio(value),
      goal,
      met ? 'yes' : 'no',
    ]),
  );
  const bound = measured.some(({ loadBound }) => loadBound)
    ? ['* The process that makes the load was at its limit: the service can do more.']
    : [];
  return [machine, '', workloads, ...bound, '', reached].join('\n');
}

export const asJson = (machine: string, measured: readonly Measured[], figures: readonly Figure[]): string =>
  `${JSON.stringify(
    {
      machine,
      workloads: measured.map(({ name, rates }) => ({ name, ...rates })),
      figures: figures.map(({ name, value, goal, met }) => ({ name, value, goal, met })),
    },
    null,
    2,
  )}\n`;
