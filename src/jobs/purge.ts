import type { FastifyBaseLogger } from 'fastify';
import { purgeCatalogProducts } from '../catalog/repository.ts';
import { retainedSince } from '../catalog/retention.ts';
import type { Database } from '../db/run/client.ts';

export type PurgeOptions = {
  db: Database;
  logger: FastifyBaseLogger;
  /** Milliseconds since 1970. */
  now: number;
  /** Products removed by one statement. */
  batchSize?: number;
  /** Ends the run after its current batch. The next run goes on from there. */
  signal?: AbortSignal;
};

export type Purged = { products: number; variants: number };

/** Removes the products that can no longer be restored, with their variants, and logs each. */
export async function purgeProducts(options: PurgeOptions): Promise<Purged> {
  const { db, logger, now, batchSize = 200, signal } = options;
  const purged = { products: 0, variants: 0 };
  let more = true;
  while (more && !signal?.aborted) {
    const batch = await purgeCatalogProducts(db, retainedSince(now), batchSize);
    for (const { organizationId, id, archivedAt, variants } of batch) {
      logger.info({ organizationId, productId: id, archivedAt, variants }, 'purged a product');
      purged.variants += variants;
    }
    purged.products += batch.length;
    more = batch.length === batchSize;
  }
  logger.info({ ...purged, stopped: more }, 'purged what was archived too long ago');
  return purged;
}
