import type pg from 'pg';

export type SharedConnection = {
  readonly client: Promise<pg.PoolClient>;
  users: number;
  progressAt: number;
  /** Closed after its last read; no new read takes it. */
  isBroken: boolean;
};

/** Throughput of the mix in docs/capacity.md: 1.20 with two, 1.00 with three. */
const CONNECTIONS = 2;

/** The reads of a connection run in order: no read joins a connection that made no progress for so long. */
const STILL_MS = 50;

/** Connections for short reads: pg's option `pipeline` sends a read while others are running. */
export function createSharedConnections(connect: () => Promise<pg.PoolClient>) {
  let open: SharedConnection[] = [];

  return {
    take(): SharedConnection {
      const now = performance.now();
      const progressing = open.filter(({ progressAt }) => now - progressAt < STILL_MS);
      let [taken] = progressing.sort((one, other) => one.users - other.users);
      if (!taken || progressing.length < CONNECTIONS) {
        taken = { client: connect(), users: 0, progressAt: now, isBroken: false };
        open.push(taken);
      }
      taken.users += 1;
      return taken;
    },
    leave(shared: SharedConnection): void {
      shared.users -= 1;
      shared.progressAt = performance.now();
      if (shared.users === 0 || shared.isBroken) open = open.filter((other) => other !== shared);
      const close = (client: pg.PoolClient): void => client.release(shared.isBroken);
      if (shared.users === 0) shared.client.then(close, () => undefined);
    },
  };
}
