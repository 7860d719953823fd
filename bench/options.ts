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
  /** Requests per second of an open loop; undefined: clients that wait for their answers. */
  rate: number | undefined;
  /** Draws docs/performance.svg, of this run or of the result in a file. */
  plot: boolean;
  plotOf: string | undefined;
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
  --rate N            offers N requests a second to each workload, whatever the answers do (10 seconds each)
  --plot [FILE]       draws docs/performance.svg, of the result in the file instead of a run where one is named
  --json FILE         write the result as JSON too
  --data DIR          keep the loaded data there, and use it the next time`;

const DEFAULT_SECONDS: Record<Scale, number> = { small: 0.25, full: 2 };
const DEFAULT_OPEN_LOOP_SECONDS = 10;

/** @throws when an option is unknown or has a value that means nothing */
export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      scale: { type: 'string', default: 'small' },
      seconds: { type: 'string' },
      connections: { type: 'string', default: '32' },
      only: { type: 'string', multiple: true, default: [] },
      rate: { type: 'string' },
      plot: { type: 'boolean', default: false },
      json: { type: 'string' },
      data: { type: 'string' },
    },
  });
  const { scale, only, plot, json, data } = values;
  const [plotOf, ...others] = positionals;
  if (others.length > 0 || (plotOf !== undefined && !plot))
    throw new Error('Only --plot takes a file by itself.');
  if (scale !== 'small' && scale !== 'full') throw new Error('--scale is small or full.');
  const rate = values.rate === undefined ? undefined : Number(values.rate);
  if (rate !== undefined && !(rate > 0)) throw new Error('--rate is a number above 0.');
  if (rate !== undefined && plot) throw new Error('--plot draws what --rate does not measure.');
  const usual = rate === undefined ? DEFAULT_SECONDS[scale] : DEFAULT_OPEN_LOOP_SECONDS;
  const seconds = values.seconds === undefined ? usual : Number(values.seconds);
  if (!(seconds > 0)) throw new Error('--seconds is a number above 0.');
  const connections = Number(values.connections);
  if (!(Number.isInteger(connections) && connections > 0))
    throw new Error('--connections is an integer above 0.');
  return { scale, seconds, connections, only, rate, plot, plotOf, json, data };
}
