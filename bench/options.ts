import { parseArgs } from 'node:util';

type Scale = 'small' | 'full';

export type Options = {
  scale: Scale;
  /** Seconds of one measurement of one server. */
  seconds: number;
  /** Simultaneous clients. */
  connections: number;
  /** Parts of row names; empty: all rows. */
  only: readonly string[];
  /** A folder that keeps the loaded data for the next run. */
  data: string | undefined;
};

export const USAGE = `npm run bench -- [options]
  --scale small|full  how much data (full: one organization of 1,000,000 customers)
  --seconds N         length of each measurement (0.6)
  --connections N     clients at once (16)
  --only TEXT         only rows whose name has the text; can be repeated
  --data DIR          keep the loaded data there, and use it the next time`;

/** @throws if an option is unknown or its value is not valid */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      scale: { type: 'string', default: 'small' },
      seconds: { type: 'string', default: '0.6' },
      connections: { type: 'string', default: '16' },
      only: { type: 'string', multiple: true, default: [] },
      data: { type: 'string' },
    },
  });
  const { scale, only, data } = values;
  const [seconds, connections] = [Number(values.seconds), Number(values.connections)];
  if (scale !== 'small' && scale !== 'full') throw new Error('--scale is small or full.');
  if (!(seconds > 0)) throw new Error('--seconds is a number above 0.');
  if (!(Number.isInteger(connections) && connections > 0))
    throw new Error('--connections is an integer above 0.');
  return { scale, seconds, connections, only, data };
}
