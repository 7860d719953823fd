import { setTimeout } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { type Database, emptyPendingLists } from '../db/index.ts';

/**
 * A trigram index (GIN) adds new entries to its pending list, which every search then scans. While this instance writes, the
 * lists are flushed every second. The first of several failures in a row is logged.
 */
export function keepPendingListsShort(options: {
  db: Database;
  logger: FastifyBaseLogger;
  /** Milliseconds. */
  every?: number;
}): { stop: () => Promise<void> } {
  const { db, logger, every = 1_000 } = options;
  const stopping = new AbortController();
  const pause = () => setTimeout(every, true, { signal: stopping.signal, ref: false }).catch(() => false);
  const loop = async (): Promise<void> => {
    let isFailing = false;
    let flushedAt = db.stats().written;
    while (await pause()) {
      const { written } = db.stats();
      if (written === flushedAt) continue;
      // The flush itself is a write, too.
      flushedAt = written + 1;
      try {
        await emptyPendingLists(db);
        isFailing = false;
      } catch (error) {
        if (!isFailing)
          logger.warn({ err: error }, 'the pending lists of the search indexes were not emptied');
        isFailing = true;
      }
    }
  };
  const running = loop();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
