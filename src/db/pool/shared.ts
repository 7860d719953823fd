import type pg from 'pg';
import { writeTogether } from './send.ts';

type Shared = { client: Promise<pg.PoolClient>; users: number; progressAt: number; isBroken: boolean };

/** Throughput of the mix in docs/capacity.md: 1.20 with two, 1.00 with three. */
const CONNECTIONS = 2;

/** The reads of a connection run in order: no read joins a connection that made no progress for so long. */
const STILL_MS = 50;

/** Connections for short reads: pg's option `pipeline` sends a read while others are running. */
export function shareConnections(
  connect: () => Promise<pg.PoolClient>,
  isBroken: (error: unknown) => boolean,
) {
  let open: Shared[] = [];

  function take(): Shared {
    const now = performance.now();
    const progressing = open.filter(({ progressAt }) => now - progressAt < STILL_MS);
    const [taken] = progressing.sort((one, other) => one.users - other.users);
    if (taken && progressing.length === CONNECTIONS) return taken;
    const added = { client: connect(), users: 0, progressAt: now, isBroken: false };
    open.push(added);
    return added;
  }

  return async <Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> => {
    const shared = take();
    shared.users += 1;
    try {
      const client = await shared.client;
      writeTogether(client);
      return await work(client);
    } catch (error) {
      shared.isBroken ||= isBroken(error);
      throw error;
    } finally {
      shared.users -= 1;
      shared.progressAt = performance.now();
      // A broken connection takes no new read, and closes after its last one.
      if (shared.users === 0 || shared.isBroken) open = open.filter((other) => other !== shared);
      if (shared.users === 0)
        shared.client.then(
          (client) => client.release(shared.isBroken),
          () => undefined,
        );
    }
  };
}
