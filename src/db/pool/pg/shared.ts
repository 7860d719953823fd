import type pg from 'pg';

/** A connection that several short reads use at once. */
export type SharedConnection = {
  readonly client: Promise<pg.PoolClient>;
  users: number;
  /** When a read last ended on it; before that, when it was opened. */
  movedAt: number;
  /** Nobody else takes it, and it is closed when its last user has left. */
  isBroken: boolean;
};

/** More of them share less: 1.20 of the throughput of the mix in docs/capacity.md with two, 1.00 with three. */
const CONNECTIONS = 2;

/** Whoever joins a connection waits for all reads before: nobody joins one on which no read has ended for this time. */
const STILL_MS = 50;

/**
 * Connections for reads that take next to no time: pg sends a read behind those that are under way (its option `pipeline`). With
 * a connection of its own, a get takes Node 1.5 of the time, and PostgreSQL 1.8.
 */
export function createSharedConnections(connect: () => Promise<pg.PoolClient>) {
  let open: SharedConnection[] = [];

  return {
    /** The connection with the fewest users. */
    take(): SharedConnection {
      const now = performance.now();
      const moving = open.filter(({ movedAt }) => now - movedAt < STILL_MS);
      let taken = moving.reduce<SharedConnection | undefined>(
        (least, other) => (least && least.users <= other.users ? least : other),
        undefined,
      );
      if (!taken || moving.length < CONNECTIONS) {
        taken = { client: connect(), users: 0, movedAt: now, isBroken: false };
        open.push(taken);
      }
      taken.users += 1;
      return taken;
    },
    leave(shared: SharedConnection): void {
      shared.users -= 1;
      shared.movedAt = performance.now();
      if (shared.users === 0 || shared.isBroken) open = open.filter((other) => other !== shared);
      const close = (client: pg.PoolClient): void => client.release(shared.isBroken);
      if (shared.users === 0) shared.client.then(close, () => undefined);
    },
  };
}
