import { BarChart } from 'echarts/charts';
import { GridComponent, LegendComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { Report } from './report.ts';
import { SIDES } from './workloads.ts';

/** The picture of a run: throughput of each workload, as a share of what the bare statement reaches. */

use([BarChart, GridComponent, LegendComponent, SVGRenderer]);

const WIDTH = 860;
const WIDTH_OF_NAMES = 240;
const HEIGHT_OF_WORKLOAD = 42;
const HEIGHT_OF_HEAD = 70;
/** Bars in these colors stand out on white and on black; the text takes the color of the page's scheme. */
const COLORS = { ours: '#3b82f6', limit: '#9ca3af', conventional: '#f59e0b' };
const TEXT = { color: 'currentColor', fontSize: 12 };
const HEAD = `<title>Throughput of each workload, as a share of the bare statement</title>
<style>:root{color:#1f2328}@media(prefers-color-scheme:dark){:root{color:#e6edf3}}</style>`;

const percent = (share: number): number => Math.round(share * 1_000) / 10;

/** An SVG document, the same for the same report. */
export function drawThroughput({ workloads }: Pick<Report, 'workloads'>): string {
  const chart = init(null, null, {
    renderer: 'svg',
    ssr: true,
    width: WIDTH,
    height: HEIGHT_OF_HEAD + workloads.length * HEIGHT_OF_WORKLOAD,
  });
  chart.setOption({
    animation: false,
    legend: { textStyle: TEXT, itemWidth: 14, top: 4 },
    grid: { left: WIDTH_OF_NAMES, right: 64, outerBoundsMode: 'none', top: HEIGHT_OF_HEAD - 4, bottom: 4 },
    xAxis: {
      type: 'value',
      position: 'top',
      name: 'requests per second (numbers), as a share of the bare statement (bars)',
      nameLocation: 'middle',
      nameGap: 24,
      nameTextStyle: TEXT,
      axisLabel: { ...TEXT, formatter: '{value} %' },
      splitLine: { lineStyle: { color: '#88888855' } },
    },
    yAxis: {
      type: 'category',
      inverse: true,
      data: workloads.map(({ name }) => name),
      axisLabel: { ...TEXT, interval: 0 },
      axisLine: { lineStyle: { color: '#888888' } },
      axisTick: { show: false },
    },
    series: SIDES.map((side) => ({
      name: side,
      type: 'bar',
      silent: true,
      barGap: '5%',
      barCategoryGap: '25%',
      itemStyle: { color: COLORS[side] },
      label: {
        show: true,
        position: 'right',
        ...TEXT,
        fontSize: 10,
        formatter: ({ dataIndex }: { dataIndex: number }) =>
          Math.round(workloads[dataIndex]?.[side].rate ?? 0).toLocaleString('en-US'),
      },
      data: workloads.map((workload) => percent(workload[side].rate / workload.limit.rate)),
    })),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  // ECharts numbers the charts of a process in names of classes, which only say how a bar looks under a pointer.
  const still = svg.replace(/ class="[^"]*"/g, '').replace(/<style >.*?<\/style>\n/s, '');
  return `${still.replace('>', `>\n${HEAD}`)}\n`;
}
