import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { drawThroughput } from '../../bench/plot.ts';

/** The picture of docs/performance.md shows the figures that are kept beside it, and no others. */

const docs = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

test('the picture is the one that docs/performance.json makes', () => {
  const report = JSON.parse(docs('performance.json'));
  expect(drawThroughput(report)).toBe(docs('performance.svg'));
  const [first] = report.workloads;
  first.ours.rate *= 2;
  expect(drawThroughput(report)).not.toBe(docs('performance.svg'));
});
