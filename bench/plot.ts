import { type Report, TITLES } from './report.ts';
import { SIDES } from './workloads.ts';

/** The picture of a run: throughput of each workload, as a share of what the bare statement reaches. */

const WIDTH = 860;
/** Where the bars begin, and how long 100 % is. */
const LEFT = 240;
const FULL = 460;
const HEAD = 70;
const ROW = 52;
const BAR = 10;
/** Bars in these colors stand out on white and on black; the text takes the color of the page's scheme. */
const COLORS = { ours: '#3b82f6', limit: '#9ca3af', conventional: '#f59e0b', byHand: '#10b981' };

const text = (x: number, y: number, words: string, attributes = ''): string =>
  `<text x="${x}" y="${y}"${attributes}>${words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`;

/** An SVG document, the same for the same report. */
export function drawThroughput({ workloads }: Pick<Report, 'workloads'>): string {
  const height = HEAD + workloads.length * ROW;
  const sides = SIDES.filter((side) => workloads.some((workload) => workload[side]));
  const legend = sides.flatMap((side, index) => [
    `<rect x="${LEFT + index * 140}" y="4" width="14" height="14" fill="${COLORS[side]}"/>`,
    text(LEFT + index * 140 + 20, 16, TITLES[side]),
  ]);
  const grid = [0, 20, 40, 60, 80, 100].flatMap((share) => {
    const x = LEFT + (share / 100) * FULL;
    return [
      `<path d="M${x} ${HEAD - 6}V${height}" stroke="#88888855"/>`,
      text(x, HEAD - 10, `${share} %`, ' text-anchor="middle"'),
    ];
  });
  const names = workloads.map(({ name }, row) =>
    text(LEFT - 8, HEAD + row * ROW + 22, name, ' text-anchor="end"'),
  );
  const bars = sides.flatMap((side, index) => {
    const drawn = workloads.flatMap((workload, row) => {
      const rate = workload[side]?.rate;
      if (rate === undefined) return [];
      const length = Math.round((rate / workload.limit.rate) * FULL);
      return [{ rate, length, y: HEAD + row * ROW + 9 + index * (BAR + 1) }];
    });
    const lines = drawn.map(({ length, y }) => `M${LEFT} ${y}h${length}`).join('');
    const rates = drawn.map(({ rate, length, y }) =>
      text(LEFT + length + 4, y + 4, Math.round(rate).toLocaleString('en-US')),
    );
    return [
      `<path d="${lines}" stroke="${COLORS[side]}" stroke-width="${BAR}"/>`,
      `<g font-size="10">${rates.join('')}</g>`,
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12" fill="currentColor">`,
    '<title>Throughput of each workload, as a share of the bare statement</title>',
    '<style>:root{color:#1f2328}@media(prefers-color-scheme:dark){:root{color:#e6edf3}}</style>',
    text(LEFT, 38, 'requests per second (numbers), as a share of the bare statement (bars)'),
    ...legend,
    ...grid,
    ...names,
    ...bars,
    '</svg>\n',
  ].join('\n');
}
