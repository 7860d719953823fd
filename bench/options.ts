import { parseArgs } from 'node:util';

type Scale = 'small' | 'full';

export type Options = {
  scale: Scale;
  /** Length of one measurement of one side of a workload. */
  seconds: number;
  /** Clients at once, where not one alone is measured. */
  connections: number;
  /** Parts of the names of workloads and figures; empty: all. */
  only: readonly string[];
  /** Draws docs/performance.svg of this run. */
  plot: boolean;
  /** Where the machine-readable result goes. */
  json: string | undefined;
  /** A folder to keep the loaded data in, and to take it from the next time. */
  data: string | undefined;
};

export const USAGE = `npm run bench -- [options]
  --scale small|full  how much data (small: three minutes in all; full: one organization of 1,000,000 customers)
  --seconds N         length of each measurement
  --connections N     clients at once (32)
  --only TEXT         only workloads and figures whose name has the text; can be repeated
  --plot              draws docs/performance.svg
  --json FILE         write the result as JSON too
  --data DIR          keep the loaded data there, and use it the next time`;

const DEFAULT_SECONDS: Record<Scale, number> = { small: 0.25, full: 2 };

/** @throws when an option is unknown or has a value that means nothing */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      scale: { type: 'string', default: 'small' },
      seconds: { type: 'string' },
      connections: { type: 'string', default: '32' },
      only: { type: 'string', multiple: true, default: [] },
      plot: { type: 'boolean', default: false },
      json: { type: 'string' },
      data: { type: 'string' },
    },
  });
  const { scale, only, plot, json, data } = values;
  if (scale !== 'small' && scale !== 'full') throw new Error('--scale is small or full.');
  const seconds = values.seconds === undefined ? DEFAULT_SECONDS[scale] : Number(values.seconds);
  if (!(seconds > 0)) throw new Error('--seconds is a number above 0.');
  const connections = Number(values.connections);
  if (!(Number.isInteger(connections) && connections > 0))
    throw new Error('--connections is an integer above 0.');
  return { scale, seconds, connections, only, plot, json, data };
}
