import type pg from 'pg';

/** A connection that several short reads use at once. */
export type Lane = {
  readonly client: Promise<pg.PoolClient>;
  using: number;
  /** Nobody else takes it, and it is closed when the last one has left it. */
  isSpoilt: boolean;
};

/** More of them share less: 1.20 of the throughput of the mix in docs/capacity.md with two, 1.00 with three. */
const LANES = 2;

/**
 * Connections for reads that take next to no time. pg sends one behind those that are under way, and what is asked in the same
 * turn of the event loop leaves in one write, which wakes up one process of PostgreSQL: 1.2 to 1.4 of the gets in a second.
 * Each has an answer of its own, as soon as it is there.
 */
export function createLanes(connect: () => Promise<pg.PoolClient>) {
  let lanes: Lane[] = [];

  function open(): Lane {
    const lane: Lane = { client: connect(), using: 0, isSpoilt: false };
    lanes.push(lane);
    return lane;
  }

  return {
    /** The lane with the fewest in it. */
    take(): Lane {
      const emptiest = lanes.reduce<Lane | undefined>(
        (least, lane) => (least && least.using <= lane.using ? least : lane),
        undefined,
      );
      const lane = emptiest && lanes.length === LANES ? emptiest : open();
      lane.using += 1;
      return lane;
    },
    leave(lane: Lane): void {
      lane.using -= 1;
      if (lane.using === 0 || lane.isSpoilt) lanes = lanes.filter((other) => other !== lane);
      const close = (client: pg.PoolClient): void => client.release(lane.isSpoilt);
      if (lane.using === 0) lane.client.then(close, () => undefined);
    },
  };
}
