import { setTimeout } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import type { Database } from '../db/pool/client.ts';
import { emptyPendingLists } from '../db/server/pending-lists.ts';

/**
 * Trigram indexes take new entries into a list, which makes writes cheap, and which every search reads. So while this instance
 * writes, the lists are emptied every second. A failure is logged, once for as long as it lasts.
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
    let seen = db.stats().written;
    while (await pause()) {
      const { written } = db.stats();
      if (written === seen) continue;
      // To empty them is a write, too.
      seen = written + 1;
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
