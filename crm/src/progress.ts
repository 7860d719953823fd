import { SingleBar } from 'cli-progress';
import type { Retry } from '../../client/src/index.ts';
import { printable } from './cells.ts';

/** The output of a run. Progress is a bar on a terminal, a line every ten seconds elsewhere. */

type ProgressState = {
  /** `done` of `total` steps. */
  done: number;
  total: number;
  rows: number;
  counts: Record<string, number>;
};

export function reportEmptyRows(errors: Output, { emptyRows }: { emptyRows: number }): void {
  if (emptyRows > 0) errors.write(`${thousands(emptyRows)} empty rows were skipped.\n`);
}

export type Output = NodeJS.WriteStream;

const LINE_EVERY = 10_000;
const REDRAW_EVERY = 1_000;

const duration = (seconds: number): string => {
  if (!Number.isFinite(seconds)) return '–';
  const [minutes, rest] = [Math.floor(seconds / 60), Math.round(seconds % 60)];
  return minutes === 0 ? `${rest} s` : `${minutes} min ${rest} s`;
};

export const thousands = (count: number): string => String(count).replaceAll(/\B(?=(\d{3})+$)/g, ',');

/** A line for each field that changes: whose it is, its name, the old and the new value as JSON; no old one in a new record. */
export const changeLines = (name: string, changes: object, old?: object): string =>
  Object.entries(changes)
    .map(([field, value]) => {
      const before = old ? JSON.stringify(old[field as keyof typeof old]) : '';
      return `${[name, field, before, JSON.stringify(value)].map(printable).join('\t')}\n`;
    })
    .join('');

/** @param from the rows of earlier runs: they count as done, but not for the speed */
export function startProgress(output: Output, unit: string, from = 0) {
  const start = Date.now();
  let state: ProgressState = { done: 0, total: 0, rows: 0, counts: {} };
  let note = '';
  let notedUntil = 0;

  const seconds = () => (Date.now() - start) / 1_000;
  const rate = () => Math.round(Math.max(0, state.rows - from) / Math.max(0.001, seconds()));
  /** The share of the finished lines that belongs to this run. */
  const done = () => state.done * (1 - from / state.rows);
  const left = () => (seconds() * Math.max(0, state.total - state.done)) / done();
  const counts = () =>
    Object.entries(state.counts)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `, ${thousands(count)} ${name}`)
      .join('');
  const text = () => {
    const why = Date.now() < notedUntil ? note : '';
    return `${thousands(state.rows)} ${unit}, ${thousands(rate())}/s, ${duration(left())} left${counts()}${why}`;
  };
  const line = () => {
    const percent = Math.floor((100 * state.done) / Math.max(1, state.total));
    output.write(`${Math.min(100, percent)} %, ${text()}\n`);
  };

  const bar = output.isTTY
    ? new SingleBar({
        ...{ stream: output, format: '{bar} {percentage} % {text}', hideCursor: true, fps: 5 },
        ...{ barsize: 20, barCompleteChar: '█', barIncompleteChar: '░' },
      })
    : undefined;
  bar?.start(1, 0, { text: text() });
  // Nothing else redraws the bar while requests wait for the limit.
  const redraw = () => (bar ? bar.update({ text: text() }) : line());
  const timer = setInterval(redraw, bar ? REDRAW_EVERY : LINE_EVERY);

  return {
    update: (next: ProgressState): void => {
      // A period of an export has a smaller total than the whole.
      state = { ...next, total: Math.max(state.total, next.total) };
      if (!bar) return;
      bar.setTotal(Math.max(1, state.total, next.done));
      bar.update(next.done, { text: text() });
    },
    /** A request waits for so many milliseconds until it is retried. */
    held: ({ error, wait }: Pick<Retry, 'error' | 'wait'>): void => {
      const isLimit = error.status === 429;
      note = isLimit ? ', waiting for the rate limit of the key' : `, retrying after ${error.code}`;
      notedUntil = Math.max(notedUntil, Date.now() + wait);
    },
    /** Ends the display with a line of the counts. */
    end: (word: string): void => {
      clearInterval(timer);
      bar?.stop();
      output.write(
        `${word}: ${thousands(state.rows)} ${unit} in ${duration(seconds())}, ${thousands(rate())}/s${counts()}.\n`,
      );
    },
  };
}
