import type { Figure } from './figures.ts';
import type { Measured, SideFigures } from './measure.ts';
import { type BySide, SIDES, type Side } from './workloads.ts';

/** What is printed and written at the end. */

/** A whole run, as --json writes it. A figure that is not known is not there. */
export type Report = {
  machine: string;
  workloads: ({ name: string } & BySide<Partial<SideFigures> & { rate: number }>)[];
  figures: Omit<Figure, 'note'>[];
};

export const TITLES: Record<Side, string> = {
  ours: 'ours',
  limit: 'limit',
  conventional: 'conventional',
  byHand: 'by hand',
};

const thousands = (value: number): string => Math.round(value).toLocaleString('en-US');
const ratio = (value: number | undefined): string => value?.toFixed(2) ?? '';
const whole = (value: number | undefined): string => (value === undefined ? '' : thousands(value));

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
  const others = SIDES.filter((side) => side !== 'ours');
  const servers = SIDES.filter((side) => side !== 'limit');
  const throughput = table(
    [
      'requests per second',
      ...SIDES.map((side) => TITLES[side]),
      ...others.map((side) => `ours / ${TITLES[side]}`),
    ],
    measured.map(({ name, sides, loadBound }) => [
      loadBound ? `${name} *` : name,
      ...SIDES.map((side) => whole(sides[side]?.rate)),
      ...others.map((side) => ratio(sides[side] && sides.ours.rate / sides[side].rate)),
    ]),
  );
  const times = table(
    ['milliseconds', ...SIDES.flatMap((side) => [`${TITLES[side]} p50`, `${TITLES[side]} p99`])],
    measured.map(({ name, sides }) => [
      name,
      ...SIDES.flatMap((side) => [ratio(sides[side]?.p50), ratio(sides[side]?.p99)]),
    ]),
  );
  const ofProcesses = (
    what: string,
    node: 'nodeMicros' | 'nodeMiB',
    postgres: 'postgresMicros' | 'postgresMiB',
  ) =>
    table(
      [
        what,
        ...servers.flatMap((side) => [`${TITLES[side]} Node`, `${TITLES[side]} PostgreSQL`]),
        'limit PostgreSQL',
      ],
      measured.map(({ name, sides }) => [
        name,
        ...servers.flatMap((side) => [whole(sides[side]?.[node]), whole(sides[side]?.[postgres])]),
        whole(sides.limit[postgres]),
      ]),
    );
  const costs = ofProcesses('processor time, µs', 'nodeMicros', 'postgresMicros');
  const memory = ofProcesses('memory, MiB', 'nodeMiB', 'postgresMiB');
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
  return [machine, '', throughput, ...bound, '', times, '', costs, '', memory, '', reached].join('\n');
}

export const reportOf = (
  machine: string,
  measured: readonly Measured[],
  figures: readonly Figure[],
): Report => ({
  machine,
  workloads: measured.map(({ name, sides }) => ({ name, ...sides })),
  figures: figures.map(({ name, value, goal, met }) => ({ name, value, goal, met })),
});
