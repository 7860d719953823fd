import type { Figures, Measured, Memory } from './measure.ts';

/** The table of a run in Markdown, as in docs/performance.md. */

const thousands = (value: number): string => Math.round(value).toLocaleString('en-US');
const ratio = (value: number): string => value.toFixed(2);

/** A figure beside its aim; in bold if it misses the aim. */
function beside(value: number | undefined, aim: number | undefined, isLeast = false): string {
  if (value === undefined) return '';
  if (aim === undefined) return ratio(value);
  const isMet = isLeast ? value >= aim : value <= aim;
  return `${isMet ? ratio(value) : `**${ratio(value)}**`} (${isLeast ? '≥' : '≤'} ${aim})`;
}

const micros = (figures: Figures | undefined): string =>
  figures ? `${thousands(figures.nodeMicros)} + ${thousands(figures.postgresMicros)}` : '';
const allMicros = ({ nodeMicros, postgresMicros }: Figures): number => nodeMicros + postgresMicros;

function rowOf({ name, aims, sides: { ours, byHand, floor }, isLoadBound }: Measured): string[] {
  if (!ours || !byHand) throw new Error(`${name} was not measured on both servers.`);
  return [
    isLoadBound ? `${name} *` : name,
    thousands(ours.rate),
    beside(ours.rate / byHand.rate, aims.rate, true),
    ratio(ours.p99),
    beside(ours.p99 / byHand.p99, aims.p99),
    micros(ours),
    micros(byHand),
    micros(floor),
    beside(floor && allMicros(ours) / allMicros(floor), aims.floor),
  ];
}

const HEAD = [
  '',
  'requests/s',
  '/ by hand',
  'p99, ms',
  '/ by hand',
  'Node + PostgreSQL, µs',
  'by hand',
  'floor',
  'ours / floor',
];

const MEMORY_AIM = 230;

export function reportOf(title: string, measured: readonly Measured[], memory?: Memory): string {
  const lines = [HEAD, HEAD.map((_, column) => (column === 0 ? '---' : '---:')), ...measured.map(rowOf)];
  const table = lines.map((cells) => `| ${cells.join(' | ')} |`);
  const bound = measured.some(({ isLoadBound }) => isLoadBound)
    ? ['', '\\* The load generator was at its limit: the servers can do more.']
    : [];
  const resident = memory && [
    '',
    `Resident memory of the service after ${memory.seconds} s of lists: ${thousands(memory.end)} MiB (≤ ${MEMORY_AIM}); halfway ${thousands(memory.halfway)} MiB.`,
  ];
  return [title, '', ...table, ...bound, ...(resident ?? [])].join('\n');
}
